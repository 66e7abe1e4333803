"""Keys that a control takes before the window's shortcuts do."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence


def wants_copy(event: QEvent) -> bool:
    """Whether Ctrl+C asks who takes it; accepted then, so that it comes as a key and not as a shortcut."""
    asks = (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and event.matches(QKeySequence.StandardKey.Copy)
    )
    if asks:
        event.accept()
    return asks
