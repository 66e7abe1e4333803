"""Ranks of a job whose files are not open, where the files state how many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from viewer.analyses.collective.groups import world_size
from viewer.base.frames import LaneRow, PlacedRow, Placement
from viewer.base.ids import LaneKind
from viewer.store.session import Session
from viewer.views.lanes.tree import LANE_PAD, default_row_height
from viewer.views.picture.provenance import rank_words

KEY: Final = "ranks that are not open"
_LARGEST: Final = 1 << 20
"""Of larger worlds the ranks are counted, not listed."""


def _world(session: Session) -> tuple[set[int], int] | None:
    """The opened ranks and the world's size; None when all are open or no file states a size."""
    world = world_size(session)
    ranks = {g.rank for g in session.groups if g.rank is not None}
    return None if world is None or not ranks or len(ranks) >= world else (ranks, world)


def missing_words(session: Session) -> str:
    """``"2 of 128 ranks"`` where files of a stated world size are missing, else ""."""
    found = _world(session)
    return "" if found is None else f"{len(found[0]):,} of {found[1]:,} ranks"


def missing_ranks(session: Session) -> str:
    """The ranks that are not open, as words; "" when all are or it is not known."""
    found = _world(session)
    if found is None or found[1] > _LARGEST:
        return ""
    return rank_words([r for r in range(found[1]) if r not in found[0]])


def with_missing(session: Session, placement: Placement) -> Placement:
    """The rows of the timeline with a last one that says how many ranks are open, where some are missing."""
    words = missing_words(session)
    if not words or not placement.rows:
        return placement
    gone = missing_ranks(session)
    detail = f"No file of {'ranks' if any(c in gone for c in ',–') else 'rank'} {gone}" if gone else ""
    lane = LaneRow(KEY, f"{words} are open", detail, LaneKind.OTHER, 1, ())
    sub = default_row_height(lane)
    height = sub + 2 * LANE_PAD
    row = PlacedRow(placement.height, height, placement.rows[-1].group, lane, sub)
    return replace(placement, rows=(*placement.rows, row), height=placement.height + height)
