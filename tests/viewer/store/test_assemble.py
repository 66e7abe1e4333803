from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, TEXT_ID, LaneKind, Paint
from viewer.store import arrange
from viewer.store.assemble import assemble
from viewer.store.files import columns_in_memory
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.raw import RawCollectives, RawFlows, RawSlices, RawTrace
from viewer.store.rules import parse_rules, shipped_rules
from viewer.store.schema import TABLES
from viewer.store.trace import Trace

STRINGS = ["kernel", "cpu_op", "gpu_user_annotation", "cuda_sync", "a", "b", "stream 7", "Spans", "ncclDevKernel_X"]
KERNEL, CPU, MARK, SYNC, A, B, STREAM_7, SPANS, NCCL = range(9)


def i64(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def i32(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def trace_of(raw: RawTrace) -> Trace:
    meta = TraceMeta(1, "test", SourceStamp("x", 0, 0, ""), "r")
    return Trace.in_memory(meta, assemble(raw, shipped_rules()))


def rows_of(trace: Trace) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """(lane, depth, [(start, end)]) of every row."""
    r, s = trace.rows, trace.slices
    return [
        (
            int(r.lane[i]),
            int(r.depth[i]),
            [(int(s.start_ns[k]), int(s.start_ns[k] + s.dur_ns[k])) for k in range(r.begin[i], r.end[i])],
        )
        for i in range(len(r))
    ]


def test_nesting_on_threads_and_sub_rows_on_streams() -> None:
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(
            i64(0, 10, 20, 12, 0, 5),
            i64(100, 20, 5, 4, 10, 10),
            i32(A, A, A, B, A, B),
            i32(CPU, CPU, CPU, CPU, KERNEL, KERNEL),
            pid=i64(1, 1, 1, 1, 0, 0),
            tid=i64(9, 9, 9, 9, 7, 7),
        ),
    )
    trace = trace_of(raw)
    assert [lane.kind for lane in trace.lanes] == [LaneKind.STREAM, LaneKind.THREAD]
    assert rows_of(trace) == [
        (0, 0, [(0, 10)]),
        (0, 1, [(5, 15)]),
        (1, 0, [(0, 100)]),
        (1, 1, [(10, 30)]),
        (1, 2, [(12, 16), (20, 25)]),
    ]
    assert trace.slices.parent.tolist() == [-1, -1, -1, 2, 3, 3]
    assert [(lane.row_begin, lane.row_end) for lane in trace.lanes] == [(0, 2), (2, 5)]


def test_marks_and_waits_lie_apart_from_the_work_of_their_stream() -> None:
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(
            i64(0, 0, 0, 0),
            i64(5, 5, 5, 5),
            i32(A, A, A, A),
            i32(KERNEL, MARK, SYNC, CPU),
            pid=i64(0, 0, 0, TEXT_ID | SPANS),
            tid=i64(7, 7, 1_000_007, 1),
            device=i64(3, ABSENT, ABSENT, ABSENT),
        ),
    )
    lanes = trace_of(raw).lanes
    assert [(lane.kind, lane.device, lane.stream) for lane in lanes] == [
        (LaneKind.STREAM, 3, 7),
        (LaneKind.STREAM_MARKS, 0, 7),
        (LaneKind.OTHER, None, None),
    ]


def test_a_stream_that_is_written_as_text() -> None:
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(i64(0), i64(5), i32(A), i32(KERNEL), pid=i64(2), tid=i64(TEXT_ID | STREAM_7)),
    )
    (lane,) = trace_of(raw).lanes
    assert (lane.device, lane.stream, lane.tid) == (2, 7, "stream 7")


def test_collective_metadata_beats_the_name() -> None:
    collectives = RawCollectives(
        i64(0, 2), i32(A, A), *(i64(ABSENT, ABSENT) for _ in range(2)), i32(-1, -1), i64(ABSENT, ABSENT),
        i32(-1, -1), i32(-1, -1), i32(-1, -1), *(i64(ABSENT, ABSENT) for _ in range(6)),
    )  # fmt: skip
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(i64(9, 5, 0), i64(1, 1, 1), i32(A, NCCL, A), i32(KERNEL, KERNEL, CPU)),
        collectives=collectives,
    )
    trace = trace_of(raw)
    assert trace.slices.start_ns.tolist() == [5, 9, 0]
    assert trace.slices.paint.tolist() == [Paint.COMM, Paint.COMM, Paint.OPERATOR]
    assert trace.collectives.slice.tolist() == [1, 2]


def test_other_rules_repaint() -> None:
    raw = RawTrace(list(STRINGS), RawSlices.filled(i64(0, 9), i64(1, 1), i32(A, B), i32(KERNEL, KERNEL)))
    trace = trace_of(raw)
    assert trace.slices.paint.tolist() == [Paint.COMPUTE, Paint.COMPUTE]
    rules = parse_rules(
        'kernel = { role = "gpu_work", why = "x" }',
        '[[rule]]\nid = "b"\nclass = "comm"\nname = "^b$"\nwhy = "x"',
    )
    trace.repaint(rules)
    assert not trace.slices.paint.flags.writeable, "loops are compiled for read-only columns"
    assert trace.slices.paint.tolist() == [Paint.COMPUTE, Paint.COMM]


def test_flows_bind_to_the_deepest_slice_of_their_thread() -> None:
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(
            i64(0, 10, 0, 50),
            i64(100, 20, 100, 10),
            i32(A, B, A, B),
            i32(CPU, CPU, CPU, KERNEL),
            pid=i64(1, 1, 1, 0),
            tid=i64(1, 1, 2, 7),
        ),
        flows=RawFlows.filled(
            i64(200, 15, 40, 30, 55),
            np.frombuffer(b"sstsf", np.uint8),
            i64(1, 2, 3, 4, 5),
            i32(A, A, A, A, A),
            i64(1, 1, 1, 1, 0),
            i64(1, 1, 2, 1, 7),
        ),
    )
    trace = trace_of(raw)
    bound = {
        int(i): None if s == ABSENT else (int(trace.slices.start_ns[s]), trace.lane_of(int(s)).tid)
        for i, s in zip(trace.flows.id, trace.flows.slice, strict=True)
    }
    assert bound == {1: None, 2: (10, "1"), 3: (0, "2"), 4: (10, "1"), 5: (50, "7")}
    assert trace.flows.time_ns.tolist() == [15, 30, 40, 55, 200]


def test_no_slices_at_all() -> None:
    none = i64()
    flows = RawFlows.filled(i64(1), np.frombuffer(b"s", np.uint8), i64(1), i32(A), i64(1), i64(1))
    trace = trace_of(RawTrace(list(STRINGS), RawSlices.filled(none, none, i32(), i32()), flows=flows))
    assert len(trace) == len(trace.rows) == len(trace.lanes) == 0
    assert trace.flows.slice.tolist() == [ABSENT]


slices = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(0, 30),
        st.sampled_from([KERNEL, CPU, MARK]),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(slices)
def test_every_slice_is_kept_and_rows_are_disjoint(given_slices: list[tuple[int, int, int, int, bool]]) -> None:
    start, dur, cat, tid, is_async = (list(c) for c in zip(*given_slices, strict=True)) if given_slices else ([],) * 5
    raw = RawTrace(
        list(STRINGS),
        RawSlices.filled(
            i64(*start),
            i64(*dur),
            i32(*([A] * len(start))),
            i32(*cat),
            tid=i64(*tid),
            corr=np.arange(len(start), dtype=np.int64),
            is_async=np.array(is_async, np.bool_),
        ),
    )
    trace = trace_of(raw)
    s = trace.slices
    assert sorted(s.corr.tolist()) == list(range(len(start)))
    place = {int(c): i for i, c in enumerate(s.corr)}
    for i in range(len(start)):
        assert (s.start_ns[place[i]], s.dur_ns[place[i]]) == (start[i], dur[i])
    keys = [(lane, depth) for lane, depth, _ in rows_of(trace)]
    assert keys == sorted(keys)
    for _, _, spans in rows_of(trace):
        assert spans
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert end <= begin
    for i, parent in enumerate(s.parent):
        if parent >= 0:
            assert s.start_ns[parent] <= s.start_ns[i] < s.start_ns[parent] + s.dur_ns[parent]
            assert trace.lane_of(i) == trace.lane_of(int(parent))


def test_tables_have_their_schema() -> None:
    raw = RawTrace(list(STRINGS), RawSlices.filled(i64(0), i64(1), i32(A), i32(KERNEL)))
    tables = assemble(raw, shipped_rules())
    for table in TABLES:
        columns = columns_in_memory(table, tables.get(table.name) or {})
        assert len(columns) == (1 if table.name in {"slices", "rows", "lanes"} else len(columns))


def test_each_of_very_many_text_ids_is_looked_at_once() -> None:
    """A file may give every event a thread of its own."""
    n = 3_000
    ids = np.arange(n, dtype=np.int64) | TEXT_ID
    strings = [f"stream {i}" if i % 2 else "main" for i in range(n)]
    looked: list[int] = []

    class Listed(list[str]):
        def __getitem__(self, at: Any) -> Any:
            looked.append(at)
            return super().__getitem__(at)

    found = arrange._numbers(np.concatenate([ids, ids, i64(7)]), Listed(strings))
    assert found.tolist() == [*([i if i % 2 else ABSENT for i in range(n)] * 2), 7]
    assert sorted(looked) == list(range(n))
