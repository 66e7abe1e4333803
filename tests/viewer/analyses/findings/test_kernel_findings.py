"""Planted: products in fp32, recomputation, contention, uneven runs; and what must not be found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op, python
from viewer.analyses.contention import beside_communication, contention
from viewer.analyses.findings import contention as contention_found
from viewer.analyses.findings import fp32_matmul, recompute, uneven_runs
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.recompute import recomputed
from viewer.app.clocks import settle_clocks
from viewer.base.selection import SliceRef
from viewer.base.work import CancelToken
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.meta import DeviceInfo
from viewer.store.session import Session

STEP = 10_000_000
WIDE = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_kernel"
TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x8_kernel"
NARROW = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn"
H100 = [DeviceInfo(0, "NVIDIA H100 80GB HBM3", {"computeMajor": 9, "numSms": 132})]


class Made:
    """Events of steps: each call of :meth:`run` is an operator with one kernel."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.corr = 0

    def step(self, number: int) -> None:
        self.events.append(annotation(f"ProfilerStep#{number}", number * STEP, STEP))

    def run(self, at: int, name: str, dur: int, kind: str = "float", **more: Any) -> None:
        self.corr += 1
        args = {"Input Dims": [[1024, 512], [512, 256]], "Input type": [kind, kind]}
        self.events.append(op("aten::mm", at, 1000, args={} if more.pop("bare", False) else args))
        self.events.append(call("cudaLaunchKernel", at + 100, 100, corr=self.corr))
        grid = {"grid": [8, 1, 1], "block": [128, 1, 1]}
        self.events.append(kernel(name, at + 2000 + more.pop("late", 0), dur, corr=self.corr, args=grid, **more))

    def session(self, **meta: Any) -> Session:
        return make_session(make_trace(*self.events, devices=H100, **meta))


def found(module: Any, session: Session) -> list[JobFinding]:
    return list(module.find(session, CancelToken()))


def a_job(fill: Callable[[Made, int], None], steps: int = 4) -> Session:
    made = Made()
    for number in range(steps):
        made.step(number)
        fill(made, number * STEP)
    return made.session()


def test_products_in_fp32_cost_what_the_same_takes_in_16_bits_less() -> None:
    def fill(made: Made, at: int) -> None:
        for n in range(10):
            wide = n < 3
            made.run(at + n * 900_000, WIDE if wide else NARROW, 800_000 if wide else 200_000, "float" if wide else BF)

    (one,) = found(fp32_matmul, a_job(fill))
    assert one.kind == "fp32-matmul"
    assert one.saving_ns_per_step == 3 * 600_000
    assert "1.8 ms per step" in one.title
    assert isinstance(one.evidence[0].target, SliceRef)
    assert "12 runs" in one.evidence[0].text


BF = "c10::BFloat16"


@pytest.mark.parametrize(
    ("name", "kind"), [(TF32, "float"), (NARROW, BF), ("nvjet_sss_128", "float"), (WIDE, "double")]
)
def test_other_products_are_no_fp32(name: str, kind: str) -> None:
    assert found(fp32_matmul, a_job(lambda made, at: made.run(at, name, 5_000_000, kind))) == []


def test_without_16_bit_products_the_peaks_tell() -> None:
    (one,) = found(fp32_matmul, a_job(lambda made, at: made.run(at, WIDE, 5_000_000)))
    # H100 SXM: 989.4 TFLOP/s in 16 bits against 66.9 in fp32 on the scalar units
    assert one.saving_ns_per_step == pytest.approx(5_000_000 * (1 - 66.9 / 989.4), rel=0.01)


def test_a_device_without_matrix_units_has_no_such_finding() -> None:
    made = Made()
    made.step(0)
    made.run(0, WIDE, 5_000_000)
    old = [DeviceInfo(0, "Tesla P100-PCIE-16GB", {"computeMajor": 6})]
    assert found(fp32_matmul, make_session(make_trace(*made.events, devices=old))) == []


def recompute_trace(*inside: Event) -> Any:
    return make_trace(
        annotation("ProfilerStep#1", 0, 100_000),
        op("aten::mm", 10, 50),
        call("cudaLaunchKernel", 20, 5, corr=1),
        *inside,
        kernel("forward", 1000, 400, corr=1),
        kernel("again", 2000, 800, corr=2),
        kernel("backward", 3000, 900, corr=3),
    )


def test_a_checkpointed_function_runs_its_forward_pass_again() -> None:
    trace = recompute_trace(
        op("autograd::engine::evaluate_function: CheckpointFunctionBackward", 1000, 500, tid=2),
        op("CheckpointFunctionBackward", 1010, 480, tid=2),
        op("aten::mm", 1020, 50, tid=2),
        call("cudaLaunchKernel", 1030, 5, corr=2, tid=2),
        op("autograd::engine::evaluate_function: MmBackward0", 1200, 200, tid=2),
        op("MmBackward0", 1210, 180, tid=2),
        call("cudaLaunchKernel", 1220, 5, corr=3, tid=2),
    )
    assert recomputed(trace).tolist() == [False, True, False]
    (one,) = found(recompute, make_session(trace))
    assert one.saving_ns_per_step == 800
    assert one.severity == "warning"
    assert "memory" in one.saving_how


def test_checkpoints_that_unpack_are_seen_by_their_python_frames() -> None:
    trace = recompute_trace(
        op("autograd::engine::evaluate_function: MmBackward0", 1000, 500, tid=2),
        op("MmBackward0", 1005, 490, tid=2),
        python("torch/utils/checkpoint.py(1116): unpack_hook", 1010, 200, tid=2),
        op("aten::mm", 1020, 50, tid=2),
        call("cudaLaunchKernel", 1030, 5, corr=2, tid=2),
        op("aten::mm", 1300, 50, tid=2),
        call("cudaLaunchKernel", 1310, 5, corr=3, tid=2),
    )
    assert recomputed(trace).tolist() == [False, True, False]


def test_forward_operators_with_a_backward_of_their_own_inside_a_backward_pass_run_again() -> None:
    events = (
        op("autograd::engine::evaluate_function: MmBackward0", 1000, 900, tid=2),
        op("aten::mm", 1020, 50, tid=2),
        call("cudaLaunchKernel", 1030, 5, corr=2, tid=2),
        op("autograd::engine::evaluate_function: SumBackward0", 1300, 200, tid=2),
        op("aten::mm", 1310, 50, tid=2),
        call("cudaLaunchKernel", 1320, 5, corr=3, tid=2),
        kernel("again", 2000, 300, corr=2),
        kernel("backward", 3000, 900, corr=3),
    )
    flows = (("s", 1, "fwdbwd", 1021, 100, 2), ("f", 1, "fwdbwd", 1301, 100, 2))
    assert recomputed(make_trace(*events, flows=flows)).tolist() == [True, False]
    assert recomputed(make_trace(*events)).tolist() == [False, False]


def test_no_recomputation_no_finding() -> None:
    assert found(recompute, make_session(recompute_trace())) == []


def contended(slow: int, *, bare: bool = False, noise: int = 0) -> Session:
    """Ten runs alone of 100 us, five beside communication."""

    def fill(made: Made, at: int) -> None:
        for n in range(15):
            wobble = noise * (n % 3 - 1)
            dur = 100_000 + wobble + (slow if n >= 10 else 0)
            made.run(at + n * 300_000, "gemm_x", dur, bare=bare)
        made.events.append(kernel("ncclDevKernel_AllReduce", at + 10 * 300_000, 1_500_000, stream=20))

    return a_job(fill)


def test_kernels_beside_communication_are_compared_with_the_same_alone() -> None:
    session = contended(40_000)
    trace = session.inputs[0].trace
    assert int(beside_communication(trace).sum()) == 4 * 6, "five kernels and the communication itself, four times"
    measured = contention(trace)
    assert (measured.total_ns, measured.compared, measured.uncompared) == (4 * 5 * 40_000, 20, 0)
    assert measured.ratio == pytest.approx(1.4)
    (one,) = found(contention_found, session)
    assert one.saving_ns_per_step == 200_000
    assert one.confident
    assert "40 % slower" in one.title


def test_contention_within_noise_or_without_shapes() -> None:
    assert found(contention_found, contended(0)) == []
    assert found(contention_found, contended(2_500, noise=20_000)) == []
    (one,) = found(contention_found, contended(40_000, bare=True))
    assert not one.confident


def test_a_kernel_that_never_runs_alone_cannot_be_compared() -> None:
    trace = make_trace(
        kernel("gemm_x", 0, 100), kernel("gemm_x", 200, 300), kernel("ncclDevKernel_AllReduce", 190, 500, stream=20)
    )
    measured = contention(trace)
    assert (measured.total_ns, measured.compared, measured.uncompared, measured.ratio) == (0, 0, 1, None)


def test_runs_far_above_their_kind() -> None:
    def fill(made: Made, at: int) -> None:
        for n in range(20):
            made.run(at + n * 400_000, "gemm_x", 300_000 if n == 7 else 100_000 + 500 * (n % 3))

    (one,) = found(uneven_runs, a_job(fill))
    assert one.saving_ns_per_step == pytest.approx(199_500, abs=1_000)
    assert one.title.startswith("4 kernel runs")
    assert one.confident


def test_even_runs_and_runs_of_other_shapes_are_no_finding() -> None:
    assert found(uneven_runs, contended(0, noise=5_000)) == []
    assert found(uneven_runs, contended(80_000)) == [], "beside communication: that is contention"

    def fill(made: Made, at: int) -> None:
        for n in range(20):
            made.run(at + n * 400_000, "gemm_x", 300_000 if n == 7 else 100_000, "float" if n == 7 else BF)

    assert found(uneven_runs, a_job(fill)) == []


@pytest.mark.parametrize("events", [(), (op("aten::mm", 0, 5),), (kernel("ncclDevKernel_AllReduce", 0, 9),)])
def test_traces_with_nothing_to_say(events: tuple[Event, ...]) -> None:
    session = make_session(make_trace(*events))
    for module in (fp32_matmul, recompute, contention_found, uneven_runs):
        assert found(module, session) == []


def test_a_layer_in_fp32_is_found_first_and_its_size_is_right(shared: Path, tmp_path: Path) -> None:
    script = shared / "bench" / "make_trace.py"
    folder = tmp_path / "job"
    command = [
        sys.executable,
        str(script),
        "--ranks",
        "8",
        "--events-per-rank",
        "6000",
        "--jobs",
        "1",
        "--out",
        str(folder),
    ]
    subprocess.run([*command, "--fault", "fp32-gemm"], check=True, capture_output=True)
    truth = json.loads((folder / "truth.json").read_text())
    (fault,) = truth["faults"]
    steps = len(fault["step_ns"])
    excess = (fault["gemm_sum_ns"][0] - fault["gemm_sum_ns_without"][0]) / steps / 1e6
    opened = JobOpener(sorted(folder.glob("rank-*")), cache=Cache(tmp_path / "cache")).open().session
    session = settle_clocks(opened, "auto")
    first = job_findings(session)[0]
    assert first.kind == "fp32-matmul"
    assert first.saving_ns_per_step == pytest.approx(fault["cost_ns_per_step"], rel=0.1), "by replay"
    assert "rank 2, rank 3" in first.title
    said = re.search(r"([0-9.]+) ms per step", first.title)
    assert said is not None
    assert float(said[1]) == pytest.approx(excess, rel=0.1), "what the kernels take beyond 16 bits"
    kinds = {f.kind for f in job_findings(session)}
    assert not kinds & {"recompute", "contention", "uneven-runs"}


def test_without_steps_what_is_small_beside_the_trace_is_no_advice() -> None:
    """Products in fp32 for a thousandth of the time: for information, whatever else the trace lacks."""

    def first(gap: int) -> JobFinding:
        made = Made()
        made.run(0, WIDE, 5_000_000)
        made.run(gap, NARROW, 1_000_000, BF)
        return next(f for f in job_findings(made.session()) if f.kind == "fp32-matmul")

    assert (first(6_000_000).severity, first(6_000_000).saving_ns_per_step) == ("warning", None)
    small = first(5_000_000_000)
    assert small.severity == "info"
    assert "in all (0.1 %)" in small.title
