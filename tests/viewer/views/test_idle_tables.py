from __future__ import annotations

from tests.support.build import make_session, make_trace, row_named
from tests.support.host_job import HostJob
from tests.viewer.analyses.idleness.test_profile import eager
from tests.viewer.analyses.idleness.test_serial import COMPUTE, work
from viewer.analyses.idleness import serial
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.views.idle_tables import FORCED, serial_frame, stretches_frame


def test_stretches_with_their_place() -> None:
    frame = stretches_frame(make_session(make_trace(*eager(12), rank=3)), None)
    assert frame.sentence == "11 kernels wait 385.0 us for their own launches, in 1 stretch."
    assert frame.gaps is not None
    (row,) = frame.gaps.rows
    assert row[:7] == ("385.000 us", "87.5 %", "11", "5.000 us", "385.000 us", "rank 3", "–")
    assert frame.gaps.jumps == [Selection(range=TimeRange(13_000, 453_000), group=0)]
    assert all(frame.gaps.how)
    none = stretches_frame(make_session(HostJob().trace()), None)
    assert none.gaps is None
    assert none.sentence.startswith("No launch-bound stretch")


def test_streams_in_series_with_what_forced_them() -> None:
    trace = make_trace(*COMPUTE, *work("ncclDevKernel_AllReduce", 10, 601, 200, 2))
    frame = serial_frame(make_session(trace), None)
    assert frame.sentence == (
        "At most 200 ns could be hidden by overlapping streams; most of it was put in order so: one stream for both."
    )
    assert frame.gaps is not None
    assert frame.gaps.rows[0][:4] == ("200 ns", "1", "7 → 7", "one stream for both")
    assert frame.gaps.jumps == [SliceRef(0, row_named(trace, "ncclDevKernel_AllReduce"))]
    assert all(frame.gaps.how)
    assert serial_frame(make_session(make_trace(*COMPUTE)), None).gaps is None


def test_every_reason_has_its_words() -> None:
    assert set(FORCED) == set(serial.FORCED)
