from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from tests.support.build import kernel, make_session, make_trace, rows_named
from tests.support.ranks import RankJob
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.app.clocks import settle_clocks
from viewer.base.frames import Section
from viewer.base.selection import Selection, SliceRef
from viewer.store.session import Session
from viewer.views.breakdown.panel import breakdown


@lru_cache
def job(without: tuple[int, ...] = ()) -> Session:
    made = RankJob(ranks=4, steps=6, offsets={1: 250_000}, late_ns={2: 2_000_000}, without_file=without)
    return settle_clocks(made.session(), "auto")


def kernel_row(session: Session, source: int, kind: Kind, nth: int) -> int:
    table = operations(session.inputs[source].trace)
    return int(table.row[np.flatnonzero(table.kind == kind)[nth]])


def world_operation(session: Session, source: int = 0, step: int = 1) -> int:
    """The fifth reduction of a step is the world's."""
    return kernel_row(session, source, Kind.ALL_REDUCE, 5 * step + 4)


def sections(session: Session, source: int, row: int) -> dict[str, Section]:
    frame = breakdown(session, Selection(slice=SliceRef(source, row)))
    return {s.title: s for s in frame.sections}


def values(section: Section) -> dict[str, str]:
    return {f.label: f.value for f in section.figures}


def test_a_collective_on_all_its_ranks() -> None:
    session = job()
    found = sections(session, 0, world_operation(session))["On all ranks"]
    told = values(found)
    assert told["operation"] == "allreduce"
    assert told["group"] == "world · ranks 0–3"
    assert told["bytes"] == "2 MiB (2,097,152 B)"
    assert told["last to arrive"].startswith("rank 2, ")
    assert told["wait"].startswith(("1.", "2."))
    assert "undecided" not in told
    transfer = int(told["transfer"].split("(")[1].split(" ")[0].replace(",", ""))
    assert told["algbw"] == f"{2_097_152 / transfer:,.4g} GB/s"
    assert told["busbw"] == f"{1.5 * 2_097_152 / transfer:,.4g} GB/s"
    bars = found.bars
    assert bars is not None
    assert [(b.label, b.badge, b.chosen) for b in bars.bars] == [
        ("rank 0", "", True), ("rank 1", "", False), ("rank 2", "last", False), ("rank 3", "", False)
    ]  # fmt: skip
    last = bars.bars[2]
    assert (last.wait_ns, last.start_ns) == (0, bars.line_ns)
    assert all(b.start_ns + b.wait_ns == bars.line_ns for b in bars.bars)
    assert bars.doubt_ns is not None
    assert bars.doubt_ns < 10_000
    assert last.jump == SliceRef(2, world_operation(session, 2))
    assert found.table is not None
    assert [row[0] for row in found.table.rows] == ["rank 0 (this)", "rank 1", "rank 2 last", "rank 3"]


def test_its_time_on_all_its_lanes_is_one_click() -> None:
    session = job()
    found = sections(session, 0, world_operation(session))["On all ranks"]
    (text, chosen), (other, last) = found.actions
    assert text == "Select on all ranks"
    assert isinstance(chosen, Selection)
    assert chosen.lanes == {f"rank {r}/stream 0:20" for r in range(4)}
    assert chosen.range is not None
    assert found.bars is not None
    assert chosen.range.length_ns == found.bars.span_ns
    assert (other, last) == ("Last to arrive: rank 2", SliceRef(2, world_operation(session, 2)))


def test_what_made_the_last_rank_late_is_named() -> None:
    session = job()
    row = kernel_row(session, 0, Kind.ALL_REDUCE, 5)  # the first of the second step: rank 2's gemm is longer
    assert "What made the last rank late" in sections(session, 0, row)
    row = kernel_row(session, 3, Kind.ALL_REDUCE, 5)
    (figure,) = sections(session, 3, row)["What made the last rank late"].figures
    assert figure.label == "1. rank 2"
    assert figure.value.startswith("kernel of 8.000 ms (2.000 ms beyond its peers): gemm")
    assert figure.jump == SliceRef(2, rows_named(session.inputs[2].trace, "gemm")[1])


def test_missing_members_make_bounds() -> None:
    session = job(without=(2, 3))
    found = sections(session, 0, world_operation(session))["On all ranks"]
    told = values(found)
    assert told["not open"] == "ranks 2, 3"
    assert told["wait"].startswith("at least ")
    assert told["transfer"].startswith("at most ")
    assert told["busbw"].startswith("at least ")


def test_clocks_that_are_not_aligned_are_said_and_the_shortest_kernel_was_last() -> None:
    session = settle_clocks(job(), "base")
    found = sections(session, 0, world_operation(session))["On all ranks"]
    assert "not aligned (base times)" in found.note
    assert values(found)["last to arrive"].startswith("rank 2")
    assert "uncertainty" not in values(found)


def test_estimates_that_differ_by_more_than_the_clocks_are_undecided() -> None:
    """Rank 1's kernel of one operation ends much later than the other's, which no clock explains."""

    def rank(number: int) -> list[object]:
        events = []
        for k in range(20):
            length = 500_000 + (400_000 if (k, number) == (10, 1) else 0)
            about = {"group": "g", "group_ranks": "[0, 1]", "group_size": 2, "seq": k}
            events.append(kernel("ncclDevKernel_AllReduce", k * 2_000_000, length, collective="allreduce", about=about))
        return events

    traces = [make_trace(*rank(r), rank=r, path=f"{r}.json", base_ns=0) for r in range(2)]  # type: ignore[arg-type]
    session = settle_clocks(make_session(*traces), "auto")
    rows = rows_named(session.inputs[1].trace, "ncclDevKernel_AllReduce")
    told = values(sections(session, 1, rows[10])["On all ranks"])
    assert told["undecided"] == "the two differ by 400.000 us"
    assert told["bandwidth"] == "unknown: the size is not stated"
    assert "undecided" not in values(sections(session, 1, rows[9])["On all ranks"])


def test_both_sides_of_a_send() -> None:
    session = job()
    found = sections(session, 0, kernel_row(session, 0, Kind.SEND, 2))["On all ranks"]
    told = values(found)
    assert told["operation"] == "send to rank 2"
    assert "wait of the receive" in told
    assert found.bars is not None
    assert [b.label for b in found.bars.bars] == ["rank 0 sends", "rank 2 receives"]
    back = sections(session, 2, kernel_row(session, 2, Kind.RECV, 2))["On all ranks"]
    assert values(back)["operation"] == "receive from rank 0"
    assert back.bars is not None
    assert [b.chosen for b in back.bars.bars] == [False, True]


@pytest.mark.parametrize(
    ("events", "other", "words"),
    [
        ({}, True, "the trace states neither its group nor a number for it"),
        ({"group": "g", "group_ranks": "[0, 7]", "group_size": 2}, True, "no other rank of its group is open"),
        ({"group": "g", "group_ranks": "[0, 1]", "group_size": 2, "seq": 1}, True, "no other opened rank has"),
        ({}, False, "only one rank of the job is open"),
    ],
)
def test_a_kernel_without_partners_says_why(events: dict[str, object], other: bool, words: str) -> None:
    one = make_trace(kernel("ncclDevKernel_AllReduce", 0, 9, collective="allreduce", about=events), rank=0)
    traces = [one, make_trace(kernel("gemm", 0, 9), rank=1, path="1.json")] if other else [one]
    found = sections(make_session(*traces), 0, 0)["On all ranks"]
    assert words in found.note
    assert found.bars is None


def test_a_receive_whose_sender_is_not_open_says_so() -> None:
    about = {"group": "g", "group_size": 4, "src": 3}
    one = make_trace(kernel("ncclDevKernel_SendRecv", 0, 9, collective="recv", about=about), rank=0)
    session = make_session(one, make_trace(kernel("gemm", 0, 9), rank=1, path="1.json"))
    assert "rank 3, its other side, is not open" in sections(session, 0, 0)["On all ranks"].note
