"""Columns for formats whose records are decoded one by one: slices are added, or rejected with a reason."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Final

import msgspec
import numpy as np

from viewer.base.findings import Finding, Ledger
from viewer.base.ids import ABSENT
from viewer.store.raw import RawSlices, RawTrace

_WIDE: Final = ("start_ns", "dur_ns", "pid", "tid", "corr", "device", "stream", "args_off")
_NARROW: Final = ("name", "cat", "args_len")
_SINK: Final = 1 << 20
_REJECTED: Final = {
    "unreadable": "records that are not what their array should hold",
    "no-time": "records without a start and an end (samples)",
    "time-out-of-range": "records whose time is beyond 146 years",
    "untimed": "GPU work without a time (start and end 0)",
}


class RecordColumns:
    """Raw columns that grow by single slices; ``ledger.read`` is the caller's to count."""

    def __init__(self, args_sink: Callable[[memoryview], None]) -> None:
        self.ledger = Ledger()
        self.process_names: dict[int, str] = {}
        self._sink = args_sink
        self._strings: dict[str, int] = {}
        self._wide = {name: array("q") for name in _WIDE}
        self._narrow = {name: array("i") for name in _NARROW}
        self._pending = bytearray()
        self._sunk = 0
        self._negative = 0

    def add(
        self,
        name: str,
        cat: str,
        start_ns: int,
        end_ns: int,
        *,
        pid: int,
        tid: int,
        corr: int = 0,
        device: int | None = None,
        stream: int | None = None,
        args: dict[str, Any],
    ) -> None:
        """Keep one slice; an end before the start makes it 0 long, and a finding."""
        self.ledger.kept += 1
        self._negative += end_ns < start_ns
        text = msgspec.json.encode(args) if args else b""
        wide, narrow = self._wide, self._narrow
        wide["start_ns"].append(start_ns)
        wide["dur_ns"].append(max(0, end_ns - start_ns))
        for column, value in (("pid", pid), ("tid", tid), ("corr", corr), ("device", device), ("stream", stream)):
            wide[column].append(ABSENT if value is None or not abs(value) < 1 << 62 else value)
        wide["args_off"].append(self._sunk + len(self._pending) if text else ABSENT)
        narrow["args_len"].append(len(text))
        narrow["name"].append(self._strings.setdefault(name, len(self._strings)))
        narrow["cat"].append(self._strings.setdefault(cat, len(self._strings)))
        self._pending += text
        if len(self._pending) >= _SINK:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._sink(memoryview(bytes(self._pending)))
            self._sunk += len(self._pending)
            self._pending.clear()

    def reject(self, reason: str) -> None:
        """Count a record that makes no slice."""
        count, _ = self.ledger.reasons.get(reason, (0, -1))
        self.ledger.reasons[reason] = (count + 1, -1)
        self.ledger.rejected += 1

    def findings(self) -> list[Finding]:
        """The rejections in words."""
        found = [
            Finding(reason, "warning", self.ledger.reasons[reason][0], f"{text}: rejected")
            for reason, text in _REJECTED.items()
            if reason in self.ledger.reasons
        ]
        if self._negative:
            message = "records that end before they begin: taken as 0 long"
            found.append(Finding("negative-duration", "warning", self._negative, message))
        return found

    def raw(self) -> RawTrace:
        """The columns, in the order in which slices were added."""
        self._flush()
        wide = {name: np.array(values, np.int64) for name, values in self._wide.items()}
        narrow = {name: np.array(values, np.int32) for name, values in self._narrow.items()}
        slices = RawSlices.filled(
            wide.pop("start_ns"), wide.pop("dur_ns"), narrow.pop("name"), narrow.pop("cat"), **wide, **narrow
        )
        return RawTrace(list(self._strings), slices, process_names=self.process_names)
