"""The time axis: where ticks lie and what they say. All whole ns, so labels are exact at every zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from viewer.base.selection import TimeRange
from viewer.base.units import MINUS

LABEL_PX: Final = 96
"""Least distance between two labels."""
MOST_DECIMALS: Final = 3
"""Labels with more decimals are split into a common base and the rest."""

_UNITS: Final = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1))


class Tick(NamedTuple):
    """One tick: logical px from the left, its text ("" for minor ones), whether it is labelled, its session time."""

    x: float
    label: str
    major: bool
    time_ns: int


@dataclass(frozen=True, slots=True)
class Axis:
    """Ticks from left to right. Labels are times since the origin, or since ``base`` when that is not empty.

    ``base`` is exact and complete ("12.345678 s"); labels then begin with "+". ``unit`` is the unit of the labels.
    """

    ticks: tuple[Tick, ...]
    base: str
    unit: str
    step_ns: int


@lru_cache(maxsize=8)
def ticks(window: TimeRange, origin_ns: int, width_px: float) -> Axis:
    """Ticks of a window.

    Args:
        window: session time, at least 1 ns long.
        origin_ns: session time of 0 on the axis.
        width_px: width of the axis.
    """
    length = max(window.length_ns, 1)
    step = _step(length, max(1, int(width_px // LABEL_PX)))
    minor = _minor(step)
    start, end = window.start_ns - origin_ns, window.end_ns - origin_ns
    first = -(-start // minor) * minor
    reach = max(abs(start), abs(end))
    unit, scale = unit_for(reach)
    base = 0
    base_text = ""
    if _decimals(step, scale) > MOST_DECIMALS:
        unit, scale = unit_for(step)
        base = start // (1000 * scale) * (1000 * scale)
        base_text = exact(base)
    decimals = _decimals(step, scale)
    sign = "+" if base_text else ""
    out = []
    for t in range(first, end + 1, minor):
        x = (t - start) * width_px / length
        labelled = t % step == 0
        label = f"{sign}{fixed(t - base, scale, decimals)} {unit}" if labelled else ""
        out.append(Tick(x, label, labelled, t + origin_ns))
    return Axis(tuple(out), base_text, unit, step)


def exact(ns: int) -> str:
    """All digits of a time in the largest unit that it fills: ``12_345_678_000`` -> ``"12.345678 s"``."""
    unit, scale = unit_for(abs(ns))
    decimals = 0
    while ns * 10**decimals % scale:
        decimals += 1
    return f"{fixed(ns, scale, decimals)} {unit}"


def fixed(ns: int, scale: int, decimals: int) -> str:
    """``ns / scale`` with so many decimals, exact (integer arithmetic), cut after the last one."""
    whole, rest = divmod(abs(ns), scale)
    sign = MINUS if ns < 0 else ""
    if decimals == 0:
        return f"{sign}{whole:,}"
    return f"{sign}{whole:,}.{rest * 10**decimals // scale:0{decimals}d}"


def _step(length: int, most: int) -> int:
    """The smallest 1, 2 or 5 x 10^k ns that gives at most ``most`` steps."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * most >= length:
                return factor * power
        power *= 10


def _minor(step: int) -> int:
    """Distance of unlabelled ticks: a fifth of the step, a quarter for 2 x 10^k, and never a part of 1 ns."""
    leading = int(str(step)[0])
    for parts in (4, 2) if leading == 2 else (5, 2):
        if step % parts == 0:
            return step // parts
    return step


def unit_for(ns: int) -> tuple[str, int]:
    """(name, ns) of the largest unit that a length, which is not negative, fills."""
    return next((u for u in _UNITS if ns >= u[1]), _UNITS[-1])


def _decimals(step: int, scale: int) -> int:
    decimals = 0
    while step * 10**decimals % scale:
        decimals += 1
    return decimals
