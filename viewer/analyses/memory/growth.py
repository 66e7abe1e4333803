"""What grows from step to step: a robust slope of what each maker holds at the borders of steps, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.categories import block_categories
from viewer.analyses.memory.edges import Edges, block_keys, held_by_key, key_text, step_edges
from viewer.analyses.memory.figures import device_blocks, device_name, memory_figures
from viewer.analyses.robust import pair_slopes
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.ids import ABSENT
from viewer.store.memory_rules import shipped_memory_rules
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

LEAST_STEPS: Final = 4
"""Steps after warm-up below which a slope says nothing: three points lie on a line by chance."""
RISING: Final = 0.9
"""Share of pairs of borders between which it rises (Kendall): what goes up and down is no drift."""
LEAST_GROWTH: Final = 1 << 20
"""Bytes over all steps seen below which growth is not told: buffers that fill once are of that size."""
LEAST_SHARE: Final = 0.001
"""As above, of what is allocated: less would take thousands of steps to matter."""
SEEN: Final = 0.5
"""The allocator's totals must rise by this share of what the blocks say: else frees are missing in the source."""
CACHE: Final = "kv-cache"
"""The tag of caches that grow by design."""
MOST_EDGES: Final = 400
"""Borders between which slopes are taken; of more, evenly spread ones."""


@dataclass(frozen=True, slots=True)
class Grower:
    """A maker of ever more blocks: ``bytes_per_step`` is the Theil-Sen slope, ``held`` what it holds at the end."""

    key: int
    text: str
    category: str
    bytes_per_step: float
    held: int


@dataclass(frozen=True, eq=False)
class Growth:
    """Growth of one device.

    ``bytes_per_step`` is the slope of what all growers hold together, ``level`` int64[steps + 1] what all makers hold
    at the borders; ``steps_left`` until the peak meets the capacity, None when that is not known or nothing grows.
    """

    device: int
    edges: Edges
    level: I64
    growers: tuple[Grower, ...]
    bytes_per_step: float
    headroom: int | None
    steps_left: int | None
    caches: tuple[Grower, ...] = ()
    """Caches of keys and values that grow: with their sequences, which is what they are for."""


def slope_of(values: F64) -> tuple[float, float]:
    """(Theil and Sen's slope, share of pairs that rise) of values at equal distances."""
    n = len(values)
    at = np.arange(n)
    if n > MOST_EDGES:
        at = np.unique(np.linspace(0, n - 1, MOST_EDGES).astype(np.int64))
    slopes = pair_slopes(at, values[at])
    return float(np.median(slopes)), float((slopes > 0).mean())


def growth(session: Session, item: Input, device: int) -> Growth | None:
    """What grows on a device of an input; None without enough steps. Built once per clocks and card."""
    return session.card_memo(("memory growth", item.index, device), lambda: _growth(session, item, device))


def _growth(session: Session, item: Input, device: int) -> Growth | None:
    trace = item.trace
    edges = step_edges(session, item, device)
    if edges is None or edges.count - edges.first < LEAST_STEPS:
        return None
    keys, held = held_by_key(trace, device, edges.at)
    late = held[:, edges.first :]
    level = held.sum(axis=0)
    steps = late.shape[1] - 1
    least = max(LEAST_GROWTH, LEAST_SHARE * float(level[edges.first :].max(initial=0)))
    categories, rows = block_categories(session, item).category, device_blocks(trace, device)
    of = block_keys(trace, device)
    growers, caches = [], []
    cached = shipped_memory_rules().tag(CACHE)
    is_cache = (block_categories(session, item).tags[rows] >> np.uint64(max(cached, 0))) & np.uint64(1) != 0
    total = np.zeros(steps + 1)
    for k in np.flatnonzero(late[:, -1] - late[:, 0] >= LEAST_GROWTH // 16).tolist():
        values = late[k].astype(np.float64)
        slope, rising = slope_of(values)
        if slope <= 0 or rising < RISING:
            continue
        mine = of == keys[k]
        category = CATEGORY_NAMES[int(np.bincount(categories[rows][mine]).argmax())]
        one = Grower(int(keys[k]), key_text(trace, int(keys[k])), category, slope, int(late[k, -1]))
        if cached >= 0 and is_cache[mine].any():
            caches.append(one)
            continue
        growers.append(one)
        total += values
    slope, _ = slope_of(total) if growers else (0.0, 0.0)
    if slope * steps < least or not _seen_in_totals(trace, edges, slope):
        growers, slope = [], 0.0
    growers.sort(key=lambda g: -g.bytes_per_step)
    headroom = left = None
    limit = capacity(session, item, device)
    peak = memory_figures(trace)[device].peak_allocated
    if limit is not None and peak is not None:
        headroom = limit - peak
        left = max(0, int(headroom // slope)) if slope > 0 else None
    return Growth(device, edges, level, tuple(growers), slope, headroom, left, tuple(caches))


def _seen_in_totals(trace: Trace, edges: Edges, slope: float) -> bool:
    """Whether the allocator's own totals at the borders rise as well; True where the source states none."""
    at = edges.at[edges.first :]
    totals = trace.tables["allocator_events"].allocated[at[at > 0] - 1]
    if len(totals) < LEAST_STEPS or (totals == ABSENT).any():
        return True
    rise, _ = slope_of(totals.astype(np.float64))
    return rise >= SEEN * slope


def capacity(session: Session, item: Input, device: int) -> int | None:
    """Bytes of an accelerator: the job card's, else what a file of its rank states; None when nobody says."""
    return session.card_memo(("memory capacity", item.index, device), lambda: _capacity(session, item, device))


def _capacity(session: Session, item: Input, device: int) -> int | None:
    if device_name(item.trace, device) == "cpu":
        return None
    if session.card.hardware.memory_bytes is not None:
        return session.card.hardware.memory_bytes
    ordinal = int(item.trace.tables["memory_devices"].ordinal[device])
    for index in session.group_of(item.index).inputs:
        for info in session.inputs[index].trace.meta.devices:
            value = info.properties.get("totalGlobalMem")
            if info.id == ordinal and isinstance(value, int) and value > 0:
                return value
    return None
