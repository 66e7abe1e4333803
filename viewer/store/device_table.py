"""What vendors publish of GPUs: dense peaks per dtype, memory, links. Found by what a trace says of a device."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from viewer.base.card_fields import DTYPES
from viewer.base.quantities import parse_quantity

_FILES: Final = ("nvidia.toml", "amd.toml")
_NAMELESS: Final = re.compile(r"(?:AMD Radeon Graphics)?\s*\Z", re.IGNORECASE)
_GIGABYTES: Final = re.compile(r"\b([1-9][0-9]{1,2}) ?GB\b", re.IGNORECASE)
_PART_OF_ONE: Final = re.compile(r"\bMIG\b|\bvGPU\b|\bGRID\b|\bLaptop\b|\bMax-Q\b", re.IGNORECASE)
"""Names of a slice or a weaker kind of a device: nobody publishes what those can do."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device. ``peak`` has FLOP/s by dtype, dense; bytes and bytes per second; None where no source tells."""

    name: str
    pattern: re.Pattern[str]
    sms: int | None
    gigabytes: tuple[int, int] | None
    unnamed: bool
    memory_bytes: int | None
    memory_bytes_per_second: int
    link_bytes_per_second: int | None
    pcie_bytes_per_second: int | None
    peak: Mapping[str, int]
    source: str

    def fits(self, sms: int | None, memory: int | None) -> bool:
        """Whether what a trace tells of a device contradicts this entry."""
        if sms is not None and self.sms not in (None, sms):
            return False
        if memory is None or self.gigabytes is None:
            return True
        return self.gigabytes[0] <= memory / 1e9 <= self.gigabytes[1]


def find_device(name: str, sms: int | None = None, memory: int | None = None) -> Device | None:
    """The device that a trace speaks of; None where the table does not hold it for certain.

    Args:
        name: as the driver says it, "NVIDIA H100 80GB HBM3", or as the table does; "" where the driver says none.
        sms: streaming multiprocessors or compute units, None where the trace does not tell.
        memory: bytes, as above.
    """
    if _PART_OF_ONE.search(name):
        return None
    exact = next((d for d in devices() if d.name.casefold() == name.strip().casefold()), None)
    if exact is not None and exact.fits(sms, memory):
        return exact
    if _NAMELESS.match(name):
        if sms is None or memory is None:
            return None
        return next((d for d in devices() if d.unnamed and d.fits(sms, memory)), None)
    told = memory or _memory_in(name)
    fitting = [d for d in devices() if d.pattern.search(name[:500]) and d.fits(sms, told)]
    if not fitting:
        return None
    first = fitting[0]
    if memory is None and told is not None:
        return replace(first, memory_bytes=told)
    unsure = told is None and any(d.pattern == first.pattern and d is not first for d in fitting)
    return replace(first, memory_bytes=None) if unsure else first


def _memory_in(name: str) -> int | None:
    match = _GIGABYTES.search(name)
    return None if match is None else int(match[1]) * 10**9


@cache
def devices() -> tuple[Device, ...]:
    """All entries, in the order in which they are tried. Read once."""
    folder = resources.files("resources") / "hardware"
    tables = (tomllib.loads((folder / name).read_text(encoding="utf-8")) for name in _FILES)
    return tuple(_device(entry) for table in tables for entry in table["device"])


def _device(entry: Mapping[str, Any]) -> Device:
    peak = {dtype: parse_quantity(text, "flops") for dtype, text in entry["peak"].items()}
    if not set(peak) <= set(DTYPES):
        raise ValueError(f"{entry['name']} has a peak of an unknown dtype")
    low_high = entry.get("gigabytes")
    link, pcie = entry.get("link"), entry.get("pcie")
    return Device(
        entry["name"],
        re.compile(entry["match"], re.IGNORECASE),
        entry.get("sms"),
        None if low_high is None else (low_high[0], low_high[1]),
        entry.get("unnamed", False),
        parse_quantity(entry["memory"], "bytes"),
        parse_quantity(entry["memory_rate"], "rate"),
        None if link is None else parse_quantity(link, "rate"),
        None if pcie is None else parse_quantity(pcie, "rate"),
        peak,
        entry["source"],
    )
