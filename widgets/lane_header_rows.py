"""How the rows left of the lanes look: headers of ranks, labels of lanes, folded sections."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from viewer.base.frames import PlacedRow, Placement
from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_header_parts import header_font, paint_count, paint_triangle
from widgets.theming import color

INDENT: Final = 22.0
"""Left of it lie the signs of what can be folded."""


class HeaderRows:
    """Paints one row at a time.

    Attributes:
        placement: the rows; ``width`` px of each, ``font`` the widget's own.
        collapsed: ids of folded groups.
        deep: keys of lanes that can be made tall, ``tall`` those that are.
        folds: keys of rows that stand for other lanes, and whether those show.
        counts: small numbers at lanes by their keys.
        selected: id of the marked group, ``chosen`` keys of the marked lanes.
        hover: the row under the pointer.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.placement = Placement((), 0)
        self.width, self.font = 0, QFont()
        self.collapsed: frozenset[int] = frozenset()
        self.deep: frozenset[str] = frozenset()
        self.tall: frozenset[str] = frozenset()
        self.folds: dict[str, bool] = {}
        self.counts: dict[str, int] = {}
        self.selected: int | None = None
        self.chosen: frozenset[str] = frozenset()
        self.hover: PlacedRow | None = None

    def paint_row(self, painter: QPainter, index: int, y: int) -> None:
        """Paint the row at an index of the placement; y is the height of the widget at which it begins."""
        row = self.placement.rows[index]
        box = QRectF(0, y, self.width, row.height)
        if row.lane is not None:
            self._paint_lane(painter, row, box, odd=bool(index & 1))
            if row.lane.section and not row.pinned:
                self._paint_spine(painter, index, box)
        elif row.section:
            painter.fillRect(box, QColor(self.theme["alternate" if index & 1 else "base"]))
            paint_triangle(
                painter, self.theme, QPointF(13, box.center().y()), opened=False, muted=self.hover is not row
            )
            painter.setFont(header_font(self.font, 11))
            painter.setPen(QColor(self.theme["muted"]))
            count = sum(lane.section == row.section for lane in row.group.lanes)
            text = f"{row.section} · {count} lane{'' if count == 1 else 's'}"
            painter.drawText(box.adjusted(INDENT, 0, -8, 0), Qt.AlignmentFlag.AlignVCenter, text)
        else:
            self.paint_group(painter, row, box)

    def _begins_section(self, index: int) -> bool:
        """Whether the lane at an index is the first of its GPU or process."""
        row, rows = self.placement.rows[index], self.placement.rows
        before = rows[index - 1] if index else None
        assert row.lane is not None
        same = before is not None and before.lane is not None and before.group.id == row.group.id and not before.pinned
        return not (same and before is not None and before.lane is not None and before.lane.section == row.lane.section)

    def _paint_spine(self, painter: QPainter, index: int, box: QRectF) -> None:
        """A thin line beside the lanes of one GPU or process, with a triangle at its head."""
        line, top = QColor(self.theme["line"]), box.top()
        if self._begins_section(index):
            at = QPointF(13, box.top() + min(box.height() / 2, 13.0))
            row, hovered = self.placement.rows[index], False
            if self.hover is not None and self.hover.lane is not None and row.lane is not None:
                own = self.hover.group.id == row.group.id
                hovered = own and self.hover.lane.section == row.lane.section
            paint_triangle(painter, self.theme, at, opened=True, muted=not hovered)
            top = at.y() + 6
        painter.fillRect(QRectF(13, top, 1, max(box.bottom() - top, 0)), line)

    def paint_group(self, painter: QPainter, row: PlacedRow, box: QRectF) -> None:
        """Paint the header of a rank."""
        theme, group = self.theme, row.group
        painter.fillRect(box, QColor(theme["group"]))
        if group.id == self.selected:
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), QColor(theme["accent"]))
        paint_triangle(painter, self.theme, QPointF(13, box.center().y()), opened=group.id not in self.collapsed)
        left = INDENT + 2
        right = box.right() - 8
        if group.warning:
            right -= scaled(18)
            painter.setFont(header_font(self.font, 13, bold=True))
            painter.setPen(QColor(theme["warning"]))
            painter.drawText(QRectF(right, box.top(), scaled(16), box.height()), Qt.AlignmentFlag.AlignCenter, "⚠")
        number = sum(self.counts.get(lane.key, 0) for lane in group.lanes) if self.counts else 0
        if number:
            paint_count(painter, theme, self.font, number, right, box)
            right -= scaled(44)
        font = header_font(self.font, 12, bold=True)
        metrics = QFontMetricsF(font)
        title = metrics.elidedText(group.title, Qt.TextElideMode.ElideMiddle, right - left)
        painter.setFont(font)
        painter.setPen(QColor(theme["text"]))
        painter.drawText(QRectF(left, box.top(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, title)
        left += metrics.horizontalAdvance(title) + 8
        if group.subtitle and right - left > 40:
            font = header_font(self.font, 11)
            shown = QFontMetricsF(font).elidedText(group.subtitle, Qt.TextElideMode.ElideRight, right - left)
            painter.setFont(font)
            painter.setPen(QColor(theme["muted"]))
            painter.drawText(QRectF(left, box.top(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, shown)

    def _paint_lane(self, painter: QPainter, row: PlacedRow, box: QRectF, *, odd: bool) -> None:
        lane, theme = row.lane, self.theme
        assert lane is not None
        painter.fillRect(box, QColor(theme["alternate" if odd else "base"]))
        if lane.key in self.chosen:
            painter.fillRect(box, color(theme, "selection_fill"))
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), color(theme, "accent"))
        hovered = self.hover is not None and self.hover.lane is not None and self.hover.lane.key == lane.key
        right = box.right() - 8
        # The label stays in sight while any of a tall lane is.
        top = max(box.top(), min(0.0, box.bottom() - 20) if box.top() < 0 else box.top())
        line = QRectF(INDENT, top, right - INDENT, min(box.height(), float(scaled(26))))
        if lane.key in self.deep:
            at = QPointF(right - 4, line.center().y())
            paint_triangle(painter, self.theme, at, opened=lane.key in self.tall, muted=not hovered)
            line.setRight(right - 14)
        if lane.key in self.counts:
            paint_count(painter, theme, self.font, self.counts[lane.key], line.right(), line)
            line.setRight(line.right() - scaled(44))
        font = header_font(self.font, 11)
        metrics = QFontMetricsF(font)
        if line.height() < metrics.height():
            font = header_font(self.font, 9)
            metrics = QFontMetricsF(font)
        fold = self.folds.get(lane.key)
        if fold is not None:
            paint_triangle(painter, self.theme, QPointF(13, line.center().y()), opened=fold, muted=not hovered)
        painter.setFont(font)
        painter.setPen(QColor(theme["text" if fold is None else "muted"]))
        shown = metrics.elidedText(lane.label, Qt.TextElideMode.ElideMiddle, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, shown)
