"""Figures of real files against an independent computation, and of generated jobs against their known truth."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import brute
from viewer.exporters.report import report
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.rules import shipped_rules
from viewer.store.session import Session

Json = dict[str, Any]

FILES = """
kineto-multirank/hta_sampled_2rank/sampled_rank-0.json.gz
kineto-multirank/hta_sampled_2rank/sampled_rank-1.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_0.json
kineto-multirank/megatron_tp8_a100/megatron_kineto_1.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_2.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_3.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_4.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_5.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_6.json.gz
kineto-multirank/megatron_tp8_a100/megatron_kineto_7.json.gz
kineto-single/b200_eager.json.gz
kineto-single/h100_qwen1.5_0.5b.json.gz
kineto-single/hta_alexnet_critical.json.gz
kineto-single/hta_backward_thread.json
kineto-single/hta_cupti_profiler.json.gz
kineto-single/hta_mi250_minitoy_rocm62.json.gz
kineto-single/hta_mtia_rank0.json.gz
kineto-single/hta_nccl_data.json.gz
kineto-single/hta_ns_resolution_rank0.pt.trace.json.gz
kineto-single/hta_overlaid_critical_path.json.gz
kineto-single/hta_rank_non_gpu.json.gz
kineto-single/hta_trace_diff_control.json.gz
kineto-single/hta_triton_example.json.gz
kineto-single/kineto_docs_after_fix.json
kineto-single/kineto_docs_before_fix.json
kineto-single/sglang_decode_qwen3_8b.json.gz
kineto-single/torch_compile_triton.json.gz
kineto-single/vllm_piecewise_graph_exec.json.gz
kineto-single/xdit_sd35_rank0.json.gz
kineto-single/zoology_a100_trace.json
"""


def open_job(path: Path, home: Path) -> Session:
    result = JobOpener([path], cache=Cache(home)).open()
    assert result.failures == []
    return result.session


def class_of(cat: str, name: str, args: Json) -> str:
    return "comm" if args.get("Collective name") else shipped_rules().class_of(cat, name).paint.name.lower()


@pytest.mark.parametrize("name", FILES.split())
def test_a_real_file_as_the_brute_force(name: str, shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / name
    session = open_job(path, tmp_path)
    found = report(session)
    (rank,) = found["ranks"]
    events = brute.load(path)
    work = brute.gpu_events(events, class_of)
    want_devices = {d: brute.figures([w for w in work if w["device"] == d]) for d in {w["device"] for w in work}}
    keys = ("id", "name", "idle")
    assert {d["id"]: {k: v for k, v in d.items() if k not in keys} for d in rank["devices"]} == want_devices
    want_links = brute.links(events, work)
    assert {k: rank["links"][k] for k in want_links} == want_links
    columns = ("count", "sum_ns", "min_ns", "max_ns", "mean_ns")
    assert {(k["name"], k["class"]): {c: k[c] for c in columns} for k in found["kernels"]} == brute.kernels(work)
    want_steps = brute.steps(events, work)
    if want_steps is not None:
        steps = {s["index"]: s for s in rank["steps"]}
        assert set(steps) == set(want_steps)
        for number, want in want_steps.items():
            figures = steps[number]["device"] and {k: v for k, v in steps[number]["device"].items() if k not in keys}
            got = {"kernels": steps[number]["kernels"], "cpu_ns": steps[number]["cpu_ns"], "device": figures}
            assert got == want
    for device in rank["devices"]:
        start = min(w["start"] for w in work if w["device"] == device["id"])
        window = (start + device["span_ns"] // 3, start + device["span_ns"] // 2)
        if window[0] < window[1]:
            origin, clock = session.origin_ns(), session.inputs[0].clock
            relative = (clock.to_session(window[0]) - origin, clock.to_session(window[1]) - origin)
            cut = next(d for d in report(session, window=relative)["ranks"][0]["devices"] if d["id"] == device["id"])
            mine = [w for w in work if w["device"] == device["id"]]
            assert {k: v for k, v in cut.items() if k not in keys} == brute.figures(mine, window)


MakeJob = Callable[..., Path]


@pytest.fixture(scope="module")
def make_job(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> MakeJob:
    """Runs the generator of jobs with known truth; returns the folder."""

    def make(*options: str) -> Path:
        folder = tmp_path_factory.mktemp("job")
        tool = shared / "bench" / "make_trace.py"
        size = ("--ranks", "2", "--events-per-rank", "20000", "--jobs", "1")
        subprocess.run(
            [sys.executable, str(tool), *size, "--out", str(folder), *options], check=True, stdout=subprocess.DEVNULL
        )
        return folder

    return make


OF_FILE = {
    "compute_busy_ns": "compute_ns",
    "comm_busy_ns": "comm_ns",
    "comm_overlap_ns": "overlap_ns",
    "comm_exposed_ns": "comm_exposed_ns",
    "memory_busy_ns": "memory_ns",
    "gpu_busy_ns": "busy_ns",
    "gpu_idle_ns": "idle_ns",
    "gpu_span_ns": "span_ns",
}
BY_TIME = ("compute_busy_ns", "comm_busy_ns", "comm_exposed_ns", "memory_busy_ns", "gpu_busy_ns")
BY_LAUNCH = ("gpu_events", "busy_ns", "compute_ns", "comm_ns", "comm_exposed_ns", "memory_ns")


@pytest.mark.parametrize(
    "options",
    [
        ("--ts-base", "kineto"),
        ("--ts-base", "zero"),
        ("--ts-base", "epoch"),
        ("--drift-ppm", "20", "--end-noise-ns", "6000", "--drop-collectives", "5", "--drop-ranks", "1"),
        ("--fault", "sync-in-step", "--gzip"),
        ("--fault", "launch-bound"),
    ],
    ids=" ".join,
)
def test_a_generated_job_equals_its_truth(options: tuple[str, ...], make_job: MakeJob, tmp_path: Path) -> None:
    folder = make_job(*options)
    truth = json.loads((folder / "truth.json").read_text())
    session = open_job(folder, tmp_path)
    ranks = {r["rank"]: r for r in report(session)["ranks"]}
    origin = session.origin_ns()
    assert sorted(ranks) == [r["rank"] for r in truth["ranks"]]
    for want in truth["ranks"]:
        rank = ranks[want["rank"]]
        assert {ours: rank["device"][ours] for ours in OF_FILE.values()} == {o: want[t] for t, o in OF_FILE.items()}
        assert rank["device"]["gpu_events"] == want["compute_kernels"] + want["comm_kernels"] + want["memory_ops"]
        assert rank["outside_steps"]["kernels"] == want["launched_outside_steps"]
        steps = {s["index"]: s for s in rank["steps"]}
        assert sorted(steps) == [s["step"] for s in want["steps"]]
        (item,) = [i for i in session.inputs if i.rank == want["rank"]]
        for mark in want["steps"]:
            step, launched = steps[mark["step"]], mark["by_launch"]
            assert (step["start_ns"], step["cpu_ns"]) == (mark["start_ns"], mark["end_ns"] - mark["start_ns"])
            assert step["kernels"] == launched["kernels"]
            assert {k: step["device"][k] for k in BY_LAUNCH} == {k: launched[k] for k in BY_LAUNCH}
            assert step["device"]["span_ns"] == launched["last_ns"] - launched["first_ns"]
            window = tuple(item.clock.to_session(mark[key]) - origin for key in ("start_ns", "end_ns"))
            cut = next(r for r in report(session, window=window)["ranks"] if r["rank"] == want["rank"])
            assert {k: cut["device"][OF_FILE[k]] for k in BY_TIME} == {k: mark[k] for k in BY_TIME}
