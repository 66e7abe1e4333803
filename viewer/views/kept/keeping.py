"""Between what a person made of a job, as the window holds it, and the content of a session file.

The window counts in session time; a file counts from the job's origin. Slices are found again by what they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from viewer.base.clock import GivenClock
from viewer.base.errors import UsageError
from viewer.base.frames import LaneGroup
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.base.kept import Bookmark, Mark, Note, SliceAnchor
from viewer.base.selection import GapRef, Selection, TimeRange
from viewer.base.session_file import (
    SavedBookmark,
    SavedClock,
    SavedColors,
    SavedGap,
    SavedMark,
    SavedNote,
    SavedRange,
    SavedSelection,
    SavedSlice,
    SavedSource,
    SavedView,
    SessionFile,
)
from viewer.store.card_file import card_tables
from viewer.store.session import Session
from viewer.views.kept.anchors import anchor_of, find_anchor
from viewer.views.kept.marks import BookmarkBook, MarkBook, clean_label
from viewer.views.kept.notes import NoteBook, clean_text
from viewer.views.lanes.hit import time_of

LONGEST_KEY: Final = 1_000
MOST_DISMISSED: Final = 10_000
"""What a session file takes of ids of findings."""

Plain = Callable[[Any], dict[str, Any] | None]
"""An arrangement of lanes -> plain JSON."""
Arrange = Callable[[Mapping[str, Any]], Any]
"""Plain JSON -> an arrangement of lanes; None where it makes no sense."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Notes, marks and bookmarks of a job, and which findings were put aside."""

    notes: NoteBook = field(default_factory=NoteBook)
    marks: MarkBook = field(default_factory=MarkBook)
    bookmarks: BookmarkBook = field(default_factory=BookmarkBook)
    dismissed: frozenset[str] = frozenset()
    """Ids of findings that were put aside."""

    def __len__(self) -> int:
        return len(self.notes) + len(self.marks) + len(self.bookmarks)


@dataclass(frozen=True, slots=True)
class Look:
    """How the window shows the job: the visible window, the row at the upper border, and the lanes' arrangement."""

    window: TimeRange
    lane: str = ""
    offset: int = 0
    arrangement: Any = None


def saved_session(
    session: Session,
    groups: Sequence[LaneGroup],
    kept: Kept,
    look: Look | None,
    selection: Selection,
    *,
    plain: Plain,
    title: str = "",
    align: str = "auto",
    spell: Callable[[Path], str] = str,
    old: SessionFile | None = None,
    missing: Sequence[SavedSource] = (),
    given: Mapping[str, GivenClock] | None = None,
    colors: SavedColors | None = None,
    card: JobCard = EMPTY_CARD,
) -> SessionFile:
    """The content of a session file.

    Args:
        session: the job.
        groups: its lanes.
        kept: notes, marks and bookmarks.
        look: how it is shown; None keeps what ``old`` says.
        selection: what is selected.
        plain: makes JSON of an arrangement.
        title: name of the job.
        align: how its clocks were aligned.
        spell: how a path is written.
        old: what was opened, for what the window does not hold.
        colors: how the lanes are coloured; None keeps what ``old`` says.
        missing: sources of ``old`` that could not be opened, with absolute paths; they stay listed.
        given: clocks that a person gave, by absolute path.
        card: what a person said of the job.
    """
    origin = session.origin_ns()
    before = old or SessionFile()
    sources = []
    for item in session.inputs:
        stamp = item.trace.meta.source
        rank = item.rank if item.rank_source == "given" else None
        path = spell(Path(os.path.abspath(item.path)))
        clock = (given or {}).get(os.path.abspath(item.path))
        told = () if clock is None else (clock.offset_ns, clock.drift_ppb, clock.t0_ns)
        sources.append(SavedSource(path, stamp.size, stamp.mtime_ns, stamp.digest, rank, *told))
    here = {s.path for s in sources}
    gone = [replace_path(s, spell(Path(s.path))) for s in missing]
    return SessionFile(
        title=title[:500],
        sources=sources + [s for s in gone if s.path not in here],
        clock=SavedClock(align, origin),
        view=before.view if look is None else _view(look, origin),
        selection=_selection(session, groups, selection, origin),
        lanes=before.lanes if look is None else plain(look.arrangement),
        colors=colors or before.colors,
        marks=[
            SavedMark(m.id, m.start_ns - origin, m.end_ns - origin if m.is_range else None, m.text, m.color, m.lane)
            for m in kept.marks
        ],
        notes=[
            SavedNote(
                n.id, n.time_ns - origin, n.text, n.lane, n.dx, n.dy, None if n.slice is None else _slice(n.slice)
            )
            for n in kept.notes
        ],
        bookmarks=[
            SavedBookmark(
                b.slot,
                SavedView(b.start_ns - origin, b.end_ns - origin, b.lane, b.offset),
                b.text,
                None if b.arrangement is None else plain(b.arrangement),
            )
            for b in kept.bookmarks
        ],
        dismissed=sorted(i for i in kept.dismissed if len(i) <= LONGEST_KEY)[:MOST_DISMISSED],
        job=card_tables(card, before.job),
    )


def replace_path(source: SavedSource, path: str) -> SavedSource:
    """The same source, spelled otherwise."""
    return msgspec.structs.replace(source, path=path)


def kept_from(content: SessionFile, arrange: Arrange) -> Kept:
    """Notes, marks and bookmarks of a session file; a second one of an id gets another, an unusable text is mended."""
    origin = content.clock.origin_ns
    notes: list[Note] = []
    seen: set[int] = set()
    for n in content.notes:
        text = _or(clean_text, n.text, "?")
        anchor = None if n.slice is None else _anchor(n.slice)
        notes.append(Note(_fresh(n.id, seen), origin + n.time_ns, n.lane, text, float(n.dx), float(n.dy), anchor))
    note_book = NoteBook(tuple(notes), max(seen, default=0) + 1)
    seen = set()
    marks = []
    for m in content.marks:
        start = origin + m.start_ns
        end = start if m.end_ns is None else max(start, origin + m.end_ns)
        marks.append(Mark(_fresh(m.id, seen), start, end, _or(clean_label, m.text, ""), m.color, m.lane))
    mark_book = MarkBook(tuple(marks), max(seen, default=0) + 1)
    bookmarks = BookmarkBook()
    for b in content.bookmarks:
        lanes = None if b.lanes is None else arrange(b.lanes)
        start, end = origin + b.view.start_ns, origin + max(b.view.end_ns, b.view.start_ns + 1)
        bookmarks = bookmarks.put(
            Bookmark(b.slot, start, end, _or(clean_label, b.text, ""), b.view.lane, b.view.offset, lanes)
        )
    return Kept(note_book, mark_book, bookmarks, frozenset(content.dismissed))


def look_from(content: SessionFile, arrange: Arrange) -> Look | None:
    """How the job was shown; None when the file does not say."""
    view, origin = content.view, content.clock.origin_ns
    if view is None:
        return None
    window = TimeRange(origin + view.start_ns, origin + max(view.end_ns, view.start_ns + 1))
    return Look(window, view.lane, view.offset, None if content.lanes is None else arrange(content.lanes))


def selection_from(content: SessionFile, session: Session, groups: Sequence[LaneGroup]) -> Selection:
    """What was selected, as far as it is there."""
    saved, origin = content.selection, content.clock.origin_ns
    if saved is None:
        return Selection()
    chosen = None if saved.slice is None else find_anchor(session, groups, _anchor(saved.slice))
    gap = None if saved.gap is None or chosen is not None else _gap(saved.gap, origin, session, groups)
    span = None
    if saved.range is not None and saved.range.end_ns > saved.range.start_ns:
        span = TimeRange(origin + saved.range.start_ns, origin + saved.range.end_ns)
    group = next((g.id for g in groups if g.title == saved.group), None)
    return Selection(chosen, gap, span, group)


def anchored(book: NoteBook, session: Session, groups: Sequence[LaneGroup]) -> NoteBook:
    """The notes of slices at their slices in this session; the same book when none of them moves."""
    notes = tuple(_at_slice(n, session, groups) for n in book)
    return book if notes == book.notes else NoteBook(notes, book.next_id)


def _at_slice(note: Note, session: Session, groups: Sequence[LaneGroup]) -> Note:
    ref = None if note.slice is None else find_anchor(session, groups, note.slice)
    if ref is None or note.slice is None:
        return note
    item = session.inputs[ref.input]
    time = time_of(item, ref.index)
    depth = int(item.trace.rows.depth[item.trace.row_of(ref.index)])
    return replace(note, time_ns=time.start_ns + time.length_ns // 2, lane=note.slice.lane, depth=depth)


def _view(look: Look, origin: int) -> SavedView:
    return SavedView(look.window.start_ns - origin, look.window.end_ns - origin, look.lane, look.offset)


def _selection(
    session: Session, groups: Sequence[LaneGroup], selection: Selection, origin: int
) -> SavedSelection | None:
    if selection == Selection():
        return None
    anchor = None if selection.slice is None else anchor_of(session, groups, selection.slice)
    gap, span = selection.gap, selection.range
    lane = None
    if gap is not None:
        part = (gap.input, gap.lane)
        lane = next((x.key for g in groups for x in g.lanes if part in x.parts), None)
    return SavedSelection(
        None if anchor is None else _slice(anchor),
        None if gap is None or lane is None else SavedGap(lane, gap.range.start_ns - origin, gap.range.end_ns - origin),
        None if span is None else SavedRange(span.start_ns - origin, span.end_ns - origin),
        next((g.title for g in groups if g.id == selection.group), None),
    )


def _gap(saved: SavedGap, origin: int, session: Session, groups: Sequence[LaneGroup]) -> GapRef | None:
    span = TimeRange(origin + saved.start_ns, origin + saved.end_ns)
    lane = next((x for g in groups for x in g.lanes if x.key == saved.lane), None)
    if lane is None or span.length_ns <= 0:
        return None
    for source, lane_id in lane.parts:
        extent = session.inputs[source].extent()
        if extent is not None and extent.start_ns <= span.start_ns and span.end_ns <= extent.end_ns:
            return GapRef(source, lane_id, span)
    return None


def _slice(anchor: SliceAnchor) -> SavedSlice:
    return SavedSlice(anchor.lane, anchor.name, anchor.start_ns, anchor.dur_ns)


def _anchor(saved: SavedSlice) -> SliceAnchor:
    return SliceAnchor(saved.lane, saved.name, saved.start_ns, saved.dur_ns)


def _fresh(wanted: int, seen: set[int]) -> int:
    number = wanted if wanted not in seen else max(seen) + 1
    seen.add(number)
    return number


def _or(clean: Callable[[str], str], text: str, otherwise: str) -> str:
    try:
        return clean(text)
    except UsageError:
        return otherwise
