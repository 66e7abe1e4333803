"""What can be done with a lane or a rank, as entries of a menu."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from viewer.base.frames import PlacedRow
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.views.lanes.arrangement import Height, RankSort, hidden_names, same_on_every_rank

SORTS = (
    (RankSort.RANK, "By Rank"),
    (RankSort.DURATION, "Longest First"),
    (RankSort.BUSY, "Busiest GPU First"),
    (RankSort.EXPOSED, "Most Exposed Communication First"),
    (RankSort.GROUP, "By Communicator"),
    (RankSort.FILE, "As the Files Were Given"),
)
HEIGHTS = ((Height.SMALL, "Small"), (Height.NORMAL, "Normal"), (Height.TALL, "Tall"))


class Entry(NamedTuple):
    """One entry: ``menu`` is the submenu that it belongs to; ``checked`` is None where nothing can be checked."""

    text: str
    run: Callable[[], None]
    checked: bool | None = None
    menu: str = ""


def menu_actions(lanes: TimelineLanes, row: PlacedRow) -> list[Entry]:
    """Everything that can be done with the row, in order."""
    return [*(_of_lane(lanes, row) if row.lane is not None and row.lane.parts else ()), *_of_group(lanes, row)]


def _of_lane(lanes: TimelineLanes, row: PlacedRow) -> Iterator[Entry]:
    lane, now = row.lane, lanes.arrangement
    assert lane is not None
    key = lane.key
    pinned = key in now.pinned
    on_all = same_on_every_rank(lanes.groups, key)

    def pin() -> None:
        lanes.change("Unpin Lane" if pinned else "Pin Lane", now.unpinned([key]) if pinned else now.pinned_with([key]))

    yield Entry("Pin to the Top", pin, pinned)
    if len(on_all) > 1:
        all_pinned = set(on_all) <= set(now.pinned)

        def pin_all() -> None:
            lanes.change("Pin Lanes", now.unpinned(on_all) if all_pinned else now.pinned_with(on_all))

        yield Entry("Pin on Every Rank", pin_all, all_pinned)
    yield Entry("Hide Lane", lambda: lanes.change("Hide Lane", now.toggled("hidden", key)))
    if len(on_all) > 1:
        hide = replace(now, hidden=now.hidden | set(on_all))
        yield Entry("Hide on Every Rank", lambda: lanes.change("Hide Lanes", hide))
    for height, text in HEIGHTS:
        yield Entry(
            text,
            lambda h=height: lanes.change("Lane Height", now.with_height(h, key)),  # type: ignore[misc]
            now.height_of(key) is height,
            "Height of the Lane",
        )
    if lane.section and not row.pinned:
        yield Entry(f"Fold {lane.section}", lambda: lanes.toggle_section(row))


def _of_group(lanes: TimelineLanes, row: PlacedRow) -> Iterator[Entry]:
    now, group = lanes.arrangement, row.group
    folded = group.key in now.collapsed
    if row.section:
        yield Entry(f"Unfold {row.section}", lambda: lanes.toggle_section(row))
    if not row.pinned:
        yield Entry(f"{'Unfold' if folded else 'Fold'} {group.title}", lambda: lanes.toggle_group(group.id))
    yield Entry(f"Hide {group.title}", lambda: lanes.change("Hide Rank", now.toggled("hidden", group.key)))
    everything = frozenset(g.id for g in lanes.groups)
    yield Entry("Fold All Ranks", lambda: lanes.set_collapsed(everything))
    yield Entry("Unfold All Ranks", lambda: lanes.set_collapsed(frozenset()))
    for word in ("GPU", "process"):
        keys = {f"{g.key}/{x.section}" for g in lanes.groups for x in g.lanes if x.section.startswith(word)}
        if keys:
            all_folded = keys <= now.collapsed
            after = replace(now, collapsed=now.collapsed - keys if all_folded else now.collapsed | keys)
            name = "All GPUs" if word == "GPU" else "All Processes"
            yield Entry(
                f"{'Unfold' if all_folded else 'Fold'} {name}",
                lambda after=after: lanes.change("Fold Lanes", after),  # type: ignore[misc]
            )
    yield from sort_entries(lanes)
    yield from height_entries(lanes)
    hidden = hidden_names(lanes.groups, now)
    if hidden:
        yield Entry(f"Show {len(hidden)} Hidden", lambda: lanes.change("Show All", replace(now, hidden=frozenset())))
    if now.pinned:
        yield Entry("Unpin All", lambda: lanes.change("Unpin All", replace(now, pinned=())))


def sort_entries(lanes: TimelineLanes) -> Iterator[Entry]:
    """The orders of ranks."""
    now = lanes.arrangement
    for sort, text in SORTS:
        yield Entry(
            text,
            lambda s=sort: lanes.change("Sort Ranks", replace(now, sort=s)),  # type: ignore[misc]
            now.sort is sort,
            "Sort Ranks",
        )


def height_entries(lanes: TimelineLanes) -> Iterator[Entry]:
    """The heights of all lanes."""
    now = lanes.arrangement
    for height, text in HEIGHTS:
        yield Entry(
            text,
            lambda h=height: lanes.change("Lane Height", now.with_height(h)),  # type: ignore[misc]
            now.height is height,
            "Height of All Lanes",
        )
