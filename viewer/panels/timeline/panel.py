"""The timeline: overview, axis, headers and lanes of all ranks on one clock, moved by mouse and keys."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QScrollBar, QVBoxLayout, QWidget

from viewer.base.frames import LaneGroup, Placement
from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.timeline.axis import TimelineAxis
from viewer.panels.timeline.find import FindPanel
from viewer.panels.timeline.kept import TimelineKept
from viewer.panels.timeline.lane_tools import LaneTools
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.panels.timeline.measure import TimelineMeasure
from viewer.panels.timeline.menu import TimelineMenu
from viewer.panels.timeline.navigation import NOTCH_ZOOM, TimelineNavigation
from viewer.panels.timeline.overlay import extent_text, selected_range
from viewer.panels.timeline.picture import TimelinePicture
from viewer.panels.timeline.pointer import TimelinePointer
from viewer.panels.timeline.reveal import TimelineReveal
from viewer.panels.timeline.steps import TimelineSteps
from viewer.panels.timeline.walk import TimelineWalk
from viewer.panels.timeline.zero import TimelineZero
from viewer.store.session import Session
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.painter import stamp_names
from viewer.views.timeline import viewport
from widgets.font_scale import scaled, text_scale
from widgets.lane_headers import LaneHeaders
from widgets.lanes_canvas import LanesCanvas
from widgets.legend import Legend
from widgets.minimap import Minimap
from widgets.ruler import Ruler

_SCROLL_STEP: Final = 48
_NO_PLACEMENT: Final = Placement((), 0)


class TimelinePanel(QWidget):
    """Lanes of the context's session. The visible window lives in the context.

    Signals:
        note_moved(int id, float dx, float dy): a note's box was dragged to this offset from its anchor.
        note_edited(int id): the user wants to change a note's text.
        note_removed(int id): the user wants a note gone.
        hovered(str): one line on what is under the pointer, "" for nothing.
    """

    note_moved = Signal(int, float, float)
    note_edited = Signal(int)
    note_removed = Signal(int)
    hovered = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("timeline")
        self.setAccessibleName("Timeline")
        self._context = context
        self._lanes = TimelineLanes(context.work, context.theme, self)
        self.extent: TimeRange | None = None
        self.origin_ns = 0
        self._following = True
        self.picture = TimelinePicture(self, context, self._lanes)
        self.kept = TimelineKept(self, context, self._lanes)
        self._build(context.theme)
        self._pointer = TimelinePointer(self, context, self._lanes)
        self.steps = TimelineSteps(self, context, self._lanes)
        self.bars.addWidget(self.steps.banner)
        self.measure = TimelineMeasure(self, context, self._lanes)
        self.navigation = TimelineNavigation(self, context)
        self.zero = TimelineZero(self, context)
        self.zero.changed.connect(self.refresh)
        self.axis = TimelineAxis(self, context, self._lanes)
        self.reveals = TimelineReveal(self, context, self._lanes)
        self.walk = TimelineWalk(self, context, self._lanes)
        self.finder = FindPanel(self, context, self._lanes)
        self.bars.addWidget(self.finder.bar)
        self.menu = TimelineMenu(self, context, self._lanes, self._pointer)
        self._connect()
        self.set_theme(context.theme)
        if context.session.inputs:
            self._session_changed(context.session)

    def _build(self, theme: Theme) -> None:
        self.minimap = Minimap(theme)
        self.ruler = Ruler(theme)
        self.headers = LaneHeaders(theme)
        self.canvas = LanesCanvas(theme)
        self.legend = Legend(theme)
        self.legend.set_hint("W S zoom   A D pan   drag selects a range   F focus   0 fit")
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
        self.bars = QVBoxLayout()  # slim bars above everything
        self.bars.setSpacing(0)
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addLayout(self.bars, 0, 0, 1, 3)
        self.lane_tools = LaneTools(self, self._lanes, self.extent_label)
        grid.addWidget(self.lane_tools.box, 1, 0)
        grid.addWidget(self.minimap, 1, 1, 1, 2)
        grid.addWidget(self.base_label, 2, 0)
        grid.addWidget(self.ruler, 2, 1)
        self.kept.join(grid, 3)
        grid.addWidget(self.headers, 4, 0)
        grid.addWidget(self.canvas, 4, 1)
        grid.addWidget(self.scrollbar, 4, 2)
        grid.addWidget(self.legend, 5, 0, 1, 3)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(4, 1)
        self._lanes.set_text_scale(text_scale())
        self._set_header_width(scaled(self.headers.sizeHint().width()))
        self.setFocusProxy(self.canvas)

    def _connect(self) -> None:
        context, canvas = self._context, self.canvas
        context.session_changed.connect(self._session_changed)
        context.selection_changed.connect(self._selection_changed)
        context.theme_changed.connect(self.set_theme)
        self._lanes.placed.connect(self._placed)
        self._lanes.changed.connect(self.refresh)
        self._lanes.marked.connect(self._marked)
        context.reveal_requested.connect(self.reveals.reveal)
        canvas.set_source(self.picture.source, stamp_names)
        canvas.zoomed.connect(lambda steps, x: self.zoom(NOTCH_ZOOM**steps, x))
        canvas.panned.connect(self.pan)
        canvas.scrolled.connect(self.scroll_by)
        canvas.clicked.connect(self._pointer.click)
        canvas.double_clicked.connect(self._pointer.double_click)
        for part in (canvas, self.ruler):
            part.range_dragged.connect(self._pointer.drag_range)
        canvas.pointed.connect(self._pointer.point)
        self.ruler.pointed.connect(self._pointer.point_axis)
        self.ruler.clicked.connect(self._pointer.click_axis)
        self.ruler.double_clicked.connect(self._pointer.double_click_axis)
        self.ruler.panned.connect(self.pan)
        self.ruler.zoomed.connect(lambda steps, x: self.zoom(NOTCH_ZOOM**steps, x))
        self._pointer.hovered.connect(self.hovered)
        self._pointer.moved.connect(self.picture.follow_pointer)
        canvas.note_moved.connect(self.note_moved)
        canvas.note_edited.connect(self.note_edited)
        canvas.note_removed.connect(self.note_removed)
        self.headers.group_toggled.connect(self.toggle_group)
        self.headers.group_clicked.connect(self._pointer.select_group)
        self.headers.lane_toggled.connect(self._lanes.toggle_lane)
        self.headers.row_picked.connect(self._pointer.picker.toggle)
        self.headers.row_extended.connect(self._pointer.picker.extend)
        self.headers.scrolled.connect(self.scroll_by)
        self.headers.width_dragged.connect(self._set_header_width)
        self.scrollbar.valueChanged.connect(self._scrolled)

    # what others may read and ask

    @property
    def pointer(self) -> TimelinePointer:
        """What the mouse points at."""
        return self._pointer

    def window(self) -> TimeRange | None:  # type: ignore[override]
        """The visible range of session time; None before anything is open. Hides ``QWidget.window``."""
        return self._context.window if self.extent is not None else None

    @property
    def lanes(self) -> TimelineLanes:
        """Tree, arrangement, colours and filter of the lanes."""
        return self._lanes

    @property
    def placement(self) -> Placement:
        """Where the lanes lie."""
        return self._lanes.placement

    @property
    def scroll_top(self) -> int:
        """Logical px of the content at the canvas' upper border."""
        return self.scrollbar.value()

    @property
    def collapsed(self) -> frozenset[int]:
        """Ids of the folded groups."""
        return self._lanes.collapsed

    @property
    def groups(self) -> tuple[LaneGroup, ...]:
        """All ranks with their lanes, hidden ones too."""
        return self._lanes.groups

    @property
    def lods(self) -> LodStore:
        """Levels of detail that pictures of the same traces can use."""
        return self._lanes.lods

    def fit(self) -> None:
        """Show the whole job, also while more of its files arrive."""
        if self.extent is not None:
            self.set_window(viewport.fitted(self.extent))
            self._following = True

    def zoom(self, factor: float, at_x: float | None = None) -> None:
        """Zoom by a factor (> 1: closer) around an x of the canvas, by default the cursor, else the middle."""
        window = self.window()
        if window is None or self.extent is None:
            return
        width = self.canvas.width()
        if at_x is None:
            at_x = self._pointer.cursor.x() if self._pointer.cursor is not None else width / 2
        self.set_window(viewport.zoomed(window, factor, at_x, width, self.extent))

    def pan(self, px: float) -> None:
        """Show later (positive) or earlier times."""
        window = self.window()
        if window is not None and self.extent is not None:
            self.set_window(viewport.panned(window, px, self.canvas.width(), self.extent))

    def show_range(self, target: TimeRange) -> None:
        """Show this range (as far as the job reaches)."""
        if self.extent is not None:
            self.set_window(viewport.clamped(target, self.extent))

    def reveal(self, target: SliceRef | GapRef | TimeRange | GroupRef) -> None:
        """Bring into view: unfold the group, scroll to the lane, pan or zoom as little as needed."""
        self.reveals.reveal(target)

    def focus_selection(self) -> None:
        """Zoom to what is selected; when it is in focus already, or nothing is selected, show everything."""
        target = selected_range(self._lanes.session, self._lanes.shown(self._context.selection))
        if target is None or self.extent is None:
            self.fit()
            return
        focus = viewport.focused(target, self.extent)
        if self.window() == focus:
            self.fit()
        else:
            self.set_window(focus)

    def set_collapsed(self, groups: frozenset[int]) -> None:
        """Fold exactly these groups."""
        self._lanes.set_collapsed(groups)

    def unfold(self, key: str) -> None:
        """Show a lane although it is a rare thread."""
        self._lanes.unfold(key)

    def toggle_group(self, group: int) -> None:
        """Fold or unfold one group."""
        self._lanes.toggle_group(group)

    # session and theme

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        for part in (self.minimap, self.ruler, self.kept.strip, self.headers, self.canvas, self.legend):
            part.set_theme(theme)
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Window, QColor(theme["window"]))
        palette.setColor(QPalette.ColorRole.WindowText, QColor(theme["muted"]))
        for label in (self.base_label, self.extent_label, self.kept.label):
            label.setPalette(palette)
            label.setAutoFillBackground(True)
        self._lanes.set_theme(theme)

    def _session_changed(self, session: Session) -> None:
        self.extent = session.extent()
        self.origin_ns = session.origin_ns()
        self._pointer.forget()
        same_job = self._lanes.set_session(session, self._context.selection)
        self._following = self._following or not same_job
        self.extent_label.setText(extent_text(session, self.extent))
        window = self._context.window
        if self.extent is not None:
            if self._following or window is None:
                self.fit()
            else:
                self.set_window(viewport.clamped(window, self.extent))
        self.refresh()
        self.kept.update_minimap()

    def _placed(self) -> None:
        lanes = self._lanes
        self.headers.set_rows(lanes.placement, lanes.collapsed, lanes.deep, lanes.tall, lanes.folds)
        self._pointer.forget()
        self.picture.forget()
        self._update_scroll()
        self._pointer.update_hit()

    def _selection_changed(self, selection: Selection) -> None:
        self.headers.set_selected(selection.group, selection.lanes)
        self._lanes.select(selection)

    def _marked(self) -> None:
        """Other things are marked upon the lanes: the frame is old, the overview is not."""
        self.picture.forget()
        self.axis.update()
        self.canvas.update()

    def refresh(self) -> None:
        """Something other than the window changed: draw anew."""
        self.picture.forget()
        self.axis.forget()
        self._pointer.update_hit()
        self.lane_tools.show_legend()
        self.canvas.update()
        self.headers.update()
        self.axis.update()
        self.axis.update_minimap()

    # window and scrolling

    def set_window(self, window: TimeRange) -> None:
        """Show exactly this range."""
        self._following = False
        self._context.set_window(window)
        self._pointer.update_hit()
        self.axis.update()
        self.axis.update_minimap()
        self.canvas.update()

    def _update_scroll(self) -> None:
        self.scrollbar.setPageStep(max(self.canvas.height(), 1))
        self.scrollbar.setSingleStep(_SCROLL_STEP)
        self.scrollbar.setRange(0, max(0, self._lanes.placement.height - self.canvas.height()))
        self.scrollbar.setVisible(self.scrollbar.maximum() > 0)

    def scroll_by(self, px: float) -> None:
        """Scroll the lanes up by so many px."""
        self.scrollbar.setValue(self.scrollbar.value() + round(px))

    def _scrolled(self, value: int) -> None:
        self.headers.set_top(value)
        self._pointer.update_hit()
        self.canvas.update()

    def _set_header_width(self, width: int) -> None:
        for part in (self.headers, self.base_label, self.lane_tools.box, self.kept.label):
            part.setFixedWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or less room."""
        super().resizeEvent(event)
        self._grid.activate()
        self._update_scroll()
        self._pointer.follow()
        self.kept.update_strip()
        self.axis.update()
        self.axis.update_minimap()

    # keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The keys of the timeline; others go on to the window."""
        if not self._pointer.key(event):
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """A move to a screen of another scale changes the images."""
        if event.type() == QEvent.Type.DevicePixelRatioChange and hasattr(self, "canvas"):
            self.refresh()
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange) and hasattr(self, "canvas"):
            self._fit_fonts()
        super().changeEvent(event)

    def _fit_fonts(self) -> None:
        """Rows and headers as tall as the system's font needs."""
        self._lanes.set_text_scale(text_scale())
        self._set_header_width(scaled(self.headers.sizeHint().width()))
        for part in (self.minimap, self.ruler, self.legend, self.kept.strip):
            part.updateGeometry()
