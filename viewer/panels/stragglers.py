"""The Stragglers panel: who is late, a heat map of ranks by steps, and the ranking with causes."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from viewer.base.frames import TableFrame
from viewer.base.selection import GroupRef, Selection
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.store.session import Session
from viewer.views.straggler_heat import MEASURES, HeatView, heat
from viewer.views.stragglers import stragglers
from viewer.views.stragglers_frame import StragglersFrame
from widgets.heatmap import HeatMap
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_tip
from widgets.wrap_label import WrapLabel

HINT = "Open the traces of several ranks: this panel says who is late, by how much, why, and who waits for it."
COMPUTING = "Replaying the steps…"
Answer = tuple[StragglersFrame, HeatView | None]


class StragglersPanel(QWidget):
    """Follows the session of a :class:`JobContext` while it is shown; the newest request wins."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: tuple[Session, str, bool] | None = None
        self._answer: Answer | None = None
        self.setAccessibleName("Stragglers")
        self._build()
        self.measure.currentIndexChanged.connect(self._refresh)
        self.relative.toggled.connect(self._refresh)
        self.map.chosen.connect(self._cell)
        self.table.row_chosen.connect(self._row)
        context.session_changed.connect(self._refresh)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._show_message(HINT)

    def _build(self) -> None:
        self.sentence = WrapLabel(self)
        self.measure = QComboBox(self)
        for key, name, _ in MEASURES:
            self.measure.addItem(name.capitalize(), key)
        self.measure.setAccessibleName("What the heat map shows")
        self.relative = QCheckBox("Against the role", self)
        set_tip(self.relative, "Show each value minus the median of the ranks of the same role in the same step")
        self.map = HeatMap(self._context.theme, self)
        self.table = DataTable(self, max_rows=16)
        self.note = WrapLabel(self, max_lines=2)
        self.links_title = QLabel("Slow links: low bus bandwidth with little waiting", self)
        self.links = DataTable(self, max_rows=8)
        tools = QHBoxLayout()
        tools.setSpacing(6)
        tools.addWidget(self.measure)
        tools.addWidget(self.relative)
        tools.addWidget(self.note, 1)
        self.left = _column(self.map, stretch=1)
        self.right = _column(self.table, self.links_title, self.links)
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.left_area = _scrolled(self.left)
        self.parts.addWidget(self.left_area)
        self.parts.addWidget(_scrolled(self.right))
        self.parts.setSizes([480, 760])
        self.parts.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        layout.addWidget(self.sentence)
        layout.addLayout(tools)
        layout.addWidget(self.parts, 1)

    @property
    def heat_view(self) -> HeatView | None:
        """What the heat map shows."""
        return self._answer[1] if self._answer is not None else None

    def _set_theme(self, theme: Theme) -> None:
        palette = palette_of(theme)
        self.setPalette(palette)
        self.setAutoFillBackground(True)
        for part in (self.map, self.table, self.links):
            part.set_theme(theme)
        self.note.set_color(color(theme, "muted"))
        self._color_sentence()

    def _color_sentence(self) -> None:
        warns = self._answer is not None and self._answer[0].tone == "warning"
        self.sentence.set_color(color(self._context.theme, "warning" if warns else "text"))

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is computed now."""
        super().showEvent(event)
        self._refresh()

    def _show_message(self, text: str) -> None:
        self._answer = None
        self.sentence.set_text(text)
        self._color_sentence()
        self.note.set_text("")
        self._show_tools(False)
        self.parts.hide()

    def _show_tools(self, shown: bool) -> None:
        for part in (self.measure, self.relative):
            part.setVisible(shown)

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible():
            return
        if not session.inputs:
            self._context.work.cancel("stragglers")
            self._asked = None
            self._show_message(HINT)
            return
        measure, relative = str(self.measure.currentData()), self.relative.isChecked()
        asked = (session, measure, relative)
        if self._asked is not None and self._asked[0] is session and self._asked[1:] == asked[1:]:
            return
        if self._asked is None or self._asked[0] is not session:
            self._show_message(COMPUTING)
        self._asked = asked
        self._context.work.submit(
            "stragglers", lambda cancel: self._compute(session, measure, relative, cancel), self._show, self._failed
        )

    @staticmethod
    def _compute(session: Session, measure: str, relative: bool, cancel: CancelToken) -> Answer:
        cancel.check()
        frame = session.clocked_memo("stragglers_frame", lambda: stragglers(session))
        cancel.check()
        return frame, heat(session, measure, relative=relative)

    def _show(self, answer: Answer) -> None:
        self._answer = answer
        frame, view = answer
        self.sentence.set_text(frame.sentence)
        self._color_sentence()
        self.note.set_text(frame.note)
        _fill(self.table, frame.table)
        _fill(self.links, frame.links)
        self.links_title.setVisible(frame.links is not None)
        self.left.setVisible(view is not None)
        self.left_area.setVisible(view is not None)
        self._show_tools(view is not None)
        if view is not None:
            self.map.set_frame(view.frame)
            set_tip(self.measure, view.note)
            self.map.setAccessibleDescription(view.note)
        self.parts.setVisible(view is not None or frame.table is not None or frame.links is not None)

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self._show_message(error_sentence("Who is late", error))

    def _cell(self, row: int, column: int) -> None:
        if self._answer is not None and self._answer[1] is not None:
            self._go(self._answer[1].selection(self._context.session, row, column))

    def _row(self, row: int) -> None:
        if self._answer is not None and row < len(self._answer[0].targets):
            self._go(self._answer[0].targets[row])

    def _go(self, target: Selection | None) -> None:
        """Select a rank with a range, or a slice, and bring it into view."""
        if target is None:
            return
        if target.slice is not None:
            self._context.jump(target.slice)
            return
        now = replace(self._context.selection, slice=None, gap=None, lanes=frozenset())
        self._context.select(replace(now, range=target.range, group=target.group))
        self._context.reveal_requested.emit(GroupRef(target.group))
        if target.range is not None:
            self._context.reveal_requested.emit(target.range)


def _fill(table: DataTable, frame: TableFrame | None) -> None:
    table.setVisible(frame is not None)
    if frame is not None:
        table.set_frame(frame)


def _column(*parts: QWidget, stretch: int = -1) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 4, 0)
    column.setSpacing(4)
    for i, part in enumerate(parts):
        column.addWidget(part, 1 if i == stretch else 0)
    if stretch < 0:
        column.addStretch(1)
    return box


def _scrolled(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setAccessibleName("Figures and tables")
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(content)
    return area
