"""Figures of any unit as people read them."""

from __future__ import annotations

from viewer.base.time import format_duration
from viewer.base.units import format_bytes


def format_value(value: float, unit: str) -> str:
    """A figure with its unit: "ns" and "bytes" in the unit that fits, "share" in per cent, others as they are."""
    if unit == "ns":
        return format_duration(round(value))
    if unit == "bytes":
        return format_bytes(round(value))
    if unit == "share":
        return f"{100 * value:.2f} %"
    return f"{value:.6g} {unit}".rstrip()
