"""Memory by rank, as far as the report has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.base.units import format_bytes, format_count
from viewer.exporters.html_parts import Child, Markup, joined, note, table

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Memory"
MOST: Final = 64
MOST_COLUMNS: Final = 6


def section(page: Page) -> Markup | str | None:
    """The figures in bytes of every rank; a sentence where nothing was recorded."""
    told = [(page.rank_name(r), flat(r["memory"])) for r in page.data["ranks"] if r["memory"]]
    told = [(name, found) for name, found in told if found]
    if not told:
        return "No allocator events are in the files: record them with profile_memory=True, or open a memory snapshot."
    keys = list(dict.fromkeys(key for _, found in told for key in found))[:MOST_COLUMNS]
    rows: list[tuple[Child, ...]] = [
        (name, *(_value(key, found.get(key)) for key in keys)) for name, found in told[:MOST]
    ]
    more = note(f"The first {MOST} of {len(told)} ranks.") if len(told) > MOST else None
    return joined((table(("", *(_header(key) for key in keys)), rows), more))


def flat(memory: Any, before: str = "") -> dict[str, int]:
    """The whole numbers of nested tables by their path; of lists the first entry (one device, most often)."""
    if isinstance(memory, list):
        return flat(memory[0], before) if memory else {}
    out: dict[str, int] = {}
    if isinstance(memory, dict):
        for key, value in memory.items():
            name = f"{before}{key}"
            if isinstance(value, int) and not isinstance(value, bool) and "bytes" in key:
                out[name] = value
            elif isinstance(value, dict):
                out |= flat(value, f"{name} ")
            elif isinstance(value, list) and key == "devices":
                out |= flat(value, before)
    return out


def _header(key: str) -> str:
    return key.replace("_bytes", "").replace("_", " ")


def _value(key: str, value: int | None) -> str:
    if value is None:
        return "–"
    return format_bytes(value) if "bytes" in key else format_count(value)
