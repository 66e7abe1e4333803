from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import Event, call, kernel, make_session, make_trace
from viewer.analyses.counters import series, tracks, value_at
from viewer.analyses.idleness.queue_length import queue_devices, queue_lengths
from viewer.views.lanes.counters import series_names, value_axis, values_at
from viewer.views.lanes.tree import build_tree


def launched(at: int, corr: int, start: int, stream: int = 7) -> list[Event]:
    return [call("cudaLaunchKernel", at, 2, corr=corr), kernel("k", start, 5, corr=corr, stream=stream)]


def test_the_queue_grows_at_the_call_and_shrinks_at_the_start() -> None:
    trace = make_trace(*launched(0, 1, 10), *launched(4, 2, 20), *launched(6, 3, 30), *launched(8, 4, 9, stream=20))
    (first, second) = queue_lengths(trace, 0)
    assert (first[0], first[1].tolist(), first[2].tolist()) == ("stream 7", [0, 4, 6, 10, 20, 30], [1, 2, 3, 2, 1, 0])
    assert (second[0], second[1].tolist(), second[2].tolist()) == ("stream 20", [8, 9], [1, 0])


def test_a_graph_adds_all_its_work_at_once() -> None:
    graph = [call("cudaGraphLaunch", 0, 2, corr=1), *(kernel("k", 10 * i + 10, 5, corr=1) for i in range(3))]
    ((_, times, length),) = queue_lengths(make_trace(*graph), 0)
    assert (times.tolist(), length.tolist()) == ([0, 10, 20, 30], [3, 2, 1, 0])


def test_what_has_no_call_or_starts_before_it_is_left_out() -> None:
    trace = make_trace(*launched(20, 1, 10), kernel("unlinked", 50, 5))
    assert queue_lengths(trace, 0) == ()
    assert queue_devices(make_trace(kernel("k", 0, 5))) == (), "no runtime calls in the file"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12))
def test_the_length_is_what_was_launched_and_has_not_started(pairs: list[tuple[int, int]]) -> None:
    events = [e for i, (at, wait) in enumerate(pairs) for e in launched(at, i + 1, at + wait)]
    found = queue_lengths(make_trace(*events), 0)
    for t in range(-1, 102):
        want = sum(at <= t < at + wait for at, wait in pairs)
        if not found:
            assert want == 0
            continue
        _, times, length = found[0]
        i = int((times <= t).sum()) - 1
        assert (int(length[i]) if i >= 0 else 0) == want


def test_it_is_a_counter_that_shows_when_asked_for() -> None:
    trace = make_trace(*launched(0, 1, 10), *launched(4, 2, 20, stream=9), counters=[(3, "1", "memory", "used", 5.0)])
    session = make_session(trace)
    assert [t.name for t in tracks(trace)] == ["memory", "launch queue"]
    (one, _) = series(trace, tracks(trace)[1])
    assert value_at(one, 5) == 1.0

    def lanes(on: bool) -> list[str]:
        return [row.label for g in build_tree(session.with_queue_lanes(on)) for row in g.lanes if row.counters]

    assert lanes(on=False) == ["memory"]
    assert lanes(on=True) == ["memory", "launch queue"]
    shown = session.with_queue_lanes(True)
    (lane,) = [row for g in build_tree(shown) for row in g.lanes if row.label == "launch queue"]
    assert series_names(shown, lane) == ["stream 7", "stream 9"]
    assert values_at(shown, lane, 5) == ("stream 7: 1", "stream 9: 1")
    assert value_axis(shown, lane).high == 1.0
