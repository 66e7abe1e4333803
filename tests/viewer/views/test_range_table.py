"""Scope, columns, filter, totals and steps of the range table."""

from __future__ import annotations

import pytest

from tests.support.build import copy, kernel, make_session, make_trace, op
from viewer.analyses.query import QueryError
from viewer.base.column_frame import COUNT, NS, SHARE, TEXT, Column, ColumnFrame
from viewer.base.ids import Paint
from viewer.base.selection import EMPTY, Selection, SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.lanes.tree import build_tree
from viewer.views.range_table import ALL, CPU, GPU, RangeView, compute, matching, runs, scope_of, totals


def job() -> Session:
    return make_session(
        *(
            make_trace(
                op("aten::mm", 0, 60),
                kernel("gemm", 10, 20),
                kernel("gemm", 50, 10),
                kernel("ncclDevKernel_AllReduce", 20, 40, stream=20),
                copy("Memcpy DtoD", 90, 10),
                rank=rank,
                path=f"{rank}.json",
            )
            for rank in range(2)
        )
    )


def table(session: Session, selection: Selection = EMPTY, by: str = "name", what: str = GPU) -> RangeView:
    window = TimeRange(session.origin_ns() - 10, session.origin_ns() + 90)
    return compute(session, scope_of(session, selection, window, what), by)


def rows(view: RangeView) -> dict[str, list[str]]:
    return {c[0]: c[1:] for c in ([col.shown(r) for col in view.frame.columns] for r in range(len(view.frame)))}


def test_the_rows_of_a_job() -> None:
    found = rows(table(job()))
    assert found["gemm"] == ["4", "60 ns", "60 ns", "60 ns", "10 ns", "15 ns", "20 ns", "30.0 %"]
    assert found["ncclDevKernel_AllReduce"] == ["2", "80 ns", "80 ns", "80 ns", "40 ns", "40 ns", "40 ns", "40.0 %"]
    assert set(found) == {"gemm", "ncclDevKernel_AllReduce", "Memcpy DtoD"}


def test_every_column_but_the_first_says_how() -> None:
    assert all(c.how for c in table(job()).frame.columns[1:])


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("class", {"compute", "communication", "memory"}),
        ("category", {"kernel", "gpu_memcpy"}),
        ("rank", {"rank 0", "rank 1"}),
        ("lane", {f"rank {r} · stream {s}" for r in (0, 1) for s in (7, 20)}),
    ],
)
def test_other_groupings_name_their_rows(by: str, names: set[str]) -> None:
    assert set(rows(table(job(), by=by))) == names


def test_a_range_goes_before_the_window_and_a_rank_before_all() -> None:
    session = job()
    chosen = TimeRange(session.origin_ns(), session.origin_ns() + 10)
    view = table(session, Selection(range=chosen, group=1))
    assert rows(view)["gemm"][:3] == ["1", "10 ns", "10 ns"]
    assert view.scope.text.startswith("Range 0.000000 ms to 0.000010 ms (10 ns) · rank 1")
    assert "Visible window" in table(session).scope.text


def test_which_lanes_count() -> None:
    session = job()
    assert set(rows(table(session, what=CPU))) == {"aten::mm"}
    assert {"aten::mm", "gemm"} <= set(rows(table(session, what=ALL)))
    stream = next(row for row in build_tree(session)[1].lanes if "20" in row.label)
    chosen = table(session, Selection(group=0, lanes=frozenset((stream.key,))), what=CPU)
    assert rows(chosen)["ncclDevKernel_AllReduce"][0] == "1"
    assert chosen.scope.text.endswith("1 chosen lane")


def test_totals_add_up_and_say_no_union_of_some_rows() -> None:
    view = table(job())
    whole = totals(view, None)
    assert whole[:5] == ("3 rows", "8", "160 ns", "120 ns", "160 ns")
    some = totals(view, matching(view.frame, "gemm"))
    assert some[:5] == ("1 row of 3", "4", "60 ns", "", "60 ns")


def test_the_filter_speaks_the_language_of_filters() -> None:
    view = table(job())
    names = view.frame.columns[0].values

    def kept(text: str) -> set[str]:
        keep = matching(view.frame, text)
        return set(names) if keep is None else {n for n, k in zip(names, keep, strict=True) if k}

    assert kept("") == set(names)
    assert kept("GEMM") == {"gemm"}
    assert kept("-gemm -memcpy") == {"ncclDevKernel_AllReduce"}
    assert kept("class:comm,memory") == {"ncclDevKernel_AllReduce", "Memcpy DtoD"}
    assert kept("dur:>20ns") == {"ncclDevKernel_AllReduce"}
    assert kept("name:/^g.*m$/") == {"gemm"}
    with pytest.raises(QueryError, match="not filtered by it"):
        kept("stream:7")
    lanes = table(job(), by="lane").frame
    keep = matching(lanes, 'lane:"rank 1"')
    assert keep is not None
    assert int(keep.sum()) == 2


def test_runs_are_walked_in_time_order_across_ranks_and_round_the_end() -> None:
    session = job()
    view = table(session)
    row = [k[0] for k in view.table.keys].index("gemm")
    found = runs(view, row)
    assert set(found.by_input) == {0, 1}
    seen, now = [], None
    for _ in range(5):
        now = found.step(now, True)
        assert now is not None
        seen.append((now.input, int(session.inputs[now.input].trace.slices.start_ns[now.index])))
    assert seen == [(0, 10), (1, 10), (0, 50), (1, 50), (0, 10)]
    assert found.step(SliceRef(0, 10_000), False) == found.step(found.step(None, True), False)
    assert view.longest(row).input == 0


def test_records_are_exact() -> None:
    frame = ColumnFrame(
        (
            Column("Name", "", TEXT, ["a\tb", "c"]),
            Column("Count", "", COUNT, [1_234, 5]),
            Column("Sum", "", NS, [1_234_567, None]),
            Column("Share", "", SHARE, [0.25, None]),
        ),
        [Paint.COMM, None],
    )
    assert frame.records([1, 0]) == [
        ["Name", "Count", "Sum (ns)", "Share", "Class"],
        ["c", "5", "", "", ""],
        ["a b", "1234", "1234567", "0.25", "communication"],
    ]
    assert [c.shown(0) for c in frame.columns] == ["a\tb", "1,234", "1.235 ms", "25.0 %"]
