"""The Attribution panel: where the time of a rank, of all ranks or of a range went."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from viewer.base.frames import Jump, PanelFrame
from viewer.base.selection import GapRef, TimeRange
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.store.session import Session
from viewer.views.lanes.shifted import Shifts, gap_moved, shifted_session
from widgets.theming import set_tip

HINT = "Open a trace: this panel says how much of the time was compute, exposed communication, exposed memory and idle."
COMPUTING = "Computing where the time went…"
SETTLE_MS = 80
"""Following the visible window, figures are computed when it has rested this long."""


class AttributionPanel(QWidget):
    """Follows the selected rank and range, or the visible window, of a :class:`JobContext`."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: tuple[int | None, TimeRange | None, int, Shifts, frozenset[str]] | None = None
        self.view = SectionView(context.theme, self)
        self.setAccessibleName("Attribution")
        self.scope = QComboBox(self.view)
        self.scope.addItems(["Selected range or all", "Visible window"])
        self.scope.setAccessibleName("Time that is attributed")
        set_tip(self.scope, "Attribute the selected range (the whole trace without one), or what the lanes show")
        self.view.tools.insertWidget(1, self.scope)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._refresh)
        self.view.jump_requested.connect(self._jump)
        self.scope.currentIndexChanged.connect(self._refresh)
        context.selection_changed.connect(self._refresh)
        context.session_changed.connect(self._reset)
        context.window_changed.connect(self._moved)
        context.theme_changed.connect(self._set_theme)
        self._refresh()

    def _set_theme(self, theme: Theme) -> None:
        self.view.set_theme(theme)

    def _reset(self, _: object = None) -> None:
        self._asked = None
        self._refresh()

    def _moved(self, _: object) -> None:
        if self.scope.currentIndex() == 1:
            self.view.set_stale()
            self._timer.start()

    def _refresh(self, _: object = None) -> None:
        session, selection = self._context.session, self._context.selection
        if not session.inputs:
            self._context.work.cancel("attribution")
            self._asked = None
            self.view.set_message(HINT)
            return
        chosen = self._context.window if self.scope.currentIndex() == 1 else selection.range
        shifts = self._context.shifts if self.scope.currentIndex() == 1 else {}
        asked = (selection.group, chosen, self.scope.currentIndex(), shifts, selection.lanes)
        if asked == self._asked:
            return
        self._asked = asked
        if self.view.frame is None:
            self.view.set_message(COMPUTING)
        else:
            self.view.set_stale()
        self._context.work.submit(
            "attribution",
            lambda cancel: self._compute(shifted_session(session, shifts), asked[0], chosen, cancel, asked[4]),
            self.view.set_frame,
            self._failed,
        )

    @staticmethod
    def _compute(
        session: Session,
        group: int | None,
        chosen: TimeRange | None,
        cancel: CancelToken,
        lanes: frozenset[str] = frozenset(),
    ) -> PanelFrame:
        cancel.check()
        from viewer.views.attribution import attribution  # compiled loops load off the GUI thread
        from viewer.views.lanes.tree import build_tree

        tree = build_tree(session) if lanes else ()
        ranks = frozenset(g.id for g in tree if any(lane.key in lanes for lane in g.lanes))
        return attribution(session, group, chosen, ranks)

    def _jump(self, target: Jump) -> None:
        if isinstance(target, GapRef) and self._asked is not None:
            target = gap_moved(target, self._context.session, self._asked[3], -1)
        self._context.jump(target)

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self.view.set_message(error_sentence("The attribution", error), warning=True)
