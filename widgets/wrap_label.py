"""A plain-text label that wraps names where code may be broken; a text is never markup."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from viewer.base.units import unbroken
from widgets.name_wrap import wrap_name
from widgets.painted import PaintedWidget
from widgets.theming import set_tip


class WrapLabel(PaintedWidget):
    """Text wrapped as :func:`widgets.name_wrap.wrap_name` does. Elided after ``max_lines``; never rich text.

    Signals:
        clicked(): only while :meth:`set_link` is on; by mouse, Return or Space.
    """

    clicked = Signal()

    def __init__(self, parent: QWidget | None = None, *, max_lines: int = 0) -> None:
        super().__init__(parent)
        self._text = ""
        self._color: QColor | None = None
        self._link = False
        self._max_lines = max_lines
        self._hover = False
        self._laid: tuple[int, list[str]] = (-1, [])
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def text(self) -> str:
        """The whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self._relayout()

    def set_color(self, color: QColor | None) -> None:
        """Colour of the text, None for the palette's."""
        if color != self._color:
            self._color = color
            self.update()

    def set_link(self, on: bool) -> None:
        """Whether the text can be clicked and focused."""
        if on != self._link:
            self._link = on
            self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)
            self.update()

    def set_max_lines(self, lines: int) -> None:
        """Elide after so many lines, 0 for no limit."""
        if lines != self._max_lines:
            self._max_lines = lines
            self._relayout()

    def lines(self, width: int) -> list[str]:
        """The text broken into lines of at most ``width`` px."""
        if self._laid[0] == width:
            return self._laid[1]
        metrics, text = QFontMetricsF(self.font()), unbroken(self._text)
        if "\n" not in text and metrics.horizontalAdvance(text) <= width:
            self._laid = (width, [text])
            if self._max_lines:
                set_tip(self, "")
            return self._laid[1]
        lines, cut = wrap_name(text, self.font(), width, self._max_lines)
        if cut and lines:
            last = lines[-1].rstrip()
            while last and metrics.horizontalAdvance(last + " …") > width:
                last = last[:-1]
            lines[-1] = last + " …"
        self._laid = (width, lines)
        if self._max_lines:
            set_tip(self, self._text if cut else "")
        return lines

    def _relayout(self) -> None:
        self._laid = (-1, [])
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Whether the height follows from the width: yes."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height in px for a width in px."""
        return max(1, len(self.lines(width))) * self.fontMetrics().lineSpacing()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        metrics = self.fontMetrics()
        width = min(metrics.horizontalAdvance(self._text) + 2, 220)
        return QSize(width, self.heightForWidth(max(width, self.width())))

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(24, self.fontMetrics().lineSpacing())

    def changeEvent(self, event: object) -> None:
        """A new font breaks lines elsewhere."""
        self._relayout()
        super().changeEvent(event)  # type: ignore[arg-type]

    def paint(self, painter: QPainter) -> None:
        """Draw the lines."""
        ink = self._color or self.palette().windowText().color()
        painter.setPen(ink)
        metrics = self.fontMetrics()
        font = self.font()
        if self._link and (self._hover or self.hasFocus()):
            font.setUnderline(True)
        painter.setFont(font)
        y = float(metrics.ascent())
        for line in self.lines(self.width()):
            painter.drawText(QPointF(0.0, y), line)
            y += metrics.lineSpacing()
        if self._link and self.hasFocus():
            painter.setPen(QPen(ink, 1.0, Qt.PenStyle.DotLine))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def enterEvent(self, _event: QEnterEvent) -> None:
        """Underline a link."""
        self._hover = True
        self.update()

    def leaveEvent(self, _event: object) -> None:
        """Stop underlining."""
        self._hover = False
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Follow a link."""
        if (
            self._link
            and event.button() == Qt.MouseButton.LeftButton
            and self.rect().contains(event.position().toPoint())
        ):
            self.clicked.emit()
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, and choose by keyboard."""
        if self._link and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to copy."""
        menu = QMenu(self)
        menu.addAction("Copy", lambda: QGuiApplication.clipboard().setText(self._text))
        menu.exec(event.globalPos())
        menu.deleteLater()
