"""The few dialogs of the shell."""

from __future__ import annotations

import html
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, qVersion
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLayout,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__
from viewer.app.icons import application_icon

TRACE_FILTER = (
    "Traces, archives, packs and sessions (*.json *.gz *.zst *.bz2 *.xz *.hatchet *.zip *.tar *.tgz *.rankpack"
    " *.rankscope);;Sessions (*.rankscope);;All files (*)"
)
CLOCK_FILTER = "Reports and offsets (*.json);;All files (*)"
CARD_FILTER = "Job card (*.toml);;All files (*)"
SESSION_FILTER = "Rankscope sessions (*.rankscope)"
Answer = Literal["save", "discard", "cancel"]


def ask_files(parent: QWidget, folder: str) -> list[Path]:
    """Let the user choose trace files; [] when they do not."""
    names, _ = QFileDialog.getOpenFileNames(parent, "Open traces", folder, TRACE_FILTER)
    return [Path(n) for n in names]


def ask_folder(parent: QWidget, folder: str) -> list[Path]:
    """Let the user choose a folder; [] when they do not."""
    name = QFileDialog.getExistingDirectory(parent, "Open the traces of a folder", folder)
    return [Path(name)] if name else []


def ask_baseline(parent: QWidget, folder: str) -> Path | None:
    """Let the user choose the folder of a baseline store; None when they do not."""
    name = QFileDialog.getExistingDirectory(parent, "Open the baseline of a regression check", folder)
    return Path(name) if name else None


def ask_save_as(parent: QWidget, suggested: Path) -> Path | None:
    """Let the user name a session file; None when they do not. The suffix is added where it lacks."""
    dialog = QFileDialog(parent, "Save the session", str(suggested), SESSION_FILTER)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("rankscope")
    chosen = dialog.selectedFiles() if dialog.exec() == QDialog.DialogCode.Accepted else []
    dialog.deleteLater()
    return Path(chosen[0]) if chosen else None


def ask_clock_file(parent: QWidget, folder: str) -> Path | None:
    """Let the user choose a report or another file with offsets; None when they do not."""
    name, _ = QFileDialog.getOpenFileName(parent, "Load clock offsets", folder, CLOCK_FILTER)
    return Path(name) if name else None


def ask_clock_target(parent: QWidget, folder: str) -> Path | None:
    """Let the user name a file for the offsets; None when they do not."""
    name, _ = QFileDialog.getSaveFileName(parent, "Save clock offsets", f"{folder}/clocks.json", CLOCK_FILTER)
    return Path(name) if name else None


def ask_card_file(parent: QWidget, folder: str) -> Path | None:
    """Let the user choose a job card; None when they do not."""
    name, _ = QFileDialog.getOpenFileName(parent, "Load job card", folder, CARD_FILTER)
    return Path(name) if name else None


def ask_card_target(parent: QWidget, folder: str) -> Path | None:
    """Let the user name a file for the job card; None when they do not."""
    name, _ = QFileDialog.getSaveFileName(parent, "Save job card", f"{folder}/job.toml", CARD_FILTER)
    return Path(name) if name else None


def ask_search_folder(parent: QWidget, folder: str) -> Path | None:
    """Let the user choose where missing traces are looked for; None when they do not."""
    name = QFileDialog.getExistingDirectory(parent, "Look for the missing traces in", folder)
    return Path(name) if name else None


def ask_save(parent: QWidget, name: str, what: str) -> Answer:
    """Ask what becomes of changes that are not saved.

    Args:
        parent: the window.
        name: of the job.
        what: what would be lost, "2 notes and 1 mark".
    """
    box = QMessageBox(parent)
    box.setWindowTitle("Save the session?")
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(f"Save the changes to {name}?")
    box.setInformativeText(f"Not saved: {what}.")
    buttons = QMessageBox.StandardButton
    box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
    box.setDefaultButton(buttons.Save)
    box.button(buttons.Discard).setText("Do&n't Save")
    pressed = QMessageBox.StandardButton(box.exec())
    box.deleteLater()
    answers: dict[QMessageBox.StandardButton, Answer] = {buttons.Save: "save", buttons.Discard: "discard"}
    return answers.get(pressed, "cancel")


def ask_overwrite(parent: QWidget, name: str) -> bool:
    """Whether a file that another program wrote may be written over."""
    box = QMessageBox(parent)
    box.setWindowTitle("Overwrite?")
    box.setIcon(QMessageBox.Icon.Warning)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(f"{name} is there already, or was changed since it was opened.")
    box.setInformativeText("Saving overwrites it.")
    box.setStandardButtons(QMessageBox.StandardButton.Save | QMessageBox.StandardButton.Cancel)
    box.button(QMessageBox.StandardButton.Save).setText("&Overwrite")
    box.setDefaultButton(QMessageBox.StandardButton.Cancel)
    pressed = box.exec()
    box.deleteLater()
    return pressed == QMessageBox.StandardButton.Save


def ask_label(parent: QWidget, title: str, text: str) -> str | None:
    """Let the user write a short label, which may be empty; None when they do not."""
    said, given = QInputDialog.getText(parent, title, "Name", QLineEdit.EchoMode.Normal, text)
    return said if given else None


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


class GoToDialog(QDialog):
    """One line for a time; what is wrong with it is said below while it is typed."""

    def __init__(self, parent: QWidget, hint: str, check: Callable[[str], str]) -> None:
        """``check`` gives the sentence that says what is wrong with a text, "" for nothing."""
        super().__init__(parent)
        self.setWindowTitle("Go to Time")
        self._check = check
        self.edit = QLineEdit()
        self.edit.setAccessibleName("Time to go to")
        self.edit.setMinimumWidth(self.edit.fontMetrics().averageCharWidth() * 50)
        self.problem = QLabel(hint)
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setWordWrap(True)
        self._hint = hint
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.edit)
        layout.addWidget(self.problem)
        layout.addWidget(buttons)
        self.edit.textChanged.connect(lambda _: self.problem.setText(self._hint))

    def accept(self) -> None:
        """Close only on a time that can be gone to."""
        wrong = self._check(self.edit.text())
        if wrong:
            self.problem.setText(wrong)
            self.edit.selectAll()
            self.edit.setFocus()
        else:
            super().accept()


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
