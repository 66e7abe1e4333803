"""Faults planted in the host: each is found, first, as large as it costs; a healthy job has no finding."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests.support.build import annotation, call, kernel, make_session, make_trace
from tests.support.host_job import US, HostJob, launch_bound_job
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.ranking import ranked
from viewer.analyses.findings.registry import IDLE
from viewer.base.selection import GapRef, Selection, SliceRef
from viewer.base.work import CancelToken
from viewer.store.session import Session


def found_in(session: Session) -> list[JobFinding]:
    """All findings of idle time in the order of reading."""
    modules = [importlib.import_module(f"viewer.analyses.findings.{name}") for name in IDLE]
    every = [f for module in modules for f in module.find(session, CancelToken())]
    return [r.finding for r in ranked(every)]


def job(*faults: str, **more: object) -> HostJob:
    return HostJob(faults=faults, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("sync", "sync-drain", "cudaStreamSynchronize in aten::item, train.py(12): check empties the queue"),
        ("pageable-copy", "sync-drain", "cudaMemcpyAsync empties the queue inside the step"),
        ("data-loading", "data-loading", "The GPU waits 1.5 ms per step for data"),
        ("collection", "garbage-collection", "garbage collection keeps the GPU waiting"),
        ("recompilation", "recompilation", "Code is compiled inside steady steps"),
        ("allocation", "allocator-churn", "Calls that allocate or free device memory"),
        ("jitter", "host-jitter", "The host is held up 6 times in 6 steps, typically for"),
        ("host-bound", "host-bound", "for the host's own work"),
        ("step-gap", "step-gap", "Between steps the GPU idles"),
    ],
)
def test_a_planted_fault_is_found_first_with_its_size(fault: str, kind: str, says: str) -> None:
    made = job(fault)
    session = make_session(made.trace())
    first = found_in(session)[0]
    assert first.kind == kind
    assert says in first.title
    assert (first.severity, first.confident) == ("warning", True)
    assert first.saving_ns_per_step == pytest.approx(made.cost_ns, rel=0.1)
    assert first.share == pytest.approx(made.cost_ns / made.step_ns, rel=0.1)
    assert first.next_step
    assert first.how
    assert first.saving_how
    assert isinstance(first.evidence[0].target, GapRef | SliceRef)
    others = [f for f in found_in(session)[1:] if f.severity == "warning" and f.confident]
    assert others == [], "nothing else is wrong with the job"


def test_launch_bound_kernels_are_found_with_their_size() -> None:
    made = launch_bound_job()
    first = found_in(make_session(made.trace()))[0]
    assert first.kind == "launch-bound"
    # Were launches free, only the kernels and the reading of the loss were left.
    free = made.kernels * made.kernel_ns
    assert first.saving_ns_per_step == pytest.approx(made.step_ns - free, rel=0.1)
    assert "CUDA graphs" in first.next_step
    assert isinstance(first.evidence[0].target, Selection)


def test_gaps_inside_graphs_ask_for_fusing() -> None:
    events = []
    for step in range(4):
        at = step * 850 * US
        events.append(annotation(f"ProfilerStep#{step}", at, 850 * US))
        events.append(call("cudaGraphLaunch", at + 10 * US, 20 * US, corr=step + 1))
        events += [kernel("k", at + (40 + 8 * i) * US, 6 * US, corr=step + 1) for i in range(100)]
    first = found_in(make_session(make_trace(*events)))[0]
    assert first.kind == "graph-gaps"
    assert first.saving_ns_per_step == 99 * 2 * US
    assert "fuse" in first.next_step


@pytest.mark.parametrize("facts", [{}, {"with_stack": 1, "record_shapes": 1}])
def test_a_healthy_job_has_no_finding(facts: dict[str, int]) -> None:
    assert [f for f in found_in(make_session(job(facts=facts).trace())) if f.severity != "info"] == []


def test_what_happens_only_while_warming_up_is_no_finding() -> None:
    assert [f for f in found_in(make_session(job("warm-up").trace())) if f.severity != "info"] == []


def test_allocations_that_the_queue_hides_are_for_information() -> None:
    (found,) = found_in(make_session(job("hidden-allocation").trace()))
    assert (found.kind, found.severity, found.saving_ns_per_step) == ("allocator-churn", "info", None)
    assert found.title == "3 calls per step allocate or free device memory; the GPU does not wait for them"
    assert isinstance(found.evidence[0].target, SliceRef)
    (waits, *_) = found_in(make_session(job("allocation").trace()))
    assert "2 such calls per step" in waits.evidence[-1].text


def test_one_late_batch_of_six_is_no_finding_below_its_threshold() -> None:
    assert found_in(make_session(job("loading-late", steps=12).trace())) == []


def test_one_rank_that_loads_slowly_is_named() -> None:
    ranks = [HostJob(rank=r, faults=("data-loading",) if r == 2 else ()).trace() for r in range(3)]
    (first,) = found_in(make_session(*ranks))
    assert "for data on rank 2 only" in first.title
    assert "its peers wait for it" in first.title
    assert set(first.overlaps) == {"idle/data-loading", "late"}
    everywhere = [HostJob(rank=r, faults=("data-loading",)).trace() for r in range(3)]
    (first,) = found_in(make_session(*everywhere))
    assert "on every rank" in first.title
    assert "its peers" not in first.title


def test_profiling_that_slows_a_slow_host_is_said() -> None:
    made = job("host-bound", facts={"with_stack": 1})
    found = found_in(make_session(made.trace()))
    (told,) = [f for f in found if f.kind == "profiler-overhead"]
    assert told.severity == "info"
    assert "with_stack" in told.title
    assert told.saving_ns_per_step is None
    assert found_in(make_session(job("host-bound").trace()))[-1].kind == "host-bound"


def test_without_steps_nothing_is_said_per_step() -> None:
    events = [e for e in _events(job("sync")) if "ProfilerStep" not in e.name]
    (first, *_) = found_in(make_session(make_trace(*events)))
    assert first.kind == "sync-drain"
    assert first.saving_ns_per_step is None
    assert "in all" in first.title


def _events(made: HostJob) -> list:  # type: ignore[type-arg]
    made.trace()
    return made._events


def test_nothing_is_found_without_gpu_work() -> None:
    assert found_in(make_session(make_trace(call("cudaLaunchKernel", 0, 1)))) == []
    assert found_in(Session()) == []


def test_names_of_a_trace_stay_short_and_printable() -> None:
    events = _events(job("sync"))
    for event in events:
        if event.name == "aten::item":
            object.__setattr__(event, "name", "bad\x1b[31m" + "x" * 500)
    first = found_in(make_session(make_trace(*events)))[0]
    assert "\x1b" not in first.title
    assert len(first.title) < 400


FAULTS = {"sync-in-step": "sync-drain", "data-loading": "data-loading", "launch-bound": "launch-bound"}


@pytest.mark.parametrize("fault", [*FAULTS, ""])
def test_faults_of_the_generator(fault: str, shared: Path, tmp_path: Path) -> None:
    """A job of eight ranks with known truth: found first, and its size by replay within a tenth."""
    import subprocess
    import sys

    from viewer.app.clocks import settle_clocks
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    make = [sys.executable, str(shared / "bench" / "make_trace.py"), "--ranks", "8", "--events-per-rank", "12000"]
    options = ["--straggler", "-1", "--jobs", "1", "--out", str(tmp_path / "job")]
    subprocess.run([*make, *options, *(["--fault", fault] if fault else [])], check=True, capture_output=True)
    truth = json.loads((tmp_path / "job" / "truth.json").read_text())
    opened = JobOpener([tmp_path / "job"], cache=Cache(tmp_path / "cache")).open()
    found = [f for f in found_in(settle_clocks(opened.session, "auto")) if f.severity == "warning" and f.confident]
    if not fault:
        assert found == []
        two = JobOpener(
            [tmp_path / "job" / f"rank-{r}.pt.trace.json" for r in (0, 5)], cache=Cache(tmp_path / "cache")
        ).open()
        found = found_in(settle_clocks(two.session, "auto"))
        assert [f for f in found if f.severity == "warning" and f.confident] == [], "two ranks of a larger job"
        return
    (planted,) = truth["faults"]
    assert found[0].kind == FAULTS[fault]
    wanted = planted.get("saving_ns_per_step", planted["cost_ns_per_step"])
    assert found[0].saving_ns_per_step == pytest.approx(wanted, rel=0.1)
