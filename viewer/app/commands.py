"""What the command palette offers, and how a few typed letters choose among it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_SHOWN: Final = 80
_LONGEST: Final = 300
"""Characters of a text that are looked at; names from files may be far longer."""


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the palette.

    Attributes:
        id: stable over sessions, by which recent ones are remembered; "" for what is not remembered.
        text: what it does.
        keys: shown at the right, "" for none.
        sort: where it comes from ("Go", "rank", "kernel").
        run: does it.
        why: why it cannot be done now, "" when it can.
    """

    id: str
    text: str
    keys: str
    sort: str
    run: Callable[[], None]
    why: str = ""


def score(typed: str, text: str) -> int | None:
    """How well a text fits what was typed: higher is better, None when it does not fit.

    Each typed word must occur: best at the start of a word, else anywhere, else as letters in that order.
    """
    low = text[:_LONGEST].casefold()
    total = 0
    for word in typed.casefold().split():
        at = low.find(word)
        if at >= 0:
            begins = next((i for i in _occurrences(low, word) if i == 0 or not low[i - 1].isalnum()), -1)
            total += 1000 - min(begins, 100) if begins >= 0 else 700 - min(at, 100)
            continue
        spread = _spread(word, low)
        if spread is None:
            return None
        total += 400 - min(spread, 300)
    return total - min(len(low), 99) // 10


def _occurrences(text: str, word: str) -> Iterable[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _spread(letters: str, text: str) -> int | None:
    """Letters that lie between the letters of a word where it is found scattered; None where it is not."""
    at = first = -1
    for letter in letters:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
        first = at if first < 0 else first
    return at - first + 1 - len(letters)


def choose(
    typed: str, commands: Sequence[Command], jumps: Sequence[Command], recent: Sequence[str], most: int = MOST_SHOWN
) -> list[Command]:
    """What to list: recent commands first while nothing is typed, else the best fits; jumps only to typed letters.

    What cannot be done now comes after what can, of equal fit.
    """
    if not typed.strip():
        order = {name: place for place, name in enumerate(recent)}
        return sorted(commands, key=lambda c: order.get(c.id, len(order)))[:most]
    fits = []
    for rank, sort in enumerate((commands, jumps)):
        for place, command in enumerate(sort):
            value = score(typed, command.text if rank else f"{command.text} {command.sort}")
            if value is not None:
                fits.append((-value + (150 if command.why else 0) + 60 * rank, rank, place, command))
    fits.sort(key=lambda f: f[:3])
    return [f[3] for f in fits[:most]]
