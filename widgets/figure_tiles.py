"""Figures with their usual range, one below the other: value, bar with range and theory, trend, and a line of words."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.figure_tiles import FigureTile
from viewer.base.theme import Theme
from widgets.font_scale import resized
from widgets.name_wrap import wrap_name
from widgets.painted import PaintedWidget
from widgets.theming import color, mix, safe_tip

PAD: Final = 10
BAR: Final = 7
MOST_TREND: Final = 200
"""Steps whose values are drawn; beyond it every n-th."""
TREND_FROM: Final = 3
"""A trend needs at least so many steps."""
LINES: Final = 2
_TOKENS: Final = {"ok": "mark_green", "outside": "warning", "bad": "error", "grey": "muted", "unknown": "muted"}


class FigureTiles(PaintedWidget):
    """Shows tiles; Up and Down move between them, Return or a click chooses one.

    Signals:
        chosen(int): the tile's number.
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tiles: tuple[FigureTile, ...] = ()
        self.current = -1
        self._over = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Figures")

    @property
    def tiles(self) -> tuple[FigureTile, ...]:
        """What is shown."""
        return self._tiles

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_tiles(self, tiles: tuple[FigureTile, ...]) -> None:
        """Show other figures."""
        self._tiles = tiles
        self.current = min(self.current, len(tiles) - 1)
        self.setAccessibleDescription("; ".join(f"{t.title} {t.text} {t.word} {t.line}" for t in tiles))
        self.updateGeometry()
        self.update()

    # layout

    def _lines(self, tile: FigureTile, width: float) -> list[str]:
        lines, _ = wrap_name(tile.line, self.font(), max(40, int(width - 2 * PAD)), LINES)
        return lines

    def _height(self, tile: FigureTile, width: float) -> float:
        line = self.fontMetrics().lineSpacing()
        bar = BAR + 10 if tile.value is not None else 2
        return PAD + line * 1.25 + bar + line * len(self._lines(tile, width)) + PAD * 0.7

    def rects(self) -> list[QRectF]:
        """Where the tiles lie."""
        out, y = [], 0.0
        for tile in self._tiles:
            height = self._height(tile, self.width())
            out.append(QRectF(0, y, self.width(), height))
            y += height
        return out

    def hasHeightForWidth(self) -> bool:
        """Whether the height follows from the width: yes."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height in px for a width in px."""
        return int(sum(self._height(t, width) for t in self._tiles)) + 1

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(360, self.heightForWidth(max(self.width(), 280)))

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(240, self.heightForWidth(max(self.width(), 280)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words wrap elsewhere."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw the tiles."""
        painter.fillRect(self.rect(), color(self._theme, "window"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for i, (tile, rect) in enumerate(zip(self._tiles, self.rects(), strict=True)):
            if i == self._over:
                painter.fillRect(rect, mix(color(self._theme, "window"), color(self._theme, "selection_fill"), 0.5))
            self._draw(painter, tile, rect)
            painter.setPen(QPen(color(self._theme, "line"), 1))
            painter.drawLine(QPointF(PAD, rect.bottom() - 0.5), QPointF(rect.right() - PAD, rect.bottom() - 0.5))
            if i == self.current and self.hasFocus():
                painter.setPen(QPen(color(self._theme, "accent"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(rect.adjusted(2, 2, -2, -3), 4, 4)

    def _draw(self, painter: QPainter, tile: FigureTile, rect: QRectF) -> None:
        theme = self._theme
        tone = color(theme, _TOKENS[tile.tone])
        line = float(self.fontMetrics().lineSpacing())
        usual, bold = QFont(self.font()), QFont(self.font())
        bold.setBold(True)
        large = resized(bold, 1.3)
        top = QRectF(PAD, rect.top() + PAD * 0.8, rect.width() - 2 * PAD, line * 1.25)
        painter.setFont(large)
        value_width = painter.fontMetrics().horizontalAdvance(tile.text) + 2
        painter.setPen(tone if tile.tone in ("outside", "bad") else color(theme, "text"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(top, right, tile.text)
        self._sign(painter, tile, QPointF(PAD + 5, top.center().y()), tone)
        painter.setFont(bold)
        painter.setPen(color(theme, "text"))
        title_left = PAD + 16
        painter.drawText(top.adjusted(16, 0, -value_width, 0), left, tile.title)
        used = title_left + painter.fontMetrics().horizontalAdvance(tile.title) + 10
        painter.setFont(usual)
        if tile.word:
            painter.setPen(tone)
            room = QRectF(used, top.top(), rect.width() - PAD - value_width - 8 - used, top.height())
            word = painter.fontMetrics().elidedText(tile.word, Qt.TextElideMode.ElideRight, max(0, int(room.width())))
            painter.drawText(room, left, word)
        y = top.bottom() + 4
        if tile.value is not None:
            self._draw_bar(painter, tile, QRectF(PAD, y, rect.width() - 2 * PAD, BAR), tone)
            y += BAR + 6
        painter.setPen(color(theme, "accent" if tile.link else "muted"))
        for text in self._lines(tile, rect.width()):
            painter.drawText(QRectF(PAD, y, rect.width() - 2 * PAD, line), left, text)
            y += line

    @staticmethod
    def _sign(painter: QPainter, tile: FigureTile, at: QPointF, tone: QColor) -> None:
        """The status as a shape, so that it needs no colour: disc, triangle, square, ring."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tone)
        x, y = at.x(), at.y()
        if tile.tone == "ok":
            painter.drawEllipse(at, 4.5, 4.5)
        elif tile.tone == "outside":
            painter.drawPolygon(QPolygonF([QPointF(x, y - 5), QPointF(x + 5.5, y + 4.5), QPointF(x - 5.5, y + 4.5)]))
        elif tile.tone == "bad":
            painter.drawRect(QRectF(x - 4.5, y - 4.5, 9, 9))
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(tone, 1.4))
            painter.drawEllipse(at, 4, 4)

    def _draw_bar(self, painter: QPainter, tile: FigureTile, area: QRectF, tone: QColor) -> None:
        theme = self._theme
        trend = tile.trend if len(tile.trend) >= TREND_FROM else ()
        bar = QRectF(area.left(), area.top(), area.width() * (0.68 if trend else 1.0), area.height())

        def x(value: float) -> float:
            return bar.left() + bar.width() * min(max(value / tile.full, 0.0), 1.0)

        painter.setPen(Qt.PenStyle.NoPen)
        painter.fillRect(bar, color(theme, "line"))
        if tile.tone != "grey" and (tile.low is not None or tile.high is not None):
            low, high = x(tile.low or 0.0), x(tile.high if tile.high is not None else tile.full)
            usual = mix(color(theme, "line"), color(theme, "mark_green"), 0.45)
            painter.fillRect(QRectF(low, bar.top(), high - low, bar.height()), usual)
        if tile.spread is not None:
            a, b = x(tile.spread[0]), x(tile.spread[1])
            painter.fillRect(QRectF(a, bar.center().y() - 1, max(1.0, b - a), 2), color(theme, "muted"))
        if tile.theory is not None:
            painter.setPen(QPen(color(theme, "text"), 1.4, Qt.PenStyle.SolidLine))
            at = x(tile.theory)
            painter.drawLine(QPointF(at, bar.top() - 2), QPointF(at, bar.bottom() + 2))
        assert tile.value is not None
        at = x(tile.value)
        painter.setPen(QPen(color(theme, "window"), 1.0))
        painter.setBrush(tone if tile.tone != "grey" else color(theme, "muted"))
        diamond = [(0.0, -6.0), (5.0, 0.0), (0.0, 6.0), (-5.0, 0.0)]
        painter.drawPolygon(QPolygonF([QPointF(at + dx, bar.center().y() + dy) for dx, dy in diamond]))
        if trend:
            self._draw_trend(
                painter, trend, QRectF(bar.right() + 14, area.top() - 4, area.right() - bar.right() - 14, 14)
            )

    def _draw_trend(self, painter: QPainter, trend: tuple[float, ...], area: QRectF) -> None:
        values = trend[:: max(1, len(trend) // MOST_TREND)]
        low, high = min(values), max(values)
        room = max(high - low, 0.1 * max(abs(high), 1e-9))  # steady values make a steady line, not one of noise
        middle = (low + high) / 2
        path = QPainterPath()
        for i, value in enumerate(values):
            at = QPointF(
                area.left() + area.width() * i / (len(values) - 1),
                area.center().y() - (value - middle) / room * area.height(),
            )
            if i:
                path.lineTo(at)
            else:
                path.moveTo(at)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color(self._theme, "accent"), 1.3))
        painter.drawPath(path)

    # input

    def tile_at(self, at: QPointF) -> int:
        """The tile under a point, -1 for none."""
        return next((i for i, rect in enumerate(self.rects()) if rect.contains(at)), -1)

    def _move(self, to: int) -> None:
        if self._tiles:
            self.current = min(max(to, 0), len(self._tiles) - 1)
            tile = self._tiles[self.current]
            self.setAccessibleName(f"{tile.title} {tile.text} {tile.word}. {tile.line}")
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move; Return chooses."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._move(self.current + (1 if event.key() == Qt.Key.Key_Down else -1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.current >= 0:
            self.chosen.emit(self.current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the tile under the pointer."""
        found = self.tile_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found >= 0:
            self._move(found)
            self.chosen.emit(found)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The tile under the pointer is lit."""
        found = self.tile_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if found >= 0 else Qt.CursorShape.ArrowCursor)
        if found != self._over:
            self._over = found
            self.update()

    def leaveEvent(self, _event: QEvent) -> None:
        """No tile is under the pointer."""
        self._over = -1
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The current tile is shown as such."""
        super().focusInEvent(event)
        self._move(max(self.current, 0))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The current tile is shown as such."""
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        """The tip of the tile under the pointer; its keys go before the window's shortcuts."""
        if isinstance(event, QHelpEvent):
            found = self.tile_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), safe_tip(self._tiles[found].tip) if found >= 0 else "", self)
            return True
        own = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in own
            and event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        ):
            event.accept()
            return True
        return super().event(event)
