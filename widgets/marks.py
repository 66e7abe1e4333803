"""Small painted marks of the panels: the chip of a class, the veil over what is out of date."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES, Theme
from widgets.painted import PaintedWidget
from widgets.theming import color


class ClassChip(PaintedWidget):
    """The name of a class on its colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._paint: Paint | None = None
        self._theme: Theme | None = None
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_paint(self, paint: Paint | None) -> None:
        """Show a class, or nothing."""
        self._paint = paint
        self.setVisible(paint is not None)
        self.setAccessibleName(f"class {PAINT_NAMES[paint]}" if paint is not None else "")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        text = PAINT_NAMES[self._paint] if self._paint is not None else ""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(text) + 14, metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return self.sizeHint()

    def paint(self, painter: QPainter) -> None:
        """Draw the mark."""
        if self._paint is None or self._theme is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.paints[self._paint]))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setPen(QColor(self._theme.paint_text[self._paint]))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, PAINT_NAMES[self._paint])


class Veil(PaintedWidget):
    """Dims the widget it covers without taking its clicks or its scroll wheel."""

    def __init__(self, covered: QWidget) -> None:
        super().__init__(covered)
        self._covered = covered
        self._theme: Theme | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.hide()
        covered.installEventFilter(self)

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def showEvent(self, _event: QEvent) -> None:
        """Prepare for being shown."""
        self.setGeometry(self._covered.rect())
        self.raise_()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Follow the size of the covered widget."""
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._covered.rect())
        return False

    def paint(self, painter: QPainter) -> None:
        """Draw the mark."""
        if self._theme is None:
            return
        wash = color(self._theme, "window")
        wash.setAlpha(140)
        painter.fillRect(self.rect(), wash)
