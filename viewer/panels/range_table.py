"""The Selection panel: what runs in the selected range, rank or lanes, by name, class, category, rank or lane."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from viewer.base.selection import SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.following import KeptRank, Request, RunWalk, ScopedPanel
from viewer.panels.table_tools import RowTools, ScopeLabel, lay_out
from viewer.views.lanes.emphasis import query_of_class_name
from viewer.views.range_table import ALL, CPU, GPU, HEADS, RangeView, Runs, Scope, scope_of, totals
from widgets.column_table import ColumnTable
from widgets.theming import set_tip

SETTLE_MS: Final = 80
"""What is in sight is counted when it has rested this long."""

Asked = tuple[Scope, str]
"""(scope, grouping) of a table."""


class RangePanel(ScopedPanel[Asked, RangeView]):
    """Follows selection and visible window.

    Signals:
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
        emphasis_wanted(str): a row of a class was clicked: a query of its slices.
    """

    KEY = "range"
    SUBJECT = "The table of the selection"
    HINT = "Open a trace: this panel counts what runs in the selected range, rank or lanes."

    save_requested = Signal(object)
    emphasis_wanted = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._view: RangeView | None = None
        self._rank = KeptRank()
        self._walk = RunWalk(context, "range runs")
        self._jumping = False
        self._window = context.window
        self.setAccessibleName("Selection")
        self._build()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self.refresh)
        context.selection_changed.connect(self.refresh)
        context.window_changed.connect(self._moved)
        for box in (self.by, self.what):
            box.currentIndexChanged.connect(self.refresh)
        self.rows.filter_changed.connect(self._filter)
        self.rows.save_requested.connect(self.save_requested)
        self.table.row_clicked.connect(self._go_to_longest)
        self.table.row_stepped.connect(self._step)
        self.follow()

    def _build(self) -> None:
        self.scope = ScopeLabel(self._context.theme, self)
        self.by = QComboBox(self)
        for by, head in HEADS.items():
            self.by.addItem(f"By {head.lower()}", by)
        self.by.setAccessibleName("Group rows by")
        self.what = QComboBox(self)
        for what, text in ((GPU, "GPU work"), (CPU, "CPU"), (ALL, "All lanes")):
            self.what.addItem(text, what)
        self.what.setAccessibleName("Lanes that count")
        set_tip(self.what, "Which lanes count; lanes chosen with Ctrl count whatever they are")
        self.table = ColumnTable(self)
        self.rows = RowTools(self.table, self._context.theme, self, "nccl  -memcpy  class:comm  dur:>1ms")
        self.table.set_order("Sum", True)
        tools = [(self.by, 0), (self.what, 0), (self.rows.filter, 1), (self.scope, 2)]
        lay_out(self, [*tools, (self.rows.copy, 0), (self.rows.save, 0)], (self.table, 1))

    @property
    def shown(self) -> RangeView | None:
        """What the table shows; None before there is anything."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.table, self.scope, self.rows):
            part.set_theme(theme)

    # what is counted

    def forget(self) -> None:
        """Where nothing of a job ran on a GPU, all lanes count."""
        self._walk.forget()
        inputs = self._context.session.inputs
        gpu = any(item.trace.meta.gpu_first_ns is not None for item in inputs)
        if inputs and not gpu and self.what.currentData() == GPU:
            self.what.setCurrentIndex(self.what.findData(ALL))

    def _moved(self, window: TimeRange) -> None:
        if self._jumping:
            return
        self._window = window
        if self._context.selection.range is None and self.isVisible():
            self._timer.start()

    def question(self) -> Asked:
        """Scope and grouping."""
        self._timer.stop()
        selection = self._rank.selection(self._context)
        self.what.setEnabled(not selection.lanes)
        session = self._context.session
        scope = scope_of(session, selection, self._window, self.what.currentData(), self._context.shifts)
        return scope, self.by.currentData()

    def compute(self, request: Request[Asked, RangeView]) -> RangeView:
        """The table, in parts where it takes a while."""
        from viewer.views.range_table import compute  # compiled loops load off the GUI thread

        def tell(view: RangeView) -> None:
            request.tell(view, view.table.done)

        return compute(request.session, *request.question, request.cancel, tell)

    def say_waiting(self) -> None:
        """Name what is counted."""
        self.scope.say(self.asked[0].text)

    def show_part(self, answer: RangeView) -> None:
        """Say how much is counted by now."""
        self.show_answer(answer)
        if answer.table.done < answer.table.inputs:
            self.scope.say(f"{answer.scope.text} · {answer.table.done} of {answer.table.inputs} files…")

    def show_answer(self, answer: RangeView) -> None:
        """Fill the table."""
        self._view = answer
        keep = self.rows.keep(answer.frame)
        self.table.set_frame(answer.frame, keep, totals(answer, keep))
        self.scope.say(answer.scope.text)

    def _filter(self) -> None:
        if self._view is not None:
            keep = self.rows.keep(self._view.frame)
            self.table.set_keep(keep, totals(self._view, keep))

    # going there

    def _go_to_longest(self, row: int) -> None:
        if self._view is not None and self._view.session is self._context.session:
            if self._view.table.by == "class":
                self.emphasis_wanted.emit(query_of_class_name(str(self._view.frame.columns[0].values[row])))
            self._jump(self._view.longest(row))

    def _step(self, row: int, forward: bool) -> None:
        view = self._view
        if view is None or view.session is not self._context.session:
            return

        def find() -> Runs:
            from viewer.views.range_table import runs

            return runs(view, row)

        self._walk.step(view, row, forward, find, self._jump)

    def _jump(self, target: SliceRef) -> None:
        """Go there; that the lanes move is no reason to count what else is in sight now."""
        self._jumping = True
        try:
            self._context.jump(target)
        finally:
            self._jumping = False
