"""Choosing several lanes beside each other: Ctrl adds and takes away, Shift chooses all from the last one on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewer.base.frames import PlacedRow, Placement
from viewer.panels.context import JobContext


class LanePicker:
    """Changes the chosen lanes of a context.

    Args:
        context: whose selection changes.
        placement: where the lanes lie at the moment: the order that Shift goes along.
    """

    def __init__(self, context: JobContext, placement: Callable[[], Placement]) -> None:
        self._context, self._placement = context, placement
        self._last = ""

    def toggle(self, row: PlacedRow) -> None:
        """Choose a lane beside those that are chosen, or no more; at a header all lanes of its group at once."""
        keys = _keys(row)
        chosen = self._context.selection.lanes
        self._last = row.lane.key if row.lane is not None else ""
        self._choose(chosen - keys if keys <= chosen else chosen | keys)

    def extend(self, row: PlacedRow) -> None:
        """Choose all lanes from the last one that was chosen to this one, as they lie from top to bottom."""
        rows = self._placement().rows
        ends = [i for i, r in enumerate(rows) if r.lane is not None and r.lane.key == self._last]
        here = [i for i, r in enumerate(rows) if r is row or (r.lane == row.lane and r.group.id == row.group.id)]
        if not ends or not here:
            self.toggle(row)
            return
        first, last = sorted((ends[0], here[0]))
        between = {key for r in rows[first : last + 1] if r.lane is not None for key in _keys(r)}
        self._choose(self._context.selection.lanes | between)

    def _choose(self, lanes: frozenset[str]) -> None:
        self._context.select(replace(self._context.selection, slice=None, gap=None, lanes=lanes))


def _keys(row: PlacedRow) -> frozenset[str]:
    lanes = (row.lane,) if row.lane is not None else row.group.lanes
    return frozenset(lane.key for lane in lanes if lane.parts)  # not the row that counts rare threads
