"""The few dialogs of the shell."""

from __future__ import annotations

import html
import platform
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, qVersion
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLayout,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__
from viewer.app.icons import application_icon

TRACE_FILTER = "Traces (*.json *.json.gz *.gz *.hatchet);;All files (*)"


def ask_files(parent: QWidget, folder: str) -> list[Path]:
    """Let the user choose trace files; [] when they do not."""
    names, _ = QFileDialog.getOpenFileNames(parent, "Open traces", folder, TRACE_FILTER)
    return [Path(n) for n in names]


def ask_folder(parent: QWidget, folder: str) -> list[Path]:
    """Let the user choose a folder; [] when they do not."""
    name = QFileDialog.getExistingDirectory(parent, "Open the traces of a folder", folder)
    return [Path(name)] if name else []


def ask_note(parent: QWidget, text: str = "") -> str | None:
    """Ask for a note's text; None when the user gives none."""
    dialog = NoteDialog(text, parent)
    given = dialog.exec() == QDialog.DialogCode.Accepted
    said = dialog.text()
    dialog.deleteLater()
    return said if given and said.strip() else None


class NoteDialog(QDialog):
    """A few lines of text: Enter is done, Shift+Enter another line."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Edit Note" if text else "New Note")
        self._edit = QPlainTextEdit(text)
        self._edit.setAccessibleName("Text of the note")
        self._edit.setPlaceholderText("What is to be seen here")
        self._edit.setTabChangesFocus(True)
        self._edit.setMinimumWidth(340)
        self._edit.setFixedHeight(self._edit.fontMetrics().lineSpacing() * 4 + 14)
        self._edit.selectAll()
        self._edit.installEventFilter(self)
        hint = QLabel("Shift+Enter: another line")
        hint.setEnabled(False)
        self._ok = QPushButton("Change Note" if text else "Add Note")
        self._ok.setDefault(True)
        self._ok.clicked.connect(self.accept)
        cancel = QPushButton("Cancel")
        cancel.clicked.connect(self.reject)
        buttons = QHBoxLayout()
        buttons.addWidget(hint)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self._ok)
        layout = QVBoxLayout(self)
        layout.addWidget(self._edit)
        layout.addLayout(buttons)
        layout.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)
        self._edit.textChanged.connect(self._allow)
        self._allow()

    def text(self) -> str:
        """What was written."""
        return self._edit.toPlainText()

    def _allow(self) -> None:
        self._ok.setEnabled(bool(self.text().strip()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter ends the dialog instead of the line."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._ok.click()
                return True
        return super().eventFilter(watched, event)


def about_dialog(parent: QWidget, log: Path) -> QMessageBox:
    """What this is, its version, and where the log is."""
    box = QMessageBox(parent)
    box.setWindowTitle("About Rankscope")
    box.setIconPixmap(application_icon().pixmap(64, 64))
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setText(f"<b>Rankscope {html.escape(__version__)}</b>")
    box.setInformativeText(
        "See the profiler traces of every rank of a GPU job side by side on one clock.<br><br>"
        "It works offline and sends nothing anywhere.<br><br>"
        f"Python {platform.python_version()} · Qt {html.escape(qVersion())}<br>"
        f"Log: {html.escape(str(log))}"
    )
    return box
