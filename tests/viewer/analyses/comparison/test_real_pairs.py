"""Pairs of real files, and pairs of generated jobs of which only one has a fault of known cost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from viewer.analyses.comparison.compare import Comparison, compare
from viewer.app.clocks import settle_clocks
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session


def opened(path: Path, cache: Path) -> Session:
    return settle_clocks(JobOpener([path], cache=Cache(cache)).open().session, "auto")


@pytest.mark.parametrize(
    ("base", "test"),
    [
        ("kineto-single/kineto_docs_before_fix.json", "kineto-single/kineto_docs_after_fix.json"),
        (
            "kineto-multirank/megatron_tp8_a100/megatron_kineto_0.json",
            "kineto-multirank/megatron_tp8_a100/megatron_kineto_3.json.gz",
        ),
        ("kineto-single/torch_compile_triton.json.gz", "kineto-single/hta_mi250_minitoy_rocm62.json.gz"),
    ],
)
def test_real_files(base: str, test: str, shared: Path, tmp_path: Path) -> None:
    one, other = (opened(shared / "data" / name, tmp_path) for name in (base, test))
    found = compare(one, other)
    assert found.comparable
    assert found.waterfall is not None
    assert sum(c.delta_ns for c in found.waterfall.causes) == found.waterfall.delta_ns
    assert sum(r.delta_ns for r in found.kernels) == found.delta_ns
    assert not found.noise_known
    assert compare(one, one).identical


@pytest.fixture(scope="module")
def against_plain(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Comparison, float]]:
    """The comparison of a job with a fault against the same without, and the true cost of the fault per step, ns."""
    folder = tmp_path_factory.mktemp("pairs")
    made: dict[str, Session] = {}

    def make(name: str, *words: str) -> Session:
        if name not in made:
            tool = [
                sys.executable,
                str(shared / "bench" / "make_trace.py"),
                "--ranks",
                "4",
                "--events-per-rank",
                "9000",
            ]
            subprocess.run([*tool, "--out", str(folder / name), *words], check=True, capture_output=True)
            made[name] = opened(folder / name, folder / "cache")
        return made[name]

    def pair(fault: str) -> tuple[Comparison, float]:
        found = compare(make("plain"), make(fault, "--fault", fault))
        truth = json.loads((folder / fault / "truth.json").read_text())
        return found, float(truth["faults"][-1]["cost_ns_per_step"])

    return pair


@pytest.mark.parametrize(
    ("fault", "cause", "kind", "name"),
    [
        ("small-messages", "communication/transfer", "collectives", "allreduce, dp of 2, 1,573,632 bytes"),
        ("no-overlap", "communication/transfer", "collectives", "allreduce, dp of 2, 100,712,448 bytes"),
        ("sync-in-step", "idle/host: sync-drain", "host", "aten::_local_scalar_dense"),
        ("fp32-gemm", "kernels/new", "kernels", "sm80_xmma_gemm_f32f32"),
    ],
)
def test_a_planted_fault_comes_first_and_costs_what_it_costs(
    against_plain: Callable[[str], tuple[Comparison, float]], fault: str, cause: str, kind: str, name: str
) -> None:
    found, cost = against_plain(fault)
    assert found.waterfall is not None
    assert abs(found.waterfall.delta_ns - cost) <= 0.05 * cost
    assert found.waterfall.causes[0].id == cause
    assert getattr(found, kind)[0].name.startswith(name)
