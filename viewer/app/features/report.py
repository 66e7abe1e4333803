"""Save Report: findings and figures of the job that is shown, as one HTML page or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from viewer.app.features.base import Feature
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.open_job import Ending
    from viewer.base.errors import InputError
    from viewer.base.findings import Finding

FILTER = "Page (*.html);;JSON report (*.json)"


def ask_report(parent: QWidget, suggested: Path) -> Path | None:
    """Let the user name a report; None when they do not. The suffix is added where it lacks."""
    dialog = QFileDialog(parent, "Save a report of the job", str(suggested), FILTER)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("html")
    dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix("json" if "json" in chosen else "html"))
    chosen = dialog.selectedFiles() if dialog.exec() == QDialog.DialogCode.Accepted else []
    dialog.deleteLater()
    return Path(chosen[0]) if chosen else None


class SaveReport(Feature):
    """The action; the report is made and written in the background."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._failures: Sequence[InputError] = ()
        self._skipped: Sequence[Finding] = ()
        window.controller.ended.connect(self._ended)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"save_report": self.save}

    def _ended(self, ending: Ending) -> None:
        if ending.session is not None:
            self._failures, self._skipped = ending.failures, ending.skipped

    def save(self) -> None:
        """Ask for a file and write the report."""
        window = self.window
        if window.workspace is None or not window.has_job:
            return
        title = window.job.title
        name = "".join(c if c.isalnum() or c in "-_. " else "-" for c in title)[:80].strip() or "report"
        path = ask_report(window, Path(window.settings.last_folder or ".") / f"{name}.html")
        if path is None:
            return
        session, dismissed = window.workspace.session, window.kept.dismissed.book
        failures, skipped = self._failures, self._skipped

        def write(cancel: CancelToken) -> tuple[Path, int]:
            from viewer.app.analyze import check_writable, write_file
            from viewer.app.html_page import page_bytes
            from viewer.exporters.report import encode_report, report

            check_writable(path)
            data = report(session, failures, skipped)
            cancel.check()
            page = path.suffix.lower() != ".json"
            text = page_bytes(session, data, title, dismissed) if page else encode_report(data)
            cancel.check()
            write_file(path, text)
            return path, len(text)

        window.status.tell(f"Writing {path.name}…")
        window.workspace.work.submit("save report", write, self._done, self._failed, long=True)

    def _done(self, written: tuple[Path, int]) -> None:
        self.window.status.tell(f"Saved {written[0].name}, {format_bytes(written[1])}")

    def _failed(self, error: Exception) -> None:
        self.window.say("error", str(error))
