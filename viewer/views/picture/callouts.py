"""Where callout boxes go: near their anchors, inside the picture, off each other and off what must stay visible."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewer.base.scene import Bounds

_RINGS = (0.0, 18.0, 48.0, 96.0, 160.0, 240.0)
_SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0))
_OVER_BOX, _OVER_KEPT, _OVER_ANCHOR, _LEADER_OVER = 40.0, 4.0, 1e5, 150.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A callout to place: the point it speaks of, its size, and the corner offset (dx, dy) that is asked for."""

    x: float
    y: float
    width: float
    height: float
    dx: float
    dy: float
    target: Bounds | None = None
    """The marked rectangle that the leader goes to, instead of the point."""

    def line(self, box: Bounds) -> tuple[float, float, float, float]:
        """The leader from a box: (x, y) at the box, (x, y) at what it speaks of."""
        if self.target is not None:
            return link(box, self.target)
        return (*leader(box, self.x, self.y), self.x, self.y)


def place_callouts(wanted: Sequence[Wanted], area: Bounds, keep: Sequence[Bounds], step: float = 1.0) -> list[Bounds]:
    """Boxes for the callouts, in order; all inside ``area`` where they are no larger than it.

    The asked-for place is taken when it is free. Else the cheapest of the places around the anchor, and if none of
    those is free, of a grid over the whole area: overlap with boxes already placed costs most, then covering one's
    own or another's anchor, then covering ``keep`` or leading a line through it, then distance.

    Args:
        wanted: callouts, the most important first.
        area: where boxes may lie.
        keep: what should not be covered.
        step: scale of the distances tried (1.0 for a picture with texts of normal size).
    """
    placed: list[Bounds] = []
    for item in wanted:
        home = _inside(item.x + item.dx, item.y + item.dy, item, area)
        best, cost = home, _cost(home, home, item, placed, keep, wanted)
        if cost > 0:
            near = (
                _inside(
                    item.x + _side(sx, ring * step, item.width),
                    item.y + _side(sy, ring * step, item.height),
                    item,
                    area,
                )
                for ring, (sx, sy) in itertools.product(_RINGS[1:], _SIDES)
            )
            best, cost = _cheapest(best, cost, near, home, item, placed, keep, wanted)
        if any(best.overlap(b) for b in placed):
            rows, columns = (max(1, int(n)) for n in (area.height / (item.height + step), 2 * area.width / item.width))
            grid = (
                _inside(area.x + c * item.width / 2, area.y + r * (item.height + step), item, area)
                for r, c in itertools.product(range(rows), range(columns))
            )
            best, cost = _cheapest(best, cost, grid, home, item, placed, keep, wanted)
        placed.append(best)
    return placed


def leader(box: Bounds, x: float, y: float) -> tuple[float, float]:
    """Where the leader line of a box leaves it on its way to the anchor: the border's nearest point, off corners."""
    inset = min(10.0, box.width / 4, box.height / 4)
    return min(max(x, box.x + inset), box.right - inset), (
        box.y if y < box.y else box.bottom if y > box.bottom else min(max(y, box.y + inset), box.bottom - inset)
    )


def link(box: Bounds, target: Bounds) -> tuple[float, float, float, float]:
    """The shortest level or upright line, else the shortest, from a box to a target: (x, y) at each.

    Where they lie above one another it stands in the middle of what they share.
    """
    x0, x1 = _nearest(box.x, box.right, target.x, target.right)
    y0, y1 = _nearest(box.y, box.bottom, target.y, target.bottom)
    return x0, y0, x1, y1


def _nearest(a0: float, a1: float, b0: float, b1: float) -> tuple[float, float]:
    """A point of [a0, a1] and one of [b0, b1] as near to each other as can be."""
    low, high = max(a0, b0), min(a1, b1)
    if low <= high:
        return (low + high) / 2, (low + high) / 2
    return (a1, b0) if a1 < b0 else (a0, b1)


def _side(sign: int, distance: float, size: float) -> float:
    return distance if sign > 0 else -distance - size if sign < 0 else -size / 2


def _inside(x: float, y: float, item: Wanted, area: Bounds) -> Bounds:
    x = max(area.x, min(x, area.right - item.width))
    y = max(area.y, min(y, area.bottom - item.height))
    return Bounds(round(x), round(y), item.width, item.height)


def _cheapest(
    best: Bounds,
    cost: float,
    places: Iterable[Bounds],
    home: Bounds,
    item: Wanted,
    placed: Sequence[Bounds],
    keep: Sequence[Bounds],
    wanted: Sequence[Wanted],
) -> tuple[Bounds, float]:
    for place in places:
        price = _cost(place, home, item, placed, keep, wanted)
        if price < cost:
            best, cost = place, price
    return best, cost


def _cost(
    box: Bounds,
    home: Bounds,
    item: Wanted,
    placed: Sequence[Bounds],
    keep: Sequence[Bounds],
    wanted: Sequence[Wanted],
) -> float:
    cost = abs(box.x - home.x) + abs(box.y - home.y)
    cost += _OVER_BOX * sum(box.grown(2.0).overlap(b) for b in placed)
    cost += _OVER_KEPT * sum(box.overlap(k) for k in keep)
    x0, y0, x1, y1 = item.line(box)
    for n in range(1, 10):
        x, y = x0 + (x1 - x0) * n / 10, y0 + (y1 - y0) * n / 10
        cost += _LEADER_OVER * sum(k.x < x < k.right and k.y < y < k.bottom for k in keep)
    for other in wanted:
        if box.x <= other.x <= box.right and box.y <= other.y <= box.bottom:
            cost += _OVER_ANCHOR if other is item else _OVER_ANCHOR / 10
    return cost
