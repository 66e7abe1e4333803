"""Finding names over all ranks, against a plain walk over every slice."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import call, kernel, make_session, make_trace, op
from viewer.analyses.query import QueryError
from viewer.analyses.search import MOST_PATTERN, Hits, Wanted, search
from viewer.base.errors import Cancelled
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session

NAMES = ("gemm_a", "GEMM_B", "ncclDevKernel_AllReduce", "aten::mm", "(a+)+$", "naïve Ünicode", "")


def job() -> Session:
    return make_session(
        *(
            make_trace(
                *(kernel(NAMES[(k + r) % 7], 100 * k + 10 * r, 50) for k in range(14)),
                op("aten::mm", 5 + r, 400, tid=100),
                call("cudaLaunchKernel", 20, 10, tid=100),
                rank=r,
                path=f"rank{r}.json",
                base_ns=1000 * r,
            )
            for r in range(3)
        )
    )


def walked(session: Session, keep: Callable[[str], object]) -> list[tuple[int, int, int]]:
    """(start, input, row) of every slice whose name is kept, in order."""
    return sorted(
        (item.clock.to_session(int(item.trace.slices.start_ns[row])), item.index, row)
        for item in session.inputs
        for row in range(len(item.trace))
        if keep(item.trace.name(row))
    )


def listed(hits: Hits) -> list[tuple[int, int, int]]:
    return sorted((int(s), p.input, int(r)) for p in hits.parts for s, r in zip(p.starts, p.rows, strict=True))


@pytest.mark.parametrize(
    ("wanted", "keep"),
    [
        (Wanted("gemm"), lambda n: "gemm" in n.lower()),
        (Wanted("gemm", case=True), lambda n: "gemm" in n),
        (Wanted("gemm_[ab]$", regex=True), lambda n: re.search("gemm_[ab]$", n, re.IGNORECASE)),
        (Wanted("gemm_[ab]$", regex=True, case=True), lambda n: re.search("gemm_[ab]$", n)),
        (Wanted("(a+)+$"), lambda n: "(a+)+$" in n),
        (Wanted("aten::mm"), lambda n: n == "aten::mm"),
        (Wanted("ünicode"), lambda n: "Ünicode" in n),
        (Wanted("nothing of that name"), lambda _: False),
        (Wanted(".", regex=True), lambda n: n != ""),
        (Wanted(""), lambda _: False),
    ],
)
def test_hits_are_those_of_a_plain_walk(wanted: Wanted, keep: Callable[[str], object]) -> None:
    session = job()
    hits = search(session, wanted)
    expected = walked(session, keep)
    assert listed(hits) == expected
    assert hits.count == len(expected)
    assert all((np.diff(p.rows) > 0).all() for p in hits.parts)


def test_conditions_of_filters_can_be_searched_for() -> None:
    session = job()
    hits = search(session, Wanted("rank:1 stream:7 gemm"))
    assert {p.input for p in hits.parts} == {1}
    assert hits.count == 4
    assert search(session, Wanted("dur:>300ns")).count == 3
    with pytest.raises(QueryError, match="dur:banana"):
        search(session, Wanted("dur:banana"))


def test_a_bad_expression_is_one_sentence() -> None:
    for text, reason in (("gemm(", "missing"), ("(?<=a)b", "look-around")):
        with pytest.raises(QueryError, match=reason) as caught:
            Wanted(text, regex=True).check()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300
    with pytest.raises(QueryError, match="at most"):
        Wanted("x" * (MOST_PATTERN + 1)).check()


def test_hostile_expressions_and_names_take_linear_time() -> None:
    """Backtracking would need 2**30 steps for these; RE2 needs one pass."""
    session = make_session(make_trace(kernel("a" * 30_000 + "!", 0, 5), kernel("aaab", 10, 5), rank=0))
    assert search(session, Wanted("^(a+)+$", regex=True)).count == 0
    assert search(session, Wanted("^(a|aa)+b$", regex=True)).count == 1


def test_it_stops_on_request() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        search(job(), Wanted("gemm"), token)


def test_walking_visits_every_hit_once_in_time_order_and_begins_again() -> None:
    session = job()
    hits = search(session, Wanted("gemm"))
    order = listed(hits)
    first = hits.from_time(-(2**63))
    assert first == SliceRef(*order[0][1:])
    at, seen = first, []
    for number, (start, _, _) in enumerate(order, 1):
        assert at is not None
        assert hits.position(start, at) == number
        assert at in hits
        seen.append((start, at.input, at.index))
        at = hits.step(start, at, 1)
    assert seen == order
    assert at == first
    assert hits.step(order[0][0], first, -1) == SliceRef(*order[-1][1:])
    for (start, item, row), before in zip(order[1:], order, strict=False):
        assert hits.step(start, SliceRef(item, row), -1) == SliceRef(*before[1:])


@settings(max_examples=60)
@given(st.integers(-200, 4000), st.integers(0, 2), st.integers(0, 15), st.sampled_from([1, -1]))
def test_stepping_from_anywhere(start: int, item: int, row: int, direction: int) -> None:
    hits = search(SESSION, Wanted("gemm"))
    order = listed(hits)
    here = (start, item, row)
    if direction > 0:
        expected = next((k for k in order if k > here), order[0])
    else:
        expected = next((k for k in reversed(order) if k < here), order[-1])
    assert hits.step(start, SliceRef(item, row), direction) == SliceRef(*expected[1:])
    later = next((k for k in order if k[0] >= start), order[0])
    assert hits.from_time(start) == SliceRef(*later[1:])


SESSION = job()


def test_counts_per_lane_and_density_add_up() -> None:
    session = job()
    hits = search(session, Wanted("mm"))
    lanes = hits.per_lane(session)
    assert sum(lanes.values()) == hits.count
    for (item, lane), number in lanes.items():
        trace = session.inputs[item].trace
        rows = next(p.rows for p in hits.parts if p.input == item)
        assert number == sum(trace.lane_of(int(r)).id == lane for r in rows)
    extent = session.extent()
    assert extent is not None
    assert int(hits.density(extent, 16).sum()) == hits.count
    assert Hits().density(TimeRange(0, 10), 4).tolist() == [0, 0, 0, 0]
    assert Hits().from_time(0) is None
    assert Hits().step(0, SliceRef(0, 0), 1) is None
    assert SliceRef(0, 0) not in Hits()
