from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.build import kernel, make_trace
from viewer.base.clock import GivenClock
from viewer.base.kept import Bookmark, SliceAnchor
from viewer.base.selection import GapRef, Selection, SliceRef, TimeRange
from viewer.base.session_file import SavedMark, SavedNote, SavedSource, SavedView, SessionFile
from viewer.store.session import Clock, Opened, Session, build_session
from viewer.store.session_file import encode_session, parse_session
from viewer.views.kept.anchors import anchor_of, find_anchor
from viewer.views.kept.keeping import (
    Kept,
    Look,
    anchored,
    kept_from,
    look_from,
    saved_session,
    selection_from,
)
from viewer.views.kept.marks import BookmarkBook, MarkBook
from viewer.views.kept.notes import NoteBook
from viewer.views.lanes.tree import build_tree


def job() -> Session:
    def trace(shift: int) -> Any:
        return make_trace(
            kernel("gemm", 100 + shift, 30),
            kernel("gemm", 200 + shift, 30),
            kernel("long", 200 + shift, 90),
            kernel("copy", 400 + shift, 5),
        )

    return build_session([Opened(Path(f"/t/r{r}.json"), trace(r), r) for r in range(2)])


def moved(session: Session, offset: int) -> Session:
    return replace(session, inputs=tuple(replace(i, clock=Clock(i.clock.base_ns, offset)) for i in session.inputs))


def named(session: Session, source: int, name: str, start: int) -> SliceRef:
    trace = session.inputs[source].trace
    return next(
        SliceRef(source, i)
        for i in range(len(trace))
        if trace.name(i) == name and int(trace.slices.start_ns[i]) == start
    )


def plain(arrangement: Any) -> dict[str, Any] | None:
    return None if arrangement is None else {"collapsed": list(arrangement)}


def arrange(saved: Mapping[str, Any]) -> Any:
    return tuple(saved["collapsed"])


def test_every_slice_is_found_again_whatever_its_clock_and_input() -> None:
    session = job()
    groups = build_tree(session)
    swapped = build_session([Opened(i.path, i.trace, i.rank) for i in reversed(session.inputs)])
    later = moved(swapped, 5_000)
    for item in session.inputs:
        for index in range(len(item.trace)):
            ref = SliceRef(item.index, index)
            anchor = anchor_of(session, groups, ref)
            assert anchor is not None
            found = find_anchor(later, build_tree(later), anchor)
            assert found is not None
            trace = later.inputs[found.input].trace
            assert later.inputs[found.input].path == item.path
            assert (trace.name(found.index), found.index) == (item.trace.name(index), index)


def test_a_slice_that_is_gone_is_not_found() -> None:
    session = job()
    groups = build_tree(session)
    anchor = anchor_of(session, groups, named(session, 0, "gemm", 200))
    assert anchor is not None
    for other in (
        replace(anchor, name="other"),
        replace(anchor, start_ns=201),
        replace(anchor, lane="rank 9/stream 0:7"),
        replace(anchor, start_ns=2**62),
    ):
        assert find_anchor(session, groups, other) is None
    assert find_anchor(session, groups, replace(anchor, dur_ns=1)) == named(session, 0, "gemm", 200)  # re-measured


def everything(session: Session) -> tuple[Kept, Look, Selection]:
    groups = build_tree(session)
    origin = session.origin_ns()
    ref = named(session, 1, "gemm", 201)
    lane = groups[1].lanes[0].key
    notes = NoteBook().add(origin + 7, "", "plain").add(0, lane, "slice", 1.5, -2.5, anchor_of(session, groups, ref))
    notes = anchored(notes, session, groups)
    marks = MarkBook().add(origin + 3, origin + 3, text="here").add(origin, origin + 50, lane, color="red")
    bookmarks = BookmarkBook().put(Bookmark(2, origin, origin + 9, "nine", "rank 1", 4, ("rank 0",)))
    look = Look(TimeRange(origin - 4, origin + 99), lane, 3, ("rank 1",))
    selection = Selection(slice=ref, range=TimeRange(origin + 1, origin + 2), group=groups[1].id)
    return Kept(notes, marks, bookmarks), look, selection


def test_everything_comes_back_from_a_file(tmp_path: Path) -> None:
    session = job()
    groups = build_tree(session)
    kept, look, selection = everything(session)
    saved = saved_session(session, groups, kept, look, selection, plain=plain, title="t", align="base")
    back = parse_session(encode_session(saved), "x").content
    assert back == saved
    assert [(s.path, s.rank) for s in back.sources] == [("/t/r0.json", 0), ("/t/r1.json", 1)]
    found = kept_from(back, arrange)
    assert Kept(anchored(found.notes, session, groups), found.marks, found.bookmarks) == kept
    assert look_from(back, arrange) == look
    assert selection_from(back, session, groups) == selection
    assert selection_from(SessionFile(), session, groups) == Selection()


def test_a_note_of_a_slice_goes_with_it_when_clocks_are_aligned_anew() -> None:
    session = job()
    kept, _, _ = everything(session)
    plain_note, of_slice = kept.notes
    item = session.inputs[1]
    assert of_slice.time_ns == item.clock.to_session(201) + 15
    assert of_slice.depth == 1  # below the longer one that begins with it
    later = moved(session, 1_000)
    again = anchored(kept.notes, later, build_tree(later))
    assert [n.time_ns for n in again] == [plain_note.time_ns, of_slice.time_ns - 1_000 + item.clock.offset_ns]
    assert anchored(again, later, build_tree(later)) is again


def test_a_gap_is_found_on_its_lane() -> None:
    session = job()
    groups = build_tree(session)
    chosen = Selection(gap=GapRef(1, 0, TimeRange(301, 401)), group=1)
    saved = saved_session(session, groups, Kept(), None, chosen, plain=plain)
    assert selection_from(saved, session, groups) == chosen
    nowhere = saved_session(session, groups, Kept(), None, replace(chosen, gap=None), plain=plain)
    assert selection_from(nowhere, session, groups).gap is None


def test_missing_sources_stay_listed_and_what_the_window_does_not_hold_stays() -> None:
    session = job()
    old = SessionFile(
        sources=[SavedSource("r0.json", offset_ns=-1)], view=SavedView(1, 2), lanes={"collapsed": []}, job={"a": 1}
    )
    gone = [SavedSource("/t/r7.json", 5, 6, "d", 7), SavedSource("/t/r1.json")]
    saved = saved_session(
        session,
        build_tree(session),
        Kept(),
        None,
        Selection(),
        plain=plain,
        spell=lambda p: p.name,
        old=old,
        missing=gone,
        given={os.path.abspath(session.inputs[0].path): GivenClock(-9, 5, 7)},
    )
    assert [s.path for s in saved.sources] == ["r0.json", "r1.json", "r7.json"]
    told = saved.sources[0]
    assert (told.offset_ns, told.drift_ppb, told.t0_ns) == (-9, 5, 7)
    assert saved.sources[1].offset_ns is None
    assert saved.sources[2] == SavedSource("r7.json", 5, 6, "d", 7)
    assert (saved.view, saved.lanes, saved.job) == (old.view, old.lanes, {"a": 1})


def test_double_ids_and_unusable_texts_are_mended() -> None:
    content = SessionFile(
        notes=[SavedNote(1, 0, "a"), SavedNote(1, 0, "\x00"), SavedNote(2, 0, "c")],
        marks=[SavedMark(5, 9, 3, "x" * 300), SavedMark(5, 1)],
    )
    kept = kept_from(content, arrange)
    assert [(n.id, n.text) for n in kept.notes] == [(1, "a"), (2, "?"), (3, "c")]
    assert [(m.id, m.start_ns, m.end_ns, m.text) for m in kept.marks] == [(5, 9, 9, ""), (6, 1, 1, "")]
    assert kept.notes.add(0, "", "new").notes[-1].id == 4


def test_anchors_hold_whole_numbers() -> None:
    session = job()
    anchor = anchor_of(session, build_tree(session), SliceRef(0, 0))
    assert anchor is not None
    assert not isinstance(anchor.start_ns, np.integer)
    assert isinstance(anchor, SliceAnchor)


def test_findings_that_were_put_aside_are_kept() -> None:
    session = job()
    aside = Kept(dismissed=frozenset({"late-rank/rank 5", "drain", "x" * 2_000}))
    saved = saved_session(session, build_tree(session), aside, None, Selection(), plain=plain)
    assert saved.dismissed == ["drain", "late-rank/rank 5"]
    again = parse_session(encode_session(saved), "a.rankscope").content
    assert kept_from(again, lambda _: None).dismissed == {"drain", "late-rank/rank 5"}
    nothing = saved_session(session, build_tree(session), Kept(), None, Selection(), plain=plain)
    assert b"dismissed" not in encode_session(nothing)
