from __future__ import annotations

from dataclasses import replace

from tests.picture_job import job
from viewer.app.remap import remap_selection
from viewer.base.clock import Clock
from viewer.base.selection import EMPTY, GapRef, Selection, SliceRef, TimeRange
from viewer.store.session import Opened, Session, build_session


def part(session: Session, *indexes: int) -> Session:
    return build_session([Opened(session.inputs[i].path, session.inputs[i].trace) for i in indexes])


def test_a_slice_and_its_group_follow_their_file() -> None:
    whole = job(3)
    early = part(whole, 2)
    picked = Selection(slice=SliceRef(0, 4), range=TimeRange(1, 2), group=early.groups[0].id)
    kept = remap_selection(picked, early, whole)
    assert kept == Selection(slice=SliceRef(2, 4), range=TimeRange(1, 2), group=whole.groups[2].id)


def test_a_gap_follows_its_file_while_its_clock_stays() -> None:
    whole = job(2)
    early = part(whole, 1)
    picked = Selection(gap=GapRef(0, 1, TimeRange(5, 9)))
    assert remap_selection(picked, early, whole).gap == GapRef(1, 1, TimeRange(5, 9))
    moved = replace(whole, inputs=tuple(replace(i, clock=Clock(7)) for i in whole.inputs))
    assert remap_selection(picked, early, moved).gap is None


def test_what_is_gone_is_dropped() -> None:
    whole = job(3)
    picked = Selection(slice=SliceRef(1, 0), group=whole.groups[1].id)
    assert remap_selection(picked, whole, part(whole, 0, 2)) == EMPTY


def test_no_selection_stays_none() -> None:
    assert remap_selection(EMPTY, Session(), job(1)) is EMPTY
