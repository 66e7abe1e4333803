"""Exact times: int64 nanoseconds to text and back. No float holds an absolute time."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

from viewer.base.errors import UsageError, quoted
from viewer.base.units import MINUS

_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_TIME = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(ns|us|µs|ms|s|m)?\s*\Z")


def parse_duration(text: str) -> int:
    """``"12.5ms"`` -> 12_500_000 ns; a bare number is ns. Raises UsageError when it is no time or no whole ns."""
    match = _TIME.match(text.replace(MINUS, "-"))  # as shown
    if match is None:
        raise UsageError(f"{quoted(text)} is no time: write a number with ns, us, ms or s, for example 12.5ms.")
    try:
        value = Decimal(match[1]) * _UNITS[match[2] or "ns"]
    except InvalidOperation:
        raise UsageError(f"{quoted(text)} is no time.") from None
    if value != int(value):
        raise UsageError(f"{quoted(text)} is finer than a nanosecond.")
    if abs(value) >= 2**63:
        raise UsageError(f"{quoted(text)} is too large.")
    return int(value)


def parse_window(text: str) -> tuple[int, int]:
    """``"12.5ms:30ms"`` -> (12_500_000, 30_000_000). Raises UsageError when empty or reversed."""
    first, colon, last = text.partition(":")
    if not colon:
        raise UsageError(f"{quoted(text)} is no window: write START:END, for example 12.5ms:30ms.")
    start, end = parse_duration(first), parse_duration(last)
    if end == start:
        raise UsageError(f"the window {quoted(text)} is empty: its end is its start.")
    if end < start:
        raise UsageError(f"the window {quoted(text)} ends before it begins.")
    return start, end


def format_duration(ns: int | None, digits: int = 3) -> str:
    """A duration for people: ``1_234_567`` -> ``"1.235 ms"``; ``None`` -> ``"–"``. Below 1 us always whole ns."""
    if ns is None:
        return "–"
    size = abs(ns)
    sign = MINUS if ns < 0 else ""
    for unit, scale in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if size >= scale:
            return f"{sign}{size / scale:,.{digits}f} {unit}"
    return f"{sign}{size} ns"


def format_exact(ns: int) -> str:
    """All nanoseconds with thin grouping: ``1234567`` -> ``"1,234,567 ns"``."""
    return f"{MINUS if ns < 0 else ''}{abs(ns):,} ns"
