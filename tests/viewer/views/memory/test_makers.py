"""From a block of a snapshot to the operator that made it, in the trace of the same rank, and to its kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator
from tests.viewer.importers.texts import open_job, write_json
from viewer.base.allocator import BEFORE
from viewer.store.session import Input, Session
from viewer.views.memory.blocks import block_section, maker_of


def slice_of(name: str, ts: float, dur: float, cat: str = "cpu_op", tid: int = 1, **args: Any) -> dict[str, Any]:
    pid = 0 if cat == "kernel" else 100
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


@pytest.fixture
def blocks() -> FakeAllocator:
    a = FakeAllocator()
    a.alloc(MIB, "before")
    for name in ("linear", "relu", "between"):
        a.wait(100)
        a.alloc(2 * MIB, name)
    return a


def opened(tmp_path: Path, a: FakeAllocator, events: list[dict[str, Any]], base_us: int) -> tuple[Session, Input]:
    """The trace counts from ``base_us`` on; the snapshot has times since 1970 and begins after the first block."""
    facts = {"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": base_us * 1000}
    trace = write_json(tmp_path / "trace.json", events, deviceProperties=[], **facts)
    snapshot = tmp_path / "rank0.pickle"
    snapshot.write_bytes(a.pickled(since=2))
    session = open_job(tmp_path, trace, snapshot).session
    assert len(session.groups) == 1
    return session, next(i for i in session.inputs if i.path == snapshot)


def test_a_block_leads_to_the_operator_at_its_instant_and_to_its_kernels(tmp_path: Path, blocks: FakeAllocator) -> None:
    made = [e["time_us"] for e in blocks.events if e["action"] == "alloc"]
    base = made[0] - 50
    linear, relu = made[1] - base, made[2] - base
    events = [
        slice_of("ProfilerStep#1", 0, 400, "user_annotation"),
        slice_of("aten::linear", linear - 5, 30),
        slice_of("aten::empty", linear - 2, 4),
        slice_of("cudaLaunchKernel", linear + 10, 3, "cuda_runtime", correlation=7),
        slice_of("gemm", linear + 60, 20, "kernel", tid=7, correlation=7, device=0, stream=7),
        slice_of("aten::relu", relu - 5, 30),
        slice_of("aten::other", relu - 3, 30, tid=2),  # another thread at that instant
    ]
    session, item = opened(tmp_path, blocks, events, base)
    b = item.trace.tables["blocks"]
    order = np.argsort(b.start_ns, kind="stable").tolist()
    before, first, second, third = order
    assert b.start_ns[before] == BEFORE
    assert maker_of(session, item, before).how == "it was made before the recording"
    found = maker_of(session, item, first)
    assert found.operator is not None
    assert found.kernel is not None
    other = session.inputs[found.operator.input].trace
    assert other.name(found.operator.index) == "aten::empty"
    assert found.how.startswith("the only operator that a thread")
    assert found.how.endswith("its kernels are those of aten::linear around it")
    assert maker_of(session, item, second).operator is None
    assert "2 threads" in maker_of(session, item, second).how
    assert "no thread" in maker_of(session, item, third).how
    section = block_section(session, item, first)
    assert [target for _, target in section.actions] == [found.operator, found.kernel]
    assert found.kernels == 1
    assert other.name(found.kernel.index) == "gemm"


def test_without_a_trace_of_the_rank_nothing_is_guessed(tmp_path: Path, blocks: FakeAllocator) -> None:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(blocks.pickled())
    session = open_job(tmp_path, path).session
    found = maker_of(session, session.inputs[0], 1)
    assert (found.operator, found.kernel) == (None, None)
    assert block_section(session, session.inputs[0], 1).actions == ()
