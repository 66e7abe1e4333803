"""The parts of exposed communication against a count of every single instant."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.collective.exposed_parts import Hiding, Kernels, Part, split

IDEAL = {Hiding.UNKNOWN: Part.UNHIDDEN, Hiding.STRUCTURAL: Part.STRUCTURAL, Hiding.SERIALISED: Part.SERIALISED}


def kernels(rows: list[dict[str, Any]]) -> Kernels:
    """Kernels in the order of (start, given order), which is that of their streams."""
    rows.sort(key=lambda r: r["at"][0])

    def column(i: int) -> Any:
        return np.array([r["at"][i] for r in rows], np.int64)

    return Kernels(
        start=column(0),
        arrived=column(1),
        ideal=column(2),
        volume=column(3),
        end=column(4),
        known=np.array([r["known"] for r in rows], np.bool_),
        rest=np.array([r["rest"] for r in rows], np.uint8),
        hiding=np.array([r["hiding"] for r in rows], np.uint8),
        pipeline=np.array([r["pipeline"] for r in rows], np.bool_),
    )


def one(**more: Any) -> dict[str, Any]:
    """A kernel from 0 to 100 whose last member came at 20, and whose bytes take 30 + 10 at the baseline."""
    usual = {"at": (0, 20, 50, 60, 100), "known": True, "rest": Part.RATE, "hiding": Hiding.UNKNOWN, "pipeline": False}
    return {**usual, **more}


def by_part(found: Any) -> dict[Part, int]:
    return {Part(i): int(v) for i, v in enumerate(found.parts.sum(axis=1)) if v}


def whole(*pairs: tuple[int, int]) -> Any:
    return np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64)


def test_one_kernel_is_wait_then_ideal_then_volume_then_rate() -> None:
    found = split(kernels([one()]), whole((0, 100)))
    assert by_part(found) == {Part.WAIT: 20, Part.UNHIDDEN: 30, Part.VOLUME: 10, Part.RATE: 40}
    assert found.transfers.sum(axis=1).tolist() == [80, 0, 0]


def test_what_compute_hides_is_in_no_part() -> None:
    found = split(kernels([one(hiding=Hiding.SERIALISED)]), whole((10, 30), (90, 100)))
    assert by_part(found) == {Part.WAIT: 10, Part.SERIALISED: 10, Part.RATE: 10}


def test_an_instant_shared_with_a_transfer_is_transfer_and_belongs_to_the_first() -> None:
    waiting, moving = one(at=(0, 90, 90, 90, 100)), one(at=(30, 40, 60, 60, 70), hiding=Hiding.STRUCTURAL)
    found = split(kernels([waiting, moving]), whole((0, 100)))
    assert by_part(found) == {Part.WAIT: 60, Part.STRUCTURAL: 20, Part.RATE: 20}
    assert found.parts.sum(axis=0).tolist() == [100, 0]


def test_unknown_beside_waiting_cannot_be_told_and_a_pipelines_wait_is_apart() -> None:
    receive, dark = one(at=(0, 80, 80, 80, 80), pipeline=True), one(at=(50, 50, 50, 50, 70), known=False)
    found = split(kernels([receive, dark]), whole((0, 80)))
    assert by_part(found) == {Part.PIPELINE_WAIT: 60, Part.NOT_MATCHED: 20}


@st.composite
def some(draw: st.DrawFn) -> list[dict[str, Any]]:
    number = st.integers(0, 40)
    return [
        one(
            at=tuple(sorted(draw(st.lists(number, min_size=5, max_size=5)))),
            known=draw(st.booleans()),
            rest=draw(st.sampled_from([Part.RATE, Part.NO_BASELINE, Part.MEMBERS_MISSING])),
            hiding=draw(st.sampled_from(list(Hiding))),
            pipeline=draw(st.booleans()),
        )
        for _ in range(draw(st.integers(0, 6)))
    ]


def instant(found: Kernels, t: int) -> tuple[int, Part, Hiding | None] | None:
    """Whose an instant is, what it is and why nothing hid it: word by word as it is defined."""
    active = [i for i in range(len(found)) if found.start[i] <= t < found.end[i]]
    if not active:
        return None
    owner = active[0]
    moving = [i for i in active if found.known[i] and t >= found.arrived[i]]
    if moving:
        by = min(moving, key=lambda i: (found.arrived[i], i))
        why = Hiding(int(found.hiding[by]))
        if t < found.ideal[by]:
            return owner, IDEAL[why], why
        return owner, (Part.VOLUME if t < found.volume[by] else Part(int(found.rest[by]))), why
    if any(not found.known[i] for i in active):
        return owner, Part.NOT_MATCHED, None
    return owner, (Part.PIPELINE_WAIT if found.pipeline[owner] else Part.WAIT), None


@given(some(), st.lists(st.integers(0, 40), max_size=8, unique=True))
def test_every_instant_is_what_the_definition_says(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    found = kernels(rows)
    cuts = sorted(cuts)[: len(cuts) // 2 * 2]
    exposed = whole(*zip(cuts[::2], cuts[1::2], strict=True))
    parts, transfers = np.zeros((len(Part), len(rows)), int), np.zeros((len(Hiding), len(rows)), int)
    for a, b in zip(*exposed, strict=True):
        for t in range(a, b):
            told = instant(found, t)
            if told is not None:
                parts[told[1], told[0]] += 1
                if told[2] is not None:
                    transfers[told[2], told[0]] += 1
    got = split(found, exposed)
    assert got.parts.tolist() == parts.tolist()
    assert got.transfers.tolist() == transfers.tolist()
