"""The kernels with the largest sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.base.time import format_duration
from viewer.base.units import format_count, format_share
from viewer.exporters.html_parts import Markup, bar, joined, name, note, table

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Kernels"
MOST: Final = 40


def section(page: Page) -> Markup | str | None:
    """Name, share as a bar, count and durations."""
    kernels = page.data["kernels"]
    if not kernels:
        return "There is no GPU work in the files."
    total = sum(k["sum_ns"] for k in kernels)
    rows = [
        (
            name(str(k["name"]), 200),
            bar(((k["class"] if k["class"] in ("compute", "comm", "memory") else "other", k["sum_ns"]),), total),
            format_share(k["sum_ns"], total),
            format_duration(k["sum_ns"], 1),
            format_count(k["count"]),
            *(format_duration(k[key], 1) for key in ("min_ns", "mean_ns", "max_ns")),
        )
        for k in kernels[:MOST]
    ]
    headers = ("kernel", "", "share", "sum", "count", "min", "mean", "max")
    more = f"The {MOST} largest of {format_count(len(kernels))}. " if len(kernels) > MOST else ""
    return joined((table(headers, rows, 2, "kernels"), note(more + "Durations of all runs on all ranks, added.")))
