"""The Memory panel: maps of memory on the axis of the lanes, who holds what at an instant, the ranks compared."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from viewer.base.allocator import Category
from viewer.base.frames import LaneRow
from viewer.base.memory_map import MapSpan
from viewer.base.selection import Selection
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.memory.axis import shift_of, span_in, window_around, window_of
from viewer.panels.memory.parts import BLOCKS, FIGURES, RANKS, MemoryParts
from viewer.store.session import Session
from viewer.views.memory.map import MapKind, MemoryMap, build_map, event_at, number_at, painted, present, tell
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
from widgets.theming import set_shown

HINT: Final = "Open a trace with memory events, or a memory snapshot: this panel says who holds what at any instant."
READING: Final = "Reading memory…"
_PEAK: Final = "peak"
_SOON_MS: Final = 30


class MemoryPanel(MemoryParts):
    """Follows the session, the selected rank and the lanes' window while it is shown; the newest request wins.

    Signals:
        window_wanted(TimeRange): show this part of the job in the lanes (shown time).
    """

    window_wanted = Signal(object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context.theme, parent)
        self._context = context
        self._session: Session | None = None
        self._choices: tuple[DeviceChoice, ...] = ()
        self._event: int | str | None = _PEAK
        self._block: int | None = None
        self._span: MapSpan | None = None
        self.view: MemoryView | None = None
        self.map: MemoryMap | None = None
        self.ranks: RanksView | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_SOON_MS)
        self._soon.timeout.connect(self._ask_map)
        self._connect()
        self._set_theme(context.theme)
        self._say(HINT)

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

    def _set_theme(self, theme: Theme) -> None:
        self.set_parts_theme(theme, self._seen())
        if self.map is not None and self._session is not None:
            self._put_map(painted(self._session, self.map, theme, self._block))

    def _seen(self) -> frozenset[Category]:
        found, session = self.map, self._session
        return frozenset(Category) if found is None or session is None else present(session, found)

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is computed now."""
        super().showEvent(event)
        self._refresh()

    def _say(self, text: str) -> None:
        self.view = None
        self.show_only_sentence()
        self.tell(self._context.theme, text)

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
        self._show_map_parts()
        self._take_window()
        self._ask_map()

    def _show_page(self, _: object = None) -> None:
        page = int(self.what.currentData())
        self._turn_page()
        self._show_map_parts()
        session = self._session
        if page == RANKS and self.ranks is None and session is not None and self._choices:
            self.rank_sentence.set_text(READING)
            self._context.work.submit("memory ranks", lambda _: ranks_view(session), self._show_ranks, self._failed)

    def _turn_page(self) -> None:
        """Show the page that is asked for; a source without blocks has its figures in their place."""
        page = int(self.what.currentData())
        none = self.view is not None and self.view.blocks is None
        self.pages.setCurrentIndex(FIGURES if page == BLOCKS and none else page)

    def _show_map_parts(self) -> None:
        choice = self.choice
        linkable = choice is not None and not choice.apart and self._kind is not MapKind.SEGMENTS
        self.show_map_parts(linkable=linkable)

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
        self.explain(self._context.theme, self._seen())
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
        self.tell(self._context.theme, view.sentence, warns=view.warning)
        for part in (self.what, self.parts):
            set_shown(part, True)
        self._show_map_parts()
        if view.blocks is not None:
            self.blocks.set_frame(view.blocks)
        self._turn_page()
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
            there = window_around(window, at)
            if there is not None:
                self.window_wanted.emit(there)
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
        choice = self.choice
        return shift_of(self._context, self._session, None if choice is None else choice.input)

    def _take_window(self) -> None:
        """Show what the lanes show."""
        window = self._context.window
        if self.is_linked and window is not None:
            by = self._shift()
            y = self._span or (self.map.frame.whole if self.map is not None and self.map.kind is self._kind else None)
            self._span = None
            if y is not None:
                self._span = span_in(window, by, y)

    def _window_moved(self, _: object) -> None:
        if not self.isVisible() or not self.is_linked or self.map is None:
            return
        window = self._context.window
        if window is None:
            return
        there = span_in(window, self._shift(), self.canvas.span)
        if there != self.canvas.span:
            self._span = there
            self._soon.start()

    def _span_wanted(self, span: MapSpan) -> None:
        moved = self._span is None or (span.x0, span.x1) != (self._span.x0, self._span.x1)
        self._span = span
        if moved and self.is_linked:
            self.window_wanted.emit(window_of(span, self._shift()))
        self._soon.start()

    def _link(self, _: bool) -> None:
        self._take_window()
        self._ask_map()
