"""The sheet of all keys, by subject."""

from __future__ import annotations

import html
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from viewer.app.key_table import KeyLine, key_subjects

COLUMNS: Final = 2
MOST_KEYS: Final = 5
"""More keys of one line are written as a range."""


class KeysDialog(QDialog):
    """All keys in columns of about the same length; typing narrows them down."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._filter = QLineEdit()
        self._filter.setPlaceholderText("Type to narrow down")
        self._filter.setAccessibleName("Narrow the keys down")
        self._filter.setClearButtonEnabled(True)
        self._blocks: list[tuple[QWidget, list[tuple[str, list[QLabel]]]]] = []
        sheet = QWidget()
        columns = QHBoxLayout(sheet)
        columns.setSpacing(36)
        for subjects in _in_columns(key_subjects(), COLUMNS):
            column = QVBoxLayout()
            for subject, lines in subjects:
                column.addWidget(self._block(subject, lines))
            column.addStretch(1)
            columns.addLayout(column)
        columns.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(sheet)
        area.setAccessibleName("Keys by subject")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self._filter)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        self._filter.textChanged.connect(self.narrow)
        wanted = sheet.sizeHint()
        free = self.screen().availableGeometry()
        self.resize(min(wanted.width() + 60, free.width() - 40), min(wanted.height() + 120, free.height() - 60))

    def _block(self, subject: str, lines: list[KeyLine]) -> QWidget:
        block = QWidget()
        block.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        grid = QGridLayout(block)
        grid.setContentsMargins(0, 0, 0, 12)
        grid.setHorizontalSpacing(20)
        grid.setVerticalSpacing(3)
        grid.addWidget(QLabel(f"<b>{html.escape(subject)}</b>"), 0, 0, 1, 2)
        rows = []
        for at, line in enumerate(lines, 1):
            keys, text = QLabel(_key_text(line.keys)), QLabel(line.text)
            for label in (keys, text):
                label.setTextFormat(Qt.TextFormat.PlainText)
            grid.addWidget(keys, at, 0)
            grid.addWidget(text, at, 1)
            rows.append((f"{keys.text()} {line.text}".casefold(), [keys, text]))
        grid.setColumnStretch(1, 1)
        self._blocks.append((block, rows))
        return block

    def narrow(self, text: str) -> None:
        """Show only the lines that have all the words."""
        words = text.casefold().split()
        for block, rows in self._blocks:
            any_left = False
            for said, labels in rows:
                fits = all(word in said for word in words)
                any_left |= fits
                for label in labels:
                    label.setVisible(fits)
            block.setVisible(any_left)

    def lines(self) -> list[str]:
        """What shows now, for tests and assistive tools."""
        return [
            " ".join(label.text() for label in labels)
            for _, rows in self._blocks
            for _, labels in rows
            if not labels[0].isHidden()
        ]


def _key_text(keys: tuple[str, ...]) -> str:
    """Keys beside each other; a long row of them by its ends."""
    return ", ".join(keys) if len(keys) <= MOST_KEYS else f"{keys[0]} … {keys[-1]}"


def _in_columns(subjects: dict[str, list[KeyLine]], count: int) -> list[list[tuple[str, list[KeyLine]]]]:
    """Subjects in order over columns, so that the longest column is short."""
    total = sum(len(lines) + 2 for lines in subjects.values())
    out: list[list[tuple[str, list[KeyLine]]]] = [[]]
    filled = 0
    for subject, lines in subjects.items():
        if filled and filled + (len(lines) + 2) / 2 > total / count and len(out) < count:
            out.append([])
            filled = 0
        out[-1].append((subject, lines))
        filled += len(lines) + 2
    return out
