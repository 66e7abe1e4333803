"""The Communication panel as data: sums, shares, bounds, rates against a baseline, and what a row did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.build import kernel
from tests.support.gradients import GradientJob
from tests.support.ranks import RankJob
from tests.viewer.analyses.collective.test_communication import LINK, pair, reduce_
from viewer.analyses.attribution import attribute
from viewer.analyses.collective.table import undecided
from viewer.app.clocks import settle_clocks
from viewer.base.errors import Cancelled
from viewer.base.selection import SliceRef
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.communication import CommunicationView, communication_view, totals
from viewer.views.communication_row import last_to_arrive, row_view


def column(view: CommunicationView, head: str) -> list[object]:
    (found,) = [c for c in view.frame.columns if c.head == head]
    return list(found.values)


def job() -> Session:
    ours = [kernel("gemm", 5_000, 1_000), reduce_(0, 9_000, 1), reduce_(20_000, 6_000, 2)]
    return pair(ours, [reduce_(4_000, 5_000, 1), reduce_(20_500, 5_500, 2)])


def test_rows_sum_to_the_exposed_time_and_say_what_they_know() -> None:
    session = job().with_card(LINK)
    view = communication_view(session, None)
    assert column(view, "Kind") == ["allreduce"]
    assert column(view, "Group") == ["dp [0, 1]"]
    assert column(view, "Size") == [2 << 20]
    assert column(view, "Count") == [2]
    assert column(view, "Total") == [25_500]
    assert column(view, "Wait") == [4_500]
    assert column(view, "Transfer") == [21_000]
    assert column(view, "Exposed") == [24_500]
    assert column(view, "Exposed wait") == [4_500]
    assert column(view, "Hidden") == [pytest.approx(1_000 / 25_500)]
    assert column(view, "Bound") == ["exact"]
    # Medians of 419 and 381 GB/s, against 1,000 of the link.
    assert column(view, "of baseline") == [pytest.approx(0.4003, abs=0.001)]
    assert view.bar is not None
    assert sum(ns for _, ns, _ in view.bar.parts) == view.bar.total_ns == 24_500
    assert len(view.bar.hues) == len(view.bar.parts)
    assert "a table figure" in view.note
    assert all(c.how for c in view.frame.columns)
    assert totals(view, None)[:2] == ("1 row", "")


def test_one_rank_is_counted_alone() -> None:
    session = job()
    view = communication_view(session, 0)
    told = attribute(session.inputs[0].trace, 0)
    assert told is not None
    assert column(view, "Exposed") == [told.comm_exposed_ns] == [14_000]
    assert "of baseline" in view.frame.heads
    assert column(view, "of baseline") == [None]
    assert "No baseline" in view.note
    alone = communication_view(session, 1)
    assert row_view(alone, 0).hiding.startswith("Nothing hid any of it.")


def test_members_that_are_missing_and_what_is_not_matched_are_marked() -> None:
    alone = pair([reduce_(0, 9_000, 1)], [kernel("gemm", 0, 10)])
    view = communication_view(alone, None)
    assert column(view, "Bound") == ["not matched"]
    assert column(view, "Wait") == [None]
    assert "not separable 100.0 %" in view.sentence
    many = pair([reduce_(k * 10_000, 1_000 + 10 * k, k) for k in range(20)], [kernel("gemm", 0, 10)])
    (row,) = communication_view(many, None).rows
    assert row.estimated_transfer_ns == 1_000
    assert column(communication_view(many, None), "Bound") == ["not matched, one transfer ≈ 1.0 us"]


@pytest.mark.parametrize(
    ("events", "said"),
    [([kernel("gemm", 0, 10)], "no communication in these traces"),
     ([kernel("gemm", 0, 10_000), reduce_(10, 20, 1)], "No communication is exposed"), ([], "No GPU work")],
)  # fmt: skip
def test_nothing_to_take_apart_is_said(events: list, said: str) -> None:  # type: ignore[type-arg]
    view = communication_view(pair(events, events), None)
    assert said in view.sentence
    assert view.bar is None


def test_a_row_has_its_operations_over_time_their_distribution_and_who_hid_it() -> None:
    session = GradientJob(slow={0: 1.0}).session()
    view = communication_view(session, None)
    row = next(i for i, r in enumerate(view.rows) if r.group is not None and r.group.purpose == "dp")
    found = row_view(view, row)
    assert found.pace is not None
    assert len(found.pace.y) == view.rows[row].count == 32
    assert found.pace.y.max() == pytest.approx(830_000, abs=400)
    assert session.inputs[found.pace.ref(0).input].trace.name(found.pace.ref(0).index).startswith("ncclDev")
    assert found.histogram is not None
    assert int(found.histogram.counts.sum()) == 32
    assert found.curve is not None
    assert found.curve.rows[found.curve.current] == row
    assert found.hiders is not None
    assert found.hiders.rows[0][0] == "gemm"
    assert isinstance(found.hiders.jumps[0], SliceRef)
    assert "structural" in found.hiding
    assert isinstance(view.longest(row), SliceRef)


def test_a_request_that_is_no_longer_wanted_stops() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        communication_view(job(), None, token)


def test_waits_whose_two_estimates_differ_are_counted() -> None:
    session = GradientJob().session()
    view = communication_view(session, None)
    assert column(view, "Undecided") == [0, 0, 0]
    assert not undecided(session).any()
    # Ends of one operation that lie far apart: nobody can say which of the two estimates is right.
    moved = session.with_clocks(
        [replace(i.clock, offset_ns=i.clock.offset_ns + 90_000 * (i.index % 2)) for i in session.inputs], "collectives"
    )
    assert undecided(moved).any()


def test_a_row_names_the_rank_that_its_members_wait_for() -> None:
    session = settle_clocks(RankJob(ranks=4, steps=6, late_ns={1: 900_000}).session(), "auto")
    view = communication_view(session, None)
    rows = {r.group.label: i for i, r in enumerate(view.rows) if r.group is not None and r.kind.text == "allreduce"}
    assert last_to_arrive(view, rows["dp [0, 1]"]).startswith("Last to arrive: rank 1 in 100.0 % of ")
    unaligned = communication_view(session.with_clocks([i.clock for i in session.inputs], "base"), None)
    assert last_to_arrive(unaligned, rows["dp [0, 1]"]) == ""
