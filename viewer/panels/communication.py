"""The Communication panel: exposed time taken apart, a table of all collectives, and what a chosen row did."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.base.frames import Jump
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, KeptRank, Request
from viewer.panels.table_tools import RowTools
from viewer.views.communication import EXPLAINED, CommunicationView, communication_view, totals
from viewer.views.communication_row import RowView, row_view
from widgets.bar import StackedBar
from widgets.column_table import ColumnTable
from widgets.curve_plot import CurvePlot
from widgets.histogram import Histogram
from widgets.pace_plot import PacePlot
from widgets.table import DataTable
from widgets.theming import color, set_tip
from widgets.wrap_label import WrapLabel


class CommunicationPanel(FollowingPanel[int | None, CommunicationView]):
    """Follows the selected rank; the question is its group.

    Signals:
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
    """

    KEY = "communication"
    SUBJECT = "Communication"
    HINT = "Open a trace: this panel takes its communication apart into waiting, volume, rate and overlap."
    COMPUTING = "Taking communication apart…"

    save_requested = Signal(object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._view: CommunicationView | None = None
        self._row: int | None = None
        self._rank = KeptRank()
        self.setAccessibleName("Communication")
        self._build()
        context.selection_changed.connect(self.refresh)
        self.rows.filter_changed.connect(self._filter)
        self.rows.save_requested.connect(self.save_requested)
        self.table.row_clicked.connect(self._clicked)
        self.pace.chosen.connect(self._go_to_operation)
        self.curve.chosen.connect(self._clicked)
        self.hiders.jump_requested.connect(self._jump)
        self.follow()

    def _build(self) -> None:
        self.sentence = WrapLabel(self, max_lines=2)
        self.bar = StackedBar(self)
        self.note = WrapLabel(self, max_lines=1)
        self.table = ColumnTable(self)
        self.rows = RowTools(self.table, self._context.theme, self, "allreduce  -send", 220)
        self.pace = PacePlot(self)
        self.histogram = Histogram(self)
        set_tip(
            self.histogram, "Operations by transfer (by duration where they are not matched). Line: 99th percentile"
        )
        self.curve = CurvePlot(self)
        self.why = WrapLabel(self, max_lines=4)
        self.hiders = DataTable(self, max_rows=40, min_rows=2)
        self.details = QTabWidget(self)
        self.details.setDocumentMode(True)
        self.details.setAccessibleName("Details of the chosen collective")
        self.details.addTab(self.pace, "Over the run")
        self.details.addTab(_top(self.histogram), "Distribution")
        self.details.addTab(self.curve, "Rate by size")
        self.details.addTab(_top(self.why, self.hiders), "Overlap and Wait")
        self.details.hide()
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.table)
        self.parts.addWidget(self.details)
        self.parts.setChildrenCollapsible(False)
        self.parts.setStretchFactor(0, 3)
        self.parts.setStretchFactor(1, 2)
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.sentence, 1)
        for part in self.rows.parts:
            head.addWidget(part, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.bar)
        layout.addWidget(self.note)
        layout.addWidget(self.parts, 1)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 340)

    @property
    def shown(self) -> CommunicationView | None:
        """What the panel shows; None before there is anything."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.bar, self.table, self.pace, self.histogram, self.curve, self.hiders):
            part.set_theme(theme)
        self.rows.set_theme(theme)
        self.sentence.set_color(color(theme, "text"))
        for label in (self.note, self.why):
            label.set_color(color(theme, "muted"))

    # what is counted

    def forget(self) -> None:
        """No row of the session before is chosen."""
        self._row = None
        self._show_row(None)

    def question(self) -> int | None:
        """The rank group that is counted, None for all."""
        return self._rank.of(self._context)

    def compute(self, request: Request[int | None, CommunicationView]) -> CommunicationView:
        """All of it at once."""
        return communication_view(request.session, request.question, request.cancel)

    def show_answer(self, answer: CommunicationView) -> None:
        """Fill sentence, bar and table; the chosen row is kept."""
        before = self._view
        self._view = view = answer
        where = "" if view.rank is None else f"{view.session.groups[view.rank].label}: "
        self.sentence.set_text(where + view.sentence)
        self.note.set_text(view.note)
        self.note.setVisible(bool(view.rows))
        self.bar.setVisible(view.bar is not None)
        if view.bar is not None:
            self.bar.set_frame(view.bar)
            set_tip(self.bar, EXPLAINED)
        self.parts.setVisible(bool(view.rows))
        self._show_tools(bool(view.rows))
        if before is None:
            self.table.set_order("Exposed", True)
        keep = self.rows.keep(view.frame)
        self.table.set_frame(view.frame, keep, totals(view, keep))
        self._follow(before)

    def _follow(self, before: CommunicationView | None) -> None:
        """The row that was chosen before, in the rows of another rank."""
        view, row = self._view, self._row
        self._row = None
        if view is not None and before is not None and row is not None and row < len(before.rows):
            old = before.rows[row]
            key = (old.kind, old.group, old.bytes)
            self._row = next((i for i, r in enumerate(view.rows) if (r.kind, r.group, r.bytes) == key), None)
        if self._row is None:
            self._show_row(None)
        else:
            self._ask_row(self._row)

    def say(self, text: str) -> None:
        """Instead of all the rest."""
        self._view = None
        self.sentence.set_text(text)
        self.note.set_text("")
        self._show_tools(False)
        for part in (self.bar, self.note, self.parts):
            part.hide()

    def _show_tools(self, shown: bool) -> None:
        for part in self.rows.parts:
            part.setVisible(shown)

    def _filter(self) -> None:
        if self._view is not None:
            keep = self.rows.keep(self._view.frame)
            self.table.set_keep(keep, totals(self._view, keep))

    # one row

    def _clicked(self, row: int) -> None:
        view = self._view
        if view is None or view.session is not self._context.session:
            return
        self._ask_row(row)
        self._jump(view.longest(row))

    def _ask_row(self, row: int) -> None:
        view = self._view
        assert view is not None
        self._row = row

        def find(cancel: CancelToken) -> RowView:
            cancel.check()
            return row_view(view, row)

        self._context.work.submit("communication row", find, self._show_row)

    def _show_row(self, found: RowView | None) -> None:
        if found is None:
            self._context.work.cancel("communication row")
            self.details.hide()
            return
        self.pace.set_frame(found.pace)
        self.curve.set_frame(found.curve)
        self.why.set_text(found.hiding)
        self.histogram.setVisible(found.histogram is not None)
        if found.histogram is not None:
            self.histogram.set_frame(found.histogram)
        self.hiders.setVisible(found.hiders is not None)
        if found.hiders is not None:
            self.hiders.set_frame(found.hiders)
        self.details.setTabVisible(1, found.histogram is not None)
        self.details.setTabVisible(2, found.curve is not None)
        if self.details.isHidden():
            self.details.show()
            self.parts.setSizes([self.parts.width() * 6 // 10, self.parts.width() * 4 // 10])

    def _go_to_operation(self, at: int) -> None:
        if self.pace.frame is not None:
            self._jump(self.pace.frame.ref(at))

    def _jump(self, target: Jump) -> None:
        if target is not None:
            self._context.jump(target)


def _top(*parts: QWidget) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(4, 4, 0, 0)
    column.setSpacing(4)
    for part in parts:
        column.addWidget(part)
    column.addStretch(1)
    return box
