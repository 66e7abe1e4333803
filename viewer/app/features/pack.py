"""Save Pack: the job that is shown, as one file that opens without its sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QProgressDialog, QWidget

from viewer.app.features.base import Feature
from viewer.base.units import format_bytes
from viewer.base.work import CancelToken

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow

STEPS = 1000


def ask_pack(parent: QWidget, suggested: Path) -> Path | None:
    """Let the user name a pack; None when they do not. The suffix is added where it lacks."""
    dialog = QFileDialog(parent, "Save a pack of the job", str(suggested), "Rankscope packs (*.rankpack)")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("rankpack")
    chosen = dialog.selectedFiles() if dialog.exec() == QDialog.DialogCode.Accepted else []
    dialog.deleteLater()
    return Path(chosen[0]) if chosen else None


class SavePack(Feature):
    """The action, its progress and its Cancel.

    Signals:
        told(int, int, str): bytes done, bytes of all, name of the input at work; from the thread that writes.
    """

    told = Signal(int, int, str)

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.progress: QProgressDialog | None = None
        self._token: CancelToken | None = None
        self.told.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"save_pack": self.save}

    def save(self) -> None:
        """Ask for a file and write the pack in the background."""
        window = self.window
        if window.workspace is None or not window.has_job or self.progress is not None:
            return
        from viewer.exporters.pack import Packed, pack_name, write_pack

        job, session = window.job, window.workspace.session
        path = ask_pack(window, Path(window.settings.last_folder or ".") / pack_name(job.title))
        if path is None:
            return

        def write(cancel: CancelToken) -> Packed:
            return write_pack(path, session, job.paths, self.told.emit, cancel)

        progress = self.progress = QProgressDialog(f"Writing {path.name}", "Cancel", 0, STEPS, window)
        progress.setWindowTitle("Save Pack")
        progress.setMinimumDuration(300)
        progress.setMinimumWidth(380)
        progress.setAutoClose(False)
        progress.setAutoReset(False)
        progress.canceled.connect(self._cancel)
        self._token = window.workspace.work.submit("save pack", write, self._done, self._failed, long=True)

    def _show(self, done: int, total: int, name: str) -> None:
        if self.progress is not None and total:
            shown = "".join(c if c.isprintable() else "�" for c in name)[-60:]
            self.progress.setLabelText(f"{shown}: {format_bytes(done)} of {format_bytes(total)} of tables")
            self.progress.setValue(int(STEPS * done / total))

    def _cancel(self) -> None:
        if self._token is not None:
            self._token.cancel()
            self.window.status.tell("No pack was saved")
        self._end()

    def _end(self) -> None:
        if self.progress is not None:
            self.progress.canceled.disconnect(self._cancel)
            self.progress.hide()
            self.progress.deleteLater()
        self.progress = self._token = None

    def _done(self, packed: Any) -> None:
        self._end()
        self.window.status.tell(f"Saved {packed.path.name}, {format_bytes(packed.size)}")
        if packed.without_args:
            names = ", ".join(packed.without_args[:3]) + (" …" if len(packed.without_args) > 3 else "")
            text = f"The pack holds no arguments of the events of {names}: the source is out of reach."
            self.window.say("warning", text)

    def _failed(self, error: Exception) -> None:
        self._end()
        self.window.say("error", str(error))

    def shutdown(self) -> None:
        """Stop writing: nothing half stays behind."""
        self._end()
