"""[memory] instants of profiler traces: totals as written, deltas that begin below zero, several devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.viewer.importers.texts import open_one, write_json
from viewer.base.allocator import BEFORE, NEVER
from viewer.base.ids import ABSENT


def memory(ts: float, size: Any, total: Any, addr: Any = 1, device: int = 0, kind: int = 1, **more: Any) -> Any:
    args = {"Bytes": size, "Total Allocated": total, "Total Reserved": 100 if kind else 0, "Addr": addr}
    args |= {"Device Id": device, "Device Type": kind}
    event = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts}
    return event | {"args": args} | more


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_totals_are_the_truth_and_unseen_frees_are_counted(tmp_path: Path, name: str) -> None:
    events = [
        memory(20, 8, 68, 2),
        memory(10, -40, 60, 1),
        memory(20, 5, 73, 3),
        memory(30, -5, 68, 3),
        memory(25, 7, 7, 9, device=-1, kind=0),
        memory(5, 50, 50, 4, device=1),
    ]
    trace = open_one(tmp_path, write_json(tmp_path / name, events, deviceProperties=[]))
    d, e, b = (trace.tables[k] for k in ("memory_devices", "allocator_events", "blocks"))
    assert d.name.to_pylist() == ["cuda:0", "cuda:1", "cpu"]
    assert e.time_ns.tolist() == [10_000, 20_000, 20_000, 30_000, 5_000, 25_000]
    assert e.allocated.tolist() == [60, 68, 73, 68, 50, 7]
    assert e.reserved.tolist() == [100, 100, 100, 100, 100, ABSENT]
    assert d.allocated_before.tolist() == [100, 0, 0]
    assert d.final_allocated.tolist() == [68, 50, 7]
    assert d.unseen_frees.tolist() == [1, 0, 0]
    rows = zip(b.size.tolist(), b.start_ns.tolist(), b.end_ns.tolist(), b.device.tolist(), strict=True)
    assert list(rows) == [
        (40, BEFORE, 10_000, 0),
        (8, 20_000, NEVER, 0),
        (5, 20_000, 30_000, 0),
        (50, 5_000, NEVER, 1),
        (7, 25_000, NEVER, 2),
    ]


def test_numbers_as_text_and_events_without_bytes(tmp_path: Path) -> None:
    events = [memory(1, "16", "16", "0xff"), memory(2, None, 3), memory(3, [1], 3), memory(4, 2, 18, 1 << 63)]
    trace = open_one(tmp_path, write_json(tmp_path / "t.json", events, deviceProperties=[]))
    e = trace.tables["allocator_events"]
    assert (e.size.tolist(), e.allocated.tolist()) == ([16, 2], [16, 18])
    assert e.address.tolist() == [255, -(1 << 63)]
    (found,) = [f for f in trace.meta.findings if f.code == "memory-unreadable"]
    assert found.count == 2
    one = [memory(1, [2], 3, 4)]
    assert not len(open_one(tmp_path, write_json(tmp_path / "u.json", one, deviceProperties=[])).tables["blocks"])


def test_traces_before_totals_were_written_have_blocks_and_no_level(tmp_path: Path) -> None:
    events = [memory(1, 16, None), memory(2, -16, None)]
    trace = open_one(tmp_path, write_json(tmp_path / "t.json", events, deviceProperties=[]))
    assert trace.tables["allocator_events"].allocated.tolist() == [ABSENT, ABSENT]
    assert trace.tables["memory_devices"].allocated_before.tolist() == [ABSENT]
    assert len(trace.tables["blocks"]) == 1
