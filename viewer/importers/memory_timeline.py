"""Memory timelines that torch.profiler exports (export_memory_timeline): bytes by category over time, no blocks.

Two forms hold numbers: ``*.raw.json.gz``, one row [ns, action, signed bytes, category] per change, and ``*.json``, the
times in microseconds and the bytes per category at each. Numbers as in torch/profiler/_memory_profiler.py.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Action, Category
from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.base.ids import ABSENT
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import rank_in_name, seal
from viewer.importers.source import whole_text
from viewer.store.memory import DeviceMemory, MemoryBuilder
from viewer.store.memory_rows import Events
from viewer.store.raw import RawSlices, RawTrace

I64 = NDArray[np.int64]

LARGEST: Final = 1 << 30
NAME: Final = "memory-timeline"
_RAW: Final = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*[1-4]\s*,\s*-?\d+\s*,\s*[0-7]\s*\]")
_LEVELS: Final = re.compile(rb"\s*\[\s*\[\s*\d{10,}(?:\s*,\s*\d{10,})*\s*(?:\]\s*,\s*\[\s*\[\s*0\s*,|\Z|,\s*\d*\Z)")
_STEP: Final = "Export it again with prof.export_memory_timeline."
CATEGORIES: Final = (
    Category.WEIGHTS, Category.OPTIMIZER, Category.INPUT, Category.TEMPORARY, Category.ACTIVATIONS,
    Category.GRADIENTS, Category.TEMPORARY, Category.UNKNOWN,
)  # fmt: skip
"""By the numbers that the profiler writes: parameter, optimizer state, input, temporary, activation, gradient, autograd
detail, none."""
_OLD, _CREATE, _VERSION, _DESTROY = range(1, 5)
_FAR: Final = 1 << 62
_DEVICE: Final = "device"
"""The file does not say which."""


class MemoryTimelineImporter:
    """The unit of the ledger is a row of changes, or an instant with its levels."""

    name = NAME
    signs = "rows of [time, action, bytes, category], or times and bytes by category"

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        return 3 if _RAW.match(head) or _LEVELS.match(head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        text, damage = whole_text(job.source, LARGEST)
        job.tell("read", job.stamp.size, 0)
        if damage:
            problem = f"is a memory timeline that cannot be read to its end ({damage})"
            raise InputError(str(job.path), problem, "", _STEP)
        ledger, findings = Ledger(), [_device_unknown()]
        builder = MemoryBuilder()
        try:
            if _RAW.match(text[:256]):
                _changes(np.array(msgspec.json.decode(text, type=list[tuple[int, int, int, int]]), np.int64), builder)
            else:
                times, sizes = msgspec.json.decode(text, type=tuple[list[int], list[list[int]]])
                _levels(np.array(times, np.int64), np.array(sizes, np.int64), builder)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, UnicodeDecodeError) as error:
            problem = f"is a memory timeline that makes no sense ({error})"
            raise InputError(str(job.path), problem, "", _STEP) from None
        del text
        tables = builder.tables()
        ledger.read = ledger.kept = len(tables["allocator_events"]["time_ns"])
        rank = rank_in_name(job.path)
        empty = np.zeros(0, np.int64)
        none = empty.astype(np.int32)
        return seal(
            job,
            RawTrace([], RawSlices.filled(empty, empty, none, none), memory=tables),
            NAME,
            ledger,
            findings,
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            companion=True,
        )


def _device_unknown() -> Finding:
    return Finding("device-not-stated", "info", 1, "a memory timeline does not say of which device it is")


def _changes(rows: I64, builder: MemoryBuilder) -> None:
    """Rows of changes: int64[n, 4]. Raises ValueError."""
    if rows.ndim != 2 or (np.abs(rows[:, 0]) >= _FAR).any() or (np.abs(rows[:, 2]) >= 1 << 50).any():
        raise ValueError("its numbers are absurd")
    if (rows[:, 1] < _OLD).any() or (rows[:, 1] > _DESTROY).any() or (rows[:, 3] < 0).any() or (rows[:, 3] > 7).any():
        raise ValueError("its rows have actions or categories that the profiler does not write")
    old = rows[:, 0] < 0
    held = rows[old]
    rows = rows[~old]
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    category = np.array(CATEGORIES, np.uint8)
    of, of_held = category[rows[:, 3]], category[held[:, 3]]
    before = int(held[:, 2].sum())
    action = np.array([0, 0, Action.ALLOC, Action.CHANGED, Action.FREE], np.uint8)[rows[:, 1]]
    # Bytes that go on under another category are two rows, away and back: the level in between was never there.
    change = np.where(rows[:, 1] == _VERSION, 0, rows[:, 2])
    builder.add(_device(rows[:, 0], action, np.abs(rows[:, 2]), before + np.cumsum(change), of, before))
    start = int(rows[0, 0]) if len(rows) else 0
    time, which, value = [], [], []
    for one in range(len(Category)):
        own = of == one
        base = int(held[of_held == one, 2].sum())
        time += [np.array([start]), rows[own, 0]]
        value += [np.array([base]), base + np.cumsum(rows[own, 2])]
        which.append(np.full(1 + int(own.sum()), one, np.uint8))
    _add_levels(builder, np.concatenate(time), np.concatenate(which), np.concatenate(value))


def _levels(times: I64, sizes: I64, builder: MemoryBuilder) -> None:
    """Times in us, and int64[n, 1 + categories] bytes (the first column is 0). Raises ValueError."""
    if sizes.ndim != 2 or sizes.shape != (len(times), 1 + len(CATEGORIES)) or not len(times):
        raise ValueError(f"it has not {1 + len(CATEGORIES)} numbers for each of its times")
    if (np.abs(times) >= _FAR // 1000).any() or (np.abs(sizes) >= 1 << 50).any():
        raise ValueError("its numbers are absurd")
    order = np.argsort(times, kind="stable")
    time, sizes = times[order] * 1000, sizes[order, 1:]
    total = sizes.sum(axis=1)
    n = len(time)
    change = np.abs(np.diff(total, prepend=total[0]))
    kind = np.full(n, Action.CHANGED, np.uint8)
    builder.add(_device(time, kind, change, total, np.full(n, Category.UNKNOWN, np.uint8), int(total[0])))
    by = np.zeros((len(Category), n), np.int64)
    for column, one in enumerate(CATEGORIES):
        by[one] += sizes[:, column]
    which = np.repeat(np.arange(len(Category), dtype=np.uint8), n)
    _add_levels(builder, np.tile(time, len(Category)), which, by.reshape(-1))


def _add_levels(builder: MemoryBuilder, time: I64, category: NDArray[np.uint8], value: I64) -> None:
    order = np.argsort(time, kind="stable")
    builder.add_levels(0, time[order], category[order], value[order])


def _device(
    time: I64, action: NDArray[np.uint8], size: I64, level: I64, category: NDArray[np.uint8], before: int
) -> DeviceMemory:
    n = len(time)
    none, absent = np.full(n, -1, np.int32), np.full(n, ABSENT, np.int64)
    events = Events(
        np.ascontiguousarray(time), action, absent, size, absent, none, none, none, category=category, allocated=level,
        split_free=False, before=before, addressed=False,
    )  # fmt: skip
    return DeviceMemory(_DEVICE, None, events)
