"""Held keys move the timeline smoothly: a frame-rate timer while a key is down, nothing at all otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent

from viewer.views.timeline import viewport
from viewer.views.timeline.glide import Glide, Motion, Way

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

_FRAME_MS: Final = 16
KEYS: Final[dict[Qt.Key, Way]] = {
    Qt.Key.Key_W: "closer",
    Qt.Key.Key_Plus: "closer",
    Qt.Key.Key_Equal: "closer",
    Qt.Key.Key_S: "wider",
    Qt.Key.Key_Minus: "wider",
    Qt.Key.Key_A: "earlier",
    Qt.Key.Key_Left: "earlier",
    Qt.Key.Key_D: "later",
    Qt.Key.Key_Right: "later",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
}
_PLAIN: Final = Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier


class TimelineMotion(QObject):
    """Watches the canvas for the keys that move the view.

    The keyboard's own repeat is ignored: it begins late and comes at a rate of its own.
    """

    def __init__(self, panel: TimelinePanel) -> None:
        super().__init__(panel)
        self._panel = panel
        self._glide = Glide()
        self._shift_ns = 0.0  # what is left of a ns: at deep zoom a frame moves less than one
        self._scroll_px = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._tick)
        panel.canvas.installEventFilter(self)

    @property
    def moving(self) -> bool:
        """Whether a key is held."""
        return self._glide.moving

    def stop(self) -> None:
        """Stand still."""
        self._glide.stop()
        self._timer.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys of the canvas, and whatever may hide that one was released."""
        kind = event.type()
        if kind in (QEvent.Type.FocusOut, QEvent.Type.Hide, QEvent.Type.WindowDeactivate):
            self.stop()
        elif kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease) and isinstance(event, QKeyEvent):
            return self._key(event, down=kind == QEvent.Type.KeyPress)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent, *, down: bool) -> bool:
        way = KEYS.get(Qt.Key(event.key()))
        if way is None or (down and event.modifiers() & ~_PLAIN) or self._panel.window() is None:
            return False
        if event.isAutoRepeat():
            return True
        now = time.perf_counter()
        self._move(self._glide.press(way, now) if down else self._glide.release(way, now))
        if not self._glide.moving:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()
        return True

    def _tick(self) -> None:
        if not self._glide.moving or self._panel.window() is None:
            self.stop()
            return
        self._move(self._glide.advance(time.perf_counter()))

    def _move(self, motion: Motion) -> None:
        panel = self._panel
        if motion.zoom != 1.0:
            panel.zoom(motion.zoom)
        window = panel.window()
        if motion.pan and window is not None:
            exact = self._shift_ns + motion.pan * window.length_ns
            step = int(exact)
            self._shift_ns = exact - step
            if step and panel.extent is not None:
                panel.set_window(viewport.moved(window, step, panel.extent))
        if motion.scroll:
            exact = self._scroll_px + motion.scroll
            self._scroll_px = exact - int(exact)
            panel.scroll_by(int(exact))
