"""Drag and drop: which paths a drop brings, the sheet that shows where it would land, and the target itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from viewer.app.icons import icon
from viewer.app.start_page import job_title
from viewer.base.theme import Theme
from widgets.font_scale import resized
from widgets.theming import color

MAX_URIS: Final = 10_000
_USED: Final = (QEvent.Type.Enter, QEvent.Type.MouseButtonPress, QEvent.Type.KeyPress, QEvent.Type.WindowActivate)
"""Events that a window gets only while nothing is dragged over it."""


def dropped_paths(mime: QMimeData) -> list[Path]:
    """Local files and folders of a drop, in order, each once.

    Understands ``text/uri-list`` (percent escapes, spaces) and plain text that is nothing but absolute paths, which
    some terminals and editors offer.
    """
    urls = mime.urls()[:MAX_URIS]
    found = [Path(url.toLocalFile()) for url in urls if url.isLocalFile() and url.toLocalFile()]
    if not found and mime.hasText():
        lines = [line.strip() for line in mime.text()[:1_000_000].splitlines() if line.strip()]
        if lines and len(lines) <= MAX_URIS and all(os.path.isabs(p) and os.path.lexists(p) for p in lines):
            found = [Path(p) for p in lines]
    return list(dict.fromkeys(found))


class DropSheet(QWidget):
    """A translucent sheet over the window while files hover above it. Takes no events itself."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._theme = theme
        self._text = ""
        self._hint = ""
        parent.installEventFilter(self)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Use another theme's colours."""
        self._theme = theme
        self.update()

    def show_over(self, text: str, hint: str = "") -> None:
        """Cover the window and say what a drop would do."""
        self._text, self._hint = text, hint
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of what is covered."""
        if event.type() == QEvent.Type.Resize and self.isVisible() and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return False

    def paintEvent(self, _: QPaintEvent) -> None:
        """Dim the window, frame it, name what would happen."""
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            veil = QColor(color(self._theme, "window"))
            veil.setAlpha(225)
            painter.fillRect(self.rect(), veil)
            frame = QRectF(self.rect()).adjusted(14, 14, -14, -14)
            painter.setPen(QPen(color(self._theme, "accent"), 2, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(frame, 10, 10)
            middle = frame.center()
            icon("drop", self._theme["accent"]).paint(painter, int(middle.x()) - 24, int(middle.y()) - 66, 48, 48)
            painter.setFont(resized(self.font(), 1.4))
            painter.setPen(color(self._theme, "text"))
            line = QRectF(frame.left(), middle.y(), frame.width(), 34)
            painter.drawText(line, Qt.AlignmentFlag.AlignCenter, self._text)
            painter.setFont(self.font())
            painter.setPen(color(self._theme, "muted"))
            painter.drawText(line.translated(0, 34), Qt.AlignmentFlag.AlignCenter, self._hint)
        finally:
            painter.end()


class DropTarget(QObject):
    """Makes a whole window take files and folders, several at once.

    Signals:
        dropped(list[Path]): open these.
        dropped_beside(list[Path]): open these beside the job that is open (Shift was held).
    """

    dropped = Signal(object)
    dropped_beside = Signal(object)

    def __init__(self, theme: Theme, window: QWidget, has_job: Callable[[], bool]) -> None:
        super().__init__(window)
        self._window = window
        self._has_job = has_job
        self.sheet = DropSheet(theme, window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the drag and drop events of the window; all others go on."""
        kind = event.type()
        if watched is not self._window:
            return False
        if kind == QEvent.Type.DragEnter and isinstance(event, QDragEnterEvent):
            return self._enter(event)
        if kind == QEvent.Type.DragMove and self.sheet.isVisible():
            event.accept()
            return True
        if kind == QEvent.Type.DragLeave:
            self.sheet.hide()
            return True
        if kind in _USED and self.sheet.isVisible():
            self.sheet.hide()  # the source of the drag died on the way: neither a drop nor a leave ever came
            return False
        if kind == QEvent.Type.Drop and isinstance(event, QDropEvent):
            return self._drop(event)
        return False

    def _enter(self, event: QDragEnterEvent) -> bool:
        paths = dropped_paths(event.mimeData())
        if not paths:
            event.ignore()
            return True
        what = f"Open {job_title(paths)}" if len(paths) == 1 else f"Open {len(paths)} items as one job"
        self.sheet.show_over(what, "Hold Shift to add to the job that is open" if self._has_job() else "")
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        return True

    def _drop(self, event: QDropEvent) -> bool:
        self.sheet.hide()
        paths = dropped_paths(event.mimeData())
        if not paths:
            event.ignore()
            return True
        # Never "move": the file manager would delete what it moved.
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        beside = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self._has_job()
        signal = self.dropped_beside if beside else self.dropped
        QTimer.singleShot(0, self, lambda: signal.emit(paths))  # lets the file manager finish its side first
        self._window.activateWindow()
        return True
