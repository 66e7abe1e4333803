"""The time of spans, charged to one cause each."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.build import Event, annotation, call, copy, kernel, make_session, make_trace
from tests.support.two_runs import a_run
from viewer.analyses.attribution import attribute
from viewer.analyses.comparison.amounts import Amounts, apportioned
from viewer.analyses.comparison.compare import compare
from viewer.analyses.comparison.pairing import pair_runs
from viewer.analyses.comparison.spans import COMM_PARTS, NOT_SEPARABLE, TRANSFER, WAIT, exposed_transfer, span_parts
from viewer.exporters.compare_report import compare_report, encode_compare
from viewer.exporters.compare_summary import compare_summary
from viewer.store.session import Session


def parts_of(session: Session, unit: int = 0):
    return span_parts(session, pair_runs(session, session).pairs[unit].base)


@st.composite
def works(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    one = st.tuples(st.integers(0, 300), st.integers(0, 60), st.integers(0, 2))
    return draw(st.lists(one, min_size=1, max_size=25))


@given(works(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_each_instant_is_charged_once(work: list[tuple[int, int, int]], steps: int):
    makers = (
        lambda n, s, d, c: kernel(f"k{n % 3}", s, d, corr=c, stream=n),
        lambda n, s, d, c: kernel("nccl_AllReduce", s, d, corr=c, stream=100 + n),
        lambda n, s, d, c: copy("Memcpy", s, d, corr=c, stream=200 + n),
    )
    # Calls lie in their step's mark; the work runs whenever it likes, also in another step's span.
    events: list[Event] = [annotation(f"ProfilerStep#{step}", 1_000 * step, 990) for step in range(steps)]
    for number, (start, length, kind) in enumerate(work):
        step = number % steps
        events.append(call("cudaLaunchKernel", 1_000 * step + number, 1, corr=number + 1))
        events.append(makers[kind](number, 1_000 * step + 200 + start, length, number + 1))
    session = make_session(make_trace(*events))
    pairing = pair_runs(session, session)
    unit = pairing.pairs[0].base
    found = span_parts(session, unit)
    trace = session.inputs[0].trace
    for k, span in enumerate(unit.spans):
        truth = attribute(trace, unit.device, (span.start_ns, span.end_ns))
        if truth is None:
            assert found.figures[k].tolist() == [0, 0, 0, 0, 0]
            continue
        assert found.figures[k].tolist() == [
            truth.span_ns,
            truth.compute_ns,
            truth.comm_exposed_ns,
            truth.memory_exposed_ns,
            truth.idle_ns,
        ]
        assert int(found.ns[found.k == k].sum()) == truth.compute_ns
        assert sum(int(ns[k]) for ns in found.idle.values()) == truth.idle_ns
    for before, after in zip(unit.spans, unit.spans[1:], strict=False):
        assert before.end_ns == after.start_ns


@given(works(), works(), st.integers(0, 4), st.integers(0, 4))
@example([(0, 0, 0)], [(0, 0, 0)] * 5 + [(0, 0, 1)], 1, 2)
@settings(max_examples=40, deadline=None)
def test_two_runs_of_anything_add_up(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]], steps: int, more: int
):
    def run(work: list[tuple[int, int, int]], count: int) -> Session:
        events: list[Event] = [annotation(f"ProfilerStep#{k}", 1_000 * k, 990) for k in range(count)]
        for number, (start, length, kind) in enumerate(work):
            at = 1_000 * (number % max(count, 1))
            events.append(call("cudaLaunchKernel", at + number, 1, corr=number + 1))
            name, make = (("gemm", kernel), ("nccl_AllReduce", kernel), ("Memcpy", copy))[kind]
            events.append(make(f"{name}{length % 3}", at + start, length, corr=number + 1, stream=number % 4))
        return make_session(make_trace(*events))

    found = compare(run(one, steps), run(other, more))
    assert found.comparable
    assert found.waterfall is not None
    assert sum(c.delta_ns for c in found.waterfall.causes) == found.waterfall.delta_ns
    assert sum(r.delta_ns for r in found.kernels) == found.delta_ns
    assert found.base_run is not None
    if found.pairing.whole and not found.pairing.by_step:
        assert sum(r.base_ns for r in found.kernels) == sum(length for _, length, _ in one)
    data = compare_report(found)
    assert encode_compare(data)
    assert compare_summary(data)


def test_waiting_and_transfer_by_hand():
    def rank(number: int, arrives: int):
        about = {"group": "0", "group_ranks": "[0, 1]", "group_size": 2, "seq": 1, "in_elems": 8, "dtype": "Float"}
        return make_trace(
            kernel("a", 0, 100),
            kernel("nccl_AllReduce", arrives, 300 - arrives, stream=9, collective="allreduce", about=about),
            path=f"{number}.json",
            rank=number,
            world_size=2,
        )

    session = make_session(rank(0, 50), rank(1, 220))
    first, second = parts_of(session), parts_of(session, 1)
    # Rank 0 arrives 170 before the last one; until 100 its kernel hides the waiting.
    assert first.comm.tolist() == [[120, 0, 80, 0]]
    assert second.comm.tolist() == [[0, 0, 80, 0]]
    assert (COMM_PARTS[WAIT], COMM_PARTS[TRANSFER]) == ("wait", "transfer")
    assert exposed_transfer(session, 0).sum() == 80
    alone = parts_of(make_session(rank(0, 50)))
    assert alone.comm[0, NOT_SEPARABLE] == 200


def test_idle_between_steps_is_told_from_idle_inside():
    found = parts_of(a_run(steps=4, gap_ns=3_000_000, hidden=False))
    between = sum(ns for name, ns in found.idle.items() if name.startswith("between steps"))
    inside = sum(ns for name, ns in found.idle.items() if not name.startswith("between steps"))
    # From the last kernel to the next launch: the pause and 50 us; the first span has no step before it.
    assert between[0] == 0
    assert (between[1:] >= 540_000).all()
    assert (between[1:] <= 600_000).all()
    assert (inside > 1_800_000).all()


@pytest.mark.parametrize(
    ("totals", "count", "parts"),
    [
        ([10, 10, 10], 3, [3, 3, 4]),
        ([7], 2, [4]),
        ([5], 2, [2]),
        ([-7, 3], 2, [-4, 2]),
        ([], 4, []),
        ([1, 1], 4, [0, 0]),
    ],
)
def test_whole_parts_sum_to_the_whole(totals: list[int], count: int, parts: list[int]):
    found = apportioned(totals, count)
    assert sum(found) == sum(parts) == round(sum(totals) / count)
    assert all(abs(f - t / count) < 1 for f, t in zip(found, totals, strict=True))


def test_step_k_counts_from_the_last_where_ranks_hold_different_counts():
    amounts = Amounts()
    amounts.add(0, np.zeros(3, np.int64), np.arange(3), np.array([10, 20, 30]))
    amounts.add(1, np.zeros(2, np.int64), np.arange(2), np.array([4, 6]))
    rows = amounts.by_span([3, 2])(1)
    assert rows is not None
    assert rows.tolist() == [[10, 12, 18]]
    assert amounts.totals(1).tolist() == [70]
