"""The time identity of every device as a bar: compute, exposed communication, exposed memory, idle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.exporters.html_parts import Markup, bar, joined, legend, note, table

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Where the time went"
MOST: Final = 256
PARTS: Final = (
    ("compute", "compute", "compute_ns"),
    ("comm", "exposed communication", "comm_exposed_ns"),
    ("memory", "exposed memory", "memory_exposed_ns"),
    ("idle", "idle", "idle_ns"),
)


def section(page: Page) -> Markup | str | None:
    """One row for each device of each rank; the parts add up to its span."""
    rows = []
    for rank in page.data["ranks"]:
        for device in rank["devices"]:
            if device["span_ns"] is None:
                continue
            name = page.rank_name(rank)
            rows.append((name if len(rank["devices"]) == 1 else f"{name} GPU {device['id']}", device))
    if not rows:
        return "There is no GPU work in the files."
    out = []
    for name, d in rows[:MOST]:
        span = d["span_ns"]
        tips = [f"{title}: {format_duration(d[key])} ({format_share(d[key], span)})" for _, title, key in PARTS]
        out.append(
            (
                name,
                bar([(kind, d[key]) for kind, _, key in PARTS], span, tips),
                *(format_share(d[key], span) for _, _, key in PARTS),
                format_share(d["overlap_ns"], d["comm_ns"]),
                format_duration(span, 1),
            )
        )
    headers = ("", "", "compute", "exposed comm", "exposed memory", "idle", "comm hidden", "span")
    more = f"The first {MOST} of {len(rows)} devices; all are in the JSON report. " if len(rows) > MOST else ""
    how = "Lengths are unions of intervals over the streams of a device; the four parts add up to its span exactly."
    return joined((legend([(k, n) for k, n, _ in PARTS]), table(headers, out, 2, "wide"), note(more + how)))
