"""How the timeline shows the job, as one value that is kept and comes back: window, scroll, arrangement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.views.kept.keeping import Look

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel


def look_of(timeline: TimelinePanel) -> Look | None:
    """What the timeline shows now; None while it shows nothing."""
    window = timeline.window()
    if window is None:
        return None
    top = timeline.scroll_top
    row = timeline.placement.at(top)
    key = "" if row is None or not top else row.group.title if row.lane is None else row.lane.key
    return Look(window, key, top - row.y if row is not None and top else 0, timeline.kept.arrangement)


def show_look(timeline: TimelinePanel, look: Look) -> None:
    """Show it again, as far as its lanes are there."""
    if timeline.window() is None:
        return
    if look.arrangement is not None:
        timeline.kept.set_arrangement(look.arrangement)
    timeline.show_range(look.window)
    rows = timeline.placement.rows
    found = next((r for r in rows if (r.group.title if r.lane is None else r.lane.key) == look.lane), None)
    if found is not None or not look.lane:
        timeline.scrollbar.setValue(0 if found is None else found.y + look.offset)
