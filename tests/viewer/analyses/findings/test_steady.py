"""Warm-up steps are set apart; what is left says how long a step is."""

from __future__ import annotations

import pytest

from tests.support.build import annotation, call, kernel, make_session, make_trace
from viewer.analyses.findings.steady import steady_of, steady_steps
from viewer.store.session import Session


def job(*lengths: int, ranks: int = 1) -> Session:
    """Ranks whose steps last so many us, back to back."""
    traces = []
    for rank in range(ranks):
        events, at = [], 0
        for number, us in enumerate(lengths):
            corr = number + 1
            events += [
                annotation(f"ProfilerStep#{number}", at, us * 1000),
                call("cudaLaunchKernel", at + 10, 5, corr=corr),
                kernel("gemm", at + 20, us * 1000 - 20, corr=corr),
            ]
            at += us * 1000
        traces.append(make_trace(*events, rank=rank, path=f"r{rank}.json"))
    return make_session(*traces)


@pytest.mark.parametrize(
    ("lengths", "first"),
    [
        ((900, 400, 100, 102, 98, 101, 99, 100, 100), 2),
        ((100, 101, 99, 100), 0),
        ((130, 100, 100), 1),
        ((900, 800, 700, 600), 1),  # never more than a third
        ((500, 100), 0),  # two steps say nothing about warm-up
        ((100, 100, 900, 100, 100, 100), 0),  # a slow step in the middle is no warm-up
    ],
)
def test_leading_slow_steps_are_warm_up(lengths, first):
    found = steady_steps(job(*lengths))
    assert (found.first, found.count) == (first, len(lengths))
    assert (found.warm_up_ns is None) == (first == 0)


def test_the_step_is_the_median_of_what_is_left():
    session = job(900, 400, 100, 102, 98, 101, 99, 100, 100, ranks=2)
    found = steady_steps(session)
    assert found.step_ns == 100_000
    assert found.warm_up_ns == pytest.approx(650_000, rel=0.001)
    assert found.spread_ns == pytest.approx(1_482, abs=2)
    assert [s.number for s in steady_of(session, 1)] == list(range(2, 9))


def test_a_job_without_steps_has_none():
    found = steady_steps(make_session(make_trace(kernel("gemm", 0, 10))))
    assert (found.step_ns, found.count, found.ranks) == (None, 0, 0)


@pytest.mark.parametrize(
    ("mark", "first", "last", "length"),
    [
        ((0, 100), 50, 120, 100),  # as long as its mark
        ((0, 30), 150, 300, 150),  # a host that runs ahead: as long as its work
        ((0, 5_000), 10, 12, 12),  # begins with its mark, and the work ends in it
        ((0, 5_000), 4_000, 4_020, 4_020),  # a host that is slow before its first launch
    ],
)
def test_a_lone_step_is_as_long_as_its_mark_or_its_work(mark, first, last, length):
    start, end = mark
    events = [annotation("ProfilerStep#7", start, end - start), call("cudaLaunchKernel", start + 1, 1, corr=1)]
    session = make_session(make_trace(*events, kernel("gemm", first, last - first, corr=1)))
    assert steady_steps(session).step_ns == length
