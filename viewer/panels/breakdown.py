"""The Breakdown panel: what the selected slice or gap is, and why it took as long as it did."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from viewer.base.errors import RankscopeError
from viewer.base.frames import PanelFrame
from viewer.base.selection import Selection
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.store.session import Session

HINT = (
    "Click a kernel, a launch call, an operator or a gap in the lanes: this panel says what it is, "
    "what caused it and how each figure was computed."
)

COMPUTING = "Computing what this is and why it took so long…"


def error_sentence(what: str, error: Exception) -> str:
    """One sentence about work that failed."""
    said = str(error) if isinstance(error, RankscopeError) else f"{type(error).__name__}: {error}"
    return f"{what} cannot be shown: {said.rstrip('.')}."


def _ignore(_: object) -> None:
    """Nothing waits for it; a click meets the same error and tells it."""


class BreakdownPanel(QWidget):
    """Follows the selection of a :class:`JobContext`; the newest selection wins."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.view = SectionView(context.theme, self)
        self.setAccessibleName("Breakdown")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.view.jump_requested.connect(context.jump)
        self.view.set_message(HINT)
        context.selection_changed.connect(self._refresh)
        context.session_changed.connect(self._reset)
        context.theme_changed.connect(self._set_theme)
        self._refresh()

    def _set_theme(self, theme: Theme) -> None:
        self.view.set_theme(theme)

    def _reset(self, session: Session) -> None:
        """Another session: what clicks will need is built while the user looks at the lanes."""
        self._context.work.submit("breakdown-ahead", lambda cancel: self._prepare(session, cancel), _ignore, _ignore)
        self._refresh()

    @staticmethod
    def _prepare(session: Session, cancel: CancelToken) -> None:
        cancel.check()
        from viewer.views.breakdown.panel import prepare

        prepare(session, cancel)

    def _refresh(self, _: object = None) -> None:
        session, selection = self._context.session, self._context.selection
        if selection.slice is None and selection.gap is None:
            self._context.work.cancel("breakdown")
            self.view.set_message(HINT)
            return
        if self.view.frame is None:
            self.view.set_message(COMPUTING)
        else:
            self.view.set_stale()
        self._context.work.submit(
            "breakdown", lambda cancel: self._compute(session, selection, cancel), self.view.set_frame, self._failed
        )

    @staticmethod
    def _compute(session: Session, selection: Selection, cancel: CancelToken) -> PanelFrame:
        cancel.check()
        from viewer.views.breakdown.panel import breakdown  # compiled loops load off the GUI thread

        return breakdown(session, selection)

    def _failed(self, error: Exception) -> None:
        self.view.set_message(error_sentence("The selection", error), warning=True)
