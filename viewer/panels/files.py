"""The Import panel: every input of the job, how it was read, its ledger, its findings, and the text they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.base.frames import Section, SourcePlace, TableFrame
from viewer.base.theme import Theme
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.views.files import file_frame, files_table, no_files_frame, with_problems
from viewer.views.import_text import job_text, job_words, place_section
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_tip
from widgets.wrap_label import WrapLabel

if TYPE_CHECKING:
    from viewer.base.work import CancelToken
    from viewer.importers.excerpt import Excerpt
    from viewer.store.meta import SourceStamp

HINT = "Open trace files or a folder: this panel lists them, and says how each was read."
NO_PROBLEMS = "No file has a problem: all events were kept as written."
TABLE_ROWS = 8
FEWEST_ROWS = 2


class FilesPanel(QWidget):
    """The sums of the job, a table of its inputs, and everything known of the chosen one below it."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._failures: tuple[InputError, ...] = ()
        self._skipped: tuple[Finding, ...] = ()
        self._chosen: Path | None = None
        self._rows: list[int] = []
        self._place: tuple[Path, Section] | None = None
        self.setAccessibleName("Import")
        self.sums = WrapLabel(self)
        self.only_problems = QCheckBox("Only problems", self)
        set_tip(self.only_problems, "List only files that are cut off, repaired, rejected in part, or have a warning")
        self.only_problems.toggled.connect(self._refresh)
        self.copy_button = QPushButton("Copy as Text", self)
        set_tip(self.copy_button, "Copy sums, files, ledgers and findings of the whole job")
        self.copy_button.clicked.connect(self.copy)
        self.table = DataTable(self, max_rows=TABLE_ROWS, min_rows=FEWEST_ROWS)
        self.table.row_chosen.connect(self._choose_row)
        self.view = SectionView(context.theme, self)
        self.view.jump_requested.connect(self._jump)
        tools = QHBoxLayout()
        tools.setContentsMargins(8, 0, 8, 0)
        tools.addWidget(self.only_problems)
        tools.addStretch(1)
        tools.addWidget(self.copy_button)
        sums = QVBoxLayout()
        sums.setContentsMargins(8, 6, 8, 0)
        sums.addWidget(self.sums)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(sums)
        layout.addLayout(tools)
        layout.addWidget(self.table)
        layout.addWidget(self.view, 1)
        context.session_changed.connect(self._refresh)
        context.selection_changed.connect(self._follow)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._refresh()

    def set_failures(self, failures: Sequence[InputError], skipped: Sequence[Finding] = ()) -> None:
        """Show which inputs did not open, and which files of folders are no traces."""
        self._failures, self._skipped = tuple(failures), tuple(skipped)
        self._refresh()

    def copy(self) -> None:
        """Put the import of the whole job on the clipboard."""
        QGuiApplication.clipboard().setText(job_text(self._context.session, self._failures, self._skipped))

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.sums.set_color(color(theme, "text"))
        self.table.set_theme(theme)
        self.view.set_theme(theme)

    def _choose_row(self, row: int) -> None:
        self._choose(self._rows[row])

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
        session = self._context.session
        troubled = with_problems(session)
        only = self.only_problems.isChecked()
        self._rows = troubled if only else [i.index for i in session.inputs]
        frame = files_table(session, self._rows)
        self.table.setVisible(frame is not None)
        self.table.set_frame(frame or TableFrame((), [], []))
        any_ = bool(session.inputs or self._failures or self._skipped)
        for part in (self.sums, self.only_problems, self.copy_button):
            part.setVisible(any_)
        self.only_problems.setText(f"Only problems ({len(troubled)})")
        self.sums.set_text("\n".join(job_words(session, self._failures, self._skipped)) if any_ else "")
        self._show()

    def _show(self) -> None:
        session = self._context.session
        shown = [session.inputs[i] for i in self._rows]
        if shown:
            item = next((i for i in shown if i.path == self._chosen), shown[0])
            place = self._place[1] if self._place is not None and self._place[0] == item.path else None
            self.view.set_frame(file_frame(session, item.index, self._failures, self._skipped, place))
        elif self._failures or self._skipped:
            self.view.set_frame(no_files_frame(self._failures, self._skipped))
        else:
            self.view.set_message(NO_PROBLEMS if session.inputs else HINT)

    # The text at a place ---------------------------------------------------------------------------------------------

    def _jump(self, target: object) -> None:
        if not isinstance(target, SourcePlace):
            self._context.jump(target)  # type: ignore[arg-type]
            return
        item = self._context.session.inputs[target.input]
        path, stamp = item.path, item.trace.meta.source
        self._set_place(path, place_section(None, offset=target.offset))
        self._context.work.submit(
            "import-place",
            lambda cancel: self._read(stamp, target.offset, cancel),
            lambda part: self._arrived(path, part),
            lambda error: self._set_place(path, place_section(None, error_sentence("The text there", error))),
        )

    @staticmethod
    def _read(stamp: SourceStamp, offset: int, cancel: CancelToken) -> Excerpt:
        from viewer.importers.excerpt import excerpt  # the importers load off the GUI thread

        return excerpt(stamp, offset, cancel)

    def _arrived(self, path: Path, part: Excerpt) -> None:
        self._set_place(path, place_section(part))

    def _set_place(self, path: Path, section: Section) -> None:
        self._place = (path, section)
        self._show()
        box = next((b for b in self.view.boxes if b.section.title == section.title and b.isVisibleTo(self.view)), None)
        if box is not None:
            self.view.area.ensureWidgetVisible(box)
