"""What adds up adds up to the nanosecond, in the report of every sample trace with GPU work and of a job in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.planted import CLEAN
from viewer.app.clocks import settle_clocks
from viewer.exporters.report import report
from viewer.importers.opening import JobOpener
from viewer.store.cache import default_cache

CLASSES = ("compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns")
COMM = ("wait_ns", "volume_ns", "rate_ns", "unhidden_ns", "not_separable_ns")
"""Parts of the exposed time; null where nothing tells that part from the others. Waiting of receives is in it too."""
SAMPLES = (
    *("b200_eager", "h100_qwen1.5_0.5b", "hta_alexnet_critical", "hta_backward_thread", "hta_mi250_minitoy_rocm62"),
    *("hta_nccl_data", "hta_ns_resolution_rank0.pt.trace", "hta_overlaid_critical_path", "hta_trace_diff_control"),
    *("hta_triton_example", "kineto_docs_after_fix", "sglang_decode_qwen3_8b", "torch_compile_triton"),
    *("vllm_piecewise_graph_exec", "xdit_sd35_rank0", "megatron_tp8_a100", "hta_sampled_2rank"),
)


def adds_up(told: dict[str, Any]) -> int:
    """Assert the identities of a report; the number of devices that were looked at."""
    devices = 0
    for rank in told["ranks"]:
        for device in rank["devices"]:
            devices += 1
            assert sum(device[k] for k in CLASSES) == device["span_ns"]
            idle = device["idle"]
            parts = ("host_ns", "launch_ns", "dependency_ns", "unknown_ns")
            assert sum(idle[k] for k in parts) == device["idle_ns"]
            for whole in ("host", "launch", "dependency"):
                assert sum(idle[f"{whole}_causes"].values()) == idle[f"{whole}_ns"]
        for step in rank["steps"]:
            for figures in [step["device"]] if step["device"] else []:
                assert sum(figures[k] for k in CLASSES) == figures["span_ns"]
        _communication(rank["communication"])
    _communication(told["communication"])
    if told["communication"] is not None:
        for key in ("exposed_ns", *COMM):
            assert (told["communication"][key] or 0) == sum(r["communication"][key] or 0 for r in told["ranks"])
    fall = told["fingerprint"]["training"]["waterfall"]
    if fall is not None:
        model = fall["model"]["ns"] if fall["model"] is not None else 0
        assert sum(x["ns"] for x in fall["losses"]) + model == fall["total_ns"]
    return devices


def _communication(told: dict[str, Any] | None) -> None:
    if told is not None and told["exposed_ns"] is not None:
        assert sum(told[k] or 0 for k in COMM) == told["exposed_ns"]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_adds_up(shared: Path, name: str) -> None:
    (path,) = (shared / "data").glob(f"kineto-*/{name}*")
    opened = JobOpener([path], cache=default_cache()).open()
    assert adds_up(report(settle_clocks(opened.session, "auto"))) > 0


@pytest.mark.parametrize("name", ["ranks", "pipeline", "gradients", "two ranks of a pipeline", "serving engine"])
def test_jobs_in_memory_add_up(name: str, tmp_path: Path) -> None:
    assert adds_up(report(CLEAN[name](tmp_path))) > 0
