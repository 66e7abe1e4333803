"""The lanes of a session as the timeline holds them: tree, arrangement, painter, and what is prepared ahead."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from viewer.base.frames import Arrow, LaneGroup, PlacedRow, Placement
from viewer.base.ids import Paint
from viewer.base.kept import Note
from viewer.base.selection import EMPTY, Selection
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.timeline.lane_looks import LaneLooks
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.store.trace import Trace
from viewer.views.lanes.arrangement import Height, LaneArrangement, RankSort, arrange, more_keys, ordered_groups
from viewer.views.lanes.hit import same_name
from viewer.views.lanes.lod import Built, LodStore, build
from viewer.views.lanes.missing import with_missing
from viewer.views.lanes.painter import LanePainter, build_tree, is_warm, shrinks, wait_until_warm
from viewer.views.lanes.shifted import Shifts, shifted_session, shown_notes, shown_selection
from viewer.views.lanes.sorting import sort_figures
from viewer.views.memory.lanes import lane_levels
from viewer.views.picture.rows import scale_placement

log = logging.getLogger(__name__)

Commit = Callable[[str, LaneArrangement, LaneArrangement, Callable[[LaneArrangement], None]], None]
"""(what it is, before, after, what puts one in force): makes a change that can be taken back."""


class TimelineLanes(QObject):
    """Keeps a painter for the current session and arrangement.

    Background work: compiling the painting loops once (:attr:`ready`), levels of detail of every trace (drawing is
    right without them, only slower), the arrows and other runs of the selected slice, colours, filter and sort figures.

    Signals:
        placed(): rows moved; the painter is another one.
        changed(): all must be drawn anew: colours, or levels and loops that are ready now.
        marked(): arrows and underlines changed.
        arranged(): the arrangement is another one.
    """

    placed = Signal()
    changed = Signal()
    marked = Signal()
    arranged = Signal()

    def __init__(self, work: WorkRunner, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.work = self._work = work
        self._theme = theme
        self._lods = LodStore()
        self._building: set[int] = set()
        self._now = LaneArrangement()
        self._figures: tuple[RankSort, dict[int, int]] | None = None
        self._selection = EMPTY
        self._found: dict[int, Any] | None = None
        self.commit: Commit = lambda _text, _before, after, apply: apply(after)
        self.ready = is_warm()
        self._text_scale = 1.0
        self.session = Session()
        self._job = self.session
        self.shifts: Shifts = {}
        self.groups: tuple[LaneGroup, ...] = ()
        self.placement = Placement((), 0)
        self.painter = LanePainter(self.session, self.placement, theme, self._lods)
        self.arrows: list[Arrow] = []
        self.looks = LaneLooks(work, self._lods, self)
        self.looks.recoloured.connect(self._dress)
        self.looks.filtered.connect(self._place)
        if not self.ready:
            work.submit("timeline loops", wait_until_warm, self._loops_ready, paints=True)

    # arrangement

    @property
    def arrangement(self) -> LaneArrangement:
        """What a person changed about the lanes."""
        return self._now

    def set_arrangement(self, now: LaneArrangement) -> None:
        """Arrange the lanes like that, without a way back."""
        if now != self._now:
            resorted = now.sort != self._now.sort
            self._now = now
            self.looks.set_filter(now.filter)
            if resorted:
                self._sort()
            self._place()
            self.arranged.emit()

    def set_filter(self, text: str) -> None:
        """Show what matches the text, as it is typed; see ``viewer.analyses.query``."""
        self._now = replace(self._now, filter=text)
        self.looks.set_filter(text)

    def change(self, text: str, now: LaneArrangement) -> None:
        """Arrange the lanes like that, as a step that can be taken back; ``text`` names it ("Hide Lane")."""
        if now != self._now:
            self.commit(text, self._now, now, self._rearrange)

    def _rearrange(self, now: LaneArrangement) -> None:
        """A step forth or back; what is typed into the filter is no part of it."""
        self.set_arrangement(replace(now, filter=self._now.filter))

    @property
    def collapsed(self) -> frozenset[int]:
        """Ids of the folded groups."""
        return frozenset(g.id for g in self.groups if g.key in self._now.collapsed)

    @property
    def tall(self) -> frozenset[str]:
        """Keys of the deep lanes that were made tall."""
        return frozenset(key for key in self.deep if self._now.height_of(key) is Height.TALL)

    @property
    def deep(self) -> frozenset[str]:
        """Keys of the lanes whose sub-rows are smaller than they could be."""
        return frozenset(lane.key for group in self.groups for lane in group.lanes if shrinks(lane))

    @property
    def ordered(self) -> tuple[LaneGroup, ...]:
        """Ranks in the order in which they are shown, hidden ones included."""
        figures = self._figures[1] if self._figures is not None and self._figures[0] is self._now.sort else None
        return ordered_groups(self.groups, self._now, figures)

    def set_collapsed(self, groups: frozenset[int]) -> None:
        """Fold exactly these groups."""
        sections = {key for key in self._now.collapsed if key not in {g.key for g in self.groups}}
        folded = {g.key for g in self.groups if g.id in groups}
        self.change("Fold Ranks", replace(self._now, collapsed=frozenset(folded | sections)))

    def toggle_group(self, group: int) -> None:
        """Fold or unfold one group."""
        self.set_collapsed(self.collapsed ^ {group})

    def toggle_section(self, row: PlacedRow) -> None:
        """Fold or unfold the GPU or process that a row belongs to or stands for."""
        section = row.section or (row.lane.section if row.lane is not None else "")
        if section:
            self.change("Fold Lanes", self._now.toggled("collapsed", f"{row.group.key}/{section}"))

    def toggle_lane(self, key: str) -> None:
        """Make a deep lane tall, or small again; fold or unfold rare threads at the row that counts them."""
        group = more_keys(self.groups).get(key)
        if group is not None:
            self.change("Show Rarely Used Threads", self._now.toggled("unfolded", group))
        else:
            tall = self._now.height_of(key) is Height.TALL
            self.change("Lane Height", self._now.with_height(Height.NORMAL if tall else Height.TALL, key))

    def unfold(self, key: str) -> None:
        """Show a lane although it is folded away, hidden or a rare thread."""
        group = next((g for g in self.groups if any(lane.key == key for lane in g.lanes)), None)
        if group is None:
            return
        lane = next(lane for lane in group.lanes if lane.key == key)
        gone = {group.key, f"{group.key}/{lane.section}"}
        now = replace(self._now, collapsed=self._now.collapsed - gone, hidden=self._now.hidden - {group.key, lane.key})
        if key in group.rare:
            now = replace(now, unfolded=now.unfolded | {group.key})
        self.change("Show Lane", now)

    @property
    def folds(self) -> dict[str, bool]:
        """Keys of the rows that count rare threads, and whether those show below."""
        return {key: group in self._now.unfolded for key, group in more_keys(self.groups).items()}

    # session and looks

    @property
    def lods(self) -> LodStore:
        """Levels of detail of the traces, as far as they are built by now."""
        return self._lods

    @property
    def paints(self) -> tuple[Paint, ...]:
        """What occurs in the session, as far as it is known by now."""
        return self._lods.paints(self.session)

    def set_session(self, session: Session, selection: Selection) -> bool:
        """Show another session; whether it is one of the same job (it has a file of the last one)."""
        self._selection = selection  # the last one speaks of the last session
        self._found = None
        known = {i.path for i in self.session.inputs}
        same_job = any(i.path in known for i in session.inputs)
        if not same_job:
            self._now = LaneArrangement()
            self.looks.set_filter("")
            self.looks.emphasise("")
            self.arranged.emit()
        self.session = self._job = session
        self.shifts = {}
        self.groups = build_tree(session)
        self._figures = None
        self._place()
        self._sort()
        self.looks.set_session(session, self.groups)
        for trace in self._lods.missing(session):
            self._build(trace)
        self._read_memory()
        return same_job

    @property
    def theme(self) -> Theme:
        """The colours in use."""
        return self._theme

    def set_shifts(self, shifts: Shifts) -> None:
        """Move ranks in time for display: ``session`` is the job with other clocks from now on."""
        self.shifts = dict(shifts)
        self.session = shifted_session(self._job, shifts)
        self._place()

    def shown(self, selection: Selection) -> Selection:
        """A selection of the job in the time that the lanes show."""
        return shown_selection(selection, self._job, self.shifts)

    def shown_notes(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        """Notes in the time that the lanes show."""
        return shown_notes(notes, self.groups, self.shifts)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.painter.set_theme(theme)
        self.changed.emit()

    def set_text_scale(self, scale: float) -> None:
        """Texts are so much larger than usual: rows grow with them."""
        if scale != self._text_scale:
            self._text_scale = scale
            self._place()

    def set_found(self, rows: dict[int, Any] | None) -> None:
        """Underline what a search found, ascending rows per input, in place of other runs; None for no search."""
        if rows is not None or self._found is not None:
            self._found = rows
            self.select(self._selection)

    def select(self, selection: Selection) -> None:
        """Find arrows and other runs of the selected slice; they show when they are found."""
        self._selection = selection
        self.arrows = []
        found = self._found
        self.painter.emphasise(found or {})
        self.marked.emit()
        ref, painter, session = selection.slice, self.painter, self.session
        if ref is None or ref.input >= len(session.inputs):
            self._work.cancel("timeline marks")
            return

        def find(_: object) -> tuple[list[Arrow], dict[int, Any]]:
            return painter.arrows(selection), same_name(session, ref) if found is None else found

        def done(found: tuple[list[Arrow], dict[int, Any]]) -> None:
            if painter is self.painter:
                self.arrows = found[0]
                painter.emphasise(found[1])
                self.marked.emit()

        self._work.submit("timeline marks", find, done)

    def lane_key(self, source: int, lane: int) -> str:
        """The key of the lane that shows a lane of an input; "" when there is none."""
        lanes = (row for group in self.groups for row in group.lanes)
        return next((row.key for row in lanes if (source, lane) in row.parts), "")

    def _place(self) -> None:
        self.placement = arrange(self.ordered, self._now, self.looks.found.lanes)
        if self.looks.found.lanes is None:
            self.placement = with_missing(self.session, self.placement)
        if self._text_scale != 1.0:
            self.placement = scale_placement(self.placement, self._text_scale)
        self.painter = LanePainter(self.session, self.placement, self._theme, self._lods)
        self.painter.text_scale = self._text_scale
        self._dress(quiet=True)
        self.placed.emit()
        self.select(self._selection)

    def _dress(self, *, quiet: bool = False) -> None:
        """Put colours, filter and patterns upon the painter."""
        self.painter.colour(self.looks.looks)
        self.painter.brighten(self.looks.found.matched)
        self.painter.set_patterns(self.looks.patterns)
        if not quiet:
            self.changed.emit()

    def _sort(self) -> None:
        """Compute what ranks are sorted by; until then they keep the order of their numbers."""
        session, sort = self._job, self._now.sort
        if sort in (RankSort.RANK, RankSort.OWN) or not session.inputs:
            self._work.cancel("lane order")
            return

        def done(figures: dict[int, int]) -> None:
            if session is self._job:
                self._figures = (sort, figures)
                self._place()

        self._work.submit("lane order", lambda cancel: sort_figures(session, sort, cancel), done)

    def _read_memory(self) -> None:
        """Build what memory lanes are drawn from; each shows when it is there."""
        session = self._job

        def read(cancel: CancelToken) -> None:
            for group in self.groups:
                for lane in group.lanes:
                    if lane.memory:
                        cancel.check()
                        lane_levels(session, lane, wait=True)

        def failed(error: Exception) -> None:
            log.error("memory lanes cannot be drawn", exc_info=error)

        if any(lane.memory for group in self.groups for lane in group.lanes):
            self._work.submit("memory lanes", read, lambda _: self.changed.emit(), failed)
        else:
            self._work.cancel("memory lanes")

    def _build(self, trace: Trace) -> None:
        if id(trace) in self._building:
            return
        self._building.add(id(trace))

        def done(built: Built) -> None:
            self._building.discard(id(trace))
            self._lods.put(trace, built)
            if not self._building:
                self.changed.emit()

        self._work.submit(f"levels {id(trace)}", lambda cancel: build(trace, cancel), done, paints=True)

    def _loops_ready(self, _: object) -> None:
        self.ready = True
        self.changed.emit()
