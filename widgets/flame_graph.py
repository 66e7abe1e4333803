"""An icicle graph: frames hang below what called them, as wide as their weight. Paints what it is given."""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from viewer.base.flame_frame import FlameFrame
from viewer.base.names import short_name
from viewer.base.theme import Theme, text_upon
from viewer.base.time import format_duration
from widgets.painted import PaintedWidget
from widgets.theming import color, mix, paint_color, safe_tip

ROW_PAD: Final = 5
NAMED_FROM: Final = 28.0
"""Width in px from which on a frame has room for its name."""
MAIN_WAY: Final = 0.97
"""A frame with more of the whole than this is on the way in to where stacks part."""
LEAST: Final = 0.4
"""Frames narrower than this are not painted."""


class FlameGraph(PaintedWidget):
    """Shows a :class:`FlameFrame`.

    A click zooms to a frame (on the widest one in sight: back out); Ctrl+click or Return goes to its longest slice. The
    arrow keys walk, Escape or Backspace zooms out, Home shows all. The wheel scrolls where the stacks are deep.

    Signals:
        hovered(int): the frame under the pointer or the keyboard's, -1 for none.
        chosen(int): the frame whose longest slice is wanted.
        zoomed(int): the frame that is as wide as the widget now.
    """

    hovered = Signal(int)
    chosen = Signal(int)
    zoomed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame: FlameFrame | None = None
        self.focus = 0
        """The frame that is zoomed to."""
        self.current = -1
        """The frame that the keyboard is on."""
        self._under = -1
        self._theme: Theme | None = None
        self._found: NDArray[np.bool_] | None = None
        self._path: frozenset[int] = frozenset()
        self._shades: list[int] = []
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.valueChanged.connect(lambda _: self.update())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: FlameFrame | None) -> None:
        """Show another graph, all of it."""
        self.frame, self.current, self._under, self._found = frame, -1, -1, None
        # Neighbours of one class are told apart by a shade that belongs to the name.
        self._shades = [zlib.crc32(n.encode("utf-8", "replace")) % 5 for n in frame.names] if frame else []
        self.zoom_to(0)
        self.bar.setValue(max(0, self._first_fork() - 1) * self.row_height)

    def _first_fork(self) -> int:
        """How many frames from the root on hold nearly everything: long ways in that tell nothing."""
        frame, at = self.frame, 0
        if frame is None or not len(frame):
            return 0
        while True:
            inner = np.flatnonzero(frame.parent == at)
            if not len(inner) or frame.total[inner[0]] < MAIN_WAY * frame.total[0]:
                return int(frame.depth[at])
            at = int(inner[0])

    def set_found(self, found: NDArray[np.bool_] | None) -> None:
        """Let these frames stand out (one entry per frame); None: all alike."""
        self._found = found
        self.update()

    def zoom_to(self, node: int) -> None:
        """Make a frame as wide as the widget."""
        self.focus = node
        frame = self.frame
        self._path = frozenset(frame.path(node)) if frame is not None and len(frame) else frozenset()
        self._fit_bar()
        self.update()
        self._tell_name()
        self.zoomed.emit(node)

    def _tell_name(self) -> None:
        frame = self.frame
        if frame is None or not len(frame):
            self.setAccessibleName("Flame graph, empty")
            return
        at = self.current if self.current >= 0 else self.focus
        self.setAccessibleName(f"Flame graph of {frame.weight}, at {self.text_of(at)}")

    def text_of(self, node: int) -> str:
        """A frame in one line: name, weight, share of all, own weight."""
        frame = self.frame
        if frame is None or not 0 <= node < len(frame):
            return ""
        total, own, whole = int(frame.total[node]), int(frame.own[node]), max(1, int(frame.total[0]))
        return (
            f"{frame.names[node]}: {format_duration(total)}, {100 * total / whole:.1f} % of all; "
            f"itself {format_duration(own)}"
        )

    def sizeHint(self) -> QSize:
        """A dozen rows."""
        return QSize(900, 12 * self.row_height)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(200, 4 * self.row_height)

    # where things are

    @property
    def row_height(self) -> int:
        """Height of a frame."""
        return self.fontMetrics().height() + ROW_PAD

    def _width(self) -> float:
        return float(self.width() - (self.bar.width() if self.bar.isVisible() else 0))

    def spans(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Left and right of every frame in px, cut to the widget; what is beside the focus is empty."""
        frame = self.frame
        if frame is None or not len(frame):
            return np.empty(0), np.empty(0)
        lo, hi = float(frame.left[self.focus]), float(frame.right[self.focus])
        scale = self._width() / max(hi - lo, 1e-300)
        left = np.clip((frame.left - lo) * scale, 0, self._width())
        right = np.clip((frame.right - lo) * scale, 0, self._width())
        return left, right

    def rect_of(self, node: int) -> QRectF:
        """Where a frame is, in px."""
        left, right = self.spans()
        if self.frame is None or not len(left):
            return QRectF()
        y = int(self.frame.depth[node]) * self.row_height - self.bar.value()
        return QRectF(left[node], y, right[node] - left[node], self.row_height)

    def node_at(self, place: QPointF) -> int:
        """The frame at a point, -1 for none."""
        frame = self.frame
        if frame is None or not len(frame) or place.x() >= self._width():
            return -1
        level = int((place.y() + self.bar.value()) // self.row_height)
        left, right = self.spans()
        hit = np.flatnonzero((frame.depth == level) & (left <= place.x()) & (place.x() < right))
        return int(hit[0]) if len(hit) else -1

    def _fit_bar(self) -> None:
        frame = self.frame
        rows = int(frame.depth.max()) + 1 if frame is not None and len(frame) else 0
        over = rows * self.row_height - self.height()
        self.bar.setVisible(over > 0)
        self.bar.setRange(0, max(0, over))
        self.bar.setPageStep(max(1, self.height()))
        self.bar.setSingleStep(self.row_height)
        width = self.bar.sizeHint().width()
        self.bar.setGeometry(self.width() - width, 0, width, self.height())

    # events

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The bar follows the height."""
        super().resizeEvent(event)
        self._fit_bar()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll."""
        if self.bar.isVisible():
            self.bar.setValue(self.bar.value() - round(event.angleDelta().y() / 120 * 3 * self.row_height))
            event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what is under the pointer."""
        self._hover(self.node_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer is gone."""
        super().leaveEvent(event)
        self._hover(-1)

    def _hover(self, node: int) -> None:
        if node != self._under:
            self._under = node
            frame = self.frame
            tip = f"{frame.names[node]}\n{self.text_of(node)}" if frame is not None and node >= 0 else ""
            self.setToolTip(safe_tip(tip))
            self.update()
            self.hovered.emit(node)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Zoom, or go there."""
        node = self.node_at(event.position())
        if node < 0 or event.button() != Qt.MouseButton.LeftButton or self.frame is None:
            return
        self.current = node
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.chosen.emit(node)
            self.update()
        else:
            self.zoom_to(max(0, int(self.frame.parent[node])) if node == self.focus else node)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk, zoom, go there."""
        frame, key = self.frame, event.key()
        if frame is None or not len(frame):
            super().keyPressEvent(event)
            return
        if key == Qt.Key.Key_Home:
            self._walk_to(0, zoom=True)
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_Backspace) and self.focus:
            self._walk_to(int(frame.parent[self.focus]), zoom=True)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            self.chosen.emit(self.current)
        elif key == Qt.Key.Key_Space and self.current >= 0:
            self._walk_to(self.current, zoom=True)
        elif key in _STEPS:
            to = self._beside(frame, key)
            if to >= 0:
                self._walk_to(to, zoom=False)
        else:
            super().keyPressEvent(event)

    def _beside(self, frame: FlameFrame, key: int) -> int:
        at = self.current
        if at < 0:
            return self.focus
        if key == Qt.Key.Key_Up:
            return int(frame.parent[at])
        if key == Qt.Key.Key_Down:
            inner = np.flatnonzero(frame.parent == at)
        else:
            inner = np.flatnonzero(frame.parent == frame.parent[at])
            place = int(np.searchsorted(inner, at)) + (1 if key == Qt.Key.Key_Right else -1)
            return int(inner[place]) if 0 <= place < len(inner) else at
        return int(inner[0]) if len(inner) else at

    def _walk_to(self, node: int, *, zoom: bool) -> None:
        self.current = node
        inside = node in self._path or (self.frame is not None and self.focus in self.frame.path(node))
        if zoom or not inside:
            self.zoom_to(node)
        rect = self.rect_of(node)
        if rect.top() < 0 or rect.bottom() > self.height():
            self.bar.setValue(self.bar.value() + round(rect.center().y() - self.height() / 2))
        self._tell_name()
        self.update()
        self.hovered.emit(node)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw the frames in sight."""
        frame, theme = self.frame, self._theme
        if theme is None:
            return
        painter.fillRect(self.rect(), color(theme, "base"))
        if frame is None or not len(frame) or not frame.total[0]:
            return
        left, right = self.spans()
        height, top = self.row_height, self.bar.value()
        y = frame.depth * height - top
        seen = np.flatnonzero((right - left >= LEAST) & (y + height > 0) & (y < self.height()))
        base, text = color(theme, "base"), color(theme, "text")
        metrics = painter.fontMetrics()
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        for node in seen.tolist():
            box = QRectF(left[node], float(y[node]), right[node] - left[node], height)
            fill, ink = self._colors(theme, frame, node, base)
            gap = 1.0 if box.width() > 3 else 0.0
            painter.fillRect(box.adjusted(0, 0, -gap, -1), fill)
            if node in (self._under, self.current):
                painter.setPen(QPen(text, 1.5 if node == self.current else 1))
                painter.drawRect(box.adjusted(0.5, 0.5, -gap - 0.5, -1.5))
            if box.width() >= NAMED_FROM:
                painter.setPen(ink)
                name, room = frame.names[node], int(box.width()) - 8
                told = name if metrics.horizontalAdvance(name) <= room else short_name(name)
                shown = metrics.elidedText(told, Qt.TextElideMode.ElideRight, room)
                painter.drawText(box.adjusted(4, 0, -4, -1), align, shown)

    def _colors(self, theme: Theme, frame: FlameFrame, node: int, base: QColor) -> tuple[QColor, QColor]:
        paint = frame.paints[node]
        fill = color(theme, "button") if paint is None else paint_color(theme, paint)
        fill = mix(fill, base, 0.05 * self._shades[node])
        ink = color(theme, "text") if paint is None else QColor(text_upon(fill.name()))
        faint = node != self.focus and node in self._path
        if self._found is not None and not self._found[node]:
            return mix(fill, base, 0.75), color(theme, "muted")
        if faint:  # what is above the zoomed frame is shown whole, though it is wider
            return mix(fill, base, 0.45), color(theme, "text")
        return fill, ink


_STEPS: Final = frozenset((Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right))
