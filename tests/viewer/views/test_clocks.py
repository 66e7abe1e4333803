from __future__ import annotations

import numpy as np
import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.operations import operations
from viewer.app.clocks import settle_clocks
from viewer.base.clock import GivenClock
from viewer.base.errors import UsageError
from viewer.base.frames import PanelFrame, Section
from viewer.base.selection import GroupRef, SliceRef
from viewer.store.session import Session
from viewer.views.clock_moves import edge_of, offset_that_aligns, partner_of, typed_offset
from viewer.views.clocks import clock_frame, residuals, summary_line
from viewer.views.lanes.missing import missing_ranks, missing_words

STATE = 4
"""The column of the table."""


def aligned(**more: object) -> Session:
    made = RankJob(ranks=4, steps=20, offsets={1: 250_000, 3: -40_000}, drift_ppm={2: 30.0}, **more)  # type: ignore[arg-type]
    return settle_clocks(made.session(), "auto")


def section(frame: PanelFrame, title: str) -> Section:
    return next(s for s in frame.sections if s.title == title)


def values(frame: PanelFrame) -> dict[str, str]:
    return {f.label: f.value for f in frame.sections[0].figures}


def test_the_panel_says_how_the_clocks_were_brought_together() -> None:
    session = aligned()
    frame = clock_frame(session)
    told = values(frame)
    assert (told["method"], told["reference"], told["match rate"]) == ("aligned by collectives", "rank 0", "100.0 %")
    assert frame.sections[0].note == ""
    table = section(frame, "Ranks").table
    assert table is not None
    keys = [dict(zip(table.headers, k, strict=True)) for k in table.keys]
    assert [k["State"] for k in keys] == ["reference", "connected", "connected", "connected"]
    assert abs(keys[1]["Offset"] - 250_000) < 1_000
    assert abs(keys[2]["Drift"] - 30_000) < 1_000
    assert keys[1]["Earliest"] <= 250_000 <= keys[1]["Latest"]
    assert keys[1]["Uncertainty"] < 10_000
    assert table.jumps == [GroupRef(g) for g in range(4)]
    assert summary_line(session).startswith("aligned by 180 collectives, ± ")


def test_the_plot_shows_the_chosen_rank_in_front_and_loses_no_point() -> None:
    session = aligned()
    found = align(session)
    every = residuals(session, found, None)
    one = residuals(session, found, 1)
    assert every is not None
    assert one is not None
    assert bool(every.focus.all())
    assert int(one.focus.sum()) == found.clocks[1].matches
    assert len(one.x) == len(every.x)
    assert float(np.median(one.before[one.focus])) == pytest.approx(125_000, abs=130_000)
    assert float(np.abs(one.after[one.focus]).max()) < 5_000
    assert one.band_ns == found.clocks[1].uncertainty_ns
    assert float(one.x.min()) == 0.0


def test_what_cannot_be_said_is_said_and_nothing_moved() -> None:
    traces = [make_trace(kernel("gemm", 0, 9), rank=r, path=f"{r}.json", base_ns=5) for r in range(2)]
    session = settle_clocks(make_session(*traces), "auto")
    frame = clock_frame(session)
    assert "cannot say how these clocks differ" in frame.sections[0].note
    assert frame.sections[0].note.endswith("Nothing was moved: times are base times.")
    assert values(frame)["match rate"] == "no operation has a member on another opened rank"
    assert [s.title for s in frame.sections] == ["", "Ranks"]
    assert summary_line(session) == "base times"
    table = section(frame, "Ranks").table
    assert table is not None
    assert table.rows[1][STATE].startswith("not connected: ")


def test_ranks_that_are_apart_are_named() -> None:
    made = RankJob(ranks=4, world_operations=False, sends=False, without_file=(3,))
    session = settle_clocks(made.session(), "auto")
    frame = clock_frame(session)
    assert frame.sections[0].note == "Not aligned, left on base times: rank 2. The table says why."
    assert values(frame)["open"] == "3 of 4 ranks"
    assert (missing_words(session), missing_ranks(session)) == ("3 of 4 ranks", "3")
    assert missing_words(aligned()) == ""


def test_base_times_are_a_look_and_the_evidence_stays() -> None:
    session = settle_clocks(aligned(), "base")
    frame = clock_frame(session)
    assert values(frame)["method"] == "base times"
    table = section(frame, "Ranks").table
    assert table is not None
    assert {row[1] for row in table.rows} == {"0 ns"}
    assert {row[STATE] for row in table.rows} == {"reference", "connected, not applied"}
    assert section(frame, "Ends of shared operations").residuals is not None


def test_a_given_offset_shows() -> None:
    session = aligned()
    path = str(session.inputs[1].path.absolute())
    given = settle_clocks(session, "auto", {path: GivenClock(7)})
    frame = clock_frame(given)
    assert values(frame)["method"] == "aligned by collectives, 1 rank given"
    assert summary_line(given).endswith(", 1 given")
    table = section(frame, "Ranks").table
    assert table is not None
    assert (table.rows[1][1], table.rows[1][STATE]) == ("+7 ns", "given")


@pytest.mark.parametrize(
    ("text", "ns"), [("12.5us", 12_500), ("-3ms", -3_000_000), ("\u22121,000", -1_000), (" 7 ", 7)]
)
def test_typed_offsets(text: str, ns: int) -> None:
    assert typed_offset(text) == ns


@pytest.mark.parametrize("text", ["", "fast", "1 lightyear", "0.1ns"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        typed_offset(text)


def reduction(session: Session, source: int, nth: int) -> SliceRef:
    table = operations(session.inputs[source].trace)
    return SliceRef(source, int(table.row[np.flatnonzero(table.kind == Kind.ALL_REDUCE)[nth]]))


@pytest.mark.parametrize("edge", ["start", "end"])
@pytest.mark.parametrize("source", [1, 2])
def test_a_slice_is_brought_to_an_edge_of_its_partner_whatever_the_drift(source: int, edge: str) -> None:
    session = aligned()
    chosen = reduction(session, source, 79)
    anchor = partner_of(session, chosen)
    offset = offset_that_aligns(session, chosen, anchor, edge)  # type: ignore[arg-type]
    path = str(session.inputs[source].path.absolute())
    moved = settle_clocks(session, "auto", {path: GivenClock(offset)})
    assert abs(edge_of(moved, chosen, edge) - edge_of(moved, anchor, edge)) <= 1  # type: ignore[arg-type]
    assert moved.inputs[source].clock.drift_ppb == session.inputs[source].clock.drift_ppb


def test_the_partner_is_the_reference_ranks_or_the_other_side() -> None:
    session = aligned()
    world = reduction(session, 3, 4)
    assert partner_of(session, world).input == 0
    assert partner_of(session, reduction(session, 3, 0)).input == 2  # its group has no other opened rank
    table = operations(session.inputs[2].trace)
    receive = SliceRef(2, int(table.row[np.flatnonzero(table.kind == Kind.RECV)[0]]))
    assert partner_of(session, receive).input == 0
    trace = session.inputs[1].trace
    gemm = next(i for i in range(len(trace)) if trace.name(i) == "gemm")
    with pytest.raises(UsageError, match="no communication kernel"):
        partner_of(session, SliceRef(1, gemm))
    with pytest.raises(UsageError, match="one rank"):
        offset_that_aligns(session, SliceRef(1, gemm), reduction(session, 1, 0), "start")
