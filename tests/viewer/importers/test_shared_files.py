"""Every real Kineto file, event by event, against Python's own json with exact decimals."""

from __future__ import annotations

import collections
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.viewer.importers.texts import exact_ns, loads_exactly, open_job, open_one
from viewer.base.ids import ABSENT, TEXT_ID
from viewer.importers.columns import build
from viewer.importers.event_scan import EventScan
from viewer.importers.source import open_text
from viewer.importers.window import TextWindow
from viewer.store.rules import shipped_rules

SINGLE = (
    "b200_eager.json.gz", "h100_qwen1.5_0.5b.json.gz", "hta_alexnet_critical.json.gz", "hta_backward_thread.json",
    "hta_cupti_profiler.json.gz", "hta_mi250_minitoy_rocm62.json.gz", "hta_nccl_data.json.gz",
    "hta_ns_resolution_rank0.pt.trace.json.gz", "hta_overlaid_critical_path.json.gz", "hta_rank_non_gpu.json.gz",
    "hta_trace_diff_control.json.gz", "hta_triton_example.json.gz", "kineto_docs_after_fix.json",
    "kineto_docs_before_fix.json", "sglang_decode_qwen3_8b.json.gz", "torch_compile_triton.json.gz",
    "vllm_piecewise_graph_exec.json.gz", "zoology_a100_trace.json", "hta_mtia_rank0.json.gz", "xdit_sd35_rank0.json.gz",
)  # fmt: skip
MULTI = (
    "megatron_tp8_a100/megatron_kineto_0.json",
    "megatron_tp8_a100/megatron_kineto_5.json.gz",
    "hta_sampled_2rank/sampled_rank-0.json.gz",
    "hta_sampled_2rank/sampled_rank-1.json.gz",
)


def id_text(value: int, strings: list[str]) -> str:
    return "" if value == ABSENT else strings[value & ~TEXT_ID] if value >= TEXT_ID else str(value)


@pytest.mark.parametrize("name", [f"kineto-single/{n}" for n in SINGLE] + [f"kineto-multirank/{n}" for n in MULTI])
def test_all_events_equal_json(shared: Path, name: str) -> None:
    path = shared / "data" / name
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    events: list[dict[str, Any]] = loads_exactly(text)["traceEvents"]
    stream, _ = open_text(path)
    try:
        scanned = EventScan(TextWindow(stream, 1 << 20)).run()
    finally:
        stream.close()
    built = build(scanned, shipped_rules())
    assert scanned.complete
    assert scanned.ledger.read == scanned.ledger.kept == len(events)
    raw = built.raw
    by_phase = collections.Counter(e["ph"] for e in events)
    assert len(raw.slices.start_ns) == by_phase["X"]
    assert (0 if raw.flows is None else len(raw.flows.time_ns)) == sum(by_phase[p] for p in "stf")
    assert (0 if raw.marks is None else len(raw.marks.time_ns)) == sum(by_phase[p] for p in "iIR")
    complete = [e for e in events if e["ph"] == "X"]
    s = raw.slices
    np.testing.assert_array_equal(s.start_ns, [exact_ns(e["ts"]) for e in complete])
    np.testing.assert_array_equal(s.dur_ns, [max(0, exact_ns(e["dur"])) for e in complete])
    assert [raw.strings[n] for n in s.name] == [e["name"] for e in complete]
    assert [raw.strings[n] if n >= 0 else None for n in s.cat] == [e.get("cat") for e in complete]
    assert [id_text(int(v), raw.strings) for v in s.pid] == [str(e.get("pid", "")) for e in complete]
    assert [id_text(int(v), raw.strings) for v in s.tid] == [str(e.get("tid", "")) for e in complete]
    for column, keys in ((s.corr, ("correlation",)), (s.ext, ("External id", "external id")), (s.stream, ("stream",))):
        wanted = [next((str(a[k]) for k in keys if k in a), "") for a in (e.get("args") or {} for e in complete)]
        wanted = [str(int(w, 16)) if w.startswith("0x") else w for w in wanted]
        assert [id_text(int(v), raw.strings) for v in column] == wanted
    for i in range(0, len(complete), max(1, len(complete) // 50)):
        begin = int(s.args_off[i])
        got = text[begin : begin + int(s.args_len[i])] if begin != ABSENT else b"null"
        assert loads_exactly(got) == complete[i].get("args")


def test_args_of_a_compressed_file_come_from_its_blocks(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/kineto-single/hta_alexnet_critical.json.gz"
    events = loads_exactly(gzip.decompress(path.read_bytes()))["traceEvents"]
    trace = open_one(tmp_path, path)
    wanted = {(e["name"], exact_ns(e["ts"]), exact_ns(e["dur"])): e.get("args", {}) for e in events if e["ph"] == "X"}
    for i in range(len(trace)):
        key = (trace.name(i), int(trace.slices.start_ns[i]), int(trace.slices.dur_ns[i]))
        assert trace.args(i).keys() == wanted[key].keys()
    assert trace.args_problem == ""


def test_all_ranks_of_a_job(shared: Path, tmp_path: Path) -> None:
    result = open_job(tmp_path, shared / "data/kineto-multirank/megatron_tp8_a100")
    assert [i.rank for i in result.session.inputs] == list(range(8))
    assert {i.rank_source for i in result.session.inputs} == {"distributedInfo"}
    assert len(result.session.groups) == 8


def test_submicro(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "cases/05-submicro.json")
    durations = sorted(trace.slices.dur_ns.tolist())
    assert durations == [1, 192, 200, 300, 502]
    assert trace.meta.gpu_first_ns is not None
    assert trace.meta.gpu_last_ns is not None
    assert trace.meta.gpu_last_ns - trace.meta.gpu_first_ns == 3684


def test_amd(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "cases/13-amd-corr0.json")
    streams = [lane.stream for lane in trace.lanes if lane.kind == 0]
    on_zero = sum(trace.lane_of(i).stream == 0 and trace.lane_of(i).kind == 0 for i in range(len(trace)))
    assert 0 in streams
    assert on_zero == 2


def test_ranks(shared: Path, tmp_path: Path) -> None:
    result = open_job(tmp_path, shared / "cases/15-ranks")
    assert {i.path.name: (i.rank, i.rank_source) for i in result.session.inputs} == {
        "rank_2.json": (2, "file name"),
        "node-a_77.1690000000001.pt.trace.json": (3, "distributedInfo"),
        "second-copy.json": (3, "distributedInfo"),
        "node-b_4242.1690000000003.pt.trace.json": (None, "unknown"),
    }
    (conflict,) = [f for f in result.session.findings if f.code == "rank-conflict"]
    assert "node-a_77.1690000000001.pt.trace.json" in conflict.message
    assert "second-copy.json" in conflict.message


def test_inf_and_nan(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "cases/18-inf-nan.json")
    names = [trace.name(i) for i in range(len(trace))]
    assert sorted(names) == ["Memcpy HtoD (Pageable -> Device)", "elementwise_a", "elementwise_b"]
    args = trace.args(names.index("elementwise_b"))
    assert args["note"] == "inf, nan and Infinity inside text stay text"
    assert args["x"] is None
    assert trace.args(names.index("Memcpy HtoD (Pageable -> Device)"))["bytes"] == 200


def test_gzip_members(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "cases/21-multimember.json.gz")
    assert len(trace) == 6
    assert trace.meta.complete


def test_base_times(shared: Path, tmp_path: Path) -> None:
    result = open_job(tmp_path, shared / "cases/32-base-time")
    starts = {
        i.rank: sorted(i.clock.to_session(int(t)) for t in i.trace.slices.start_ns) for i in result.session.inputs
    }
    assert starts == {
        0: [1700000000001000000, 1700000000001400000],
        1: [1700000000001150000, 1700000000001400000],
    }


def test_odd_chrome_files_open(shared: Path, tmp_path: Path) -> None:
    counts = {}
    for path in sorted((shared / "data/chrome-odd").glob("speedscope_*.json")):
        counts[path.stem.removeprefix("speedscope_")] = len(open_one(tmp_path, path))
    assert counts == {
        "bex-interaction": 12,
        "event-reordering-name-match": 3,
        "mismatched-name": 1,
        "multiprocess": 8,
        "not-enough-end-events": 1,
        "out-of-order-unbalanced-name": 2,
        "simple-object": 2,
        "simple-partial": 3,
        "simple-partial-whitespace": 3,
        "x-events-matching-end": 9,
    }
