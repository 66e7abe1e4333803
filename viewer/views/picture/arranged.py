"""What a picture takes over from the timeline: lanes as a person arranged, filtered and coloured them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewer.analyses.query import QueryError, parse
from viewer.base.frames import LaneGroup, Placement
from viewer.base.session_file import SavedColors
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.lanes.arrangement import (
    LaneArrangement,
    RankSort,
    arrange,
    arrangement_from,
    ordered_groups,
    shown_groups,
)
from viewer.views.lanes.filter import PATTERNS, Filtered, apply_filter, build_looks
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.looks import Coloring
from viewer.views.lanes.missing import with_missing
from viewer.views.lanes.sorting import sort_figures
from viewer.views.lanes.tree import build_tree
from viewer.views.picture.colors import BY_CLASS, LaneColors


@dataclass(frozen=True, slots=True)
class Arranged:
    """Lanes to choose from, where they lie (None where nobody arranged them), pinned keys, colours."""

    groups: tuple[LaneGroup, ...]
    placement: Placement | None = None
    pinned: tuple[str, ...] = ()
    colors: LaneColors = BY_CLASS

    def top_of(self, key: str, offset: int) -> int:
        """The scroll position at which that row, a rank's title or a lane's key, is so many px past the border."""
        rows = () if self.placement is None else self.placement.rows
        found = next((r for r in rows if (r.group.title if r.lane is None else r.lane.key) == key), None)
        most = 0 if self.placement is None else self.placement.height
        return 0 if found is None else min(max(0, found.y + offset), most)


def filter_words(text: str, emphasised: str = "") -> tuple[str, ...]:
    """What is pale or left out, in words."""
    words = ((text.strip(), "filter"), (emphasised.strip(), "emphasised"))
    return tuple(f"{what}: {said}" for said, what in words if said)


def arranged_as_saved(
    session: Session, lanes: Mapping[str, Any] | None, colors: SavedColors | None, cancel: CancelToken | None = None
) -> Arranged:
    """The lanes as a session file says; slow, like opening one. What makes no sense in it counts as not said."""
    cancel = cancel or CancelToken()
    groups = build_tree(session)
    now = (arrangement_from(lanes) if lanes is not None else None) or LaneArrangement()
    said = colors or SavedColors()
    coloring = Coloring(said.coloring) if said.coloring in list(Coloring) else Coloring.CLASS
    lods = LodStore()
    looks = {} if coloring is Coloring.CLASS else build_looks(session, coloring, lods, cancel)
    try:
        query = parse(now.filter)
    except QueryError:
        query = parse("")
    found = apply_filter(session, groups, query, looks, lods, cancel) if query.terms else Filtered()
    patterns = PATTERNS if said.patterns and coloring is Coloring.CLASS else {}
    figures = None if now.sort in (RankSort.RANK, RankSort.OWN) else sort_figures(session, now.sort, cancel)
    ordered = ordered_groups(groups, now, figures)
    words = filter_words(now.filter) if query.terms else ()
    dressed = LaneColors(coloring, looks, found.matched, patterns, said.safe, words)
    if now == LaneArrangement():
        return Arranged(groups, None, (), dressed)
    placement = arrange(ordered, now, found.lanes)
    if found.lanes is None:
        placement = with_missing(session, placement)
    return Arranged(tuple(shown_groups(ordered, now, found.lanes)), placement, now.pinned, dressed)
