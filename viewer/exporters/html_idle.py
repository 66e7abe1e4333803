"""Idle time by cause over all devices, and the longest gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.base.time import format_duration
from viewer.base.units import format_count, format_share
from viewer.exporters.html_parts import Child, Markup, bar, joined, name, note, table, tag
from viewer.views.idle_words import WORDS, words_of

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Idle by cause"
MOST: Final = 15
GROUPS: Final = (
    ("host late", "host_ns", "host_causes"),
    ("launch", "launch_ns", "launch_causes"),
    ("queued work waited", "dependency_ns", "dependency_causes"),
)


def section(page: Page) -> Markup | str | None:
    """Causes summed over devices, largest first; then the longest gaps of all."""
    splits = [(r, d["idle"]) for r in page.data["ranks"] for d in r["devices"] if d["idle"]]
    total = sum(_idle(s) for _, s in splits)
    if not splits:
        return None
    if not total:
        return "No device was idle."
    causes: dict[tuple[str, str], int] = {}
    for _, split in splits:
        for group, whole, named in GROUPS:
            parts = split.get(named) or {}
            for cause, ns in parts.items():
                causes[group, cause] = causes.get((group, cause), 0) + ns
            left = split[whole] - sum(parts.values())
            if left:
                causes[group, group] = causes.get((group, group), 0) + left
        if split["unknown_ns"]:
            causes["unknown", "unknown"] = causes.get(("unknown", "unknown"), 0) + split["unknown_ns"]
    ordered = sorted(causes.items(), key=lambda c: -c[1])
    rows = [
        (_label(cause), bar((("host", ns),), total), group, format_duration(ns, 1), format_share(ns, total))
        for (group, cause), ns in ordered[: 2 * MOST]
    ]
    out = [table(("cause", "", "part", "time", "of idle"), rows, 3, "wide"),
           note("Summed over all devices; the causes of a device add up to its idle time exactly.")]  # fmt: skip
    gaps = _gaps(page, splits)
    if gaps:
        headers = ("rank", "length", "cause", "what the host was in", "before", "after", "step")
        out += [tag("h4", "Longest gaps"), table(headers, gaps, -1, "gaps")]
    return joined(out)


def _label(cause: str) -> str:
    """A cause as the panels call it; a whole part that has no causes of its own by its own name."""
    return words_of(cause).label if cause in WORDS else cause


def _idle(split: dict[str, Any]) -> int:
    return sum(split[key] for key in ("host_ns", "launch_ns", "dependency_ns", "unknown_ns"))


def _gaps(page: Page, splits: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[tuple[Child, ...]]:
    every = [(rank, gap) for rank, split in splits for gap in split.get("gaps") or ()]
    every.sort(key=lambda g: -g[1]["length_ns"])
    return [
        (
            page.rank_name(rank),
            format_duration(gap["length_ns"], 1),
            _label(gap["cause"]),
            name(str(gap.get("culprit") or gap.get("line") or gap.get("operator") or "–"), 160),
            name(str(gap.get("before") or "–"), 80),
            name(str(gap.get("after") or "–"), 80),
            "–" if gap.get("step") is None else format_count(gap["step"]),
        )
        for rank, gap in every[:MOST]
    ]
