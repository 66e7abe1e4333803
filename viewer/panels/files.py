"""The Files panel: every input of the job, its rank and how it is known, its ledger and its findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QVBoxLayout, QWidget

from viewer.base.errors import InputError
from viewer.base.frames import TableFrame
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.views.files import file_frame, files_table, no_files_frame
from widgets.table import DataTable

HINT = "Open trace files or a folder: this panel lists them, and says how each was read."
TABLE_ROWS = 8


class FilesPanel(QWidget):
    """A table of the inputs, and everything known of the chosen one below it."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._failures: tuple[InputError, ...] = ()
        self._chosen: Path | None = None
        self.setAccessibleName("Files")
        self.table = DataTable(self, max_rows=TABLE_ROWS)
        self.table.set_theme(context.theme)
        self.table.row_chosen.connect(self._choose)
        self.view = SectionView(context.theme, self)
        self.view.jump_requested.connect(context.jump)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.table)
        layout.addWidget(self.view, 1)
        context.session_changed.connect(self._refresh)
        context.selection_changed.connect(self._follow)
        context.theme_changed.connect(self._set_theme)
        self._refresh()

    def set_failures(self, failures: Sequence[InputError]) -> None:
        """Show which inputs did not open."""
        self._failures = tuple(failures)
        self._refresh()

    def _set_theme(self, theme: Theme) -> None:
        self.table.set_theme(theme)
        self.view.set_theme(theme)

    def _choose(self, index: int) -> None:
        self._chosen = self._context.session.inputs[index].path
        self._show()

    def _follow(self, _: object) -> None:
        """Show the file of the selected slice or gap."""
        selection = self._context.selection
        ref = selection.slice or selection.gap
        if ref is not None and ref.input < len(self._context.session.inputs):
            self._choose(ref.input)

    def _refresh(self, _: object = None) -> None:
        frame = files_table(self._context.session)
        self.table.setVisible(frame is not None)
        self.table.set_frame(frame or TableFrame((), [], []))
        self._show()

    def _show(self) -> None:
        session = self._context.session
        if session.inputs:
            index = next((i.index for i in session.inputs if i.path == self._chosen), 0)
            self.view.set_frame(file_frame(session, index, self._failures))
        elif self._failures:
            self.view.set_frame(no_files_frame(self._failures))
        else:
            self.view.set_message(HINT)
