from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace, op
from viewer.base.selection import SliceRef
from viewer.views.lanes.find_slice import longest_named


def test_gpu_work_goes_before_a_longer_operator_of_the_same_word() -> None:
    session = make_session(
        make_trace(op("c10d::allreduce_", 0, 900)),
        make_trace(op("c10d::allreduce_", 0, 500), kernel("ncclAllReduce", 10, 30), kernel("ncclAllReduce", 50, 40)),
    )
    found = longest_named(session, "allreduce")
    assert isinstance(found, SliceRef)
    trace = session.inputs[found.input].trace
    assert (trace.name(found.index), int(trace.slices.dur_ns[found.index])) == ("ncclAllReduce", 40)


def test_without_gpu_work_the_longest_of_all_files_is_found() -> None:
    session = make_session(make_trace(op("a", 0, 5)), make_trace(op("a", 0, 9)))
    assert longest_named(session, "A") == SliceRef(1, 0)
