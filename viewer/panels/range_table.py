"""The Selection panel: what runs in the selected range, rank or lanes, by name, class, category, rank or lane."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.table_tools import RowTools, ScopeLabel
from viewer.store.session import Session
from viewer.views.emphasis import query_of_class_name
from viewer.views.range_table import ALL, CPU, GPU, HEADS, RangeView, Runs, Scope, scope_of, totals
from widgets.column_table import ColumnTable
from widgets.theming import palette_of, set_tip

HINT: Final = "Open a trace: this panel counts what runs in the selected range, rank or lanes."
SETTLE_MS: Final = 80
"""What is in sight is counted when it has rested this long."""

Asked = tuple[int, Scope, str]
"""(id of the session, scope, grouping) of a table."""


class RangePanel(QWidget):
    """Follows selection and visible window of a :class:`JobContext` while it is shown; the newest request wins.

    Signals:
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
        emphasis_wanted(str): a row of a class was clicked: a query of its slices.
    """

    save_requested = Signal(object)
    emphasis_wanted = Signal(str)
    _partly = Signal(object, object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Asked | None = None
        self._view: RangeView | None = None
        self._runs: tuple[RangeView, int, Runs] | None = None
        self._group: int | None = None
        self._jumping = False
        self._window = context.window
        self.setAccessibleName("Selection")
        self._build()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._refresh)
        self._connect()
        self._set_theme(context.theme)
        self._refresh()

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
        tools = QHBoxLayout()
        tools.setContentsMargins(6, 4, 6, 4)
        tools.setSpacing(6)
        for part in (self.by, self.what):
            tools.addWidget(part)
        tools.addWidget(self.rows.filter, 1)
        tools.addWidget(self.scope, 2)
        tools.addWidget(self.rows.copy)
        tools.addWidget(self.rows.save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(tools)
        layout.addWidget(self.table, 1)

    def _connect(self) -> None:
        context = self._context
        context.selection_changed.connect(self._refresh)
        context.session_changed.connect(self._session_changed)
        context.window_changed.connect(self._moved)
        context.theme_changed.connect(self._set_theme)
        self.by.currentIndexChanged.connect(self._refresh)
        self.what.currentIndexChanged.connect(self._refresh)
        self.rows.filter_changed.connect(self._filter)
        self.rows.save_requested.connect(self.save_requested)
        self.table.row_clicked.connect(self._go_to_longest)
        self.table.row_stepped.connect(self._step)
        self._partly.connect(self._show_part)

    @property
    def shown(self) -> RangeView | None:
        """What the table shows; None before there is anything."""
        return self._view

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.table.set_theme(theme)
        self.scope.set_theme(theme)
        self.rows.set_theme(theme)

    # what is counted

    def showEvent(self, event: QShowEvent) -> None:
        """Count what a hidden panel did not."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """A hidden panel computes nothing."""
        super().hideEvent(event)
        self._context.work.cancel("range")
        self._asked = None

    def _session_changed(self, session: Session) -> None:
        self._asked = self._runs = None
        gpu = any(item.trace.meta.gpu_first_ns is not None for item in session.inputs)
        if session.inputs and not gpu and self.what.currentData() == GPU:
            self.what.setCurrentIndex(self.what.findData(ALL))
        self._refresh()

    def _moved(self, window: TimeRange) -> None:
        if self._jumping:
            return
        self._window = window
        if self._context.selection.range is None and self.isVisible():
            self._timer.start()

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible():
            return
        self._timer.stop()
        if not session.inputs:
            self._context.work.cancel("range")
            self._asked = None
            self.scope.say(HINT)
            return
        selection, window = self._chosen(), self._window
        self.what.setEnabled(not selection.lanes)
        scope = scope_of(session, selection, window, self.what.currentData(), self._context.shifts)
        asked = (id(session), scope, self.by.currentData())
        if asked == self._asked:
            return
        self._asked = asked
        self.scope.say(scope.text)
        self._context.work.submit(
            "range", lambda cancel: self._compute(session, asked, cancel), self._show_view, self._failed
        )

    def _chosen(self) -> Selection:
        """The selection that is counted: looking at slices and gaps of other ranks leaves the table as it is."""
        selection = self._context.selection
        if selection.slice is None and selection.gap is None:
            self._group = selection.group
        return replace(selection, slice=None, gap=None, group=self._group)

    def _compute(self, session: Session, asked: Asked, cancel: CancelToken) -> RangeView:
        cancel.check()
        from viewer.views.range_table import compute  # compiled loops load off the GUI thread

        return compute(session, asked[1], asked[2], cancel, lambda view: self._partly.emit(asked, view))

    def _show_part(self, asked: Asked, view: RangeView) -> None:
        before = self._view
        if asked != self._asked:
            return
        same = before is not None and before.session is view.session and before.scope == view.scope
        if same and before is not None and before.table.by == view.table.by and before.table.done > view.table.done:
            return  # it came late: what is shown knows more
        self._show_view(view)
        if view.table.done < view.table.inputs:
            self.scope.say(f"{view.scope.text} · {view.table.done} of {view.table.inputs} files…")

    def _show_view(self, view: RangeView) -> None:
        self._view = view
        keep = self.rows.keep(view.frame)
        self.table.set_frame(view.frame, keep, totals(view, keep))
        self.scope.say(view.scope.text)

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self.scope.say(error_sentence("The table of the selection", error), "error")

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
        if self._runs is not None and self._runs[:2] == (view, row):
            self._go(self._runs[2], forward)
            return

        def find(cancel: CancelToken) -> Runs:
            cancel.check()
            from viewer.views.range_table import runs

            return runs(view, row)

        def done(found: Runs) -> None:
            self._runs = (view, row, found)
            self._go(found, forward)

        self._context.work.submit("range runs", find, done)

    def _go(self, found: Runs, forward: bool) -> None:
        target: SliceRef | None = found.step(self._context.selection.slice, forward)
        if target is not None:
            self._jump(target)

    def _jump(self, target: SliceRef) -> None:
        """Go there; that the lanes move is no reason to count what else is in sight now."""
        self._jumping = True
        try:
            self._context.jump(target)
        finally:
            self._jumping = False
