"""How the clocks of the ranks were brought together, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.base.time import format_duration
from viewer.base.units import format_count
from viewer.exporters.html_parts import Markup, joined, note, table

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Clocks"
MOST: Final = 64
METHODS: Final = {
    "collectives": "Aligned by the ends of shared collectives.",
    "base": "Base times of the files; not aligned.",
    "none": "Times as written in the files; not aligned.",
    "given": "Offsets that a person gave.",
}


def _drift(row: dict[str, Any]) -> str:
    if row["drift_ppb"] is None:
        return "–"
    error = row["drift_error_ppb"]
    return f"{row['drift_ppb'] / 1000:,.3f}{f' ± {error / 1000:,.3f}' if error else ''} ppm"


def section(page: Page) -> Markup | str | None:
    """Offset, drift and doubt of each rank; left out for one rank."""
    told = page.data["clock"]
    if len(told["ranks"]) < 2:
        return None
    named = {r["input"]: page.rank_name(r) for r in page.data["ranks"]}
    rows = [
        (
            named.get(c["input"], "–"),
            format_duration(c["offset_ns"]),
            _drift(c),
            format_count(c["matches"]),
            format_duration(c["uncertainty_ns"], 1),
            "yes" if c["connected"] else str(c["why"] or "no"),
        )
        for c in told["ranks"][:MOST]
    ]
    method = METHODS.get(told["method"], told["method"])
    if told["match_rate"] is not None:
        method += f" {100 * told['match_rate']:.1f} % of the shared communication kernels were matched."
    more = note(f"The first {MOST} of {len(told['ranks'])} files.") if len(told["ranks"]) > MOST else None
    headers = ("rank", "offset", "drift", "matches", "doubt", "connected")
    return joined((note(method), table(headers, rows), more))
