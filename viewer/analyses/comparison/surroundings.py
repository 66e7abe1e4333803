"""What else differs between two runs: device, versions, switches of the profiler, as the files state them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from viewer.analyses.comparison.pairing import Pairing
from viewer.store.session import Session

_OF_THE_FILE: Final = frozenset({"trace_id", "traceName", "displayTimeUnit", "schemaVersion", "init_time", "fini_time"})
"""What names a file and not the run."""
MOST: Final = 40
LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the runs state differently, as text; None where a run does not state it."""

    name: str
    base: str | None
    test: str | None


def surroundings(base: Session, test: Session, pairing: Pairing) -> tuple[Difference, ...]:
    """What the paired ranks' files state differently; device and host first, then by name."""
    out = []
    groups = [(p.base.group, p.test.group) for p in pairing.pairs]
    for name, of_base, of_test in (
        ("GPU", _texts(a.gpu for a, _ in groups), _texts(b.gpu for _, b in groups)),
        ("host", _texts(a.host for a, _ in groups), _texts(b.host for _, b in groups)),
    ):
        if of_base != of_test:
            out.append(Difference(name, of_base, of_test))
    facts = [_facts(base, [a.inputs[0] for a, _ in groups]), _facts(test, [b.inputs[0] for _, b in groups])]
    for name in sorted(facts[0].keys() | facts[1].keys()):
        one, other = facts[0].get(name), facts[1].get(name)
        if one != other:
            out.append(Difference(name, one, other))
    return tuple(out[:MOST])


def _texts(values: Iterable[str | None]) -> str | None:
    return ", ".join(sorted({v for v in values if v}))[:LONGEST] or None


def _facts(session: Session, inputs: list[int]) -> dict[str, str]:
    every: dict[str, set[str]] = {}
    for index in dict.fromkeys(inputs):
        for name, value in session.inputs[index].trace.meta.facts.items():
            if name not in _OF_THE_FILE and _plain(value):
                every.setdefault(name, set()).add(str(value))
    return {name: ", ".join(sorted(values))[:LONGEST] for name, values in every.items()}


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))
