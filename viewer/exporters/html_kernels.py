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
LEAST: Final = 0.0005
"""Of the kernel time: what shows as 0.0 % tells nothing, except among the first ..."""
ALWAYS: Final = 10
"""... so many rows."""


def section(page: Page) -> Markup | str | None:
    """Name, share as a bar, count and durations."""
    kernels = page.data["kernels"]
    if not kernels:
        return "There is no GPU work in the files."
    total = sum(k["sum_ns"] for k in kernels)
    told = sum(i < ALWAYS or k["sum_ns"] >= LEAST * total for i, k in enumerate(kernels[:MOST]))
    rows = [
        (
            name(str(k["name"]), 200),
            bar(((k["class"] if k["class"] in ("compute", "comm", "memory") else "other", k["sum_ns"]),), total),
            format_share(k["sum_ns"], total),
            format_duration(k["sum_ns"], 1),
            format_count(k["count"]),
            *(format_duration(k[key], 1) for key in ("min_ns", "mean_ns", "max_ns")),
        )
        for k in kernels[:told]
    ]
    headers = ("kernel", "", "share", "sum", "count", "min", "mean", "max")
    more = f"The {told} largest of {format_count(len(kernels))}. " if len(kernels) > told else ""
    return joined((table(headers, rows, 2, "kernels"), note(more + "Durations of all runs on all ranks, added.")))
