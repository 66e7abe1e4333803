"""The Kernels panel: GPU work by kernel, operator, shape, module, step or class, and the pace of a chosen row."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from viewer.base.pace_frame import PaceFrame
from viewer.base.selection import Selection, SliceRef
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.table_tools import RowTools, ScopeLabel
from viewer.store.session import Session
from viewer.views.op_table import HEADS, OpRuns, OpScope, OpView, op_scope, op_totals
from widgets.column_table import ColumnTable
from widgets.pace_plot import PacePlot
from widgets.theming import palette_of, set_tip

HINT: Final = "Open a trace: this panel says which kernels, operators and modules take the GPU's time."
COUNTING: Final = "Counting…"

Asked = tuple[int, OpScope, str]


class KernelsPanel(QWidget):
    """Follows rank and range of the selection while it is shown; the newest request wins.

    Signals:
        save_requested(list[list[str]]): write these rows, heads first, to a file of the user's choice.
    """

    save_requested = Signal(object)
    _partly = Signal(object, object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Asked | None = None
        self._view: OpView | None = None
        self._runs: tuple[OpView, int, OpRuns] | None = None
        self._row: tuple[OpView, int] | None = None
        self._group: int | None = None
        self.setAccessibleName("Kernels")
        self._build()
        context.selection_changed.connect(self._refresh)
        context.session_changed.connect(self._session_changed)
        context.theme_changed.connect(self._set_theme)
        self.by.currentIndexChanged.connect(self._refresh)
        self.rows.filter_changed.connect(self._filter)
        self.rows.save_requested.connect(self.save_requested)
        self.table.row_clicked.connect(self._clicked)
        self.table.row_stepped.connect(self._step)
        self.pace.chosen.connect(self._go_to_run)
        self._partly.connect(self._show_part)
        self._set_theme(context.theme)
        self._refresh()

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
        tools = QHBoxLayout()
        tools.setContentsMargins(6, 4, 6, 4)
        tools.setSpacing(6)
        tools.addWidget(self.by)
        tools.addWidget(self.rows.filter, 1)
        tools.addWidget(self.scope, 2)
        tools.addWidget(self.rows.copy)
        tools.addWidget(self.rows.save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(tools)
        layout.addWidget(self.parts, 1)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 280)

    @property
    def shown(self) -> OpView | None:
        """What the table shows; None before there is anything."""
        return self._view

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.table.set_theme(theme)
        self.pace.set_theme(theme)
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
        self._context.work.cancel("kernels")
        self._asked = None

    def _session_changed(self, _: Session) -> None:
        self._asked = self._runs = self._row = None
        self._show_pace(None)
        self._refresh()

    def _chosen(self) -> Selection:
        """The selection that is counted: looking at slices of other ranks leaves the table as it is."""
        selection = self._context.selection
        if selection.slice is None and selection.gap is None:
            self._group = selection.group
        known = any(g.id == self._group for g in self._context.session.groups)
        return replace(selection, slice=None, gap=None, group=self._group if known else None)

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible():
            return
        if not session.inputs:
            self._context.work.cancel("kernels")
            self._asked = None
            self.scope.say(HINT)
            return
        scope = op_scope(session, self._chosen())
        asked = (id(session), scope, str(self.by.currentData()))
        if asked == self._asked:
            return
        self._asked = asked
        self.scope.say(f"{scope.text} · {COUNTING}")
        self._context.work.submit(
            "kernels", lambda cancel: self._compute(session, asked, cancel), self._show, self._failed
        )

    def _compute(self, session: Session, asked: Asked, cancel: CancelToken) -> OpView:
        cancel.check()
        from viewer.views.op_table import compute  # compiled loops load off the GUI thread

        return compute(session, asked[1], asked[2], cancel, lambda view: self._partly.emit(asked, view))

    def _show_part(self, asked: Asked, view: OpView) -> None:
        before = self._view
        if asked != self._asked:
            return
        same = before is not None and before.session is view.session and (before.scope, before.table.by) == asked[1:]
        if same and before is not None and before.table.done > view.table.done:
            return  # it came late: what is shown knows more
        self._show(view)
        self.scope.say(f"{view.scope.text} · {view.table.done} of {len(view.scope.inputs)} files…")

    def _show(self, view: OpView) -> None:
        before = self._view
        self._view = view
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

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self.scope.say(error_sentence("The table of kernels", error), "error")

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

        self._context.work.submit("kernel pace", find, self._show_pace)

    def _show_pace(self, frame: PaceFrame | None) -> None:
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
        if view is None or view.session is not self._context.session:
            return
        if self._runs is not None and self._runs[:2] == (view, row):
            self._go(self._runs[2], forward)
            return

        def find(cancel: CancelToken) -> OpRuns:
            cancel.check()
            return view.runs(row)

        def done(found: OpRuns) -> None:
            self._runs = (view, row, found)
            self._go(found, forward)

        self._context.work.submit("kernel runs", find, done)

    def _go(self, found: OpRuns, forward: bool) -> None:
        target: SliceRef | None = found.step(self._context.selection.slice, forward)
        if target is not None:
            self._context.jump(target)
