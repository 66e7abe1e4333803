"""The few dialogs of the shell."""

from __future__ import annotations

import html
import platform
from pathlib import Path

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QInputDialog,
    QLabel,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__
from viewer.app.actions import key_list
from viewer.app.icons import application_icon

TRACE_FILTER = "Traces (*.json *.json.gz *.gz);;All files (*)"

TIMELINE_KEYS = (
    ("W, S or +, -", "Zoom at the pointer"),
    ("Ctrl+wheel", "Zoom at the pointer"),
    ("A, D or Left, Right", "Move"),
    ("Shift+wheel, Shift+drag, middle drag", "Move"),
    ("Wheel, Up, Down", "Scroll the lanes"),
    ("Drag", "Select a range"),
    ("Double click", "Select and zoom to it"),
    ("F", "Zoom to the selection, and back"),
    ("0, Home", "Show the whole job"),
    ("M", "Note at the pointer"),
    ("Esc", "Select nothing"),
)


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
    said, ok = QInputDialog.getMultiLineText(parent, "Note", "Text of the note:", text)
    return said if ok and said.strip() else None


def keys_dialog(parent: QWidget) -> QDialog:
    """The list of keys."""
    dialog = QDialog(parent)
    dialog.setWindowTitle("Keys")
    grid = QGridLayout()
    grid.setHorizontalSpacing(28)
    grid.setVerticalSpacing(4)
    for column, (title, keys) in enumerate((("Timeline", list(TIMELINE_KEYS)), ("Menus", key_list()))):
        head = QLabel(f"<b>{title}</b>")
        grid.addWidget(head, 0, column * 2, 1, 2)
        for row, (key, what) in enumerate(keys, 1):
            for offset, text in ((0, key), (1, what)):
                label = QLabel(text)
                label.setTextFormat(Qt.TextFormat.PlainText)
                grid.addWidget(label, row, column * 2 + offset)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    layout = QVBoxLayout(dialog)
    layout.addLayout(grid)
    layout.addWidget(buttons)
    return dialog


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
