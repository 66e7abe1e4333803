"""A pipeline along time: a row per worker, its passes as numbered cells, communication as a strip below them."""

from __future__ import annotations

from typing import Final

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.pipeline_frame import CELL_PAINTS, CellKind, PipelineFrame, PipelineRow
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.round_ticks import tick_step, tick_text
from widgets.theming import color, fill_idle, mix, paint_color, safe_tip

ROW, STRIP, GAP = 22, 4, 2
"""Height of a row, of the strip of communication in it, and of the space below."""
HEADING, AXIS = 17, 18
PAD = 6
MOST_LABEL, FIGURE = 190, 62
CLOSEST_NS: Final = 2_000.0
"""No closer zoom than so much time on the whole chart."""
_KEYS: Final = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_Return,
                Qt.Key.Key_Enter, Qt.Key.Key_Space)  # fmt: skip


class PipelineChart(PaintedWidget):
    """Draws a :class:`PipelineFrame`. Ctrl + wheel zooms, Shift + wheel and dragging move, a double click shows all.

    Signals:
        cell_chosen(int): number of the cell that was clicked.
        row_chosen(int): number of the row whose label was clicked.
    """

    cell_chosen = Signal(int)
    row_chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame: PipelineFrame | None = None
        self._from, self._to = 0.0, 1.0
        self.current = -1
        """The cell that the keyboard is on, -1 for none."""
        self._pressed: tuple[float, float, float] | None = None
        self._dragged = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Pipeline")

    @property
    def frame(self) -> PipelineFrame | None:
        """What is shown."""
        return self._frame

    @property
    def visible_ns(self) -> tuple[float, float]:
        """The shown part of the axis, ns from its begin."""
        return self._from, self._to

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def set_frame(self, frame: PipelineFrame | None) -> None:
        """Show other passes, all of their time."""
        self._frame = frame
        self._from, self._to = 0.0, frame.span_ns if frame is not None else 1.0
        self.current = -1
        self.setAccessibleDescription(frame.summary if frame is not None else "")
        self.updateGeometry()
        self.update()

    def show_all(self) -> None:
        """Show all of the time."""
        if self._frame is not None:
            self._set_window(0.0, self._frame.span_ns)

    def _set_window(self, start: float, end: float) -> None:
        assert self._frame is not None
        length = min(max(end - start, min(CLOSEST_NS, self._frame.span_ns)), self._frame.span_ns)
        start = min(max(0.0, start), self._frame.span_ns - length)
        self._from, self._to = start, start + length
        self.update()

    # Geometry

    def _tops(self) -> list[float]:
        """Top of each row."""
        y = float(AXIS)
        out: list[float] = []
        for row in self._frame.rows if self._frame is not None else ():
            y += HEADING if row.heading else (GAP * 2 if row.begins and out else 0)
            out.append(y)
            y += ROW
        return out

    def sizeHint(self) -> QSize:
        """As high as its rows."""
        tops = self._tops()
        return QSize(600, int((tops[-1] + ROW if tops else AXIS) + GAP))

    def minimumSizeHint(self) -> QSize:
        """As high, however narrow."""
        return QSize(320, self.sizeHint().height())

    def _label_width(self) -> float:
        metrics = QFontMetricsF(self.font())
        rows = self._frame.rows if self._frame is not None else ()
        widest = max((metrics.horizontalAdvance(f"{r.label}  {r.detail}") for r in rows), default=0.0)
        return min(float(MOST_LABEL), widest + 2 * PAD)

    def area(self) -> QRectF:
        """Where the cells lie."""
        left = self._label_width()
        return QRectF(left, AXIS, max(1.0, self.width() - left - 2 * FIGURE - PAD), max(1.0, self.height() - AXIS))

    def _x(self, ns: float) -> float:
        area = self.area()
        return area.left() + (ns - self._from) / (self._to - self._from) * area.width()

    def row_at(self, y: float) -> int:
        """The row at a height, -1 for none."""
        return next((i for i, top in enumerate(self._tops()) if top <= y < top + ROW), -1)

    def cell_rect(self, cell: int) -> QRectF:
        """Where a cell lies."""
        assert self._frame is not None
        top = self._tops()[int(self._frame.row[cell])]
        x0, x1 = self._x(float(self._frame.start[cell])), self._x(float(self._frame.end[cell]))
        if self._frame.kind[cell] >= CellKind.SEND:
            return QRectF(x0, top + ROW - GAP - STRIP, max(x1 - x0, 1.0), STRIP)
        return QRectF(x0, top + GAP, max(x1 - x0, 1.0), ROW - 2 * GAP - STRIP)

    def cell_at(self, at: QPointF) -> int:
        """The cell under a point, -1 for none; of two the later one."""
        frame, area = self._frame, self.area()
        if frame is None or not area.left() <= at.x() <= area.right():
            return -1
        row = self.row_at(at.y())
        if row < 0:
            return -1
        part = frame.of_row(row)
        ns = self._from + (at.x() - area.left()) / area.width() * (self._to - self._from)
        slack = (self._to - self._from) / area.width()
        in_strip = at.y() >= self._tops()[row] + ROW - GAP - STRIP - 1
        strip = frame.kind[part] >= CellKind.SEND
        hit = (frame.start[part] - slack <= ns) & (ns <= frame.end[part] + slack)
        for wanted in (strip, ~strip) if in_strip else (~strip, strip):
            found = np.flatnonzero(hit & wanted)
            if len(found):
                return int(part.start) + int(found[-1])
        return -1

    # Looks

    def paint(self, painter: QPainter) -> None:
        """Draw everything in sight."""
        theme, frame = self._theme, self._frame
        painter.fillRect(self.rect(), color(theme, "window"))
        if frame is None:
            return
        area = self.area()
        self._draw_axis(painter, area)
        for i, (row, top) in enumerate(zip(frame.rows, self._tops(), strict=True)):
            if top > self.height() or not self.visibleRegion().intersects(
                QRectF(0, top - HEADING, self.width(), ROW + HEADING).toAlignedRect()
            ):
                continue
            self._draw_row(painter, area, i, row, top)

    def _draw_axis(self, painter: QPainter, area: QRectF) -> None:
        theme = self._theme
        painter.setPen(color(theme, "muted"))
        for k, name in enumerate(self._frame.columns if self._frame is not None else ()):
            box = QRectF(area.right() + k * FIGURE, 0, FIGURE - 2, AXIS)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, name)
        step = tick_step(self._to - self._from, max(1.0, area.width() / 90))
        zero = self._frame.zero_ns if self._frame is not None else 0.0
        at = float(np.ceil((self._from - zero) / step) * step)
        metrics = QFontMetricsF(self.font())
        while at <= self._to - zero:
            x = self._x(at + zero)
            painter.setPen(QPen(color(theme, "line"), 1))
            painter.drawLine(QPointF(x, AXIS - 4), QPointF(x, AXIS))
            text = tick_text(round(at))
            if x + metrics.horizontalAdvance(text) + 4 < area.right():
                painter.setPen(color(theme, "muted"))
                painter.drawText(QRectF(x + 3, 0, 90, AXIS), Qt.AlignmentFlag.AlignVCenter, text)
            at += step

    def _draw_row(self, painter: QPainter, area: QRectF, number: int, row: PipelineRow, top: float) -> None:
        theme = self._theme
        if row.heading:
            painter.setPen(color(theme, "muted"))
            painter.drawText(QRectF(PAD, top - HEADING, self.width() - PAD, HEADING), Qt.AlignmentFlag.AlignVCenter,
                             row.heading)  # fmt: skip
        self._draw_label(painter, area, row, top)
        lane = QRectF(area.left(), top + GAP, area.width(), ROW - 2 * GAP)
        painter.fillRect(lane, color(theme, "base"))
        if row.missing:
            painter.setPen(color(theme, "muted"))
            painter.drawText(lane.adjusted(PAD, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, "no trace")
            return
        painter.save()
        painter.setClipRect(lane)
        if row.phase is not None:
            fill_idle(painter, theme, QRectF(self._x(row.phase[0]), lane.top(),
                                             self._x(row.phase[1]) - self._x(row.phase[0]), lane.height()))  # fmt: skip
        self._draw_cells(painter, number)
        painter.restore()
        if self.current >= 0 and self._frame is not None and self._frame.row[self.current] == number:
            painter.setPen(QPen(color(theme, "accent" if self.hasFocus() else "text"), 2))
            painter.drawRect(self.cell_rect(self.current).intersected(lane).adjusted(0, 0, -1, 0))

    def _draw_label(self, painter: QPainter, area: QRectF, row: PipelineRow, top: float) -> None:
        theme, metrics = self._theme, QFontMetricsF(self.font())
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(color(theme, "muted" if row.missing else "text"))
        painter.drawText(QRectF(PAD, top, area.left() - PAD, ROW), middle, row.label)
        at = PAD + metrics.horizontalAdvance(row.label + "  ")
        detail = metrics.elidedText(row.detail, Qt.TextElideMode.ElideRight, area.left() - at - 2)
        painter.setPen(color(theme, "muted"))
        painter.drawText(QRectF(at, top, area.left() - at, ROW), middle, detail)
        right = Qt.AlignmentFlag.AlignRight | middle
        bold, usual = QFont(painter.font()), QFont(painter.font())
        bold.setBold(row.over)
        painter.setFont(bold)
        painter.setPen(color(theme, "warning" if row.over else "text"))
        painter.drawText(QRectF(area.right(), top, FIGURE - 2, ROW), right, row.bubble)
        painter.setFont(usual)
        painter.setPen(color(theme, "muted"))
        painter.drawText(QRectF(area.right() + FIGURE, top, FIGURE - 2, ROW), right, row.theory)

    def _draw_cells(self, painter: QPainter, number: int) -> None:
        frame, theme = self._frame, self._theme
        assert frame is not None
        part = frame.of_row(number)
        seen = np.flatnonzero((frame.end[part] >= self._from) & (frame.start[part] <= self._to)) + part.start
        font = QFont(painter.font())
        font.setPixelSize(10)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        edge = color(theme, "base")
        last: dict[int, float] = {}
        for cell in seen.tolist():
            kind = int(frame.kind[cell])
            box = self.cell_rect(cell)
            strip = kind >= CellKind.SEND
            if box.right() <= last.get(strip, -1.0):
                continue  # under a pixel that is painted already
            last[strip] = box.left() + 1.0 if box.width() <= 1.0 else box.left()
            fill = paint_color(theme, CELL_PAINTS[kind])
            painter.fillRect(box, fill)
            if strip or box.width() < 4:
                continue
            painter.fillRect(QRectF(box.left(), box.top(), 1, box.height()), mix(fill, edge, 0.6))
            text = frame.text[cell]
            if text and metrics.horizontalAdvance(text) + 4 <= box.width():
                painter.setPen(QColor(theme.paint_text[CELL_PAINTS[kind]]))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # Hands

    def tip_at(self, at: QPointF) -> str:
        """What hovering over a point says."""
        frame = self._frame
        if frame is None:
            return ""
        cell, row = self.cell_at(at), self.row_at(at.y())
        if cell >= 0:
            return frame.told[cell]
        if row < 0:
            return ""
        area = self.area()
        inside = area.left() <= at.x() <= area.right() and not frame.rows[row].missing
        return f"bubble: no compute\n{frame.rows[row].told}" if inside else frame.rows[row].told

    def _step(self, rows: int, cells: int) -> None:
        """Move the current cell to the next pass of its row, or to the pass of another row at its time."""
        frame = self._frame
        assert frame is not None
        passes = np.flatnonzero(frame.kind < CellKind.SEND)
        if not len(passes):
            return
        if self.current < 0:
            self._put(int(passes[0]))
            return
        row = int(frame.row[self.current])
        if cells:
            mine = passes[frame.row[passes] == row]
            at = int(np.searchsorted(mine, self.current)) + cells
            if 0 <= at < len(mine):
                self._put(int(mine[at]))
            return
        wanted = sorted({int(r) for r in frame.row[passes]}, key=lambda r: abs(r - row))
        beside = next((r for r in wanted if (r - row) * rows > 0), None)
        if beside is not None:
            mine = passes[frame.row[passes] == beside]
            self._put(int(mine[np.argmin(np.abs(frame.start[mine] - frame.start[self.current]))]))

    def _put(self, cell: int) -> None:
        frame = self._frame
        assert frame is not None
        self.current = cell
        self.setAccessibleDescription(f"{frame.summary}; {frame.told[cell]}")
        start, end = float(frame.start[cell]), float(frame.end[cell])
        if start < self._from or end > self._to:
            length = self._to - self._from
            self._set_window((start + end - length) / 2, (start + end + length) / 2)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move from pass to pass, Return jumps to it, Home shows all."""
        key = Qt.Key
        moves = {key.Key_Left: (0, -1), key.Key_Right: (0, 1), key.Key_Up: (-1, 0), key.Key_Down: (1, 0)}
        pressed = Qt.Key(event.key())
        if self._frame is None or pressed not in _KEYS:
            super().keyPressEvent(event)
        elif pressed in moves:
            self._step(*moves[pressed])
        elif pressed == key.Key_Home:
            self.show_all()
        elif self.current >= 0:
            self.cell_chosen.emit(self.current)

    def event(self, event: QEvent) -> bool:
        """The tip of what is under the pointer; arrows are the chart's before they are the window's shortcuts."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in _KEYS
            and event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        ):
            event.accept()
            return True
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), safe_tip(self.tip_at(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl zooms about the pointer, Shift moves; else what is around scrolls."""
        turned = event.angleDelta().y() or event.angleDelta().x()
        length = self._to - self._from
        if self._frame is None or not turned:
            event.ignore()
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            area = self.area()
            share = min(max((event.position().x() - area.left()) / area.width(), 0.0), 1.0)
            new = length * 0.8 ** (turned / 120)
            at = self._from + share * length
            self._set_window(at - share * new, at + (1 - share) * new)
            event.accept()
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._set_window(self._from - turned / 1200 * length, self._to - turned / 1200 * length)
            event.accept()
        else:
            event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin of a click or a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = (event.position().x(), self._from, self._to)
            self._dragged = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag, or show what can be clicked."""
        at = event.position()
        if self._pressed is not None and self._frame is not None:
            x, start, end = self._pressed
            if abs(at.x() - x) > 4:
                self._dragged = True
            if self._dragged:
                moved = (x - at.x()) / self.area().width() * (end - start)
                self._set_window(start + moved, end + moved)
            return
        over = self.cell_at(at) >= 0 or (at.x() < self.area().left() and self.row_at(at.y()) >= 0)
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on a cell or a label."""
        clicked = self._pressed is not None and not self._dragged
        self._pressed = None
        if not clicked or event.button() != Qt.MouseButton.LeftButton:
            return
        cell, row = self.cell_at(event.position()), self.row_at(event.position().y())
        if cell >= 0:
            self.current = cell
            self.update()
            self.cell_chosen.emit(cell)
        elif row >= 0 and event.position().x() < self.area().left():
            self.row_chosen.emit(row)

    def mouseDoubleClickEvent(self, _: QMouseEvent) -> None:
        """Show all."""
        self._pressed = None
        self.show_all()
