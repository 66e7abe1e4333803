"""Numbers with a unit as people write them on a job card: "80 GiB", "900 GB/s", "400 Gb/s", "989 TFLOPS", "70B"."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

Unit = Literal["count", "bytes", "rate", "flops"]

LARGEST: Final = 2**62
_SHAPE: Final = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-z/]*)\s*\Z")
_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES: Final = {f"{p}B": n for p, n in (_DECIMAL | _BINARY).items()} | {"KB": 10**3}
_COUNTS: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_RATES: Final = {f"{unit}{per}": n for unit, n in _BYTES.items() for per in ("/s", "ps")}
_BITS: Final = {f"{p}{bit}": n for p, n in _DECIMAL.items() for bit in ("b/s", "bps", "bit/s")}
_FLOPS: Final = {f"{p}{name}": n for p, n in _DECIMAL.items() for name in ("FLOPS", "FLOP/s", "OPS", "OP/s")}

EXAMPLES: Final[dict[Unit, str]] = {
    "count": '"70B" or 70_000_000_000',
    "bytes": '"80 GiB" or "80 GB"',
    "rate": '"900 GB/s" or "400 Gb/s"',
    "flops": '"989 TFLOPS"',
}
"""What to write, per kind of quantity."""


def parse_quantity(text: str, unit: Unit) -> int:
    """The whole number of counts, bytes, bytes per second or FLOP per second that a text means.

    Rounds to a whole number (half to even) where the text has a unit, as "1.1 GiB" is no whole number of bytes.

    Raises:
        ValueError: it is no such quantity; the message is a part of a sentence ("has no unit of ...").
    """
    match = _SHAPE.match(text[:100])
    if match is None:
        raise ValueError(f"is no number with a unit; write {EXAMPLES[unit]}")
    try:
        number = Decimal(match[1].replace("_", ""))
    except InvalidOperation:
        raise ValueError(f"is no number; write {EXAMPLES[unit]}") from None
    scale, divisor = _scale(match[2], unit)
    value = number * scale / divisor
    if value > LARGEST:
        raise ValueError("is too large")
    whole = int(value.to_integral_value())
    if whole != value and scale == 1:
        raise ValueError(f"is no whole number; write {EXAMPLES[unit]}")
    return whole


def _scale(suffix: str, unit: Unit) -> tuple[int, int]:
    known = {"count": _COUNTS, "bytes": _BYTES, "rate": _RATES, "flops": _FLOPS}[unit]
    if suffix in known:
        return known[suffix], 1
    if unit == "rate" and suffix in _BITS:
        return _BITS[suffix], 8
    if not suffix:
        return 1, 1
    raise ValueError(f'has the unit "{suffix}"; write it as in {EXAMPLES[unit]}')


def quantity_text(value: int, unit: Unit) -> str:
    """The shortest text that :func:`parse_quantity` reads back as the same number."""
    steps: tuple[tuple[str, int], ...]
    if unit == "count":
        steps = (("T", 10**12), ("B", 10**9), ("M", 10**6))
    elif unit == "bytes":
        steps = ((" TiB", 2**40), (" GiB", 2**30), (" TB", 10**12), (" GB", 10**9), (" MiB", 2**20), (" MB", 10**6))
    else:
        name = "B/s" if unit == "rate" else "FLOPS"
        steps = tuple((f" {p}{name}", n) for p, n in reversed(_DECIMAL.items()) if p not in ("", "k"))
    for name, scale in steps:
        fine = 1 if name in (" MiB", " MB") else 1000
        if value >= scale and value * fine % scale == 0:
            return f"{(Decimal(value) / scale).normalize():f}{name}"
    return f"{value:,}".replace(",", "_") if value >= 10_000 else str(value)


def quantity_words(value: int, unit: Unit) -> str:
    """A quantity for reading: rounded to four digits where it has no short exact text."""
    exact = quantity_text(value, unit)
    if sum(c.isdigit() for c in exact) <= 4 and "_" not in exact:
        return exact
    if unit == "count":
        return f"{value:,}"
    if unit == "bytes":
        from viewer.base.units import format_bytes

        return format_bytes(value)
    from viewer.base.units import format_rate

    return format_rate(value, "B/s" if unit == "rate" else "FLOPS")
