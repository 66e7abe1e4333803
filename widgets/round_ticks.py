"""Round instants on an axis, and how they read."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.base.time import format_duration

_TICKS: Final = (1, 2, 5)


def tick_step(length: float, most: float) -> float:
    """A round number of ns between ticks, so that about ``most`` of them lie in ``length``."""
    rough = max(length / max(most, 1.0), 1.0)
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next((power * t for t in _TICKS if power * t >= rough), power * 10))


def tick_text(ns: int) -> str:
    """A tick's time without zeros behind the point: "5 ms"."""
    if not ns:
        return "0"
    number, _, unit = format_duration(ns).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"
