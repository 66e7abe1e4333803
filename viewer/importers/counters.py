"""Values of counter events: a million small args objects, decoded many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from viewer.store.loose_json import loads


@dataclass(slots=True)
class Samples:
    """Samples in the order of the texts; ``at`` are positions in the texts, ``unreadable`` those that make no sense."""

    at: list[int] = field(default_factory=list)
    series: list[str] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)


def samples_of(texts: Sequence[bytes]) -> Samples:
    """Read args objects of counter events: every member that is a number is a sample of its series."""
    out = Samples()
    for at, members in enumerate(_decoded(texts)):
        if not isinstance(members, dict):
            out.unreadable.append(at)
            continue
        for name, given in members.items():
            value = given if type(given) is float else _number(given)
            if value is not None:
                out.at.append(at)
                out.series.append(name)
                out.value.append(value)
    return out


def _decoded(texts: Sequence[bytes]) -> Sequence[Any]:
    try:
        together = msgspec.json.decode(b"[" + b",".join(texts) + b"]")
        if len(together) == len(texts):
            return together  # type: ignore[no-any-return]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    return [_alone(text) for text in texts]


def _alone(text: bytes) -> Any:
    try:
        return loads(text)
    except ValueError:
        return None


def _number(given: Any) -> float | None:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return None
