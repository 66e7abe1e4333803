"""Figures as the benchmark writes them."""

from __future__ import annotations

from typing import Any


def figure(name: str, value: float | None, unit: str, limit: str, holds: bool | None) -> dict[str, Any]:
    """One entry of the list; ``value`` and ``holds`` are None for what was not measured."""
    rounded = None if value is None else float(f"{value:.4g}")
    return {"figure": name, "value": rounded, "unit": unit, "limit": limit, "holds": holds}


def at_least(name: str, value: float, unit: str, limit: float) -> dict[str, Any]:
    """A figure that must not be smaller."""
    return figure(name, value, unit, f">= {limit:g}", value >= limit)


def at_most(name: str, value: float, unit: str, limit: float) -> dict[str, Any]:
    """A figure that must not be larger."""
    return figure(name, value, unit, f"<= {limit:g}", value <= limit)
