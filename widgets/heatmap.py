"""A heat map of rows by columns with its legend: draws the values that it is given and says which cell was chosen."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.heat import HeatFrame
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, fill_idle, safe_tip

SEQUENTIAL: Final = {
    False: ("#f1f5fb", "#bcd4ec", "#6fa8d6", "#2a6db0", "#08306b"),
    True: ("#1c2a3f", "#24508a", "#3f86c6", "#8cc4ee", "#f4fbff"),
}
"""From nothing to most, light and dark theme: one hue, told apart by lightness alone."""
DIVERGING: Final = {
    False: ("#2166ac", "#8fbce0", "#f2f2f2", "#f0a35e", "#a14a00"),
    True: ("#69b2f0", "#2f5f94", "#2b3038", "#b5651d", "#ffb469"),
}
"""Below and above the peers: blue and orange, which no common colour blindness mixes up."""
LEAST_ROW, MOST_ROW = 9, 22
LEAST_TEXT = 9
LEGEND, AXIS, PAD = 22, 16, 6
LABEL_MOST = 140


def ramp_color(theme: Theme, share: float, *, diverging: bool) -> QColor:
    """The colour at a place (0..1) of the ramp."""
    red, green, blue = _ramp(theme, diverging)[round(min(max(share, 0.0), 1.0) * 255)]
    return QColor(int(red), int(green), int(blue))


def _ramp(theme: Theme, diverging: bool) -> NDArray[np.uint8]:
    stops = (DIVERGING if diverging else SEQUENTIAL)[theme.dark]
    parts = np.array([[int(s[i : i + 2], 16) for i in (1, 3, 5)] for s in stops], np.float64)
    at = np.linspace(0, len(stops) - 1, 256)
    out = np.stack([np.interp(at, np.arange(len(stops)), parts[:, c]) for c in range(3)], axis=1)
    return np.rint(out).astype(np.uint8)


class HeatMap(PaintedWidget):
    """Shows a :class:`HeatFrame`; arrows move the current cell, Return or a click chooses it.

    Signals:
        chosen(int, int): row and column of the cell.
    """

    chosen = Signal(int, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame: HeatFrame | None = None
        self._image: QImage | None = None
        self.current: tuple[int, int] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Heat map")

    @property
    def frame(self) -> HeatFrame | None:
        """What is shown."""
        return self._frame

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self._paint_image()
        self.update()

    def set_frame(self, frame: HeatFrame) -> None:
        """Show other values; the current cell stays where it still exists."""
        self._frame = frame
        rows, columns = frame.values.shape
        if self.current is not None and (self.current[0] >= rows or self.current[1] >= columns):
            self.current = None
        self._paint_image()
        self._tell()
        self.updateGeometry()
        self.update()

    def _paint_image(self) -> None:
        """One pixel per cell; transparent where there is no value."""
        frame = self._frame
        if frame is None or not frame.values.size:
            self._image = None
            return
        share = frame.share()
        known = ~np.isnan(share)
        rgb = _ramp(self._theme, frame.diverging)[np.rint(np.where(known, share, 0.0) * 255).astype(np.int64)]
        red, green, blue = (rgb[..., c].astype(np.uint32) for c in range(3))
        argb = np.where(known, 0xFF000000 | (red << 16) | (green << 8) | blue, 0).astype(np.uint32)
        rows, columns = len(frame.rows), len(frame.columns)
        self._image = QImage(
            np.ascontiguousarray(argb).tobytes(), columns, rows, columns * 4, QImage.Format.Format_ARGB32
        ).copy()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        rows = len(self._frame.rows) if self._frame is not None else 4
        return QSize(360, rows * MOST_ROW + LEGEND + AXIS + PAD)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        rows = len(self._frame.rows) if self._frame is not None else 1
        return QSize(200, rows * LEAST_ROW + LEGEND + AXIS + PAD)

    def _area(self) -> QRectF:
        """Where the cells lie."""
        frame = self._frame
        bold = self.font()
        bold.setBold(True)
        metrics = QFontMetrics(bold)
        label = max((metrics.horizontalAdvance(r) for r in (frame.rows if frame else ())), default=0)
        left = min(label, LABEL_MOST) + 3 * PAD
        rows = max(1, len(frame.rows) if frame else 1)
        height = min(self.height() - LEGEND - AXIS, rows * MOST_ROW)
        return QRectF(left, LEGEND, max(1.0, self.width() - left - PAD), max(1.0, height))

    def cell_at(self, at: QPointF) -> tuple[int, int] | None:
        """Row and column under a point."""
        area = self._area()
        if self._frame is None or not self._frame.values.size or not area.contains(at):
            return None
        rows, columns = self._frame.values.shape
        row = int((at.y() - area.top()) / area.height() * rows)
        column = int((at.x() - area.left()) / area.width() * columns)
        return min(row, rows - 1), min(column, columns - 1)

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Where a cell lies."""
        area = self._area()
        assert self._frame is not None
        rows, columns = self._frame.values.shape
        width, height = area.width() / columns, area.height() / rows
        return QRectF(area.left() + column * width, area.top() + row * height, width, height)

    def paint(self, painter: QPainter) -> None:
        """Draw labels, cells, the current cell and the legend."""
        theme, frame = self._theme, self._frame
        painter.fillRect(self.rect(), color(theme, "window"))
        if frame is None or self._image is None:
            return
        area = self._area()
        fill_idle(painter, theme, area)  # shows through where there is no value
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(area, self._image, QRectF(self._image.rect()))
        self._draw_grid(painter, area, frame)
        self._draw_labels(painter, area, frame)
        self._draw_legend(painter, frame)
        if self.current is not None:
            token = "accent" if self.hasFocus() else "text"
            painter.setPen(QPen(color(theme, token), 2))
            painter.drawRect(self.cell_rect(*self.current).adjusted(1, 1, -1, -1))

    def _draw_grid(self, painter: QPainter, area: QRectF, frame: HeatFrame) -> None:
        rows, columns = frame.values.shape
        painter.setPen(QPen(color(self._theme, "window"), 1))
        if area.height() / rows >= 6:
            for r in range(1, rows):
                y = area.top() + r * area.height() / rows
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        if area.width() / columns >= 8:
            for c in range(1, columns):
                x = area.left() + c * area.width() / columns
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _draw_labels(self, painter: QPainter, area: QRectF, frame: HeatFrame) -> None:
        metrics, theme = self.fontMetrics(), self._theme
        rows, columns = frame.values.shape
        height = area.height() / rows
        font, usual = QFont(painter.font()), QFont(painter.font())
        font.setPixelSize(int(min(metrics.ascent(), max(LEAST_TEXT, height - 1))))
        small = QFontMetrics(font)
        every = max(1, int(np.ceil((small.ascent() + 1) / max(height, 1e-6))))
        near = {m + d for m in frame.marked for d in range(1 - every, every) if d}
        for r in range(rows):
            if r not in frame.marked and (r % every or r in near):
                continue
            font.setBold(r in frame.marked)
            painter.setFont(font)
            painter.setPen(color(theme, "text" if r in frame.marked else "muted"))
            middle = area.top() + (r + 0.5) * height
            box = QRectF(PAD, middle - small.height() / 2, area.left() - 2 * PAD, small.height())
            text = painter.fontMetrics().elidedText(frame.rows[r], Qt.TextElideMode.ElideMiddle, int(box.width()))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setFont(usual)
        painter.setPen(color(theme, "muted"))
        widest = max(metrics.horizontalAdvance(c) for c in frame.columns) + 12
        width = area.width() / columns
        step = max(1, int(np.ceil(widest / width)))
        for c in range(0, columns, step):
            left = area.left() + c * width
            box = QRectF(left, area.bottom() + 1, max(width, float(widest)), AXIS)
            if box.right() <= self.width() + 2:
                painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, frame.columns[c])

    def _draw_legend(self, painter: QPainter, frame: HeatFrame) -> None:
        metrics, theme = self.fontMetrics(), self._theme
        low, high = frame.text(frame.low), frame.text(frame.high)
        painter.setPen(color(theme, "muted"))
        x, y = float(PAD), 2.0
        box_height = float(metrics.height())

        def text(words: str) -> None:
            nonlocal x
            width = metrics.horizontalAdvance(words)
            painter.drawText(QRectF(x, y, width + 2, box_height), Qt.AlignmentFlag.AlignVCenter, words)
            x += width + PAD

        text(low)
        room = min(120.0, max(30.0, self.width() * 0.25))
        for i in range(int(room)):
            painter.fillRect(
                QRectF(x + i, y + 3, 1.5, box_height - 6),
                ramp_color(theme, i / max(1.0, room - 1), diverging=frame.diverging),
            )
        x += room + PAD
        text(high)
        if np.isnan(frame.values).any():
            fill_idle(painter, theme, QRectF(x, y + 3, 14, box_height - 6))
            x += 14 + PAD
            painter.setPen(color(theme, "muted"))
            text("no value")
        if self.current is not None and self.width() - x > 80:
            box = QRectF(x + PAD, y, self.width() - x - 2 * PAD, box_height)
            row, column = self.current
            told = f"{frame.rows[row]}, {frame.columns[column]}: {frame.text(float(frame.values[row, column]))}"
            told = metrics.elidedText(told, Qt.TextElideMode.ElideLeft, int(box.width()))
            painter.setPen(color(theme, "text"))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, told)

    def _tell(self) -> None:
        frame = self._frame
        if frame is None:
            return
        told = f"Heat map of {frame.what}: {len(frame.rows)} rows, {len(frame.columns)} columns"
        if self.current is not None and frame.values.size:
            told += f"; {frame.cell(*self.current)}"
        self.setAccessibleName(told)

    def _move_to(self, row: int, column: int) -> None:
        self.current = (row, column)
        self._tell()
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, Home and End move; Return chooses."""
        frame = self._frame
        if frame is None or not frame.values.size:
            super().keyPressEvent(event)
            return
        rows, columns = frame.values.shape
        row, column = self.current or (0, 0)
        key = Qt.Key
        moves = {key.Key_Left: (0, -1), key.Key_Right: (0, 1), key.Key_Up: (-1, 0), key.Key_Down: (1, 0),
                 key.Key_Home: (0, -columns), key.Key_End: (0, columns)}  # fmt: skip
        pressed = Qt.Key(event.key())
        if pressed in moves:
            if self.current is not None:
                down, right = moves[pressed]
                row, column = min(max(row + down, 0), rows - 1), min(max(column + right, 0), columns - 1)
            self._move_to(row, column)
        elif pressed in (key.Key_Return, key.Key_Enter, key.Key_Space) and self.current is not None:
            self.chosen.emit(*self.current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell under the pointer."""
        found = self.cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self._move_to(*found)
            self.chosen.emit(*found)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A pointing hand over cells."""
        over = self.cell_at(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The current cell is shown as such."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The current cell is shown as such."""
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        """The tip of the cell under the pointer; arrows are the map's before they are the window's shortcuts."""
        if isinstance(event, QHelpEvent) and self._frame is not None:
            found = self.cell_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), safe_tip(self._frame.cell(*found)) if found else "", self)
            return True
        arrows = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End,
                  Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)  # fmt: skip
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in arrows
            and event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        ):
            event.accept()
            return True
        return super().event(event)
