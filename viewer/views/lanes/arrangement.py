"""How the lanes are arranged: what is folded, hidden, pinned, moved, how tall and in which order. Values and functions.

An arrangement speaks of stable keys ("rank 3", "rank 3/GPU 0", "rank 3/stream 0:7"), so that it outlives a session, can
be taken back step by step, and is written into session files. Keys that a job does not have mean nothing and stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from viewer.base.frames import LaneGroup, LaneRow, PlacedRow, Placement
from viewer.views.lanes.rare import more_key
from viewer.views.lanes.tree import (
    HEADER_HEIGHT,
    HEADER_PAD,
    LANE_PAD,
    default_row_height,
    full_row_height,
    with_rare_folded,
)

PINNED_MOST_PX: Final = 360
"""So many px of pinned lanes stay in sight; further ones scroll."""
SECTION_HEIGHT: Final = 24


class Height(StrEnum):
    """How tall the sub-rows of lanes are."""

    SMALL = "small"
    NORMAL = "normal"
    TALL = "tall"


class RankSort(StrEnum):
    """In which order ranks come."""

    RANK = "rank"
    FILE = "file"
    DURATION = "duration"
    BUSY = "busy"
    EXPOSED = "exposed"
    GROUP = "group"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class LaneArrangement:
    """Everything a person changed about the lanes.

    Attributes:
        collapsed: keys of ranks and sections of which only a summary shows.
        hidden: keys of ranks and lanes that do not show.
        pinned: keys of lanes at the top, in this order.
        unfolded: keys of ranks whose rarely used threads show.
        heights: (lane key, height) where a lane is not as tall as all.
        height: how tall all lanes are.
        sort: the order of ranks; with OWN that of ``ranks``.
        ranks: keys of ranks in an order of one's own.
        lanes: (rank key, keys of its lanes in an order of one's own).
        filter: the text of the filter.
    """

    collapsed: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    pinned: tuple[str, ...] = ()
    unfolded: frozenset[str] = frozenset()
    heights: tuple[tuple[str, Height], ...] = ()
    height: Height = Height.NORMAL
    sort: RankSort = RankSort.RANK
    ranks: tuple[str, ...] = ()
    lanes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    filter: str = ""

    def toggled(self, what: str, key: str) -> LaneArrangement:
        """With a key added to ``collapsed``, ``hidden`` or ``unfolded``, or taken out."""
        return replace(self, **{what: getattr(self, what) ^ {key}})

    def pinned_with(self, keys: Iterable[str]) -> LaneArrangement:
        """With lanes pinned after those that are."""
        return replace(self, pinned=tuple(dict.fromkeys((*self.pinned, *keys))))

    def unpinned(self, keys: Iterable[str]) -> LaneArrangement:
        """Without these pins."""
        out = set(keys)
        return replace(self, pinned=tuple(k for k in self.pinned if k not in out))

    def with_height(self, height: Height, key: str = "") -> LaneArrangement:
        """With a lane, or all lanes, as tall as that."""
        if not key:
            return replace(self, height=height, heights=())
        others = tuple(pair for pair in self.heights if pair[0] != key)
        return replace(self, heights=others if height is self.height else (*others, (key, height)))

    def height_of(self, key: str) -> Height:
        """How tall a lane is."""
        return dict(self.heights).get(key, self.height)


def moved(keys: tuple[str, ...], key: str, before: str) -> tuple[str, ...]:
    """The keys with one of them moved before another; to the end where that is "" or unknown."""
    rest = [k for k in keys if k != key]
    at = rest.index(before) if before in rest else len(rest)
    return (*rest[:at], key, *rest[at:])


def with_rank_moved(now: LaneArrangement, shown: Iterable[str], key: str, before: str) -> LaneArrangement:
    """A rank dragged before another; ``shown`` are the keys of ranks in the order in which they are shown."""
    return replace(now, sort=RankSort.OWN, ranks=moved(tuple(shown), key, before))


def with_lane_moved(now: LaneArrangement, group: LaneGroup, key: str, before: str) -> LaneArrangement:
    """A lane dragged before another of its rank."""
    order = moved(tuple(lane.key for lane in ordered_lanes(group, now)), key, before)
    others = tuple(pair for pair in now.lanes if pair[0] != group.key)
    return replace(now, lanes=(*others, (group.key, order)))


def same_on_every_rank(groups: Iterable[LaneGroup], key: str) -> tuple[str, ...]:
    """Keys of the lanes that are on each rank what this one is on its own: the same stream or a thread of its name."""
    all_groups = tuple(groups)
    own = next((g for g in all_groups if any(lane.key == key for lane in g.lanes)), None)
    if own is None:
        return ()
    lane = next(lane for lane in own.lanes if lane.key == key)
    suffix = key.removeprefix(own.key)
    number = [x.key for x in own.lanes if (x.kind, x.label) == (lane.kind, lane.label)].index(key)
    out = []
    for group in all_groups:
        same = [x.key for x in group.lanes if x.key == group.key + suffix]
        named = [x.key for x in group.lanes if (x.kind, x.label) == (lane.kind, lane.label)]
        out += same or named[number : number + 1]
    return tuple(out)


def ordered_groups(
    groups: tuple[LaneGroup, ...], now: LaneArrangement, figures: Mapping[int, int] | None = None
) -> tuple[LaneGroup, ...]:
    """Ranks in their order: as they come, by ``figures`` (the largest first, unknown ones last), or one's own."""
    if now.sort is RankSort.OWN:
        place = {key: i for i, key in enumerate(now.ranks)}
        return tuple(sorted(groups, key=lambda g: place.get(g.key, len(place))))
    if now.sort is RankSort.RANK or figures is None:
        return groups
    if now.sort in (RankSort.GROUP, RankSort.FILE):
        return tuple(sorted(groups, key=lambda g: figures.get(g.id, 2**62)))
    return tuple(sorted(groups, key=lambda g: (g.id not in figures, -figures.get(g.id, 0))))


def ordered_lanes(group: LaneGroup, now: LaneArrangement) -> tuple[LaneRow, ...]:
    """A rank's lanes in their order; lanes that were never moved keep their place after the one before them."""
    own = dict(now.lanes).get(group.key)
    if own is None:
        return group.lanes
    place = {key: i for i, key in enumerate(own)}
    keyed, last = [], -1
    for lane in group.lanes:
        last = place.get(lane.key, last)
        keyed.append((last, lane.key not in place, lane))
    return tuple(lane for _, _, lane in sorted(keyed, key=lambda k: k[:2]))


def hidden_names(groups: Iterable[LaneGroup], now: LaneArrangement) -> tuple[tuple[str, str], ...]:
    """(key, what it is) of every rank and lane that is hidden."""
    out = []
    for group in groups:
        if group.key in now.hidden:
            out.append((group.key, group.title))
        out += [(lane.key, f"{group.title} · {lane.label}") for lane in group.lanes if lane.key in now.hidden]
    return tuple(out)


def arrange(groups: tuple[LaneGroup, ...], now: LaneArrangement, shown: frozenset[str] | None = None) -> Placement:
    """Stack ranks that are in order already, with everything else as arranged.

    Args:
        groups: from :func:`ordered_groups`.
        now: the arrangement.
        shown: keys of the lanes that a filter leaves; None for all.
    """
    rows: list[PlacedRow] = []
    heights = dict(now.heights)
    pinned = set(now.pinned)
    y = 0

    def add(group: LaneGroup, lane: LaneRow, at: int, *, top: bool) -> int:
        sub = sub_row_height(lane, heights.get(lane.key, now.height))
        height = sub * lane.sub_rows + 2 * LANE_PAD
        rows.append(PlacedRow(at, height, group, lane, sub, pinned=top))
        return at + height

    by_key = {lane.key: (group, lane) for group in groups for lane in group.lanes} if pinned else {}
    for key in now.pinned:
        if key in by_key and (shown is None or key in shown) and key not in now.hidden:
            group, lane = by_key[key]
            fits = y + sub_row_height(lane, heights.get(key, now.height)) * lane.sub_rows <= PINNED_MOST_PX
            fits = fits and all(row.pinned for row in rows)
            y = add(group, replace(lane, label=f"{group.title} · {lane.label}"), y, top=fits)
    pinned_height = max((row.y + row.height for row in rows if row.pinned), default=0)
    for group in groups:
        if group.key in now.hidden:
            continue
        folded = group.key in now.collapsed
        lanes = [x for x in _shown_lanes(group, now, shown) if x.key not in now.hidden and x.key not in pinned]
        if shown is not None and not any(lane.parts or lane.sampled for lane in lanes):
            continue
        rows.append(PlacedRow(y, HEADER_HEIGHT, group, None, HEADER_HEIGHT - 2 * HEADER_PAD, folded=folded))
        y += HEADER_HEIGHT
        done: set[str] = set()
        for lane in () if folded else lanes:
            if lane.section and f"{group.key}/{lane.section}" in now.collapsed:
                if lane.section not in done:
                    done.add(lane.section)
                    strip = SECTION_HEIGHT - 2 * HEADER_PAD
                    rows.append(PlacedRow(y, SECTION_HEIGHT, group, None, strip, section=lane.section, folded=True))
                    y += SECTION_HEIGHT
                continue
            y = add(group, lane, y, top=False)
    return Placement(tuple(rows), y, pinned_height)


def shown_groups(groups: Iterable[LaneGroup], now: LaneArrangement, shown: frozenset[str] | None) -> list[LaneGroup]:
    """Ranks that are in order already with the lanes that are neither hidden nor filtered out, in their order."""
    kept = []
    for group in groups:
        lanes = tuple(
            x for x in ordered_lanes(group, now) if x.key not in now.hidden and (shown is None or x.key in shown)
        )
        if group.key not in now.hidden and lanes:
            kept.append(replace(group, lanes=lanes))
    return kept


def _shown_lanes(group: LaneGroup, now: LaneArrangement, shown: frozenset[str] | None) -> Iterable[LaneRow]:
    ordered = replace(group, lanes=ordered_lanes(group, now))
    if shown is not None:
        return [lane for lane in ordered.lanes if lane.key in shown]
    return with_rare_folded(ordered, frozenset({group.id}) if group.key in now.unfolded else frozenset())


def sub_row_height(lane: LaneRow, height: Height) -> int:
    """Height of one sub-row, px: tall ones can always be read, small ones are half as tall as normal ones."""
    if height is Height.TALL:
        return max(full_row_height(lane), full_row_height(lane) * 3 // 2 if lane.sub_rows <= 2 else 0)
    normal = default_row_height(lane)
    return normal if height is Height.NORMAL else max(normal // 2, 3)


def more_keys(groups: Iterable[LaneGroup]) -> dict[str, str]:
    """Keys of ranks by the key of the row that counts their rarely used threads."""
    return {more_key(g): g.key for g in groups if g.rare}


def plain_arrangement(arrangement: Any) -> dict[str, Any] | None:
    """An arrangement as plain JSON."""
    if arrangement is None:
        return None
    plain: dict[str, Any] = msgspec.to_builtins(arrangement, order="deterministic")
    return plain


def arrangement_from(plain: Mapping[str, Any]) -> LaneArrangement | None:
    """The reverse; None for what is no arrangement."""
    try:
        return msgspec.convert(plain, LaneArrangement)
    except msgspec.ValidationError:
        return None
