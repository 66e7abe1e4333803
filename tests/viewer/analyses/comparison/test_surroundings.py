"""What else differs between two runs: figures of the fingerprint, devices, versions."""

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.two_runs import a_run
from viewer.analyses.comparison.compare import compare
from viewer.analyses.comparison.surroundings import Difference
from viewer.base.job_card import HardwareCard, JobCard, ModelCard, PlanCard, RunCard
from viewer.store.meta import DeviceInfo


def run(gpu: str, **facts: object):
    return make_session(make_trace(kernel("a", 0, 10), devices=[DeviceInfo(0, gpu)], facts=facts))


def test_devices_versions_and_switches():
    base = run("H100", cuda_runtime_version=12040, with_stack=1, traceName="a.json", nccl_version="2.22")
    test = run("B200", cuda_runtime_version=12090, traceName="b.json", nccl_version="2.22", odd={"x": 1})
    assert compare(base, test).surroundings == (
        Difference("GPU", "H100", "B200"),
        Difference("cuda_runtime_version", "12040", "12090"),
        Difference("with_stack", "1", None),
    )
    assert compare(base, base).surroundings == ()


def test_mfu_moves_as_the_step_does():
    card = JobCard(
        model=ModelCard(parameters=10_000_000, layers=2, hidden=64, heads=4),
        plan=PlanCard(dp=2, tp=1, pp=1, world_size=2),
        run=RunCard(micro_batches=1, micro_batch_size=8, sequence_length=128, dtype="bf16", recompute="none"),
        hardware=HardwareCard(peak_flops=10**14),
    )
    found = compare(a_run().with_card(card), a_run(gemm=1.5).with_card(card))
    first = found.fingerprint[0]
    assert first.key == "mfu"
    assert first.base is not None
    assert first.test is not None
    assert found.waterfall is not None
    # The same FLOPs in a longer step (the mean of the spans has the first one, which has no pause before it).
    assert first.test / first.base == pytest.approx(found.waterfall.base_ns / found.waterfall.test_ns, rel=0.03)
    assert first.significant
    (memory,) = [f for f in found.fingerprint if f.key == "memory_peak"]
    assert memory.delta is None
    assert memory.why.startswith("the base run: ")
    assert "profile_memory" in memory.why
