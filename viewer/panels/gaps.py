"""The Gaps panel: idle time by cause as a bar and a table, and the gaps themselves, filtered by cause and length."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, Request
from viewer.views.gaps import GapsFrame, gaps_frame
from viewer.views.idle_tables import serial_frame, stretches_frame
from viewer.views.idle_words import words_of
from widgets.bar import StackedBar
from widgets.choice_box import choice_box
from widgets.table import DataTable
from widgets.theming import color, set_shown
from widgets.wrap_label import WrapLabel

LENGTHS: Final = (
    ("Any length", 0),
    ("≥ 10 us", 10_000),
    ("≥ 100 us", 100_000),
    ("≥ 1 ms", 1_000_000),
    ("≥ 10 ms", 10_000_000),
)
GAPS, LAUNCHES, SERIAL = "gaps", "launches", "serial"
BESIDE: Final = 320
"""px that the sentence needs beside the boxes that choose."""
VIEWS: Final = ((GAPS, "Gaps"), (LAUNCHES, "Launch-bound stretches"), (SERIAL, "Streams one after the other"))
Asked = tuple[str, int | None, str | None, int]
"""(what is listed, rank group, cause, least length in ns)."""


class GapsPanel(FollowingPanel[Asked, GapsFrame]):
    """Follows the session, and with "Selected rank" the selection."""

    KEY = "gaps"
    SUBJECT = "Gaps"
    HINT = "Open a trace: this panel says where the GPUs are idle, and why."
    COMPUTING = "Looking for gaps…"

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.frame: GapsFrame | None = None
        self.setAccessibleName("Gaps")
        self._build()
        for box in (self.what, self.scope, self.cause, self.length):
            box.currentIndexChanged.connect(self.refresh)
        self.causes.row_chosen.connect(self._choose)
        self.gaps.jump_requested.connect(context.jump)
        context.selection_changed.connect(self.refresh)
        self.follow()

    def _build(self) -> None:
        self.what = choice_box(
            "What is listed", "Gaps, runs of kernels that wait for launches, or streams in series", self
        )
        for name, text in VIEWS:
            self.what.addItem(text, name)
        self.scope = choice_box("Whose gaps", "The gaps of all ranks, or of the rank that is selected", self)
        self.scope.addItem("All ranks", False)
        self.scope.addItem("Selected rank", True)
        self.cause = choice_box("Cause of the gaps", "Only gaps with a part of this cause", self)
        self.cause.addItem("Every cause", None)
        self.length = choice_box("Least length", "Only gaps of at least this length", self)
        for text, ns in LENGTHS:
            self.length.addItem(text, ns)
        self.sentence = WrapLabel(self, max_lines=2)
        self.bar = StackedBar(self)
        self.causes = DataTable(self, max_rows=24, min_rows=2)
        self.gaps = DataTable(self, max_rows=24, min_rows=3)
        self.note = WrapLabel(self, max_lines=2)
        self._tools = tools = QHBoxLayout()
        tools.setSpacing(6)
        self._boxes = (self.what, self.scope, self.cause, self.length)
        for box in self._boxes:
            tools.addWidget(box)
        tools.addWidget(self.sentence, 1)
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.causes)
        self.parts.addWidget(self.gaps)
        self.parts.setChildrenCollapsible(False)
        self.parts.setStretchFactor(0, 1)
        self.parts.setStretchFactor(1, 3)
        self.parts.setSizes([360, 900])
        self._rows = layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        layout.addLayout(tools)
        layout.addWidget(self.bar)
        layout.addWidget(self.note)
        layout.addWidget(self.parts, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow panel the sentence has a row of its own."""
        super().resizeEvent(event)
        beside = self.width() - sum(box.sizeHint().width() for box in self._boxes) >= BESIDE
        if beside != (self._tools.indexOf(self.sentence) >= 0):
            if beside:
                self._tools.addWidget(self.sentence, 1)
            else:
                self._rows.insertWidget(1, self.sentence)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 300)

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.bar, self.causes, self.gaps):
            part.set_theme(theme)
        self.sentence.set_color(color(theme, "text"))
        self.note.set_color(color(theme, "muted"))

    def say(self, text: str) -> None:
        """Instead of all the rest."""
        self.frame = None
        self.sentence.set_text(text)
        for part in (self.bar, self.note, self.parts, self.what, self.cause, self.length, self.scope):
            set_shown(part, False)

    def forget(self) -> None:
        """What is shown are gaps of another session."""
        self.frame = None

    def question(self) -> Asked:
        """What the boxes say."""
        group = self._context.selection.group if self.scope.currentData() else None
        return str(self.what.currentData()), group, self.cause.currentData(), int(self.length.currentData() or 0)

    def compute(self, request: Request[Asked, GapsFrame]) -> GapsFrame:
        """All of it at once."""
        what, group, cause, least = request.question
        session, cancel = request.session, request.cancel
        if what == LAUNCHES:
            return stretches_frame(session, group, cancel)
        if what == SERIAL:
            return serial_frame(session, group, cancel)
        return gaps_frame(session, group, cause, least, cancel)

    def show_answer(self, answer: GapsFrame) -> None:
        """Fill the bar and both tables."""
        self.frame = frame = answer
        self.sentence.set_text(frame.sentence)
        self.note.set_text(frame.note)
        # Filled before they are shown: what is hidden tells the layout no new size.
        if frame.bar is not None:
            # As wide as it will be: a narrow one asks for the room of a legend of many lines, which the window keeps.
            self.bar.resize(max(self.bar.width(), self.width() - 16), self.bar.height())
            self.bar.set_frame(frame.bar)
        if frame.causes is not None:
            self.causes.set_frame(frame.causes)
        if frame.gaps is not None:
            self.gaps.set_frame(frame.gaps)
        by_cause = frame.bar is not None
        for part in (self.bar, self.causes, self.cause, self.length):
            set_shown(part, by_cause)
        set_shown(self.parts, by_cause or frame.gaps is not None)
        set_shown(self.gaps, frame.gaps is not None)
        set_shown(self.note, bool(frame.note))
        set_shown(self.what, True)
        set_shown(self.scope, len(self._context.session.groups) > 1)
        if by_cause:
            self._fill_causes(frame.names)

    def _fill_causes(self, names: tuple[str, ...]) -> None:
        """Offer the causes that occur; a chosen one that does not occur here stays in the list."""
        chosen = self.cause.currentData()
        offered = [None, *names, *([chosen] if chosen is not None and chosen not in names else [])]
        if offered == [self.cause.itemData(i) for i in range(self.cause.count())]:
            return
        with QSignalBlocker(self.cause):
            self.cause.clear()
            for name in offered:
                self.cause.addItem("Every cause" if name is None else words_of(name).label.capitalize(), name)
            self.cause.setCurrentIndex(offered.index(chosen))

    def _choose(self, row: int) -> None:
        """Filter by the cause of a row, or by none when it is the filter already."""
        if self.frame is None or row >= len(self.frame.names):
            return
        at = self.cause.findData(self.frame.names[row])
        self.cause.setCurrentIndex(0 if at == self.cause.currentIndex() else at)
