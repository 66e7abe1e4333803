"""Snapshots of PyTorch's caching allocator (torch.cuda.memory._dump_snapshot), all schemas since 2022.

They are pickles; nothing in them is executed (``viewer.importers.pickle_columns``). The fields are those that PyTorch's
torch/csrc/cuda/Module.cpp writes: segments with their blocks, one list of events per device, annotations, settings.
Times are microseconds since 1970; snapshots of 2023 have none, and are shown by the order of their events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import NOT_GIVEN, Action
from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.base.ids import ABSENT
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import rank_in_name, seal
from viewer.importers.pickle_columns import PickleColumns, PickleError
from viewer.importers.snapshot_events import CATEGORIES, completed, drawn_times, named_frames
from viewer.importers.snapshot_state import ABSURD, EVENT, SEGMENT, Columns, part_of_device, state_at_end
from viewer.importers.source import TextStream, open_text
from viewer.jit import pickle_layout as machine
from viewer.store.memory import DeviceMemory, MemoryBuilder
from viewer.store.memory_rows import Events
from viewer.store.raw import RawSlices, RawTrace

_PROTOCOLS: Final = tuple(bytes([0x80, k]) for k in range(2, 6))
_SIGNS: Final = (b"device_traces", b"segment_type", b"total_size", b"segments", b"free_completed")
_STEP: Final = "Write the snapshot again with torch.cuda.memory._dump_snapshot."
_FOREIGN: Final = "Give a snapshot that torch.cuda.memory._dump_snapshot wrote; nothing of this file was run."
_FAR_US: Final = (1 << 62) // 1000
_MOST_DEVICES: Final = 4096

ACTIONS: Final = {
    "alloc": Action.ALLOC,
    "free_requested": Action.FREE_REQUESTED,
    "free_completed": Action.FREE_COMPLETED,
    "free": Action.FREE,
    "segment_alloc": Action.SEGMENT_ALLOC,
    "segment_free": Action.SEGMENT_FREE,
    "segment_map": Action.SEGMENT_MAP,
    "segment_unmap": Action.SEGMENT_UNMAP,
    "oom": Action.OOM,
    "snapshot": Action.SNAPSHOT,
    "user_defined": Action.USER,
}
_REJECTED: Final = {
    "unreadable": "allocator events without a size or an address, or of an absurd size",
    "not-in-a-list": "allocator events that are in no device's list",
    "time-out-of-range": "allocator events whose time is beyond 146 years",
}


class TorchSnapshotImporter:
    """The unit of the ledger is an allocator event, or a block of the state at the end."""

    name = "torch-snapshot"
    signs = "the pickled keys of an allocator snapshot (segments, device_traces)"

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        if not head.startswith(_PROTOCOLS):
            return 0
        return 3 if any(sign in head for sign in _SIGNS) else 1

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        stream, _ = open_text(job.source)
        return read_pickle(job, stream)


def read_pickle(job: ImportJob, stream: TextStream) -> Imported:
    """A snapshot from its bytes; closes the stream. Raises InputError."""
    columns = PickleColumns(stream, job.scratch)
    try:
        columns.run(lambda events: job.tell("read", stream.position, events))
    except PickleError as error:
        problem = stream.damage or f"is a Python pickle that {error.problem}"
        step = _STEP if error.damaged else _FOREIGN
        raise InputError(str(job.path), problem, f"byte {error.at}", step) from None
    finally:
        stream.close()
    return _Snapshot(job, columns).imported()


@dataclass
class _Snapshot:
    job: ImportJob
    columns: PickleColumns
    ledger: Ledger = field(default_factory=Ledger)
    findings: list[Finding] = field(default_factory=list)

    def imported(self) -> Imported:
        """Everything as tables."""
        c, job = self.columns, self.job
        job.tell("sort", job.stamp.size, c.rows[EVENT].rows)
        tag, value = c.root()
        top: dict[Any, tuple[int, int]] = {}
        if tag == machine.OBJECT and c.kind_of(value) == machine.DICT:
            top = {k: (t, v) for k, t, v in c.items(value)}
        if not c.rows[SEGMENT].rows and not c.rows[EVENT].rows and not {"segments", "device_traces"} & top.keys():
            problem = "is a Python pickle without the segments and events of an allocator snapshot"
            raise InputError(str(job.path), problem, "", _FOREIGN)
        self.strings = c.texts
        self.texts = {text: number for number, text in enumerate(c.texts)}
        self._pools()
        builder = MemoryBuilder(self._stacks())
        segments, blocks = state_at_end(c, self.strings, self._pool)
        has_state = "segments" in top or bool(len(segments["address"]))
        device_of = self._device_lists(top.get("device_traces"))
        events = {name: c.rows[EVENT].column(name) for name in c.rows[EVENT].names}
        device = self._devices_of_events(events, device_of)
        self._ledger(device, len(blocks["address"]))
        numbers = np.union1d(np.unique(device[device >= 0]), np.unique(segments["device"]))[:_MOST_DEVICES]
        settings = c.value(*top["allocator_settings"]) if "allocator_settings" in top else None
        family = _family(settings, self.strings)
        profile = bool((events["category"] >= 0).any())
        hosts = {len(device_of) - 1} if profile else set()
        for number in numbers.tolist():
            rows = np.flatnonzero(device == number)
            own = self._events(events, rows)
            known = has_state and (bool((segments["device"] == number).any()) or not _holds_blocks(own))
            final = part_of_device(segments, blocks, number) if known else None
            lost = completed(own, final)
            if lost:
                self.findings.append(Finding(*lost))
            name, ordinal = ("cpu", None) if number in hosts else (f"{family}:{number}", int(number))
            builder.add(DeviceMemory(name, ordinal, own, final, segmented=not profile))
        slices = self._annotations(top.get("external_annotations"))
        raw = RawTrace(self.strings, slices, memory=builder.tables())
        if "memory_devices" in raw.memory:
            self._explain(raw.memory["memory_devices"])
        rank = rank_in_name(job.path)
        return seal(
            job,
            raw,
            TorchSnapshotImporter.name,
            self.ledger,
            self.findings,
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            facts={"allocator_settings": settings} if isinstance(settings, dict) else {},
            companion=True,
        )

    # Parts of the pickle ---------------------------------------------------------------------------------------------

    def _string(self, text: str) -> int:
        number = self.texts.setdefault(text, len(self.strings))
        if number == len(self.strings):
            self.strings.append(text)
        return number

    def _pools(self) -> None:
        """Pool ids as texts "(0, 0)": pairs, or lists of two."""
        pairs = self.columns.pairs.tolist()
        self.pool_text = np.array([self._string(f"({a}, {b})") for a, b in pairs] + [-1], np.int32)

    def _pool(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        out = self.pool_text[np.where(numbers >= 0, numbers, -1)]
        for one in np.unique(numbers[numbers < -1]).tolist():
            pair = self.columns.value(machine.OBJECT, -2 - one)
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, int) for p in pair):
                out[numbers == one] = self._string(f"({pair[0]}, {pair[1]})")
        return out

    def _stacks(self) -> dict[str, dict[str, Any]]:
        begins, used = self.columns.stacks()
        frames = named_frames(self.columns.frames, self.strings, self._string)
        return {
            "stacks": {"begin": begins[:-1], "end": begins[1:]},
            "stack_frames": {"frame": used},
            "frames": {
                "name": frames[:, 0].astype(np.int32),
                "file": frames[:, 1].astype(np.int32),
                "line": frames[:, 2],
            },
        }

    def _device_lists(self, given: tuple[int, int] | None) -> dict[int, int]:
        """The object of each device's list of events -> the device's number."""
        if given is None or given[0] != machine.OBJECT:
            return {}
        items = self.columns.items(given[1])
        return {value: i for i, (_, tag, value) in enumerate(items[:_MOST_DEVICES]) if tag == machine.OBJECT}

    def _devices_of_events(self, events: Columns, device_of: dict[int, int]) -> NDArray[np.int32]:
        """The device of each event; -1 for those that are rejected."""
        lists = events["list"]
        device = np.full(len(lists), -1, np.int32)
        for number, one in device_of.items():
            device[lists == number] = one
        self._reject("not-in-a-list", device < 0)
        action = self._actions(events["action"])
        moves = action <= Action.SEGMENT_UNMAP
        size = events["size"]
        bad = (device >= 0) & ((size >= ABSURD) | (moves & ((size < 0) | (events["address"] == ABSENT))))
        self._reject("unreadable", bad)
        device[bad] = -1
        time = events["time_us"]
        far = (device >= 0) & (time != ABSENT) & ((time > _FAR_US) | (time < -_FAR_US))
        self._reject("time-out-of-range", far)
        device[far] = -1
        return device

    def _actions(self, numbers: NDArray[np.int32]) -> NDArray[np.uint8]:
        table = np.full(len(self.strings) + 1, Action.OTHER, np.uint8)
        for text, action in ACTIONS.items():
            if text in self.texts:
                table[self.texts[text]] = action
        return table[numbers]

    def _reject(self, reason: str, which: NDArray[np.bool_]) -> None:
        count = int(which.sum())
        if count:
            self.ledger.reasons[reason] = (count, -1)
            self.ledger.rejected += count
            self.findings.append(Finding(reason, "warning", count, f"{_REJECTED[reason]}: rejected"))

    def _ledger(self, device: NDArray[np.int32], blocks: int) -> None:
        self.ledger.read = len(device) + blocks
        self.ledger.kept = self.ledger.read - self.ledger.rejected

    def _events(self, events: Columns, rows: NDArray[np.int64]) -> Events:
        whole = len(rows) == len(events["action"])

        def of(name: str) -> NDArray[Any]:
            return events[name] if whole else events[name][rows]

        time, timed, back = drawn_times(of("time_us"))
        if back:
            message = "allocator events are stamped before the one that was recorded before them: drawn with its time"
            self.findings.append(Finding("time-goes-back", "info", back, message))
        action = self._actions(of("action"))
        note = of("note")
        note = np.where((note >= 0) & (note != self.texts.get("", -1)), note, of("context")).astype(np.int32)
        size = of("size")
        return Events(
            time, action, of("address"), np.where(size == ABSENT, 0, size), of("stream"), of("stack"),
            self._pool(of("pool")), note, self._categories(of("category")), timed=timed,
            split_free=bool((action == Action.FREE_REQUESTED).any()),
        )  # fmt: skip

    def _categories(self, numbers: NDArray[np.int32]) -> NDArray[np.uint8] | None:
        """What a profile says that its blocks are for."""
        if not (numbers >= 0).any():
            return None
        table = np.full(len(self.strings) + 1, NOT_GIVEN, np.uint8)
        for text, category in CATEGORIES.items():
            if text in self.texts:
                table[self.texts[text]] = category
        return table[numbers]

    def _annotations(self, given: tuple[int, int] | None) -> RawSlices:
        """Ranges that the program marked, as slices: START and END of one name and device belong together."""
        told = self.columns.value(*given) if given is not None else None
        waiting: dict[tuple[Any, Any], list[int]] = {}
        found: list[tuple[int, int, int, int]] = []
        lost = 0
        for one in told if isinstance(told, list) else ():
            if not isinstance(one, dict) or not isinstance(one.get("time_us"), int):
                continue
            name, device, time = str(one.get("name", "")), one.get("device"), one["time_us"]
            if not 0 < time < _FAR_US:
                continue
            device = device if isinstance(device, int) and abs(device) < 1 << 31 else 0
            if str(one.get("stage", "")).upper() == "START":
                waiting.setdefault((name, device), []).append(time)
            elif waiting.get((name, device)):
                begin = waiting[name, device].pop()
                found.append((begin * 1000, max(0, time - begin) * 1000, self._string(name), device))
            else:
                lost += 1
        lost += sum(map(len, waiting.values()))
        if lost:
            message = "annotations without their other end: left out"
            self.findings.append(Finding("annotation-without-end", "info", lost, message))
        table = np.array(found, np.int64).reshape(-1, 4)
        cat = np.full(len(found), self._string("user_annotation") if found else -1, np.int32)
        start, dur, name_of, tid = (np.ascontiguousarray(table[:, k]) for k in range(4))
        return RawSlices.filled(start, dur, name_of.astype(np.int32), cat, tid=tid)

    def _explain(self, devices: dict[str, Any]) -> None:
        """What the replay found, in words."""
        for key, code, severity, message in (
            ("unseen_frees", "memory-made-before", "info", "blocks are freed that were made before the recording"),
            ("never_seen", "memory-never-in-events", "info", "blocks held at the end are in no event: made before it"),
            ("ghosts", "memory-ghosts", "warning", "blocks are neither freed in the events nor there at the end: their "
             "frees were not recorded; they count until the last event"),
            ("contradictions", "memory-contradictions", "warning", "events contradict earlier ones (a block made where "
             "one is held, or freed twice): read by the order of the recorder"),
        ):  # fmt: skip
            count = sum(v for v in devices[key] if v != ABSENT)
            if count:
                self.findings.append(Finding(code, severity, int(count), message))  # type: ignore[arg-type]
        if len(devices["timed"]) and not any(devices["timed"]):
            message = "the snapshot has no times: its events are shown in their order, apart from the traces"
            self.findings.append(Finding("memory-without-times", "info", 1, message))


def _family(settings: Any, texts: list[str]) -> str:
    """How torch names the devices: told by the variable that sets their allocator, or by C++ frames inside of it.

    "cuda" otherwise, which is what ROCm's are called as well.
    """
    told = " ".join(map(str, settings)).lower() if isinstance(settings, dict) else ""
    for name in ("npu", "xpu", "mtia", "musa"):
        if f"_{name}_" in told or any(f"c10::{name}::" in text for text in texts):
            return name
    return "cuda"


def _holds_blocks(events: Events) -> bool:
    """Whether more blocks are made than freed: then a list of segments without any is none of this device."""
    freed = np.isin(events.action, (Action.FREE, Action.FREE_COMPLETED))
    return bool((events.action == Action.ALLOC).sum() > freed.sum())
