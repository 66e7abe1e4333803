from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.build import kernel, make_session, make_trace
from viewer.app.opened_job import OpenedJob
from viewer.base.frames import Placement
from viewer.panels.timeline.overlay import extent_text
from viewer.store.session import Session
from viewer.views.lanes.missing import missing_ranks, missing_words, with_missing
from viewer.views.lanes.tree import build_tree, place


def job(ranks: list[int | None], world: int | None) -> Session:
    return make_session(
        *(make_trace(kernel("gemm", 0, 9_000), rank=r, path=f"{i}.json", world_size=world) for i, r in enumerate(ranks))
    )


def test_missing_ranks_are_told_everywhere() -> None:
    session = job([0, 1], 128)
    assert (missing_words(session), missing_ranks(session)) == ("2 of 128 ranks", "2–127")
    assert extent_text(session, session.extent()) == "2 of 128 ranks · 9.0 us"
    assert OpenedJob((Path("/t/j"),)).window_title(session) == "j[*] · 2 of 128 ranks – Rankscope"
    rows = place(build_tree(session))
    more = with_missing(session, rows)
    last = more.rows[-1]
    assert more.rows[:-1] == rows.rows
    assert last.lane is not None
    assert (last.lane.label, last.lane.detail, last.lane.parts) == (
        "2 of 128 ranks are open",
        "No file of ranks 2–127",
        (),
    )
    assert (last.y, more.height) == (rows.height, rows.height + last.height)


@pytest.mark.parametrize(("ranks", "world"), [([0, 1], 2), ([0, 1], None), ([None], 4), ([3, 4], 2)])
def test_nothing_is_said_where_nothing_is_known_to_be_missing(ranks: list[int | None], world: int | None) -> None:
    session = job(ranks, world)
    rows = place(build_tree(session))
    assert missing_words(session) == missing_ranks(session) == ""
    assert with_missing(session, rows) is rows


def test_an_empty_timeline_stays_empty() -> None:
    empty = Placement((), 0)
    assert with_missing(job([0], 2), empty) is empty
    assert OpenedJob().window_title(Session()) == "Rankscope"
