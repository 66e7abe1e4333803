"""The column left of the lanes: rank headers and lane labels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.frames import PlacedRow, Placement
from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_drag import RowDrag
from widgets.lane_header_parts import header_font, header_tip, paint_count, paint_triangle
from widgets.painted import PaintedWidget
from widgets.theming import color, safe_tip

_EDGE_PX: Final = 5
_INDENT: Final = 22.0
_NARROWEST: Final = 110
_WIDEST: Final = 520


class LaneHeaders(PaintedWidget):
    """Draws the headers of a placement, scrolled like the lanes. The header of the topmost group stays in sight.

    Signals:
        group_toggled(int id): fold or unfold a group.
        group_clicked(int id): its title was clicked.
        row_picked(PlacedRow): clicked with Ctrl: choose it beside others. row_extended(PlacedRow): clicked with Shift.
        section_toggled(PlacedRow): fold or unfold the GPU or process that the row belongs to or stands for.
        menu_requested(PlacedRow, QPoint): the menu of a row, at a place of the screen.
        row_dropped(PlacedRow, str before): dragged before the rank or lane of that key, "" for the end.
        lane_toggled(str key): make a deep lane tall, or small again; show or fold the lanes that a row stands for.
        scrolled(float px): the wheel turned here.
        width_dragged(int px): the right border was dragged.
    """

    group_toggled = Signal(int)
    group_clicked = Signal(int)
    row_picked = Signal(object)
    row_extended = Signal(object)
    section_toggled = Signal(object)
    menu_requested = Signal(object, QPoint)
    row_dropped = Signal(object, str)
    lane_toggled = Signal(str)
    scrolled = Signal(float)
    width_dragged = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lane-headers")
        self.setAccessibleName("Ranks and lanes")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._theme = theme
        self._placement = Placement((), 0)
        self._heads: list[PlacedRow] = []
        self._collapsed: frozenset[int] = frozenset()
        self._deep: frozenset[str] = frozenset()
        self._tall: frozenset[str] = frozenset()
        self._folds: dict[str, bool] = {}
        self._counts: dict[str, int] = {}
        self._selected: int | None = None
        self._chosen: frozenset[str] = frozenset()
        self._top = 0
        self._hover: PlacedRow | None = None
        self._resizing = False
        self._drag: RowDrag | None = None

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.update()

    def set_rows(
        self,
        placement: Placement,
        collapsed: frozenset[int],
        deep: frozenset[str],
        tall: frozenset[str],
        folds: Mapping[str, bool] | None = None,
    ) -> None:
        """Show a placement.

        ``deep`` lanes can be made tall, ``tall`` ones are. ``folds`` are rows that stand for other lanes, and whether
        those show.
        """
        self._folds = dict(folds or {})
        self._placement, self._collapsed, self._deep, self._tall = placement, collapsed, deep, tall
        self._heads = [row for row in placement.rows if row.lane is None and not row.section]
        self._drag = None
        self._hover = None
        self.update()

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Small numbers at lanes by their keys (hits of a search); headers of groups show the sums."""
        if counts != self._counts:
            self._counts = dict(counts)
            self.update()

    def set_top(self, top: int) -> None:
        """Scroll: this px of the content is at the top."""
        if top != self._top:
            self._top = top
            self.update()

    def set_selected(self, group: int | None, lanes: frozenset[str]) -> None:
        """Mark a group, and chosen lanes by their keys."""
        if (group, lanes) != (self._selected, self._chosen):
            self._selected, self._chosen = group, lanes
            self.update()

    def sizeHint(self) -> QSize:
        """Wide enough for a stream of one of several GPUs."""
        return QSize(236, 400)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw what is in sight."""
        theme, area = self._theme, QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(area, QColor(theme["base"]))
        rows, behind = self._placement.rows, self._placement.pinned_height
        sticky = self._topmost_group()
        first = max(bisect_right(rows, self._top + behind, key=lambda r: r.y) - 1, 0)
        for index in range(first, bisect_left(rows, self._top + self.height(), key=lambda r: r.y)):
            if not rows[index].pinned:
                self._paint_row(painter, index, rows[index].y - self._top)
        if sticky is not None and sticky.y < self._top + behind:
            self._paint_group(painter, sticky, self._sticky_box(sticky))
        for index, row in enumerate(rows):
            if not row.pinned:
                break
            self._paint_row(painter, index, row.y)
        if behind:
            painter.fillRect(QRectF(0, behind - 1, area.width(), 1), QColor(theme["accent"]))
        if self._drag is not None and self._drag.moving:
            at = self._placement.screen_y(self._drag.line_y, self._top)
            painter.fillRect(QRectF(0, at - 1, area.width(), 2), QColor(theme["accent"]))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(area.right() + 0.5, 0), QPointF(area.right() + 0.5, area.bottom() + 1))

    def _paint_row(self, painter: QPainter, index: int, y: int) -> None:
        row = self._placement.rows[index]
        box = QRectF(0, y, self.width(), row.height)
        if row.lane is not None:
            self._paint_lane(painter, row, box, odd=bool(index & 1))
            if row.lane.section and not row.pinned:
                self._paint_spine(painter, index, box)
        elif row.section:
            painter.fillRect(box, QColor(self._theme["alternate" if index & 1 else "base"]))
            paint_triangle(
                painter, self._theme, QPointF(13, box.center().y()), opened=False, muted=self._hover is not row
            )
            painter.setFont(header_font(self.font(), 11))
            painter.setPen(QColor(self._theme["muted"]))
            count = sum(lane.section == row.section for lane in row.group.lanes)
            text = f"{row.section} · {count} lane{'' if count == 1 else 's'}"
            painter.drawText(box.adjusted(_INDENT, 0, -8, 0), Qt.AlignmentFlag.AlignVCenter, text)
        else:
            self._paint_group(painter, row, box)

    def _begins_section(self, index: int) -> bool:
        """Whether the lane at an index is the first of its GPU or process."""
        row, rows = self._placement.rows[index], self._placement.rows
        before = rows[index - 1] if index else None
        assert row.lane is not None
        same = before is not None and before.lane is not None and before.group.id == row.group.id and not before.pinned
        return not (same and before is not None and before.lane is not None and before.lane.section == row.lane.section)

    def _paint_spine(self, painter: QPainter, index: int, box: QRectF) -> None:
        """A thin line beside the lanes of one GPU or process, with a triangle at its head."""
        line, top = QColor(self._theme["line"]), box.top()
        if self._begins_section(index):
            at = QPointF(13, box.top() + min(box.height() / 2, 13.0))
            row, hovered = self._placement.rows[index], False
            if self._hover is not None and self._hover.lane is not None and row.lane is not None:
                own = self._hover.group.id == row.group.id
                hovered = own and self._hover.lane.section == row.lane.section
            paint_triangle(painter, self._theme, at, opened=True, muted=not hovered)
            top = at.y() + 6
        painter.fillRect(QRectF(13, top, 1, max(box.bottom() - top, 0)), line)

    def _topmost_group(self) -> PlacedRow | None:
        """The header of the group that the top of the widget shows."""
        at = bisect_right(self._heads, self._top + self._placement.pinned_height, key=lambda r: r.y) - 1
        return self._heads[at] if at >= 0 else None

    def _sticky_box(self, row: PlacedRow) -> QRectF:
        """At the top, pushed out by the next group's header."""
        after = bisect_right(self._heads, row.y, key=lambda r: r.y)
        following = self._heads[after].y if after < len(self._heads) else None
        y = float(self._placement.pinned_height)
        if following is not None:
            y = min(y, float(following - self._top - row.height))
        return QRectF(0, y, self.width(), row.height)

    def _paint_group(self, painter: QPainter, row: PlacedRow, box: QRectF) -> None:
        theme, group = self._theme, row.group
        painter.fillRect(box, QColor(theme["group"]))
        if group.id == self._selected:
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), QColor(theme["accent"]))
        paint_triangle(painter, self._theme, QPointF(13, box.center().y()), opened=group.id not in self._collapsed)
        left = _INDENT + 2
        right = box.right() - 8
        if group.warning:
            right -= scaled(18)
            painter.setFont(header_font(self.font(), 13, bold=True))
            painter.setPen(QColor(theme["warning"]))
            painter.drawText(QRectF(right, box.top(), scaled(16), box.height()), Qt.AlignmentFlag.AlignCenter, "⚠")
        number = sum(self._counts.get(lane.key, 0) for lane in group.lanes) if self._counts else 0
        if number:
            paint_count(painter, theme, self.font(), number, right, box)
            right -= scaled(44)
        font = header_font(self.font(), 12, bold=True)
        metrics = QFontMetricsF(font)
        title = metrics.elidedText(group.title, Qt.TextElideMode.ElideMiddle, right - left)
        painter.setFont(font)
        painter.setPen(QColor(theme["text"]))
        painter.drawText(QRectF(left, box.top(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, title)
        left += metrics.horizontalAdvance(title) + 8
        if group.subtitle and right - left > 40:
            font = header_font(self.font(), 11)
            shown = QFontMetricsF(font).elidedText(group.subtitle, Qt.TextElideMode.ElideRight, right - left)
            painter.setFont(font)
            painter.setPen(QColor(theme["muted"]))
            painter.drawText(QRectF(left, box.top(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, shown)

    def _paint_lane(self, painter: QPainter, row: PlacedRow, box: QRectF, *, odd: bool) -> None:
        lane, theme = row.lane, self._theme
        assert lane is not None
        painter.fillRect(box, QColor(theme["alternate" if odd else "base"]))
        if lane.key in self._chosen:
            painter.fillRect(box, color(theme, "selection_fill"))
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), color(theme, "accent"))
        hovered = self._hover is not None and self._hover.lane is not None and self._hover.lane.key == lane.key
        right = box.right() - 8
        # The label stays in sight while any of a tall lane is.
        top = max(box.top(), min(0.0, box.bottom() - 20) if box.top() < 0 else box.top())
        line = QRectF(_INDENT, top, right - _INDENT, min(box.height(), float(scaled(26))))
        if lane.key in self._deep:
            at = QPointF(right - 4, line.center().y())
            paint_triangle(painter, self._theme, at, opened=lane.key in self._tall, muted=not hovered)
            line.setRight(right - 14)
        if lane.key in self._counts:
            paint_count(painter, theme, self.font(), self._counts[lane.key], line.right(), line)
            line.setRight(line.right() - scaled(44))
        font = header_font(self.font(), 11)
        metrics = QFontMetricsF(font)
        if line.height() < metrics.height():
            font = header_font(self.font(), 9)
            metrics = QFontMetricsF(font)
        fold = self._folds.get(lane.key)
        if fold is not None:
            paint_triangle(painter, self._theme, QPointF(13, line.center().y()), opened=fold, muted=not hovered)
        painter.setFont(font)
        painter.setPen(QColor(theme["text" if fold is None else "muted"]))
        shown = metrics.elidedText(lane.label, Qt.TextElideMode.ElideMiddle, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, shown)

    # mouse

    def _row_at(self, y: float) -> PlacedRow | None:
        head = self._topmost_group()
        behind = self._placement.pinned_height
        stuck = head is not None and head.y < self._top + behind <= self._top + y
        if head is not None and stuck and self._sticky_box(head).contains(QPointF(1, y)):
            return head
        return self._placement.at(self._placement.content_y(y, self._top))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold, select, make tall, or take hold of the border."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        at = event.position()
        if at.x() >= self.width() - _EDGE_PX:
            self._resizing = True
            return
        row = self._row_at(at.y())
        if row is None:
            return
        if event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier):
            extend = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            (self.row_extended if extend else self.row_picked).emit(row)
            return
        self._drag = RowDrag(row, self._placement.content_y(at.y(), self._top), self._placement)

    def _click(self, row: PlacedRow, x: float) -> None:
        """A press that did not become a drag."""
        if row.section:
            self.section_toggled.emit(row)
        elif row.lane is None:
            if x < _INDENT:
                self.group_toggled.emit(row.group.id)
            else:
                self.group_clicked.emit(row.group.id)
        elif x < _INDENT and row.lane.section and not row.pinned:
            self.section_toggled.emit(row)
        elif row.lane.key in self._deep or row.lane.key in self._folds:
            self.lane_toggled.emit(row.lane.key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with a row."""
        row = self._row_at(event.pos().y())
        if row is not None:
            self.menu_requested.emit(row, event.globalPos())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click on a title folds the group."""
        row = self._row_at(event.position().y())
        if row is not None and row.lane is None and not row.section and event.position().x() >= _INDENT:
            self.group_toggled.emit(row.group.id)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Resize, or show what can be clicked."""
        at = event.position()
        if self._resizing:
            self.width_dragged.emit(int(min(max(at.x(), _NARROWEST), _WIDEST)))
            return
        if self._drag is not None and self._drag.move(self._placement.content_y(at.y(), self._top)):
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()
            return
        row = self._row_at(at.y())
        if at.x() >= self.width() - _EDGE_PX:
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        elif row is not None and (row.lane is None or row.lane.key in self._deep or row.lane.key in self._folds):
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self.setCursor(Qt.CursorShape.ArrowCursor)
        if row is not self._hover:
            self._hover = row
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go of the border, put a dragged row down, or click."""
        self._resizing = False
        drag, self._drag = self._drag, None
        if drag is None:
            return
        if drag.moving:
            self.setCursor(Qt.CursorShape.ArrowCursor)
            if drag.before is not drag.row:
                self.row_dropped.emit(drag.row, drag.before_key())
            self.update()
        else:
            self._click(drag.row, event.position().x())

    def leaveEvent(self, _: QEvent) -> None:
        """Nothing is pointed at."""
        self._hover = None
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll like the lanes."""
        pixels = event.pixelDelta().y() or event.angleDelta().y() / 2
        self.scrolled.emit(-float(pixels))
        event.accept()

    def event(self, event: QEvent) -> bool:
        """Tooltips with everything that may have been elided."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), safe_tip(self.tip_at(event.pos().y())), self)
            return True
        return super().event(event)

    def tip_at(self, y: float) -> str:
        """The full text of the header at a height of the widget."""
        row = self._row_at(y)
        return "" if row is None else header_tip(row, self._folds, self._deep, self._tall)
