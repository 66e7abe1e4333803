"""The Stragglers panel: who is late, a heat map of ranks by steps, and the ranking with causes."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
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
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, Request
from viewer.views.stragglers.frame import StragglersFrame
from viewer.views.stragglers.heat import MEASURES, HeatView, heat
from viewer.views.stragglers.panel import stragglers
from widgets.heatmap import HeatMap
from widgets.table import DataTable
from widgets.theming import color, set_tip
from widgets.wrap_label import WrapLabel

Asked = tuple[str, bool]
"""(measure of the map, whether against the median of a role)."""
Answer = tuple[StragglersFrame, HeatView | None]


class StragglersPanel(FollowingPanel[Asked, Answer]):
    """Follows the session."""

    KEY = "stragglers"
    SUBJECT = "Who is late"
    HINT = "Open the traces of several ranks: this panel says who is late, by how much, why, and who waits for it."
    COMPUTING = "Replaying the steps…"

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._answer: Answer | None = None
        self.setAccessibleName("Stragglers")
        self._build()
        self.measure.currentIndexChanged.connect(self.refresh)
        self.relative.toggled.connect(self.refresh)
        self.map.chosen.connect(self._cell)
        self.table.row_chosen.connect(self._row)
        self.follow()

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

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.map, self.table, self.links):
            part.set_theme(theme)
        self.note.set_color(color(theme, "muted"))
        self._color_sentence()

    def _color_sentence(self) -> None:
        warns = self._answer is not None and self._answer[0].tone == "warning"
        self.sentence.set_color(color(self._context.theme, "warning" if warns else "text"))

    def say(self, text: str) -> None:
        """Instead of all the rest."""
        self._answer = None
        self.sentence.set_text(text)
        self._color_sentence()
        self.note.set_text("")
        self._show_tools(False)
        self.parts.hide()

    def _show_tools(self, shown: bool) -> None:
        for part in (self.measure, self.relative):
            part.setVisible(shown)

    def forget(self) -> None:
        """What is shown is of another session."""
        self._answer = None

    def question(self) -> Asked:
        """What the map is to show."""
        return str(self.measure.currentData()), self.relative.isChecked()

    def compute(self, request: Request[Asked, Answer]) -> Answer:
        """Ranking and map; the first is the same for every measure."""
        session, (measure, relative) = request.session, request.question
        frame = session.clocked_memo("stragglers_frame", lambda: stragglers(session))
        request.cancel.check()
        return frame, heat(session, measure, relative=relative)

    def show_answer(self, answer: Answer) -> None:
        """Fill map and tables."""
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
