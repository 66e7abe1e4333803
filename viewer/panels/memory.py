"""The Memory panel: maps of memory on the axis of the lanes, who holds what at an instant, the ranks compared."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.base.allocator import CATEGORY_NAMES, Category
from viewer.base.frames import LaneRow, Swatch
from viewer.base.memory_map import MapSpan
from viewer.base.selection import Selection, TimeRange
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.store.session import Session
from viewer.views.memory.lanes import ORDER
from viewer.views.memory.map import (
    KIND_NAMES,
    MapKind,
    MemoryMap,
    build_map,
    event_at,
    number_at,
    painted,
    present,
    tell,
)
from viewer.views.memory.paint import category_colors
from viewer.views.memory.panel import (
    NO_RECORDS,
    DeviceChoice,
    MemoryView,
    choices,
    event_at_time,
    memory_view,
    peak_event,
)
from viewer.views.memory.ranks import RanksView, ranks_view
from widgets.heatmap import HeatMap
from widgets.legend import Legend
from widgets.memory_map import MemoryMapView
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_shown, set_tip
from widgets.wrap_label import WrapLabel

HINT: Final = "Open a trace with memory events, or a memory snapshot: this panel says who holds what at any instant."
READING: Final = "Reading memory…"
BLOCKS, FIGURES, RANKS = range(3)
HANDS: Final = "Ctrl+wheel zooms · drag moves · double click shows all · click chooses"
_PEAK: Final = "peak"
_SOON_MS: Final = 30


class MemoryPanel(QWidget):
    """Follows the session, the selected rank and the lanes' window while it is shown; the newest request wins.

    Signals:
        window_wanted(TimeRange): show this part of the job in the lanes (shown time).
    """

    window_wanted = Signal(object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._session: Session | None = None
        self._choices: tuple[DeviceChoice, ...] = ()
        self._event: int | str | None = _PEAK
        self._block: int | None = None
        self._span: MapSpan | None = None
        self.view: MemoryView | None = None
        self.map: MemoryMap | None = None
        self.ranks: RanksView | None = None
        self.setAccessibleName("Memory")
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_SOON_MS)
        self._soon.timeout.connect(self._ask_map)
        self._build()
        self._connect()
        self._set_theme(context.theme)
        self._say(HINT)

    def _build(self) -> None:
        self.device = self._combo("Device", "The device, and the source that tells of it")
        self.kind = self._combo("Map", "Size or address against time, or the segments at the instant")
        for kind, name in KIND_NAMES.items():
            self.kind.addItem(name, kind)
        self.what = self._combo("List", "Blocks that are held, all figures, or the ranks beside each other")
        for number, name in ((BLOCKS, "Blocks held"), (FIGURES, "Figures"), (RANKS, "Ranks")):
            self.what.addItem(name, number)
        self.peak = QPushButton("Peak", self)
        set_tip(self.peak, "Go to the instant at which most is allocated (P)")
        self.linked = QCheckBox("With the lanes", self)
        self.linked.setChecked(True)
        set_tip(self.linked, "Zoom and move the map together with the lanes")
        self.sentence = WrapLabel(self, max_lines=2)
        self.canvas = MemoryMapView(self._context.theme, self)
        self.legend = Legend(self._context.theme, self)
        self.legend.set_hint(HANDS)
        self.blocks = DataTable(self, max_rows=400, min_rows=3)
        self.figures = SectionView(self._context.theme, self)
        self.heat = HeatMap(self._context.theme, self)
        self.table = DataTable(self, max_rows=400, min_rows=2)
        self.rank_sentence = WrapLabel(self, max_lines=2)
        self.rank_page = QWidget(self)
        column = QVBoxLayout(self.rank_page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        beside = QHBoxLayout()
        beside.setSpacing(8)
        beside.addWidget(self.table, 3, Qt.AlignmentFlag.AlignTop)
        beside.addWidget(self.heat, 2)
        column.addWidget(self.rank_sentence)
        column.addLayout(beside, 1)
        self.pages = QStackedWidget(self)
        for page in (self.blocks, self.figures, self.rank_page):
            self.pages.addWidget(page)
        self.left = QWidget(self)
        column = QVBoxLayout(self.left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.canvas, 1)
        column.addWidget(self.legend)
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.left)
        self.parts.addWidget(self.pages)
        self.parts.setChildrenCollapsible(False)
        self.parts.setSizes([640, 560])
        tools = QHBoxLayout()
        tools.setSpacing(6)
        for part in (self.device, self.kind, self.peak, self.linked):
            tools.addWidget(part)
        tools.addStretch(1)
        tools.addWidget(self.what)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 2)
        layout.setSpacing(3)
        layout.addLayout(tools)
        layout.addWidget(self.sentence)
        layout.addWidget(self.parts, 1)
        layout.addStretch(0)

    def _combo(self, name: str, tip: str) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        set_tip(box, tip)
        return box

    def _connect(self) -> None:
        context = self._context
        context.session_changed.connect(self._refresh)
        context.selection_changed.connect(self._selected)
        context.window_changed.connect(self._window_moved)
        context.theme_changed.connect(self._set_theme)
        self.device.currentIndexChanged.connect(self._choose_device)
        self.kind.currentIndexChanged.connect(self._choose_kind)
        self.what.currentIndexChanged.connect(self._show_page)
        self.peak.clicked.connect(self.show_peak)
        self.linked.toggled.connect(self._link)
        self.canvas.span_wanted.connect(self._span_wanted)
        self.canvas.chosen.connect(self._chosen)
        self.canvas.resized.connect(self._soon.start)
        self.canvas.teller = self._tell
        self.blocks.row_chosen.connect(self._choose_row)
        self.figures.jump_requested.connect(context.jump)
        self.table.jump_requested.connect(context.jump)
        self.heat.chosen.connect(self._choose_rank)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 340)

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        for part in (self.canvas, self.legend, self.blocks, self.figures, self.heat, self.table):
            part.set_theme(theme)
        self._explain()
        self.rank_sentence.set_color(color(theme, "muted"))
        self._color_sentence()
        if self.map is not None and self._session is not None:
            self._put_map(painted(self._session, self.map, theme, self._block))

    def _explain(self) -> None:
        """The legend: what occurs in the map."""
        found, session, colors = self.map, self._session, category_colors(self._context.theme)
        seen = frozenset(Category) if found is None or session is None else present(session, found)
        self.legend.set_swatches(
            [Swatch(CATEGORY_NAMES[c], f"#{colors[c] & 0xFFFFFF:06x}") for c in ORDER if c in seen]
        )

    def _color_sentence(self) -> None:
        warns = self.view is not None and self.view.warning
        self.sentence.set_color(color(self._context.theme, "warning" if warns else "text"))

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is computed now."""
        super().showEvent(event)
        self._refresh()

    def _say(self, text: str) -> None:
        self.view = None
        set_shown(self.sentence, True)
        self.sentence.set_text(text)
        self._color_sentence()
        for part in (self.device, self.kind, self.what, self.peak, self.linked, self.parts):
            set_shown(part, False)

    # What is shown

    @property
    def choice(self) -> DeviceChoice | None:
        """The device that is shown."""
        at = self.device.currentIndex()
        return self._choices[at] if 0 <= at < len(self._choices) else None

    @property
    def is_linked(self) -> bool:
        """Whether the map has the axis of the lanes."""
        choice = self.choice
        return (
            choice is not None and not choice.apart and self.linked.isChecked() and self._kind is not MapKind.SEGMENTS
        )

    @property
    def _kind(self) -> MapKind:
        return MapKind(self.kind.currentData())

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible() or session is self._session:
            return
        self._session = session
        for key in ("memory", "memory map", "memory ranks"):
            self._context.work.cancel(key)
        before = self.device.currentText()
        self._choices = choices(session)
        self._event, self._block, self._span, self.map, self.ranks = _PEAK, None, None, None, None
        self.canvas.set_frame(None)
        if not self._choices:
            self._say(NO_RECORDS if session.inputs else HINT)
            return
        labels = [c.label for c in self._choices]
        with QSignalBlocker(self.device):
            self.device.clear()
            self.device.addItems(labels)
            self.device.setCurrentIndex(labels.index(before) if before in labels else 0)
        self._say(READING)
        self._follow_rank(self._context.selection)
        self._take_window()
        self._ask()
        self._show_page()

    def _selected(self, selection: Selection) -> None:
        if self.isVisible() and self._choices and self._follow_rank(selection):
            self._other_device()

    def _follow_rank(self, selection: Selection) -> bool:
        """Show the selected rank's device; whether that is another one."""
        session, now = self._session, self.choice
        if selection.group is None or session is None or now is None:
            return False
        if session.group_of(now.input).id == selection.group:
            return False
        for at, choice in enumerate(self._choices):
            if session.group_of(choice.input).id == selection.group:
                with QSignalBlocker(self.device):
                    self.device.setCurrentIndex(at)
                return True
        return False

    def _choose_device(self, _: int) -> None:
        self._other_device()

    def _other_device(self) -> None:
        self._event, self._block, self._span = _PEAK, None, None
        self._take_window()
        self._ask()

    def _choose_kind(self, _: int) -> None:
        self._span = None
        self._take_window()
        self._ask_map()

    def _show_page(self, _: object = None) -> None:
        page = int(self.what.currentData())
        self.pages.setCurrentIndex(page)
        self._show_map_parts()
        session = self._session
        if page == RANKS and self.ranks is None and session is not None and self._choices:
            self.rank_sentence.set_text(READING)
            self._context.work.submit("memory ranks", lambda _: ranks_view(session), self._show_ranks, self._failed)

    def _show_map_parts(self) -> None:
        """The ranks need the whole width, and no map is of all of them."""
        choice, one = self.choice, int(self.what.currentData()) != RANKS
        for part in (self.left, self.sentence, self.device, self.kind, self.peak):
            set_shown(part, one)
        set_shown(self.linked, one and choice is not None and not choice.apart)

    def _ask(self) -> None:
        """Compute lists and map anew."""
        session, choice = self._session, self.choice
        if session is None or choice is None:
            return
        event, block = self._event, self._block

        def compute(cancel: CancelToken) -> MemoryView:
            cancel.check()
            at: Any = peak_event(session, choice) if event == _PEAK else event
            return memory_view(session, choice, at, block, cancel)

        self._context.work.submit("memory", compute, self._show, self._failed)
        self._ask_map()

    def _ask_map(self) -> None:
        session, choice = self._session, self.choice
        if session is None or choice is None or not self.isVisible():
            return
        kind, span, theme, block = self._kind, self._span, self._context.theme, self._block
        wanted = self._event
        dpr, area = self.devicePixelRatioF(), self.canvas.area()
        size = max(1, round(area.width() * dpr)), max(1, round(area.height() * dpr))

        def compute(cancel: CancelToken) -> MemoryMap:
            item = session.inputs[choice.input]
            at: Any = peak_event(session, choice) if wanted == _PEAK else wanted
            found = build_map(session, item, choice.device, kind, span, size, theme, cancel, at)
            return painted(session, found, theme, block) if block is not None else found

        self._context.work.submit("memory map", compute, self._put_map, self._failed)

    def _put_map(self, found: MemoryMap) -> None:
        self.map = found
        self.canvas.set_frame(found.frame)
        self._explain()
        self._mark()

    def _mark(self) -> None:
        """Put the line at the instant that is shown."""
        view, session = self.view, self._session
        at = None
        if view is not None and view.event is not None and session is not None:
            item = session.inputs[view.choice.input]
            at = int(item.trace.tables["allocator_events"].time_ns[view.event])
            if item.trace.tables["memory_devices"].timed[view.choice.device]:
                at = item.clock.to_session(at)
        self.canvas.set_marker(at)

    def _show(self, view: MemoryView) -> None:
        self.view = view
        self.sentence.set_text(view.sentence)
        self._color_sentence()
        for part in (self.what, self.parts):
            set_shown(part, True)
        self._show_map_parts()
        set_shown(self.blocks, view.blocks is not None)
        if view.blocks is not None:
            self.blocks.set_frame(view.blocks)
        else:
            self.pages.setCurrentIndex(FIGURES if self.what.currentData() == BLOCKS else self.pages.currentIndex())
        self.figures.set_frame(view.figures)
        self._mark()
        if self.map is None:
            self._soon.start()

    def _show_ranks(self, found: RanksView) -> None:
        self.ranks = found
        self.rank_sentence.set_text(found.sentence)
        set_shown(self.table, found.table is not None)
        set_shown(self.heat, found.heat is not None)
        if found.table is not None:
            self.table.set_frame(found.table)
        if found.heat is not None:
            self.heat.set_frame(found.heat)

    def _failed(self, error: Exception) -> None:
        self._say(error_sentence("Memory", error))

    # Hands

    def show_peak(self) -> None:
        """Show the instant at which most is allocated, here and in the lanes."""
        session, choice = self._session, self.choice
        if session is None or choice is None:
            return
        self._leave_ranks()
        self._event, self._block = _PEAK, None
        item = session.inputs[choice.input]
        event = peak_event(session, choice)
        window = self._context.window
        if event is not None and not choice.apart and window is not None:
            at = item.clock.to_session(int(item.trace.tables["allocator_events"].time_ns[event])) + self._shift()
            if not window.contains(at):
                start = at - window.length_ns // 2
                self.window_wanted.emit(TimeRange(start, start + window.length_ns))
        self._ask()

    def show_instant(self, lane: LaneRow, time_ns: int) -> None:
        """Show an instant of the job that was clicked on a memory lane."""
        self._refresh()
        session = self._session
        at = next((i for i, c in enumerate(self._choices) if (c.input, c.device) in lane.memory), None)
        if session is None or at is None:
            return
        with QSignalBlocker(self.device):
            self.device.setCurrentIndex(at)
        self._leave_ranks()
        self._event, self._block = event_at_time(session, self._choices[at], time_ns), None
        self._take_window()
        self._ask()

    def _leave_ranks(self) -> None:
        if self.what.currentData() == RANKS:
            self.what.setCurrentIndex(self.what.findData(BLOCKS))

    def _chosen(self, x: float, y: float) -> None:
        found = self.map
        if found is None or self._session is None:
            return
        number = number_at(found, x, y)
        self._block = number if number >= 0 else None
        if found.kind is not MapKind.SEGMENTS:
            self._event = event_at(found, x)
        self._open_block()

    def _choose_row(self, row: int) -> None:
        if self.view is not None and row < len(self.view.rows):
            self._event = self.view.event
            self._block = self.view.rows[row]
            self._open_block()

    def _open_block(self) -> None:
        if self._block is not None:
            with QSignalBlocker(self.what):
                self.what.setCurrentIndex(self.what.findData(FIGURES))
            self._show_page()
        self._ask()

    def _choose_rank(self, row: int, _: int) -> None:
        if self.ranks is not None and row < len(self.ranks.targets):
            self._context.select(self.ranks.targets[row])

    def _tell(self, x: float, y: float) -> str:
        if self.map is None or self._session is None or self.canvas.span != self.map.frame.span:
            return ""
        return tell(self._session, self.map, x, y)

    # The axis of the lanes

    def _shift(self) -> int:
        """By how much the lanes show the device's rank later than it was, ns."""
        session, choice = self._session, self.choice
        if session is None or choice is None:
            return 0
        return self._context.shifts.get(session.group_of(choice.input).id, 0)

    def _take_window(self) -> None:
        """Show what the lanes show."""
        window = self._context.window
        if self.is_linked and window is not None:
            by = self._shift()
            y = self._span or (self.map.frame.whole if self.map is not None and self.map.kind is self._kind else None)
            self._span = None
            if y is not None:
                self._span = MapSpan(window.start_ns - by, window.end_ns - by, y.y0, y.y1)

    def _window_moved(self, _: object) -> None:
        if not self.isVisible() or not self.is_linked or self.map is None:
            return
        window, by, seen = self._context.window, self._shift(), self.canvas.span
        if window is not None and (seen.x0, seen.x1) != (window.start_ns - by, window.end_ns - by):
            self._span = MapSpan(window.start_ns - by, window.end_ns - by, seen.y0, seen.y1)
            self._soon.start()

    def _span_wanted(self, span: MapSpan) -> None:
        moved = self._span is None or (span.x0, span.x1) != (self._span.x0, self._span.x1)
        self._span = span
        if moved and self.is_linked:
            by = self._shift()
            self.window_wanted.emit(TimeRange(span.x0 + by, max(span.x1 + by, span.x0 + by + 1)))
        self._soon.start()

    def _link(self, _: bool) -> None:
        self._take_window()
        self._ask_map()
