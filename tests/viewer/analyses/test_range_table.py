"""The range table against plain counting, and against the report of the same window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import Event, kernel, make_session, make_trace, mark, op, python, row_named
from viewer.analyses.range_table import GROUPINGS, RangeTable, range_index, range_table, runs_in
from viewer.base.errors import Cancelled
from viewer.base.ids import LaneKind, Paint
from viewer.base.work import CancelToken
from viewer.exporters.report import report
from viewer.importers.opening import JobOpener
from viewer.jit import reference as slow
from viewer.jit.range_stats import BLOCK, range_stats
from viewer.store.cache import Cache
from viewer.store.session import Session
from viewer.store.trace import Trace


def whole(session: Session) -> dict[int, None]:
    return {i.index: None for i in session.inputs}


def streams(session: Session) -> dict[int, frozenset[int]]:
    return {
        i.index: frozenset(lane.id for lane in i.trace.lanes if lane.kind == LaneKind.STREAM) for i in session.inputs
    }


def plain(trace: Trace, lo: int, hi: int, key: Any) -> dict[Any, tuple[int, ...]]:
    """(count, cut, union, own, full, least, most) per key, slice by slice and instant by instant."""
    s = trace.slices
    spans = [(int(a), int(a + d)) for a, d in zip(s.start_ns, s.dur_ns, strict=True)]
    touching = [i for i, (a, b) in enumerate(spans) if a < hi and (b > lo or (a == b and a >= lo))]
    out: dict[Any, tuple[int, ...]] = {}
    for k in {key(i) for i in touching}:
        mine = [i for i in touching if key(i) == k]
        cut = {i: slow.clip([spans[i]], lo, hi) for i in mine}
        own = 0
        for i in mine:
            children = [spans[c] for c in range(len(spans)) if int(s.parent[c]) == i]
            own += slow.total(slow.subtract(cut[i], children))
        full = [spans[i][1] - spans[i][0] for i in mine]
        union = slow.total([piece for i in mine for piece in cut[i]])
        out[k] = (len(mine), sum(slow.total(c) for c in cut.values()), union, own, sum(full), min(full), max(full))
    return out


def found(table: RangeTable) -> dict[Any, tuple[int, ...]]:
    columns = (table.count, table.cut, table.union, table.own, table.full, table.least, table.most)
    return {k: tuple(int(c[n]) for c in columns) for n, k in enumerate(table.keys)}


slices = st.tuples(
    st.sampled_from(["kernel", "op", "python", "mark"]),
    st.sampled_from("abc"),
    st.integers(0, 30),
    st.integers(0, 12),
    st.integers(1, 2),
)


def event(kind: str, name: str, start: int, dur: int, where: int) -> Event:
    if kind == "kernel":
        return kernel(name, start, dur, stream=where)
    if kind == "mark":
        return mark(name, start, dur, stream=where)
    return (op if kind == "op" else python)(name, start, dur, tid=where)


@settings(deadline=None, max_examples=150)  # the first call compiles
@given(st.lists(slices, max_size=14), st.integers(-2, 44), st.integers(0, 30))
def test_every_figure_is_what_plain_counting_gives(
    drawn: Sequence[tuple[str, str, int, int, int]], lo: int, length: int
) -> None:
    trace = make_trace(*(event(*d) for d in drawn))
    session = make_session(trace)
    s, hi = trace.slices, lo + length
    keys = {
        "name": lambda i: (trace.name(i), int(s.paint[i])),
        "class": lambda i: (int(s.paint[i]),),
        "category": lambda i: (trace.cat(i),),
        "rank": lambda _: (0,),
        "lane": lambda i: lane_key(trace, i),
    }
    for by in GROUPINGS:
        table = range_table(session, whole(session), {0: (lo, hi)}, by)
        assert found(table) == plain(trace, lo, hi, keys[by])
        (everything,) = plain(trace, lo, hi, lambda _: 0).values() or [(0, 0, 0, 0)]
        assert table.total == everything[:4]
        assert table.total[:2] == (int(table.count.sum()), int(table.cut.sum()))
        assert table.total[3] == int(table.own.sum())


def lane_key(trace: Trace, row: int) -> tuple[Any, ...]:
    lane = trace.lane_of(row)
    return 0, int(lane.kind), lane.pid, lane.tid, lane.device, lane.stream


def test_late_windows_skip_blocks_and_find_what_reaches_into_them() -> None:
    n = 3 * BLOCK
    trace = make_trace(
        python("all along", 0, 10 * n), *(kernel("k", 10 * i, 4) for i in range(n)), kernel("last", 10 * n, 5)
    )
    session = make_session(trace)
    table = range_table(session, whole(session), {0: (10 * n - 20, 10 * n + 2)})
    assert found(table) == {
        ("all along", Paint.PYTHON): (1, 20, 20, 20, 10 * n, 10 * n, 10 * n),
        ("k", Paint.COMPUTE): (2, 8, 8, 8, 8, 4, 4),
        ("last", Paint.COMPUTE): (1, 2, 2, 2, 5, 5, 5),
    }


def test_windows_around_everything_share_their_figures_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_trace(*(kernel(f"k{i % 3}", 10 * i, 7) for i in range(50)))
    session = make_session(trace)
    runs: list[tuple[int, int]] = []

    def counted(*given: Any) -> Any:
        runs.append(given[-2:])
        return range_stats(*given)

    monkeypatch.setattr("viewer.analyses.range_table.range_stats", counted)
    last = 490 + 7
    for lo, hi in ((0, last + 1), (-5, last + 100), (0, last), (1, last + 1), (3, 300), (0, last + 1)):
        table = range_table(session, whole(session), {0: (lo, hi)})
        want = plain(trace, lo, hi, lambda i: (trace.name(i), int(trace.slices.paint[i])))
        assert found(table) == want
    assert len(runs) == 4  # one for all that hold everything


def test_only_the_chosen_lanes_count() -> None:
    trace = make_trace(kernel("a", 0, 10, stream=1), kernel("a", 5, 10, stream=2), op("a", 0, 50), op("b", 10, 5))
    session = make_session(trace)
    second = next(lane.id for lane in trace.lanes if lane.stream == 2)
    table = range_table(session, {0: frozenset({second})}, {0: (0, 100)})
    assert found(table) == {("a", Paint.COMPUTE): (1, 10, 10, 10, 10, 10, 10)}
    both = range_table(session, streams(session), {0: (0, 100)})
    assert found(both) == {("a", Paint.COMPUTE): (2, 20, 15, 20, 20, 10, 10)}


def test_ranks_add_up_and_their_unions_too() -> None:
    a, b = (make_trace(kernel("k", 0, 10), kernel("k", 20, 30), rank=r, path=f"{r}.json") for r in (0, 1))
    session = make_session(a, b)
    table = range_table(session, whole(session), {0: (5, 25), 1: (0, 25)})
    assert found(table) == {("k", Paint.COMPUTE): (4, 25, 25, 25, 80, 10, 30)}
    assert table.span_ns == 45
    assert (int(table.longest_input[0]), int(table.longest_row[0])) == (0, 1)
    by_rank = range_table(session, whole(session), {}, "rank")
    assert by_rank.keys == [(0,), (1,)]
    assert by_rank.span_ns is None


def test_segments_of_a_rank_share_the_range() -> None:
    a = make_trace(kernel("k", 0, 10), rank=0, path="a.json")
    b = make_trace(kernel("k", 100, 10), rank=0, path="b.json")
    session = make_session(a, b)
    table = range_table(session, whole(session), {0: (0, 200), 1: (0, 200)}, "lane")
    assert table.span_ns == 200
    assert len(table) == 1


def test_untimed_gpu_work_is_in_no_figure() -> None:
    far = 10**12
    trace = make_trace(kernel("k", 0, 0), kernel("k", far, 10))
    session = make_session(trace)
    assert found(range_table(session, whole(session), {})) == {("k", Paint.COMPUTE): (1, 10, 10, 10, 10, 10, 10)}


def test_the_runs_of_a_group_are_those_that_were_counted() -> None:
    a = make_trace(kernel("k", 0, 10), kernel("k", 20, 0), kernel("k", 30, 5), op("k", 0, 9), rank=0, path="a.json")
    b = make_trace(kernel("other", 0, 10), rank=1, path="b.json")
    session = make_session(a, b)
    windows = {0: (10, 31), 1: (0, 50)}
    runs = runs_in(session, whole(session), windows, "name", ("k", int(Paint.COMPUTE)))
    assert {i: a.slices.start_ns[r].tolist() for i, r in runs.items()} == {0: [20, 30]}
    of_rank = runs_in(session, whole(session), windows, "rank", (1,))
    assert {i: r.tolist() for i, r in of_rank.items()} == {1: [row_named(b, "other")]}


def test_it_tells_what_is_counted_by_now_and_stops_when_asked() -> None:
    session = make_session(*(make_trace(kernel("k", 0, 10), rank=r, path=f"{r}.json") for r in range(3)))
    told: list[RangeTable] = []
    last = range_table(session, whole(session), {}, tell=lambda table: told.append(table()))
    assert [(t.done, int(t.count[0])) for t in (*told, last)] == [(1, 1), (2, 2), (3, 3)]
    stop = CancelToken()

    def stop_now(_: object) -> None:
        stop.cancel()

    with pytest.raises(Cancelled):
        range_table(session, whole(session), {}, cancel=stop, tell=stop_now)


def test_nothing_in_sight_is_an_empty_table() -> None:
    session = make_session(make_trace(kernel("k", 0, 10)), make_trace(path="empty.json"))
    table = range_table(session, whole(session), {0: (50, 60), 1: (50, 60)})
    assert (len(table), table.total, table.span_ns) == (0, (0, 0, 0, 0), 20)
    assert range_table(session, {}, {}).total == (0, 0, 0, 0)


def test_the_index_is_in_time_order_and_kept() -> None:
    trace = make_trace(op("b", 5, 2), kernel("a", 0, 1), op("c", 1, 9))
    index = range_index(trace)
    assert trace.slices.start_ns[index.order].tolist() == [0, 1, 5]
    assert range_index(trace) is index
    assert len(np.unique(index.kind)) == len(index.lane)


FILES = (
    "kineto-single/xdit_sd35_rank0.json.gz",
    "kineto-single/h100_qwen1.5_0.5b.json.gz",
    "kineto-single/hta_mi250_minitoy_rocm62.json.gz",
    "kineto-multirank/hta_sampled_2rank",
    "kineto-multirank/megatron_tp8_a100",
)


@pytest.mark.parametrize("name", FILES)
def test_the_figures_are_those_of_the_report_of_the_same_window(name: str, shared: Path, tmp_path: Path) -> None:
    session = JobOpener([shared / "data" / name], cache=Cache(tmp_path), workers=2).open().session
    extent, origin = session.extent(), session.origin_ns()
    assert extent is not None
    end = extent.end_ns - origin
    for window in ((end // 3 + 1, end // 2 + 7), (-(10**12), 10**13)):
        told = report(session, window=window)["kernels"]
        raw = {i.index: tuple(i.clock.to_raw(origin + t) for t in window) for i in session.inputs}
        table = range_table(session, streams(session), raw)  # type: ignore[arg-type]
        assert {k["name"] for k in told} == {k[0] for k in table.keys}
        words = {"compute": Paint.COMPUTE, "comm": Paint.COMM, "memory": Paint.MEMORY}
        mine, means = found(table), dict(zip(table.keys, table.means(), strict=True))
        for key, (count, cut, _, _, _, least, most) in mine.items():
            # The report has a row per rule; rules of one name and class are one group here.
            rows = [k for k in told if (k["name"], words[k["class"]]) == key]
            assert count == sum(k["count"] for k in rows)
            assert cut == sum(k["sum_ns"] for k in rows)
            assert (least, most) == (min(k["min_ns"] for k in rows), max(k["max_ns"] for k in rows))
            if len(rows) == 1:
                assert rows[0]["mean_ns"] == means[key]
        assert table.total[1] == sum(k["sum_ns"] for k in told)
    assert table.total[0] > 0  # the last window is everything
