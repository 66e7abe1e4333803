"""Where a window stands when it opens."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QMainWindow

DEFAULT_SIZE: Final = (1500, 900)


def place_window(window: QMainWindow, geometry: bytes) -> None:
    """As it was last time; at first as large as is useful, the whole of a small screen."""
    if window.restoreGeometry(QByteArray(geometry)):
        return
    free = window.screen().availableGeometry()
    window.resize(min(DEFAULT_SIZE[0], free.width()), min(DEFAULT_SIZE[1], free.height()))
    if free.width() < DEFAULT_SIZE[0] or free.height() < DEFAULT_SIZE[1]:
        window.setWindowState(Qt.WindowState.WindowMaximized)
