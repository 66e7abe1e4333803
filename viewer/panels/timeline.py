"""The timeline: overview, axis, headers and lanes of all ranks on one clock, moved by mouse and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QScrollBar, QWidget

from viewer.base.frames import Arrow, Hit, LaneFrame, LaneGroup, Note, Placement
from viewer.base.selection import EMPTY, GapRef, Selection, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.panels.context import JobContext
from viewer.panels.timeline_overlay import View, build_overlay, describe, selected_range
from viewer.store.session import Session
from viewer.store.trace import Trace
from viewer.views import viewport
from viewer.views.lane_hit import same_name, time_at, time_of
from viewer.views.lane_lod import LodStore, build
from viewer.views.lanes import LanePainter, build_tree, place, shrinks, warm_up
from viewer.views.ticks import Axis, exact, ticks
from widgets.lane_headers import LaneHeaders
from widgets.lane_overlay import Overlay, Tip
from widgets.lanes_canvas import LanesCanvas
from widgets.minimap import HEIGHT as MINIMAP_HEIGHT
from widgets.minimap import Minimap
from widgets.ruler import Ruler

_KEY_ZOOM: Final = 1.35
_NOTCH_ZOOM: Final = 1.25
_KEY_PAN: Final = 0.12
_SCROLL_STEP: Final = 48
_NO_PLACEMENT: Final = Placement((), 0)


class TimelinePanel(QWidget):
    """Lanes of the context's session. The visible window lives in the context.

    Signals:
        note_requested(int time_ns, str lane): the user wants a note there ("" when no lane is pointed at).
        note_moved(int id, float dx, float dy): a note's box was dragged to this offset from its anchor.
        note_edited(int id): the user wants to change a note's text.
        note_removed(int id): the user wants a note gone.
        hovered(str): one line on what is under the pointer, "" for nothing.
    """

    note_requested = Signal(object, str)
    note_moved = Signal(int, float, float)
    note_edited = Signal(int)
    note_removed = Signal(int)
    hovered = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("timeline")
        self.setAccessibleName("Timeline")
        self._context = context
        self._lods = LodStore()
        self._building: set[int] = set()
        self._ready = False
        self._session = Session()
        self._groups: tuple[LaneGroup, ...] = ()
        self._collapsed: set[str] = set()  # titles, which survive a new session of the same job
        self._tall: set[str] = set()
        self._placement = _NO_PLACEMENT
        self._painter = LanePainter(self._session, _NO_PLACEMENT, context.theme, self._lods)
        self._extent: TimeRange | None = None
        self._origin = 0
        self._following = True
        self._notes: tuple[Note, ...] = ()
        self._arrows: list[Arrow] = []
        self._cursor: QPointF | None = None
        self._hit: Hit | None = None
        self._dragging: TimeRange | None = None
        self._frame: tuple[tuple[Any, ...], LaneFrame] | None = None
        self._overview_key: tuple[Any, ...] | None = None
        self._focused: TimeRange | None = None
        self._build(context.theme)
        self._connect()
        self.set_theme(context.theme)
        context.work.submit("timeline loops", lambda _: warm_up(), self._loops_ready)
        if context.session.inputs:
            self._session_changed(context.session)

    def _build(self, theme: Theme) -> None:
        self.minimap = Minimap(theme)
        self.ruler = Ruler(theme)
        self.headers = LaneHeaders(theme)
        self.canvas = LanesCanvas(theme)
        self.scrollbar = QScrollBar(Qt.Orientation.Vertical)
        self.scrollbar.setAccessibleName("Scroll the lanes")
        self.base_label = QLabel()
        self.base_label.setObjectName("axis-base")
        self.base_label.setAccessibleName("Start of the axis labels")
        self.base_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.base_label.setContentsMargins(8, 0, 8, 0)
        self.extent_label = QLabel()
        self.extent_label.setObjectName("job-extent")
        self.extent_label.setContentsMargins(10, 0, 8, 0)
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.extent_label, 0, 0)
        grid.addWidget(self.minimap, 0, 1, 1, 2)
        grid.addWidget(self.base_label, 1, 0)
        grid.addWidget(self.ruler, 1, 1)
        grid.addWidget(self.headers, 2, 0)
        grid.addWidget(self.canvas, 2, 1)
        grid.addWidget(self.scrollbar, 2, 2)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(2, 1)
        self._set_header_width(self.headers.sizeHint().width())
        self.setFocusProxy(self.canvas)

    def _connect(self) -> None:
        context, canvas = self._context, self.canvas
        context.session_changed.connect(self._session_changed)
        context.selection_changed.connect(self._selection_changed)
        context.theme_changed.connect(self.set_theme)
        context.reveal_requested.connect(self.reveal)
        canvas.set_source(self._source)
        canvas.zoomed.connect(lambda steps, x: self.zoom(_NOTCH_ZOOM**steps, x))
        canvas.panned.connect(self.pan)
        canvas.scrolled.connect(self._scroll_by)
        canvas.clicked.connect(self._click)
        canvas.double_clicked.connect(self._double_click)
        canvas.range_dragged.connect(self._drag_range)
        canvas.pointed.connect(self._point)
        canvas.note_moved.connect(self.note_moved)
        canvas.note_edited.connect(self.note_edited)
        canvas.note_removed.connect(self.note_removed)
        self.headers.group_toggled.connect(self.toggle_group)
        self.headers.group_clicked.connect(self._select_group)
        self.headers.lane_toggled.connect(self._toggle_tall)
        self.headers.scrolled.connect(self._scroll_by)
        self.headers.width_dragged.connect(self._set_header_width)
        self.minimap.moved.connect(self._centre_on)
        self.minimap.resized.connect(self._show_shares)
        self.scrollbar.valueChanged.connect(self._scrolled)

    # what others may read and ask

    def window(self) -> TimeRange | None:  # type: ignore[override]
        """The visible range of session time; None before anything is open. Hides ``QWidget.window``."""
        return self._context.window if self._extent is not None else None

    @property
    def placement(self) -> Placement:
        """Where the lanes lie."""
        return self._placement

    @property
    def scroll_top(self) -> int:
        """Logical px of the content at the canvas' upper border."""
        return self.scrollbar.value()

    @property
    def collapsed(self) -> frozenset[int]:
        """Ids of the folded groups."""
        return frozenset(g.id for g in self._groups if g.title in self._collapsed)

    def fit(self) -> None:
        """Show the whole job, also while more of its files arrive."""
        if self._extent is not None:
            self._set_window(viewport.fitted(self._extent))
            self._following = True

    def zoom(self, factor: float, at_x: float | None = None) -> None:
        """Zoom by a factor (> 1: closer) around an x of the canvas, by default the cursor, else the middle."""
        window = self.window()
        if window is None or self._extent is None:
            return
        width = self.canvas.width()
        if at_x is None:
            at_x = self._cursor.x() if self._cursor is not None else width / 2
        self._set_window(viewport.zoomed(window, factor, at_x, width, self._extent))

    def pan(self, px: float) -> None:
        """Show later (positive) or earlier times."""
        window = self.window()
        if window is not None and self._extent is not None:
            self._set_window(viewport.panned(window, px, self.canvas.width(), self._extent))

    def show_range(self, target: TimeRange) -> None:
        """Show this range (as far as the job reaches)."""
        if self._extent is not None:
            self._set_window(viewport.clamped(target, self._extent))

    def reveal(self, target: SliceRef | GapRef | TimeRange) -> None:
        """Bring into view: unfold the group, scroll to the lane, pan or zoom as little as needed."""
        window = self.window()
        if window is None or self._extent is None:
            return
        if isinstance(target, TimeRange):
            self._set_window(viewport.focused(target, self._extent))
            return
        item = self._session.inputs[target.input]
        if isinstance(target, SliceRef):
            time, lane = time_of(item, target.index), item.trace.lane_of(target.index).id
            depth = int(item.trace.rows.depth[item.trace.row_of(target.index)])
        else:
            time, lane, depth = target.range, target.lane, 0
        group = self._session.group_of(target.input).id
        if group in self.collapsed:
            self.toggle_group(group)
        self._set_window(viewport.revealed(time, window, self._extent))
        for row in self._placement.rows:
            if row.lane is not None and (target.input, lane) in row.lane.parts:
                self._scroll_to(row.y + depth * row.row_height, row.row_height + 8)

    def focus_selection(self) -> None:
        """Zoom to what is selected; when it is in focus already, or nothing is selected, show everything."""
        target = selected_range(self._session, self._context.selection)
        if target is None or self._extent is None:
            self.fit()
            return
        focus = viewport.focused(target, self._extent)
        if self.window() == focus:
            self.fit()
        else:
            self._set_window(focus)

    def set_notes(self, notes: Sequence[Note]) -> None:
        """Show these notes."""
        self._notes = tuple(notes)
        self.canvas.update()

    def set_collapsed(self, groups: frozenset[int]) -> None:
        """Fold exactly these groups."""
        self._collapsed = {g.title for g in self._groups if g.id in groups}
        self._place()

    def toggle_group(self, group: int) -> None:
        """Fold or unfold one group."""
        self.set_collapsed(self.collapsed ^ {group})

    # session, theme, background work

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._painter.set_theme(theme)
        for part in (self.minimap, self.ruler, self.headers, self.canvas):
            part.set_theme(theme)
        self.base_label.setStyleSheet(f"color: {theme['muted']}; background: {theme['window']}; font-size: 11px")
        self.extent_label.setStyleSheet(
            f"color: {theme['muted']}; background: {theme['window']}; font-size: 11px;"
            f"border-bottom: 1px solid {theme['line']}"
        )
        self._refresh()

    def _session_changed(self, session: Session) -> None:
        known = {i.path for i in self._session.inputs}
        same_job = any(i.path in known for i in session.inputs)
        self._session = session
        self._groups = build_tree(session)
        self._extent = session.extent()
        self._origin = session.origin_ns()
        self._hit = None
        self._arrows = []
        if not same_job:
            self._collapsed.clear()
            self._tall.clear()
            self._following = True
        self._place()
        self.extent_label.setText(_extent_text(session, self._extent))
        window = self._context.window
        if self._extent is not None:
            if self._following or window is None:
                self.fit()
            else:
                self._set_window(viewport.clamped(window, self._extent))
        for item in session.inputs:
            self._build_lod(item.trace)
        self._selection_changed(self._context.selection)
        self._refresh()

    def _place(self) -> None:
        self._placement = place(self._groups, self.collapsed, tall=frozenset(self._tall))
        self._painter = LanePainter(self._session, self._placement, self._context.theme, self._lods)
        lanes = [lane for group in self._groups for lane in group.lanes if shrinks(lane)]
        self.headers.set_rows(self._placement, self.collapsed, frozenset(x.key for x in lanes), frozenset(self._tall))
        self._update_scroll()
        self._selection_changed(self._context.selection)
        self._refresh()

    def _build_lod(self, trace: Trace) -> None:
        if id(trace) in self._building or trace not in self._lods.missing(self._session):
            return
        self._building.add(id(trace))

        def done(lod: Any) -> None:
            self._building.discard(id(trace))
            self._lods.put(trace, lod)
            if not self._building:
                self._refresh()

        self._context.work.submit(f"levels {id(trace)}", lambda cancel: build(trace, cancel), done)

    def _loops_ready(self, _: object) -> None:
        self._ready = True
        self._refresh()

    def _selection_changed(self, selection: Selection) -> None:
        self.headers.set_selected_group(selection.group)
        self._arrows = []
        self._painter.emphasise({})
        ref, painter, session = selection.slice, self._painter, self._session
        if ref is not None and ref.input < len(session.inputs):

            def find(_: object) -> tuple[list[Arrow], dict[int, Any]]:
                return painter.arrows(selection), same_name(session, ref)

            def done(found: tuple[list[Arrow], dict[int, Any]]) -> None:
                if painter is self._painter:
                    self._arrows = found[0]
                    painter.emphasise(found[1])
                    self._refresh()

            self._context.work.submit("timeline marks", find, done)
        else:
            self._context.work.cancel("timeline marks")
        self._refresh()

    def _refresh(self) -> None:
        """Something other than the window changed: draw anew."""
        self._frame = None
        self._overview_key = None
        self.canvas.update()
        self.headers.update()
        self._update_axis()
        self._update_minimap()

    # window and scrolling

    def _set_window(self, window: TimeRange) -> None:
        self._following = False
        self._context.set_window(window)
        self._update_hit()
        self._update_axis()
        self._update_minimap()
        self.canvas.update()

    def _axis(self) -> Axis | None:
        window = self.window()
        return None if window is None else ticks(window, self._origin, self.canvas.width())

    def _update_axis(self) -> None:
        axis, window = self._axis(), self.window()
        if axis is None or window is None:
            self.ruler.set_ticks((), None)
            self.base_label.clear()
            return
        view = View(window, self.canvas.width(), 0, self._placement)
        chosen = self._dragging or self._context.selection.range
        span = (view.x(chosen.start_ns), view.x(chosen.end_ns)) if chosen is not None else None
        self.ruler.set_ticks(axis.ticks, span)
        self.base_label.setText(f"{axis.base} +" if axis.base else "")
        if self._cursor is not None:
            at = time_at(window, self.canvas.width(), self._cursor.x())
            self.ruler.set_cursor((self._cursor.x(), exact(at - self._origin)))
        else:
            self.ruler.set_cursor(None)

    def _update_minimap(self) -> None:
        window = self.window()
        if window is None or self._extent is None:
            self.minimap.set_image(None, 1.0)
            return
        whole = viewport.fitted(self._extent)
        length = whole.length_ns
        self.minimap.set_window((window.start_ns - whole.start_ns) / length, (window.end_ns - whole.start_ns) / length)
        key = (self.minimap.width(), self.devicePixelRatioF(), whole)
        if self._ready and key != self._overview_key and self.minimap.width() > 0:
            self._overview_key = key
            height = MINIMAP_HEIGHT - 8
            self.minimap.set_image(self._painter.overview(whole, key[0], height, key[1]), key[1])

    def _centre_on(self, share: float) -> None:
        window = self.window()
        if window is not None and self._extent is not None:
            whole = viewport.fitted(self._extent)
            start = whole.start_ns + round(share * whole.length_ns) - window.length_ns // 2
            self._set_window(viewport.shifted_inside(TimeRange(start, start + window.length_ns), whole))

    def _show_shares(self, start: float, end: float) -> None:
        if self._extent is not None:
            whole = viewport.fitted(self._extent)
            a, b = (whole.start_ns + round(s * whole.length_ns) for s in (start, end))
            self._set_window(viewport.clamped(TimeRange(a, max(b, a + 1)), self._extent))

    def _update_scroll(self) -> None:
        self.scrollbar.setPageStep(max(self.canvas.height(), 1))
        self.scrollbar.setSingleStep(_SCROLL_STEP)
        self.scrollbar.setRange(0, max(0, self._placement.height - self.canvas.height()))
        self.scrollbar.setVisible(self.scrollbar.maximum() > 0)

    def _scroll_by(self, px: float) -> None:
        self.scrollbar.setValue(self.scrollbar.value() + round(px))

    def _scroll_to(self, y: int, height: int) -> None:
        """Scroll so that this part of the content is in sight, in the middle when it was not."""
        top, room = self.scrollbar.value(), self.canvas.height()
        if y < top + 28 or y + height > top + room:
            self.scrollbar.setValue(y + height // 2 - room // 2)

    def _scrolled(self, value: int) -> None:
        self.headers.set_top(value)
        self._update_hit()
        self.canvas.update()

    def _set_header_width(self, width: int) -> None:
        for part in (self.headers, self.base_label, self.extent_label):
            part.setFixedWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or less room."""
        super().resizeEvent(event)
        self._grid.activate()
        self._update_scroll()
        self._update_axis()
        self._update_minimap()

    # painting

    def _source(self, width: int, height: int, dpr: float) -> tuple[LaneFrame, Overlay] | None:
        window = self.window()
        if window is None or not self._ready:
            return None
        top = self.scrollbar.value()
        key = (window, width, top, height, dpr)
        if self._frame is None or self._frame[0] != key:
            axis = ticks(window, self._origin, width)
            grid = [t.x for t in axis.ticks if t.major]
            self._frame = (key, self._painter.frame(window, width, top, height, dpr, grid=grid))
        selection = self._context.selection
        if self._dragging is not None:
            selection = Selection(range=self._dragging)
        view = View(window, width, top, self._placement)
        overlay = build_overlay(self._painter, view, selection, self._arrows, self._notes)
        if self._cursor is not None:
            overlay.cursor_x = self._cursor.x()
            title, lines, paint = describe(self._session, self._hit, self._origin)
            if title and self._dragging is None:
                overlay.tip = Tip(self._cursor.x(), self._cursor.y(), title, lines, paint)
        return self._frame[1], overlay

    # mouse

    def hit_at(self, at: QPointF) -> Hit | None:
        """What lies under a point of the canvas."""
        window = self.window()
        if window is None or not self._ready:
            return None
        return self._painter.hit(window, self.canvas.width(), at.x(), at.y() + self.scrollbar.value())

    def _point(self, at: QPointF | None) -> None:
        self._cursor = at
        self._update_hit()
        self._update_axis()
        self.canvas.update()

    def _update_hit(self) -> None:
        self._hit = self.hit_at(self._cursor) if self._cursor is not None and self._dragging is None else None
        title, lines, _ = describe(self._session, self._hit, self._origin)
        self.hovered.emit("  ·  ".join((title, *lines)) if title else "")

    def _click(self, at: QPointF) -> None:
        hit = self.hit_at(at)
        if hit is None:
            self._context.select(EMPTY)
            return
        group = hit.row.group.id
        if hit.slice is not None:
            self._context.select(Selection(slice=hit.slice, group=group))
        elif hit.gap is not None:
            self._context.select(Selection(gap=hit.gap, group=group))
        else:
            self._context.select(Selection(group=group))

    def _double_click(self, at: QPointF) -> None:
        hit = self.hit_at(at)
        if hit is None or self._extent is None:
            return
        if hit.slice is not None or hit.gap is not None:
            self._click(at)
            target = selected_range(self._session, self._context.selection)
            if target is not None:
                self._set_window(viewport.focused(target, self._extent))
        elif hit.row.lane is None:
            self.toggle_group(hit.row.group.id)

    def _drag_range(self, x0: float, x1: float, done: bool) -> None:
        window = self.window()
        if window is None:
            return
        width = self.canvas.width()
        a = time_at(window, width, min(max(x0, 0.0), width))
        b = time_at(window, width, min(max(x1, 0.0), width))
        span = TimeRange(a, max(b, a + 1))
        if done:
            self._dragging = None
            self._context.select(Selection(range=span, group=self._context.selection.group))
        else:
            self._dragging = span
        self._update_axis()
        self.canvas.update()

    def _select_group(self, group: int) -> None:
        selection = self._context.selection
        self._context.select(Selection(range=selection.range, group=None if selection.group == group else group))

    def _toggle_tall(self, key: str) -> None:
        self._tall ^= {key}
        self._place()

    # keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The keys of the timeline; others go on to the window."""
        action = self._keys().get(Qt.Key(event.key()))
        plain = not event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if action is None or not plain or self.window() is None:
            super().keyPressEvent(event)
            return
        action()
        event.accept()

    def _keys(self) -> dict[Qt.Key, Callable[[], None]]:
        key, step = Qt.Key, self.canvas.width() * _KEY_PAN
        return {
            key.Key_W: lambda: self.zoom(_KEY_ZOOM),
            key.Key_S: lambda: self.zoom(1 / _KEY_ZOOM),
            key.Key_Plus: lambda: self.zoom(_KEY_ZOOM),
            key.Key_Equal: lambda: self.zoom(_KEY_ZOOM),
            key.Key_Minus: lambda: self.zoom(1 / _KEY_ZOOM),
            key.Key_A: lambda: self.pan(-step),
            key.Key_D: lambda: self.pan(step),
            key.Key_Left: lambda: self.pan(-step),
            key.Key_Right: lambda: self.pan(step),
            key.Key_Up: lambda: self._scroll_by(-_SCROLL_STEP),
            key.Key_Down: lambda: self._scroll_by(_SCROLL_STEP),
            key.Key_PageUp: lambda: self._scroll_by(-self.canvas.height() * 0.9),
            key.Key_PageDown: lambda: self._scroll_by(self.canvas.height() * 0.9),
            key.Key_F: self.focus_selection,
            key.Key_0: self.fit,
            key.Key_Home: self.fit,
            key.Key_Escape: self._escape,
            key.Key_M: self._ask_note,
        }

    def _escape(self) -> None:
        self._dragging = None
        self._context.select(EMPTY)

    def _ask_note(self) -> None:
        """A note at the cursor, else at the selection, else in the middle."""
        window = self.window()
        if window is None:
            return
        selection = self._context.selection
        target = selected_range(self._session, selection)
        if self._cursor is not None:
            row = self._placement.at(self._cursor.y() + self.scrollbar.value())
            lane = row.lane.key if row is not None and row.lane is not None else ""
            self.note_requested.emit(time_at(window, self.canvas.width(), self._cursor.x()), lane)
        elif target is not None:
            self.note_requested.emit(target.start_ns + target.length_ns // 2, self._selected_lane(selection))
        else:
            self.note_requested.emit(window.start_ns + window.length_ns // 2, "")

    def _selected_lane(self, selection: Selection) -> str:
        if selection.slice is not None:
            try:
                return self._painter.locate(selection.slice)[1]
            except KeyError:
                return ""
        gap = selection.gap
        if gap is not None:
            lanes = (lane for group in self._groups for lane in group.lanes)
            return next((lane.key for lane in lanes if (gap.input, gap.lane) in lane.parts), "")
        return ""

    def changeEvent(self, event: QEvent) -> None:
        """A move to a screen of another scale changes the images."""
        if event.type() == QEvent.Type.DevicePixelRatioChange and hasattr(self, "canvas"):
            self._refresh()
        super().changeEvent(event)


def _extent_text(session: Session, extent: TimeRange | None) -> str:
    if extent is None:
        return ""
    ranks = len(session.groups)
    return f"{ranks} {'rank' if ranks == 1 else 'ranks'} · {format_duration(extent.length_ns, 1)}"
