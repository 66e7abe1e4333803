"""Memory of a real run of PyTorch on the CPU, against what PyTorch says of it and against plain replays.

Needs an interpreter with PyTorch: this one, or the one that RANKSCOPE_TORCH_PYTHON names.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.viewer.importers.texts import open_job, open_one, problem
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.memory.categories import held_rows
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.parts import categories_at_peak
from viewer.base.allocator import NEVER
from viewer.views.memory.blocks import maker_of, maker_text

SCRIPT = Path(__file__).parents[2] / "support" / "torch_memory.py"


class Real(NamedTuple):
    folder: Path
    truth: dict[str, Any]
    events: list[dict[str, Any]]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    python = os.environ.get("RANKSCOPE_TORCH_PYTHON", "")
    if not python:
        if importlib.util.find_spec("torch") is None:
            pytest.skip("torch is not installed, and RANKSCOPE_TORCH_PYTHON names no interpreter that has it")
        python = sys.executable
    folder = tmp_path_factory.mktemp("torch")
    run = subprocess.run([python, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    marks = json.loads((folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    events = sorted((e for e in marks if e.get("name") == "[memory]"), key=lambda e: float(e["ts"]))
    return Real(folder, json.loads((folder / "truth.json").read_text()), [e["args"] for e in events])


def test_levels_and_blocks_are_those_of_a_plain_replay(tmp_path: Path, real: Real) -> None:
    trace = open_one(tmp_path, real.folder / "trace.json")
    e, d, b = (trace.tables[k] for k in ("allocator_events", "memory_devices", "blocks"))
    assert d.name.to_pylist() == ["cpu"]
    assert e.allocated.tolist() == [a["Total Allocated"] for a in real.events]
    held: dict[int, int] = {}
    unseen = 0
    for args in real.events:
        if args["Bytes"] > 0:
            held[args["Addr"]] = args["Bytes"]
        elif held.pop(args["Addr"], None) is None:
            unseen += 1
    (f,) = memory_figures(trace)
    first = real.events[0]["Total Allocated"] - real.events[0]["Bytes"]
    levels = [first, *(a["Total Allocated"] for a in real.events)]
    assert (f.peak_allocated, f.min_allocated, f.final_allocated) == (max(levels), min(levels), levels[-1])
    assert (f.allocated_before, f.frees_of_unseen_blocks, f.peak_reserved) == (first, unseen, None)
    rows = held_rows(trace, 0, len(e) - 1)
    assert dict(zip(b.address[rows].tolist(), b.size[rows].tolist(), strict=True)) == held
    # What the profiler's own table of averages adds up to is what the run has more at its end than before.
    assert levels[-1] - first == real.truth["self_cpu_memory_usage"]


def test_categories_are_what_the_program_knows(tmp_path: Path, real: Real) -> None:
    session = open_job(tmp_path, real.folder / "trace.json").session
    parts = categories_at_peak(session, session.inputs[0], 0)
    assert parts is not None
    assert sum(parts.values()) == memory_figures(session.inputs[0].trace)[0].peak_allocated
    assert min(parts.values()) >= 0
    assert parts["gradients"] == real.truth["parameters"]


def test_what_the_program_keeps_is_found_with_its_size_and_its_operator(tmp_path: Path, real: Real) -> None:
    session = open_job(tmp_path, real.folder / "trace.json").session
    (leak,) = (f for f in job_findings(session) if f.kind == "memory-leak")
    assert "memory grows by 1 MiB per step" in leak.title
    assert "keep_for_later" in leak.title
    item = session.inputs[0]
    b = item.trace.tables["blocks"]
    held = np.flatnonzero((b.size == real.truth["kept"]) & (b.end_ns == NEVER)).tolist()
    kept = [k for k in held if "keep_for_later" in maker_text(item.trace, k)]
    assert len(kept) == real.truth["steps"]
    maker = maker_of(session, item, kept[0])
    assert maker.operator is not None
    assert item.trace.name(maker.operator.index) == "aten::empty"


def test_memory_timelines_tell_the_same_levels(tmp_path: Path, real: Real) -> None:
    trace = open_one(tmp_path, real.folder / "trace.json")
    (of_trace,) = memory_figures(trace)
    rows = json.loads(gzip.decompress((real.folder / "timeline.raw.json.gz").read_bytes()))
    before = sum(size for when, _, size, _ in rows if when == -1)
    assert of_trace.peak_allocated is not None
    for name in ("timeline.json", "timeline.raw.json.gz"):
        session = open_job(tmp_path, real.folder / name).session
        (f,) = memory_figures(session.inputs[0].trace)
        # The profiler counts from 0 on, a timeline knows what was there before.
        assert f.allocated_before == before
        assert f.peak_allocated == before + of_trace.peak_allocated
        assert f.final_allocated == before + real.truth["self_cpu_memory_usage"]
        parts = categories_at_peak(session, session.inputs[0], 0) or {}
        assert sum(parts.values()) == f.peak_allocated
        assert (parts["weights"], parts["optimizer"]) == (real.truth["parameters"], real.truth["optimizer"])


def test_a_snapshot_of_the_profile_tells_the_same(tmp_path: Path, real: Real) -> None:
    """What torch.cuda._memory_viz makes of a profile for its viewer: tensors only, without times."""
    session = open_job(tmp_path, real.folder / "profile.pickle").session
    (f,) = memory_figures(session.inputs[0].trace)
    assert (f.device, f.timed, f.peak_reserved) == ("cpu", False, None)
    parts = categories_at_peak(session, session.inputs[0], 0) or {}
    assert sum(parts.values()) == f.peak_allocated
    assert parts["gradients"] >= real.truth["parameters"]
    assert "main" in session.inputs[0].trace.strings.to_pylist()


def test_a_timeline_that_was_drawn_is_refused_with_what_to_do(tmp_path: Path, real: Real) -> None:
    page = real.folder / "timeline.html"
    if not page.exists():
        pytest.skip("PyTorch draws it with matplotlib, which its interpreter lacks")
    error = problem(tmp_path, page)
    assert "picture" in error.problem
    assert ".raw.json.gz" in error.next_step
