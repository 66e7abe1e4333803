"""Figures one under another: label, value, and how the value was computed, one click away."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QWidget

from viewer.base.frames import Figure
from viewer.base.theme import Theme
from widgets.font_scale import resized
from widgets.theming import color, set_shown, set_tip
from widgets.wrap_label import WrapLabel

LINK_LINES, VALUE_LINES = 2, 12
"""Lines of a value that leads somewhere (a name), and of any other; the rest is in the tooltip."""


class HowButton(QAbstractButton):
    """A small ringed question mark that opens one explanation."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        side = self.fontMetrics().height() + 2
        return QSize(side, side)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint."""
        if self._theme is None:
            return
        painter = QPainter(self)
        try:
            self._draw(painter, self._theme)
        finally:
            painter.end()

    def _draw(self, painter: QPainter, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        active = self.isChecked() or self.underMouse() or self.hasFocus()
        ink = color(theme, "accent" if active else "muted")
        radius = self.fontMetrics().height() * 0.44
        center = QPointF(self.width() / 2, self.height() / 2)
        painter.setPen(QPen(ink, 1.4 if self.hasFocus() else 1.0))
        if self.isChecked():
            painter.setBrush(ink)
        painter.drawEllipse(center, radius, radius)
        font = QFont(self.font())
        font.setPixelSize(max(7, round(radius * 1.5)))
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(color(theme, "window") if self.isChecked() else ink)
        box = QRectF(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "?")


class _Row:
    """The controls of one figure inside the list's grid."""

    def __init__(self, owner: FigureList) -> None:
        self.label = WrapLabel(owner)
        self.value = WrapLabel(owner)
        self.button = HowButton(owner)
        self.how = WrapLabel(owner)
        self.figure: Figure | None = None
        self.button.toggled.connect(lambda _: owner.refresh_how(self))
        self.value.clicked.connect(lambda: self._jump(owner))

    def _jump(self, owner: FigureList) -> None:
        if self.figure is not None and self.figure.jump is not None:
            owner.jump_requested.emit(self.figure.jump)

    def widgets(self) -> tuple[QWidget, ...]:
        return (self.label, self.value, self.button, self.how)


class FigureList(QWidget):
    """A list of :class:`viewer.base.frames.Figure`, updated in place.

    Signals:
        jump_requested(object): the jump of a figure whose value was clicked.
    """

    jump_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[_Row] = []
        self._used = 0
        self._show_all = False
        self._theme: Theme | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)

    def figures(self) -> list[Figure]:
        """What is shown."""
        return [r.figure for r in self._rows[: self._used] if r.figure is not None]

    def row(self, index: int) -> tuple[WrapLabel, WrapLabel, HowButton, WrapLabel]:
        """Label, value, button and explanation of a shown figure."""
        row = self._rows[index]
        return row.label, row.value, row.button, row.how

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        for row in self._rows:
            self._tint(row)

    def set_show_how(self, on: bool) -> None:
        """Show every explanation, or only those opened one by one."""
        if on == self._show_all:
            return
        self._show_all = on
        for row in self._rows[: self._used]:
            self.refresh_how(row)

    def set_figures(self, figures: Sequence[Figure]) -> None:
        """Show other figures; controls are reused, and an explanation stays open while its label stays."""
        while len(self._rows) < len(figures):
            self._add_row()
        for i, row in enumerate(self._rows):
            if i < len(figures):
                self._fill(row, figures[i])
            elif i < self._used:
                for widget in row.widgets():
                    set_shown(widget, False)
                row.figure = None
        self._used = len(figures)

    def refresh_how(self, row: _Row) -> None:
        """Show or hide one explanation by its button and the list's switch."""
        known = row.figure is not None and bool(row.figure.how)
        set_shown(row.how, known and (self._show_all or row.button.isChecked()))
        set_shown(row.button, known and not self._show_all)

    def _add_row(self) -> None:
        row = _Row(self)
        line = 2 * len(self._rows)
        top = Qt.AlignmentFlag.AlignTop
        width = self.fontMetrics().averageCharWidth() * 18
        row.label.setFixedWidth(width)
        self._grid.addWidget(row.label, line, 0, top)
        self._grid.addWidget(row.value, line, 1)
        self._grid.addWidget(row.button, line, 2, top)
        self._grid.addWidget(row.how, line + 1, 0, 1, 3)
        row.how.setFont(resized(self.font(), 0.92))
        self._rows.append(row)
        self._tint(row)

    def _fill(self, row: _Row, figure: Figure) -> None:
        if row.figure is None or row.figure.label != figure.label:
            row.button.setChecked(False)
        row.figure = figure
        row.label.set_text(figure.label)
        row.value.set_text(figure.value)
        row.value.set_link(figure.jump is not None)
        row.value.set_max_lines(LINK_LINES if figure.jump is not None else VALUE_LINES)
        row.how.set_text(figure.how)
        row.value.setAccessibleName(f"{figure.label}: {figure.value}")
        row.value.setAccessibleDescription(figure.how)
        row.button.setAccessibleName(f"How {figure.label} was computed")
        set_tip(row.button, figure.how)
        self._tint(row)
        set_shown(row.label, True)
        set_shown(row.value, True)
        self.refresh_how(row)

    def _tint(self, row: _Row) -> None:
        theme = self._theme
        if theme is None:
            return
        row.button.set_theme(theme)
        row.label.set_color(color(theme, "muted"))
        row.how.set_color(color(theme, "muted"))
        tone = row.figure.tone if row.figure else ""
        linked = row.figure is not None and row.figure.jump is not None
        token = "warning" if tone == "warning" else "accent" if linked else "muted" if tone == "muted" else "text"
        row.value.set_color(color(theme, token))
