"""The state at the end of an allocator snapshot: its segments and their blocks as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import BlockEnd
from viewer.base.ids import ABSENT
from viewer.importers.pickle_columns import PickleColumns
from viewer.store.memory_rows import FinalState

Columns = dict[str, NDArray[Any]]
PoolTexts = Callable[[NDArray[np.int32]], NDArray[np.int32]]

EVENT, BLOCK, SEGMENT, HISTORY = range(4)
ABSURD: Final = 1 << 50
"""Bytes that no device has: sums of smaller sizes cannot overflow."""


def state_at_end(pickle: PickleColumns, texts: list[str], pool_texts: PoolTexts) -> tuple[Columns, Columns]:
    """Segments and blocks of all devices; blocks know their row of segments.

    Args:
        pickle: read to its end.
        texts: all texts.
        pool_texts: numbers of pools -> numbers of their texts.
    """
    rows = pickle.rows
    s: Columns = {name: rows[SEGMENT].column(name).copy() for name in rows[SEGMENT].names}
    b: Columns = {name: rows[BLOCK].column(name).copy() for name in rows[BLOCK].names}
    good = (s["size"] >= 0) & (s["size"] < ABSURD) & (s["address"] != ABSENT)
    s = {k: v[good] for k, v in s.items()}
    s["device"][s["device"] < 0] = 0
    order = np.argsort(s["blocks"], kind="stable")
    at = np.searchsorted(s["blocks"][order], b["list"])
    at = order[np.minimum(at, max(len(order) - 1, 0))] if len(order) else np.zeros(len(b["list"]), np.int64)
    held = (b["list"] >= 0) & (s["blocks"][at] == b["list"]) if len(order) else np.zeros(len(at), np.bool_)
    held &= (b["size"] >= 0) & (b["size"] < ABSURD)
    b = {k: v[held] for k, v in b.items()} | {"segment": at[held].astype(np.int64)}
    _addresses(s, b)
    _histories(pickle, b)
    b["requested"] = np.where(b["requested"] >= 0, b["requested"], b["size"])
    ends = np.full(len(texts) + 1, BlockEnd.FREED, np.uint8)
    for number in np.unique(b["state"]).tolist():
        text = texts[number] if number >= 0 else ""
        if text.startswith("active"):
            ends[number] = BlockEnd.ALLOCATED if text == "active_allocated" else BlockEnd.PENDING
    blocks = {name: b[name] for name in ("address", "size", "requested", "stack", "segment")}
    segments = {
        name: s[name] for name in ("device", "address", "size", "stream", "allocated", "active", "requested", "stack")
    } | {
        "kind": s["type"],
        "pool": pool_texts(s["pool"]),
        "expandable": (s["expandable"] > 0).astype(np.uint8),
    }
    return segments, blocks | {"end": ends[b["state"]]}


def _addresses(s: Columns, b: Columns) -> None:
    """Blocks of 2023 have no address: they lie one after another in their segment."""
    lost = b["address"] == ABSENT
    if not lost.any():
        return
    order = np.argsort(b["segment"], kind="stable")
    size = b["size"][order]
    offset = np.cumsum(size) - size
    segment = b["segment"][order]
    first = np.searchsorted(segment, segment)
    address = np.empty(len(size), np.int64)
    address[order] = s["address"][segment] + offset - offset[first]
    b["address"][lost] = address[lost]


def _histories(pickle: PickleColumns, b: Columns) -> None:
    """Blocks of 2023 tell their stack and what was requested in a history, the newest first."""
    rows = pickle.rows[HISTORY]
    if not rows.rows:
        return
    lists, first = np.unique(rows.column("list"), return_index=True)
    at = np.minimum(np.searchsorted(lists, b["history"]), len(lists) - 1)
    found = (b["history"] >= 0) & (lists[at] == b["history"])
    row = first[at[found]]
    size, stack = rows.column("size")[row], rows.column("stack")[row]
    b["requested"][found] = np.where(b["requested"][found] >= 0, b["requested"][found], size)
    b["stack"][found] = np.where(b["stack"][found] >= 0, b["stack"][found], stack)


def part_of_device(segments: Columns, blocks: Columns, device: int) -> FinalState:
    """The state at the end of one device."""
    rows = np.flatnonzero(segments["device"] == device)
    place = np.full(len(segments["device"]) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    own = np.flatnonzero(place[blocks["segment"]] >= 0)
    order = own[np.lexsort((blocks["address"][own], place[blocks["segment"][own]]))]
    return FinalState(
        {k: v[rows] for k, v in segments.items() if k != "device"},
        {k: v[order] for k, v in blocks.items() if k != "segment"} | {"segment": place[blocks["segment"][order]]},
    )
