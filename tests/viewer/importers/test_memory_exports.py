"""Memory timelines, pages of the viewer that PyTorch ships, and summaries: figures against a plain reading."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

from tests.support.memory import MIB, FakeAllocator
from tests.viewer.importers.texts import open_one, problem
from viewer.analyses.memory.figures import memory_figures, source_of
from viewer.analyses.memory.parts import categories_at_peak
from viewer.base.ids import ABSENT
from viewer.importers.registry import importer_of
from viewer.store.session import Opened, build_session

T = 1_700_000_000_000_000_000
ROWS = [
    [-1, 1, 500, 0], [-1, 1, 40, 7],
    [T + 10, 2, 100, 4], [T + 20, 2, 300, 5], [T + 30, 3, -40, 7], [T + 30, 3, 40, 1], [T + 40, 4, -100, 4],
    [T + 50, 4, -300, 5],
]  # fmt: skip


def test_raw_rows_are_levels_and_categories(tmp_path: Path) -> None:
    path = tmp_path / "rank_1.raw.json.gz"
    path.write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    assert importer_of(path)[0].name == "memory-timeline"
    trace = open_one(tmp_path, path)
    (f,) = memory_figures(trace)
    assert (source_of(trace), trace.meta.rank) == ("memory timeline", 1)
    assert trace.tables["allocator_events"].allocated.tolist() == [640, 940, 940, 940, 840, 540]
    assert (f.allocated_before, f.peak_allocated, f.min_allocated, f.final_allocated) == (540, 940, 540, 540)
    assert (f.peak_at_ns, f.peak_reserved, f.peak_live, f.frees_of_unseen_blocks) == (T + 20, None, None, None)
    session = build_session([Opened(path, trace)])
    parts = categories_at_peak(session, session.inputs[0], 0)
    assert parts is not None
    assert {k: v for k, v in parts.items() if v} == {
        "weights": 500, "activations": 100, "gradients": 300, "unknown": 40
    }  # fmt: skip


def test_levels_in_microseconds(tmp_path: Path) -> None:
    us = T // 1000
    sizes = [[0, 500, 0, 0, 0, 0, 0, 0, 40], [0, 500, 0, 0, 5, 100, 0, 6, 40], [0, 500, 40, 0, 0, 0, 300, 0, 0]]
    path = tmp_path / "t.json"
    path.write_text(json.dumps([[us, us + 7, us + 9], sizes]))
    assert importer_of(path)[0].name == "memory-timeline"
    trace = open_one(tmp_path, path)
    (f,) = memory_figures(trace)
    assert (f.allocated_before, f.peak_allocated, f.peak_at_ns, f.final_allocated) == (540, 840, T + 9000, 840)
    session = build_session([Opened(path, trace)])
    parts = categories_at_peak(session, session.inputs[0], 0) or {}
    assert {k: v for k, v in parts.items() if v} == {"weights": 500, "optimizer": 40, "gradients": 300}
    levels = trace.tables["category_levels"]
    temporary = levels.value[levels.category == 4].tolist()
    assert temporary == [0, 11, 0]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([[T // 1000, T // 1000 + 1], [[0] * 9]]),
        json.dumps([[T // 1000], [[0] * 5]]),
        json.dumps(ROWS)[:-20],
        json.dumps([*ROWS, [1, 2, "x", 3]]),
        json.dumps([*ROWS, [1, 9, 5, 3]]),
        json.dumps([*ROWS, [1, 2, 1 << 60, 3]]),
    ],
)
def test_a_timeline_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    error = problem(tmp_path, path)
    assert "memory timeline" in error.problem
    assert error.next_step


def test_the_sample_agrees_with_a_plain_sum(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "memory" / "hta_memory_timeline.raw.json.gz"
    trace = open_one(tmp_path, path)
    (f,) = memory_figures(trace)
    level, peak = 0, 0
    for _, action, size, _ in json.loads(gzip.decompress(path.read_bytes())):
        level += size if action != 3 else 0
        peak = max(peak, level)
    assert (f.peak_allocated, f.final_allocated) == (peak, level)


def page(data: bytes) -> str:
    held = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data + b"\0\0").decode()}])
    script = 'import {add_local_files} from "x/MemoryViz.js"'
    text = f'<script type="module">{script}\nconst local_files = {held}</script>'
    return f"<!DOCTYPE html>\n<html><body>{text}</body></html>"


def test_a_page_of_the_viewer_holds_its_snapshot(tmp_path: Path) -> None:
    a = FakeAllocator()
    a.alloc(3 * MIB, "x")
    path = tmp_path / "rank3.html"
    path.write_text(page(a.pickled()))
    trace = open_one(tmp_path, path)
    (f,) = memory_figures(trace)
    assert (trace.meta.format, trace.meta.rank, f.final_allocated) == ("torch-snapshot", 3, 3 * MIB)


def test_pages_without_numbers_are_refused(tmp_path: Path) -> None:
    picture = tmp_path / "picture.html"
    picture.write_text(
        '<html>\n<head><title>GPU Memory Timeline HTML</title></head><img src="data:image/png;base64,AA==">'
    )
    assert "as a picture" in problem(tmp_path, picture).problem
    assert ".raw.json.gz" in problem(tmp_path, picture).next_step
    for number, text in enumerate(
        (page(b"").replace("base64", "b"), page(b"x").replace('"base64": "', '"base64": "A'))
    ):
        path = tmp_path / f"{number}.html"
        path.write_text(text)
        assert "snapshot" in problem(tmp_path, path).problem
    evil = tmp_path / "evil.html"
    evil.write_text(page(b"\x80\x02cos\nsystem\n."))
    assert "asks to run code (os.system)" in problem(tmp_path, evil).problem


SUMMARY = """\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 2                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |   1024 KiB |   9000 KiB |   9999 KiB |   8975 KiB |
|       from large pool |   1000 KiB |   8000 KiB |   9000 KiB |   8000 KiB |
|---------------------------------------------------------------------------|
| Active memory         |   1536 KiB |   9000 KiB |   9999 KiB |   8463 KiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |     20 MiB |     40 MiB |     60 MiB |     40 MiB |
|---------------------------------------------------------------------------|
| Allocations           |      12    |      20    |      30    |      18    |
|===========================================================================|
"""


def test_a_summary_states_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "summary.txt"
    path.write_text("step 10\n" + SUMMARY)
    assert importer_of(path)[0].name == "memory-summary"
    trace = open_one(tmp_path, path)
    (f,) = memory_figures(trace)
    assert (source_of(trace), f.device, f.events, f.ooms) == ("memory summary", "cuda:2", 0, 1)
    assert (f.final_allocated, f.peak_allocated, f.pending_free) == (MIB, 9000 * 1024, 512 * 1024)
    assert (f.final_reserved, f.peak_reserved) == (20 * MIB, 40 * MIB)
    assert f.inactive == 20 * MIB - 1536 * 1024
    assert (f.peak_at_ns, f.min_allocated, f.unused_reserve_at_peak, f.pools) == (None,) * 4
    codes = {x.code: x.count for x in trace.meta.findings}
    assert codes["alloc-retries"] == 3
    assert "rounded-bytes" in codes
    assert trace.tables["memory_devices"].allocated_before[0] == ABSENT


def test_a_summary_without_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "summary.txt"
    path.write_text(SUMMARY.splitlines()[1])
    assert "cannot be read" in problem(tmp_path, path).problem
