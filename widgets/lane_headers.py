"""The column left of the lanes: rank headers and lane labels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from viewer.base.frames import PlacedRow, Placement
from viewer.base.theme import Theme
from widgets.lane_drag import RowDrag
from widgets.lane_header_parts import header_tip
from widgets.lane_header_rows import INDENT, HeaderRows
from widgets.painted import PaintedWidget
from widgets.scroll_layer import ScrollLayer
from widgets.theming import safe_tip

_EDGE_PX: Final = 5
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
        self._rows = HeaderRows(theme)
        self._heads: list[PlacedRow] = []
        self._top = self._cut_at = 0
        self._layer = ScrollLayer()
        self._resizing = False
        self._drag: RowDrag | None = None

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._rows.theme = theme
        self._changed()

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
        self._rows.folds = dict(folds or {})
        self._rows.placement, self._rows.collapsed, self._rows.deep, self._rows.tall = placement, collapsed, deep, tall
        self._heads = [row for row in placement.rows if row.lane is None and not row.section]
        self._drag = None
        self._rows.hover = None
        self._changed()

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Small numbers at lanes by their keys (hits of a search); headers of groups show the sums."""
        if counts != self._rows.counts:
            self._rows.counts = dict(counts)
            self._changed()

    def set_top(self, top: int) -> None:
        """Scroll: this px of the content is at the top."""
        if top != self._top:
            self._top = top
            self.update()

    def set_selected(self, group: int | None, lanes: frozenset[str]) -> None:
        """Mark a group, and chosen lanes by their keys."""
        if (group, lanes) != (self._rows.selected, self._rows.chosen):
            self._rows.selected, self._rows.chosen = group, lanes
            self._changed()

    def changeEvent(self, event: QEvent) -> None:
        """Another font changes all rows."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_layer"):
            self._changed()
        super().changeEvent(event)

    def _changed(self) -> None:
        """The rows look different."""
        self._layer.forget()
        self.update()

    def sizeHint(self) -> QSize:
        """Wide enough for a stream of one of several GPUs."""
        return QSize(236, 400)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Draw what is in sight."""
        theme, area = self._rows.theme, QRectF(self.rect())
        self._rows.width, self._rows.font = self.width(), self.font()
        rows, behind = self._rows.placement.rows, self._rows.placement.pinned_height
        sticky = self._topmost_group()
        self._layer.show(
            painter, self.size(), self.devicePixelRatioF(), self._top, self._paint_rows, self._rows_across_the_top()
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if sticky is not None and sticky.y < self._top + behind:
            self._rows.paint_group(painter, sticky, self._sticky_box(sticky))
        for index, row in enumerate(rows):
            if not row.pinned:
                break
            self._rows.paint_row(painter, index, row.y)
        if behind:
            painter.fillRect(QRectF(0, behind - 1, area.width(), 1), QColor(theme["accent"]))
        if self._drag is not None and self._drag.moving:
            at = self._rows.placement.screen_y(self._drag.line_y, self._top)
            painter.fillRect(QRectF(0, at - 1, area.width(), 2), QColor(theme["accent"]))
        painter.setPen(QPen(QColor(theme["line"]), 1))
        painter.drawLine(QPointF(area.right() + 0.5, 0), QPointF(area.right() + 0.5, area.bottom() + 1))

    def _paint_rows(self, painter: QPainter, span: tuple[int, int]) -> None:
        """Paint the rows that scroll between two heights of the widget."""
        first, stop = span
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        painter.fillRect(QRectF(0, first, self.width(), stop - first), QColor(self._rows.theme["base"]))
        rows, top = self._rows.placement.rows, self._top
        at = max(bisect_right(rows, top + max(first, self._rows.placement.pinned_height), key=_row_y) - 1, 0)
        for index in range(at, bisect_left(rows, top + stop, key=_row_y)):
            if not rows[index].pinned:
                self._rows.paint_row(painter, index, rows[index].y - top)

    def _rows_across_the_top(self) -> list[tuple[int, int]]:
        """Heights of the rows that the upper border cuts, or cut when asked last: labels stay in sight there."""
        cut, top = [], self._top
        for border in {self._cut_at, top}:
            at = bisect_right(self._rows.placement.rows, border, key=_row_y) - 1
            if at >= 0 and not self._rows.placement.rows[at].pinned:
                row = self._rows.placement.rows[at]
                first, stop = max(row.y - top, 0), min(row.y + row.height - top, self.height())
                if first < stop:
                    cut.append((first, stop))
        self._cut_at = top
        return cut

    def _topmost_group(self) -> PlacedRow | None:
        """The header of the group that the top of the widget shows."""
        at = bisect_right(self._heads, self._top + self._rows.placement.pinned_height, key=_row_y) - 1
        return self._heads[at] if at >= 0 else None

    def _sticky_box(self, row: PlacedRow) -> QRectF:
        """At the top, pushed out by the next group's header."""
        after = bisect_right(self._heads, row.y, key=_row_y)
        following = self._heads[after].y if after < len(self._heads) else None
        y = float(self._rows.placement.pinned_height)
        if following is not None:
            y = min(y, float(following - self._top - row.height))
        return QRectF(0, y, self.width(), row.height)

    # mouse

    def _row_at(self, y: float) -> PlacedRow | None:
        head = self._topmost_group()
        behind = self._rows.placement.pinned_height
        stuck = head is not None and head.y < self._top + behind <= self._top + y
        if head is not None and stuck and self._sticky_box(head).contains(QPointF(1, y)):
            return head
        return self._rows.placement.at(self._rows.placement.content_y(y, self._top))

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
        self._drag = RowDrag(row, self._rows.placement.content_y(at.y(), self._top), self._rows.placement)

    def _click(self, row: PlacedRow, x: float) -> None:
        """A press that did not become a drag."""
        if row.section:
            self.section_toggled.emit(row)
        elif row.lane is None:
            if x < INDENT:
                self.group_toggled.emit(row.group.id)
            else:
                self.group_clicked.emit(row.group.id)
        elif x < INDENT and row.lane.section and not row.pinned:
            self.section_toggled.emit(row)
        elif row.lane.key in self._rows.deep or row.lane.key in self._rows.folds:
            self.lane_toggled.emit(row.lane.key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with a row."""
        row = self._row_at(event.pos().y())
        if row is not None:
            self.menu_requested.emit(row, event.globalPos())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click on a title folds the group."""
        row = self._row_at(event.position().y())
        if row is not None and row.lane is None and not row.section and event.position().x() >= INDENT:
            self.group_toggled.emit(row.group.id)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Resize, or show what can be clicked."""
        at = event.position()
        if self._resizing:
            self.width_dragged.emit(int(min(max(at.x(), _NARROWEST), _WIDEST)))
            return
        if self._drag is not None and self._drag.move(self._rows.placement.content_y(at.y(), self._top)):
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._changed()
            return
        row = self._row_at(at.y())
        if at.x() >= self.width() - _EDGE_PX:
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        elif row is not None and (
            row.lane is None or row.lane.key in self._rows.deep or row.lane.key in self._rows.folds
        ):
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self.setCursor(Qt.CursorShape.ArrowCursor)
        if row is not self._rows.hover:
            self._rows.hover = row
            self._changed()

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
            self._changed()
        else:
            self._click(drag.row, event.position().x())

    def leaveEvent(self, _: QEvent) -> None:
        """Nothing is pointed at."""
        self._rows.hover = None
        self._changed()

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
        return "" if row is None else header_tip(row, self._rows.folds, self._rows.deep, self._rows.tall)


def _row_y(row: PlacedRow) -> int:
    return row.y
