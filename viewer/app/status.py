"""The status bar: what is under the pointer, what runs, how long the visible window is."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStatusBar

SHOWN_MS: Final = 6000


class Status:
    """Fills a window's status bar."""

    def __init__(self, bar: QStatusBar) -> None:
        self._bar = bar
        self.hovered, self.busy, self.window = QLabel(), QLabel(), QLabel()
        for label in (self.hovered, self.busy, self.window):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setContentsMargins(6, 0, 6, 0)
        self.hovered.setMinimumWidth(1)  # a long kernel name must not widen the window
        bar.addWidget(self.hovered, 1)
        bar.addPermanentWidget(self.busy)
        bar.addPermanentWidget(self.window)

    def show_hovered(self, text: str) -> None:
        """What is under the pointer, "" for nothing."""
        self.hovered.setText(text.replace("\n", " · "))

    def show_busy(self, jobs: int) -> None:
        """Whether figures are being computed."""
        self.busy.setText("Working…" if jobs else "")

    def show_window(self, text: str) -> None:
        """The length of the visible window and of the selected range."""
        self.window.setText(text)

    def tell(self, text: str) -> None:
        """Say for a while what was done."""
        self._bar.showMessage(text, SHOWN_MS)
