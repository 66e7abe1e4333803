"""Memory in the short text for a terminal: the peak of each rank, the fullest first."""

from __future__ import annotations

from typing import Any

from viewer.base.units import format_bytes

Json = dict[str, Any]

MOST = 8


def memory_lines(report: Json) -> list[str]:
    """At most MOST + 2 lines; none without memory."""
    told = report.get("memory")
    if not told:
        return []
    peaks = sorted(told["peaks"], key=lambda p: -p["peak_allocated"])
    lines = ["memory at its peak"]
    for peak in peaks[:MOST]:
        who = f"rank {peak['rank']}" if peak["rank"] is not None else f"input {peak['input']}"
        text = f"  {who} {peak['device']}: {format_bytes(peak['peak_allocated'])} allocated"
        if peak["peak_reserved"] is not None:
            text += f", {format_bytes(peak['peak_reserved'])} reserved"
        parts = peak["categories_at_peak"] or {}
        known = sorted(((v, k) for k, v in parts.items() if v > 0 and k != "unknown"), reverse=True)
        if known:
            text += " (" + ", ".join(f"{name} {format_bytes(size)}" for size, name in known[:4]) + ")"
        lines.append(text)
    if len(peaks) > MOST:
        lines.append(f"  and {len(peaks) - MOST} more, the least full with {format_bytes(told['peak_min'])}")
    return lines
