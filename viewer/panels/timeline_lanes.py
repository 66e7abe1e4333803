"""The lanes of a session as the timeline holds them: tree, folding, painter, and what is prepared in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from viewer.base.frames import Arrow, LaneGroup, Note, Placement
from viewer.base.ids import Paint
from viewer.base.selection import EMPTY, Selection
from viewer.base.theme import Theme
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.store.trace import Trace
from viewer.views.lane_hit import same_name
from viewer.views.lane_lod import Built, LodStore, build
from viewer.views.lane_rare import more_key
from viewer.views.lanes import LanePainter, build_tree, place, shrinks, warm_up
from viewer.views.shifted import Shifts, shifted_session, shown_notes, shown_selection


@dataclass(frozen=True, slots=True)
class Folding:
    """What of the lanes is folded: titles of collapsed groups, keys of tall lanes, titles of groups with rare ones."""

    collapsed: frozenset[str] = frozenset()
    tall: frozenset[str] = frozenset()
    unfolded: frozenset[str] = frozenset()


class TimelineLanes(QObject):
    """Keeps a painter for the current session and folding.

    Background work: compiling the painting loops once (:attr:`ready`), levels of detail of every trace (drawing is
    right without them, only slower), and the arrows and other runs of the selected slice.

    Signals:
        placed(): rows moved; the painter is another one.
        changed(): all must be drawn anew: colours, or levels and loops that are ready now.
        marked(): arrows and underlines changed.
    """

    placed = Signal()
    changed = Signal()
    marked = Signal()

    def __init__(self, work: WorkRunner, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._theme = theme
        self._lods = LodStore()
        self._building: set[int] = set()
        self._collapsed: set[str] = set()  # titles, which survive a new session of the same job
        self._tall: set[str] = set()
        self._unfolded: set[str] = set()  # titles of groups whose rare threads show
        self._selection = EMPTY
        self._found: dict[int, Any] | None = None
        self.ready = False
        self.session = Session()
        self._job = self.session
        self.shifts: Shifts = {}
        self.groups: tuple[LaneGroup, ...] = ()
        self.placement = Placement((), 0)
        self.painter = LanePainter(self.session, self.placement, theme, self._lods)
        self.arrows: list[Arrow] = []
        work.submit("timeline loops", lambda _: warm_up(), self._loops_ready)

    @property
    def collapsed(self) -> frozenset[int]:
        """Ids of the folded groups."""
        return frozenset(g.id for g in self.groups if g.title in self._collapsed)

    @property
    def tall(self) -> frozenset[str]:
        """Keys of the deep lanes that were made tall."""
        return frozenset(self._tall)

    @property
    def deep(self) -> frozenset[str]:
        """Keys of the lanes whose sub-rows are smaller than they could be."""
        return frozenset(lane.key for group in self.groups for lane in group.lanes if shrinks(lane))

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
            self._collapsed.clear()
            self._tall.clear()
            self._unfolded.clear()
        self.session = self._job = session
        self.shifts = {}
        self.groups = build_tree(session)
        self._place()
        for trace in self._lods.missing(session):
            self._build(trace)
        return same_job

    @property
    def arrangement(self) -> Folding:
        """How the lanes are arranged now."""
        return Folding(frozenset(self._collapsed), frozenset(self._tall), frozenset(self._unfolded))

    def set_arrangement(self, wanted: Folding) -> None:
        """Arrange the lanes like that."""
        if wanted != self.arrangement:
            self._collapsed, self._tall = set(wanted.collapsed), set(wanted.tall)
            self._unfolded = set(wanted.unfolded)
            self._place()

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

    def set_collapsed(self, groups: frozenset[int]) -> None:
        """Fold exactly these groups."""
        self._collapsed = {g.title for g in self.groups if g.id in groups}
        self._place()

    def toggle_group(self, group: int) -> None:
        """Fold or unfold one group."""
        self.set_collapsed(self.collapsed ^ {group})

    def toggle_lane(self, key: str) -> None:
        """Make a deep lane tall, or small again; fold or unfold rare threads at the row that counts them."""
        title = self._more.get(key)
        if title is None:
            self._tall ^= {key}
        else:
            self._unfolded ^= {title}
        self._place()

    def unfold(self, key: str) -> None:
        """Show a lane although it is a rare thread."""
        titles = {g.title for g in self.groups if key in g.rare}
        if titles - self._unfolded:
            self._unfolded |= titles
            self._place()

    @property
    def _more(self) -> dict[str, str]:
        """Titles of groups by the key of the row that counts their rare threads."""
        return {more_key(g): g.title for g in self.groups if g.rare}

    @property
    def folds(self) -> dict[str, bool]:
        """Keys of the rows that count rare threads, and whether those show below."""
        return {key: title in self._unfolded for key, title in self._more.items()}

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
        unfolded = frozenset(g.id for g in self.groups if g.title in self._unfolded)
        self.placement = place(self.groups, self.collapsed, tall=self.tall, unfolded=unfolded)
        self.painter = LanePainter(self.session, self.placement, self._theme, self._lods)
        self.placed.emit()
        self.select(self._selection)

    def _build(self, trace: Trace) -> None:
        if id(trace) in self._building:
            return
        self._building.add(id(trace))

        def done(built: Built) -> None:
            self._building.discard(id(trace))
            self._lods.put(trace, built)
            if not self._building:
                self.changed.emit()

        self._work.submit(f"levels {id(trace)}", lambda cancel: build(trace, cancel), done)

    def _loops_ready(self, _: object) -> None:
        self.ready = True
        self.changed.emit()
