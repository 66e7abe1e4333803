"""A piece of advice as a card shows it: plain texts and numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdviceCard:
    """What a card shows.

    Attributes:
        id: by which it is dismissed.
        title: one sentence.
        severity: "error", "warning" or "info".
        saving: beside the bar, "" for none.
        share: length of the bar, 0 to 1; None for no bar.
        follows: title of what it follows from, "" for nothing; such a card stands indented.
        next_step: what to try.
        evidence: (text, whether a click leads somewhere).
        how: explanations, each a paragraph.
        dismissed: whether a person put it aside; it then offers to come back.
    """

    id: str
    title: str
    severity: str
    saving: str
    share: float | None
    follows: str
    next_step: str
    evidence: tuple[tuple[str, bool], ...]
    how: tuple[str, ...]
    dismissed: bool = False
