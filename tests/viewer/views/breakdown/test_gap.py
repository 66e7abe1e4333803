from __future__ import annotations

from tests.support.build import call, copy, kernel, make_session, make_trace, op, row_named, rows_named
from tests.support.panel_frames import figure, section, table, unexplained, values
from viewer.analyses.idleness.profile import idleness
from viewer.base.frames import PanelFrame
from viewer.base.selection import GapRef, Selection, SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.breakdown.gap import gap_frame
from viewer.views.breakdown.panel import breakdown
from viewer.views.gaps import gap_target


def gap(session: Session, near: str, start: int, end: int, at: int = 0) -> PanelFrame:
    """The gap [start, end) of raw time on the lane of a slice."""
    item = session.inputs[0]
    lane = item.trace.lane_of(rows_named(item.trace, near)[at]).id
    clock = item.clock
    return breakdown(session, Selection(gap=GapRef(0, lane, TimeRange(clock.to_session(start), clock.to_session(end)))))


def drained() -> Session:
    """The device runs dry at 200 under a synchronisation that returns at 300; the next launch begins at 350."""
    return make_session(
        make_trace(
            call("cudaLaunchKernel", 0, 10, corr=1),
            kernel("first", 50, 150, corr=1),
            call("cudaStreamSynchronize", 100, 200, corr=5),
            op("aten::add", 310, 100),
            call("cudaLaunchKernel", 350, 10, corr=2),
            kernel("second", 400, 50, corr=2),
            base_ns=1_000_000,
        )
    )


def test_length_place_and_neighbours() -> None:
    session = drained()
    frame = gap(session, "first", 200, 400)
    trace = session.inputs[0].trace
    assert frame.title == "Gap on stream 7"
    assert values(frame, "Gap") == {
        "length": "200 ns",
        "start": "0.000150 ms",
        "end": "0.000350 ms",
        "previous": "first",
        "next": "second",
    }
    assert figure(frame, "Gap", "previous").jump == SliceRef(0, row_named(trace, "first"))
    assert figure(frame, "Gap", "next").jump == SliceRef(0, row_named(trace, "second"))


def test_an_idle_device_is_split_into_host_and_launch() -> None:
    frame = gap(drained(), "first", 200, 400)
    assert values(frame, "The device meanwhile")["the device was"] == "idle: nothing ran on any stream"
    why = values(frame, "Why the device was idle")
    assert why["host"] == "150 ns · 75.0 %"
    assert why["launch"] == "50 ns · 25.0 %"
    assert why["dependency"] == "0 ns · 0.0 %"
    assert why["sum = idle"] == "200 ns"
    assert why["host: after a sync"] == "150 ns · 100.0 % of host"
    bar = section(frame, "Why the device was idle").bar
    assert bar is not None
    assert sum(ns for _, ns, _ in bar.parts) == bar.total_ns == 200


def test_the_call_that_emptied_the_queue_is_named() -> None:
    session = drained()
    frame = gap(session, "first", 200, 400)
    found = values(frame, "What emptied the queue")
    assert found["blocking call"] == "cudaStreamSynchronize"
    assert (found["it lasted"], found["returned after"]) == ("200 ns", "100 ns")
    row = row_named(session.inputs[0].trace, "cudaStreamSynchronize")
    assert figure(frame, "What emptied the queue", "blocking call").jump == SliceRef(0, row)


def test_what_the_launching_thread_did_by_own_time() -> None:
    found = table(gap(drained(), "first", 200, 400), "The launching thread during the gap")
    assert [(r[0], r[1]) for r in found.rows] == [
        ("cudaStreamSynchronize", "100 ns"),
        ("aten::add", "80 ns"),
        ("(nothing recorded)", "10 ns"),
        ("cudaLaunchKernel", "10 ns"),
    ]
    assert sum(k[1] for k in found.keys) == 200


def test_the_next_slice_tells_when_it_was_queued() -> None:
    found = values(gap(drained(), "first", 200, 400), "The next slice on this stream")
    assert found["launched by"] == "cudaLaunchKernel"
    assert found["queue was empty for"] == "150 ns · 75.0 %"
    assert found["then launch took"] == "50 ns"


def test_work_that_was_queued_waited_for_something_else() -> None:
    session = make_session(
        make_trace(
            call("cudaLaunchKernel", 0, 10, corr=1),
            call("cudaLaunchKernel", 20, 10, corr=2),
            kernel("first", 50, 50, corr=1),
            kernel("other", 90, 10_000, stream=9),
            kernel("second", 20_000, 50, corr=2),
        )
    )
    frame = gap(session, "first", 100, 20_000)
    assert values(frame, "The next slice on this stream")["already queued for"] == "80 ns"
    device = values(frame, "The device meanwhile")
    assert device["the device was"] == "partly idle: other streams worked"
    assert device["other streams worked"] == "9.990 us · 50.2 %"
    assert device["device idle"] == "9.910 us · 49.8 %"
    assert table(frame, "The device meanwhile").rows == [("other", "9", "9.990 us")]
    why = values(frame, "Why the device was idle")
    assert why["dependency"] == "9.910 us · 100.0 %"
    assert why["waited: after another stream"] == "9.910 us · 100.0 % of dependency"
    assert "Inferred" in figure(frame, "Why the device was idle", "waited: after another stream").how
    assert "had been launched before" in section(frame, "What emptied the queue").note


def test_a_device_busy_elsewhere_has_no_idle_cause() -> None:
    session = make_session(make_trace(kernel("a", 0, 10), copy("Memcpy DtoD", 0, 100, stream=9), kernel("b", 50, 10)))
    frame = gap(session, "a", 10, 50)
    assert values(frame, "The device meanwhile")["the device was"] == "busy all the time on other streams"
    assert "Why the device was idle" not in [s.title for s in frame.sections]


def test_without_a_link_the_cause_is_unknown_and_said_so() -> None:
    session = make_session(make_trace(kernel("a", 0, 10), kernel("b", 50, 10)))
    frame = gap(session, "a", 10, 50)
    assert values(frame, "Why the device was idle")["unknown"] == "40 ns · 100.0 %"
    assert "No launch call" in section(frame, "The next slice on this stream").note
    assert "not known" in section(frame, "What emptied the queue").note


def test_neighbours_on_overlapping_sub_rows() -> None:
    session = make_session(make_trace(kernel("a", 0, 30), kernel("b", 10, 30), kernel("c", 100, 5)))
    assert values(gap(session, "a", 40, 100), "Gap")["previous"] == "b"


def test_a_gap_on_a_thread_and_at_the_ends_of_a_lane() -> None:
    session = make_session(make_trace(op("a", 0, 10), op("b", 50, 10), kernel("k", 5, 10)))
    frame = gap(session, "a", 10, 50)
    assert (values(frame, "Gap")["previous"], values(frame, "Gap")["next"]) == ("a", "b")
    assert "slept" in section(frame, "Why").note
    last = gap(session, "k", 15, 60)
    assert figure(last, "Gap", "next").tone == "muted"
    assert "There is none" in section(last, "The next slice on this stream").note


def test_every_figure_says_how_it_was_computed() -> None:
    frames = [
        gap(drained(), "first", 200, 400),
        gap(drained(), "first", 200, 300),
        gap(drained(), "aten::add", 300, 310),
    ]
    assert [unexplained(f) for f in frames] == [[], [], []]


def test_a_gap_that_is_gone_is_no_error() -> None:
    assert breakdown(drained(), Selection(gap=GapRef(5, 0, TimeRange(0, 1)))).title == "Nothing is selected"
    assert breakdown(drained(), Selection(gap=GapRef(0, 99, TimeRange(0, 1)))).title == "Nothing is selected"


def test_the_call_that_drained_the_queue_is_told_with_its_line() -> None:
    from tests.support.host_job import HostJob

    trace = HostJob(faults=("sync",)).trace()
    session = make_session(trace)
    book = idleness(trace, 0)
    assert book is not None
    inside = next(g for g in book.book.gaps if g.cause == "sync-drain" and not g.between)
    frame = gap_frame(session, gap_target(session.inputs[0], inside))
    why = values(frame, "What emptied the queue")
    assert (why["blocking call"], why["inside"], why["called at"]) == (
        "cudaStreamSynchronize",
        "aten::item",
        "train.py(12): check",
    )
    assert figure(frame, "What emptied the queue", "called at").jump is not None
