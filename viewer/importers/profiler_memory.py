"""The ``[memory]`` instants of profiler traces (profile_memory=True) as tables of memory.

Their totals are the allocator's own counters and are taken as written; their bytes are changes, and blocks that were
made before the recording are freed in it.
"""

from __future__ import annotations

import mmap
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Action
from viewer.base.findings import Finding
from viewer.base.ids import ABSENT
from viewer.importers.base import Imported
from viewer.importers.memory_args import NAMES, OUT_OF_MEMORY
from viewer.store.args import ArgsText
from viewer.store.loose_json import loads
from viewer.store.memory import DeviceMemory, MemoryBuilder
from viewer.store.memory_rows import Events
from viewer.store.raw import RawMarks, RawTrace

DEVICE_TYPES: Final = {
    0: "cpu", 1: "cuda", 6: "hip", 9: "xla", 12: "xpu", 13: "mps", 15: "hpu", 18: "ipu", 19: "mtia",
    20: "privateuseone",
}  # fmt: skip
"""c10/core/DeviceType.h."""
_BATCH: Final = 8192
_MOST_DEVICES: Final = 4096
_ABSURD: Final = 1 << 50
"""Bytes that no device has."""


class _Args(msgspec.Struct):
    device_type: Any = msgspec.field(name="Device Type", default=None)
    device: Any = msgspec.field(name="Device Id", default=None)
    address: Any = msgspec.field(name="Addr", default=None)
    size: Any = msgspec.field(name="Bytes", default=None)
    allocated: Any = msgspec.field(name="Total Allocated", default=None)
    reserved: Any = msgspec.field(name="Total Reserved", default=None)


_COLUMNS: Final = ("device_type", "device", "address", "size", "allocated", "reserved")
_FIELDS: Final = operator.attrgetter(*_COLUMNS)
_LIST: Final = msgspec.json.Decoder(list[_Args])


def add_profiler_memory(
    imported: Imported, source: Path | None, args: Callable[[], ArgsText], scratch: Path | None = None
) -> None:
    """Make tables of memory of the ``[memory]`` instants of a trace, if it has some.

    Args:
        imported: what an importer made of a file; gets the tables, and findings.
        source: the file, where the args lie in it as they are.
        args: their text else.
        scratch: a folder for what a large file leaves to be written.
    """
    raw = imported.raw
    if raw.marks is None or raw.memory:
        return
    names = [raw.strings.index(name) for name in NAMES if name in raw.strings]
    rows = np.flatnonzero(np.isin(raw.marks.name, names))
    rows = rows[raw.marks.args_len[rows] > 0]
    if not len(rows):
        return
    oom = raw.strings.index(OUT_OF_MEMORY) if OUT_OF_MEMORY in raw.strings else -2
    values = _all_values(raw, rows, source, args)
    size = values["size"]
    good = (size > -_ABSURD) & (size < _ABSURD)
    lost = int((~good).sum())
    if lost:
        message = "[memory] events without readable bytes: in no figure of memory"
        imported.meta.findings.append(Finding("memory-unreadable", "warning", lost, message))
    if lost:
        rows, values = rows[good], {k: v[good] for k, v in values.items()}
    del good, size
    times = raw.marks.time_ns[rows]
    if (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        rows = rows[order]
        for name in values:  # one after the other: a large file has millions
            values[name] = values[name][order]
    del times
    builder = MemoryBuilder(scratch=scratch)
    # The table of marks is sorted by time; where each of them will be.
    place = np.empty(len(raw.marks.time_ns), np.int64)
    place[np.argsort(raw.marks.time_ns, kind="stable")] = np.arange(len(place))
    values["mark"] = place[rows]
    for kind, number in sorted(_devices(values), key=_place)[:_MOST_DEVICES]:
        of_device = (values["device_type"] == kind) & (values["device"] == number)
        if of_device.all():
            builder.add(_device(kind, number, raw.marks, rows, values, oom))
            continue
        own = np.flatnonzero(of_device)
        builder.add(_device(kind, number, raw.marks, rows[own], {k: v[own] for k, v in values.items()}, oom))
    del values
    raw.memory = builder.tables()


def _all_values(
    raw: RawTrace, rows: NDArray[np.int64], source: Path | None, args: Callable[[], ArgsText]
) -> dict[str, NDArray[np.int64]]:
    """_COLUMNS of some marks: as they were read with the events, or from their text."""
    out = {name: np.full(len(rows), ABSENT, np.int64) for name in _COLUMNS}
    unread = np.ones(len(rows), np.bool_)
    if raw.allocations is not None:
        at = np.searchsorted(rows, raw.allocations.mark)
        unread[at] = False
        for name, values in out.items():
            values[at] = getattr(raw.allocations, name)
    left = np.flatnonzero(unread)
    if len(left) and raw.marks is not None:
        for name, values in _values(_texts(raw.marks, rows[left], source, args), len(left)).items():
            out[name][left] = values
    return out


def _devices(values: dict[str, NDArray[np.int64]]) -> list[tuple[int, int]]:
    """(type, number) of every device that is named."""
    kinds, devices = values["device_type"], values["device"]
    return [(k, d) for k in np.unique(kinds).tolist() for d in np.unique(devices[kinds == k]).tolist()]


def _place(key: tuple[int, int]) -> tuple[bool, int, int]:
    return key[0] == 0, *key


def _device(
    kind: int, number: int, marks: RawMarks, rows: NDArray[np.int64], values: dict[str, NDArray[np.int64]], oom: int
) -> DeviceMemory:
    on_host = kind == 0
    known = DEVICE_TYPES.get(kind, "device" if kind == ABSENT else f"device type {kind}")
    ordinal = None if on_host or number < 0 else number
    name = known if ordinal is None else f"{known}:{ordinal}"
    delta = values["size"]
    action = np.where(delta < 0, Action.FREE, Action.ALLOC).astype(np.uint8)
    action[marks.name[rows] == oom] = Action.OOM
    n = len(rows)
    none = np.full(n, -1, np.int32)
    reserved = values["reserved"]
    if on_host and not (reserved > 0).any():
        reserved = np.full(n, ABSENT, np.int64)  # the host's allocator reserves nothing: 0 is no figure
    totals = (values["allocated"] != ABSENT).all()
    events = Events(
        marks.time_ns[rows],
        action,
        values["address"],
        np.abs(delta),
        np.full(n, ABSENT, np.int64),
        none,
        none,
        none,
        allocated=values["allocated"] if totals else np.full(n, ABSENT, np.int64),
        reserved=reserved,
        mark=values["mark"],
        split_free=False,
    )
    return DeviceMemory(name, ordinal, events)


def _texts(
    marks: RawMarks, rows: NDArray[np.int64], source: Path | None, args: Callable[[], ArgsText]
) -> Iterator[bytes]:
    if source is None:
        text = args()
        for begin in range(0, len(rows), _BATCH):
            some = rows[begin : begin + _BATCH]
            yield from text.read_many(marks.args_off[some].tolist(), marks.args_len[some].tolist())
        return
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        for begin in range(0, len(rows), _BATCH):
            some = rows[begin : begin + _BATCH]
            offset = marks.args_off[some]
            ends = offset + marks.args_len[some]
            yield from map(whole.__getitem__, map(slice, offset.tolist(), ends.tolist()))


def _values(texts: Iterator[bytes], count: int) -> dict[str, NDArray[np.int64]]:
    out = {name: np.full(count, ABSENT, np.int64) for name in _COLUMNS}
    batch: list[bytes] = []
    done = 0

    def flush() -> None:
        nonlocal done
        told = [_FIELDS(one) for one in _decoded(batch)]
        try:
            table = np.array(told)
        except ValueError:  # a list among them
            table = np.zeros(0)
        if table.dtype != np.int64:  # missing ones, texts, fractions, addresses in the upper half
            table = np.array([[_whole(value) for value in row] for row in told], np.int64)
        for column, name in enumerate(_COLUMNS):
            out[name][done : done + len(batch)] = table[:, column]
        done += len(batch)
        batch.clear()

    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            flush()
    if batch:
        flush()
    return out


def _decoded(texts: list[bytes]) -> list[_Args]:
    try:
        together = _LIST.decode(b"[" + b",".join(texts) + b"]")
        if len(together) == len(texts):
            return together
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    return [_alone(text) for text in texts]


def _alone(text: bytes) -> _Args:
    try:
        found = msgspec.convert(loads(text), _Args)
    except (ValueError, msgspec.MsgspecError):
        return _Args()
    return found


def _whole(value: Any) -> int:
    """An integer of 64 bits (an address in the upper half as its bits), ABSENT else."""
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return ABSENT
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ABSENT
    if isinstance(value, float):
        if not value.is_integer():
            return ABSENT
        value = int(value)
    if 1 << 63 <= value < 1 << 64:
        value -= 1 << 64
    return value if -(1 << 63) <= value < 1 << 63 else ABSENT
