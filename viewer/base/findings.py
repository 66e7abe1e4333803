"""Findings of the importer and the analyses, and the ledger of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Severity = Literal["info", "warning", "error"]
REPAIRS: Final = frozenset({"text", "args-text", "quotes-or-brackets"})
"""Reasons of a ledger that are repairs; all others are rejections."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person should know about an input; counted and named, never a log line only."""

    code: str
    severity: Severity
    count: int
    message: str
    where: str = ""


@dataclass(slots=True)
class Ledger:
    """read = kept + repaired + rejected, disjoint; the unit is an object of the event array.

    Formats without one say their unit: rocprofv3 a record of ``buffer_records``, Proton a node of the tree.

    ``reasons`` maps a named repair or rejection to (count, first place as a byte offset or -1).
    A repaired event is one that is kept after its form was mended.
    """

    read: int = 0
    kept: int = 0
    repaired: int = 0
    rejected: int = 0
    reasons: dict[str, tuple[int, int]] = field(default_factory=dict)

    def parts(self) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
        """The reasons of repairs and those of rejections, each with the most frequent first."""
        ordered = sorted(self.reasons.items(), key=lambda r: (-r[1][0], r[0]))
        return {k: v for k, v in ordered if k in REPAIRS}, {k: v for k, v in ordered if k not in REPAIRS}

    def balanced(self) -> bool:
        """Whether the ledger adds up."""
        return self.read == self.kept + self.repaired + self.rejected
