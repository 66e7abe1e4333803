"""Dragging a rank or a lane to another place among its likes."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from viewer.base.frames import PlacedRow, Placement

FAR_PX: Final = 6.0
"""A press that moves less is a click."""


class RowDrag:
    """A row that may be dragged: a rank's header among ranks, a lane among the lanes of its rank.

    Attributes:
        row: what was pressed.
        moving: whether it moved far enough to be a drag.
        before: the row that it would be put before; None for the end.
        line_y: where that is, px of the content.
    """

    def __init__(self, row: PlacedRow, y: float, placement: Placement) -> None:
        self.row, self._from, self._placement = row, y, placement
        self.moving = False
        self.before: PlacedRow | None = None
        self.line_y = 0.0
        self._places = [r for r in placement.rows if self._like(r)]

    def _like(self, other: PlacedRow) -> bool:
        if self.row.lane is None:
            return other.lane is None and not other.section
        if self.row.pinned or not self.row.lane.parts:
            return False
        own = other.group.id == self.row.group.id and not other.pinned
        return own and other.lane is not None and bool(other.lane.parts)

    def move(self, y: float) -> bool:
        """Follow the pointer to this height of the content; whether anything is to be shown."""
        self.moving = (self.moving or abs(y - self._from) >= FAR_PX) and len(self._places) > 1
        if self.moving:
            at = bisect_left(self._places, y, key=lambda r: r.y + self._reach(r) / 2)
            self.before = self._places[at] if at < len(self._places) else None
            last = self._places[-1]
            self.line_y = float(self.before.y if self.before is not None else last.y + self._reach(last))
        return self.moving

    def _reach(self, row: PlacedRow) -> int:
        """Height of the row with what belongs to it: a rank reaches to the next one."""
        if row.lane is not None:
            return row.height
        later = [r.y for r in self._placement.rows if r.y > row.y and r.lane is None and not r.section]
        return (min(later) if later else self._placement.height) - row.y

    def key(self) -> str:
        """The key of what is dragged."""
        return _key(self.row)

    def before_key(self) -> str:
        """The key of what it is put before; "" for the end."""
        return _key(self.before) if self.before is not None else ""


def _key(row: PlacedRow) -> str:
    return row.group.key if row.lane is None else row.lane.key
