"""The Kernels panel: GPU work by kernel, operator, shape, module, step or class, and the pace of a chosen row."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QSplitter, QWidget

from viewer.base.pace_frame import PaceFrame
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.following import KeptRank, Request, RunWalk, ScopedPanel
from viewer.panels.table_tools import RowTools, ScopeLabel, lay_out
from viewer.views.op_table import HEADS, OpScope, OpView, op_scope, op_totals
from widgets.column_table import ColumnTable
from widgets.pace_plot import PacePlot
from widgets.theming import set_tip

COUNTING: Final = "Counting…"
PACE: Final = "kernel pace"

Asked = tuple[OpScope, str]
"""(scope, grouping) of a table."""


class KernelsPanel(ScopedPanel[Asked, OpView]):
    """Follows rank and range of the selection.

    Signals:
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
    """

    KEY = "kernels"
    SUBJECT = "The table of kernels"
    HINT = "Open a trace: this panel says which kernels, operators and modules take the GPU's time."

    save_requested = Signal(object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._view: OpView | None = None
        self._row: tuple[OpView, int] | None = None
        self._rank = KeptRank()
        self._walk = RunWalk(context, "kernel runs")
        self.setAccessibleName("Kernels")
        self._build()
        context.selection_changed.connect(self.refresh)
        self.by.currentIndexChanged.connect(self.refresh)
        self.rows.filter_changed.connect(self._filter)
        self.rows.save_requested.connect(self.save_requested)
        self.table.row_clicked.connect(self._clicked)
        self.table.row_stepped.connect(self._step)
        self.pace.chosen.connect(self._go_to_run)
        self.follow()

    def _build(self) -> None:
        self.by = QComboBox(self)
        for by, head in HEADS.items():
            self.by.addItem(f"By {head[0].lower()}{head[1:]}", by)
        self.by.setAccessibleName("Group rows by")
        set_tip(self.by, "What the rows stand for")
        self.scope = ScopeLabel(self._context.theme, self)
        self.table = ColumnTable(self, first_least=300)
        self.rows = RowTools(self.table, self._context.theme, self, "gemm  -flash  class:compute  dur:>1ms")
        self.pace = PacePlot(self)
        self.pace.hide()
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.table)
        self.parts.addWidget(self.pace)
        self.parts.setChildrenCollapsible(False)
        self.parts.setStretchFactor(0, 3)
        self.parts.setStretchFactor(1, 1)
        tools = [(self.by, 0), (self.rows.filter, 1), (self.scope, 2), (self.rows.copy, 0), (self.rows.save, 0)]
        lay_out(self, tools, (self.parts, 1))

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 280)

    @property
    def shown(self) -> OpView | None:
        """What the table shows; None before there is anything."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.table, self.pace, self.scope, self.rows):
            part.set_theme(theme)

    # what is counted

    def forget(self) -> None:
        """No row of the session before is chosen."""
        self._row = None
        self._walk.forget()
        self._show_pace(None)

    def question(self) -> Asked:
        """Scope and grouping."""
        return op_scope(self._context.session, self._rank.selection(self._context)), str(self.by.currentData())

    def compute(self, request: Request[Asked, OpView]) -> OpView:
        """The table, in parts where it takes a while."""
        from viewer.views.op_table import compute  # compiled loops load off the GUI thread

        def tell(view: OpView) -> None:
            request.tell(view, view.table.done)

        return compute(request.session, *request.question, request.cancel, tell)

    def say_waiting(self) -> None:
        """Name what is counted."""
        self.scope.say(f"{self.asked[0].text} · {COUNTING}")

    def show_part(self, answer: OpView) -> None:
        """Say how much is counted by now."""
        self.show_answer(answer)
        self.scope.say(f"{answer.scope.text} · {answer.table.done} of {len(answer.scope.inputs)} files…")

    def show_answer(self, answer: OpView) -> None:
        """Fill the table; the chosen row keeps its pace."""
        before = self._view
        self._view = view = answer
        keep = self.rows.keep(view.frame)
        if before is None or before.table.by != view.table.by:
            self.table.set_order(view.frame.columns[2].head if len(view.frame.columns) > 2 else "", True)
        self.table.set_frame(view.frame, keep, op_totals(view, keep))
        self.scope.say(f"{view.scope.text} · {view.note}" if view.note else view.scope.text)
        self._follow_row(view)

    def _follow_row(self, view: OpView) -> None:
        """The pace of the row that was chosen before, in the new range or rank."""
        if self._row is None:
            return
        old, row = self._row
        key = old.table.keys[row]
        if old.table.by == view.table.by and key in view.table.keys:
            self._choose_row(view, view.table.keys.index(key))
        else:
            self._row = None
            self._show_pace(None)

    def _filter(self) -> None:
        if self._view is not None:
            keep = self.rows.keep(self._view.frame)
            self.table.set_keep(keep, op_totals(self._view, keep))

    # one row

    def _clicked(self, row: int) -> None:
        view = self._view
        if view is None or view.session is not self._context.session:
            return
        target = view.longest(row)
        if target is not None:
            self._context.jump(target)
        self._choose_row(view, row)

    def _choose_row(self, view: OpView, row: int) -> None:
        self._row = (view, row)

        def find(cancel: CancelToken) -> PaceFrame | None:
            cancel.check()
            from viewer.views.pace import pace_frame

            return pace_frame(view, row)

        self._context.work.submit(PACE, find, self._show_pace)

    def _show_pace(self, frame: PaceFrame | None) -> None:
        if frame is None:
            self._context.work.cancel(PACE)
        self.pace.set_frame(frame)
        if self.pace.isHidden() == (frame is not None):
            self.pace.setVisible(frame is not None)
            if frame is not None:
                self.parts.setSizes([self.parts.width() * 7 // 10, self.parts.width() * 3 // 10])

    def _go_to_run(self, at: int) -> None:
        if self.pace.frame is not None:
            self._context.jump(self.pace.frame.ref(at))

    def _step(self, row: int, forward: bool) -> None:
        view = self._view
        if view is not None and view.session is self._context.session:
            self._walk.step(view, row, forward, lambda: view.runs(row), self._context.jump)
