"""Bytes, rates, counts and shares as text, with one fixed set of SI rules."""

from __future__ import annotations

import re
from typing import Final

MINUS: Final = "\u2212"
NBSP: Final = "\u00a0"
_SHOWN_MINUS: Final = re.compile(MINUS + r"(?=[0-9.])")
_BEFORE_UNIT: Final = re.compile(
    r"(?<=[0-9]) (?=(?:%|[nuµm]?s|min|h|[kKMGT]?i?B(?:/s)?|[kMGTPE]?FLOPs?|[kMGTPE]?FLOP/s|TFLOPS|points?)(?![\w%]))"
)


def format_bytes(n: int | None) -> str:
    """Binary sizes: ``1536`` -> ``"1.5 KiB"``; ``None`` -> ``"–"``."""
    if n is None:
        return "–"
    value = float(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return _signed(f"{n} B" if unit == "B" else f"{value:.4g} {unit}")
        value /= 1024
    return _signed(f"{value:.4g} TiB")


def format_rate(per_second: float, unit: str = "B/s") -> str:
    """Decimal rates: ``2.5e9`` -> ``"2.5 GB/s"``."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(per_second) >= scale:
            return _signed(f"{per_second / scale:.3g} {prefix}{unit}")
    return _signed(f"{per_second:.3g} {unit}")


def format_share(part: int, whole: int) -> str:
    """``part`` of ``whole`` in percent with one decimal, ``"–"`` when there is no whole."""
    return _signed(f"{100 * part / whole:.1f} %") if whole else "–"


def percent(share: float, digits: int = 0) -> str:
    """A share of 0 to 1 in percent: ``0.15`` -> ``"15 %"``."""
    return _signed(f"{100 * share:.{digits}f} %")


def _signed(text: str) -> str:
    """One number with the sign for minus in front; an exponent stays as it is."""
    return MINUS + text[1:] if text.startswith("-") else text


def unbroken(text: str) -> str:
    """A sentence to be wrapped into lines: no number is torn from its unit ("6.6 %", "3.2 ms")."""
    return _BEFORE_UNIT.sub(NBSP, text)


def format_count(n: int) -> str:
    """Digits in groups of three."""
    return f"{n:,}"


def with_minus(text: str) -> str:
    """A number that was formatted with "-" as people see it: with the sign for minus."""
    return text.replace("-", MINUS)


def plain_signs(text: str) -> str:
    """What is shown as programs read it: with "-" before digits."""
    return _SHOWN_MINUS.sub("-", text)
