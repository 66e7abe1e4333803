"""Problems of memory planted in generated jobs are found first and of the right size; a clean job has none."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.expandable import ExpandableAllocator
from tests.support.memory import MIB, FakeAllocator, OutOfMemory, profiler_events
from tests.support.memory_job import FORWARD, INIT, LAYERS, Planted, fragmented, longer_and_longer, training
from tests.viewer.importers.texts import open_job, write_json
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.analyses.memory.edges import step_edges
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.growth import growth
from viewer.base.job_card import HardwareCard, JobCard
from viewer.store.session import Session
from viewer.views.findings import findings_frame, page_basis

KINDS = {"memory-leak", "memory-spike", "memory-fragmentation", "out-of-memory", "allocator-churn", "uneven-memory"}


def session_of(tmp_path: Path, *ranks: FakeAllocator) -> Session:
    tmp_path.mkdir(exist_ok=True)
    paths = []
    for rank, one in enumerate(ranks):
        paths.append(tmp_path / f"rank_{rank}.pickle")
        paths[-1].write_bytes(one.pickled())
    result = open_job(tmp_path, *paths)
    assert not result.failures
    return result.session


def found(session: Session) -> list[JobFinding]:
    return [f for f in job_findings(session) if f.kind in KINDS]


def size_in(text: str) -> float:
    """The first size of a title, bytes."""
    number, unit = re.search(r"([\d.]+) (B|KiB|MiB|GiB)", text).groups()  # type: ignore[union-attr]
    return float(number) * 1024 ** ("B", "KiB", "MiB", "GiB").index(unit)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("seed", [1, 5])
def test_a_clean_job_has_no_finding(tmp_path: Path, seed: int, marked: bool) -> None:
    assert found(session_of(tmp_path, training(Planted(seed=seed, marked=marked)))) == []


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("size", [MIB, 300_000, 7 * MIB])
def test_a_leak_is_found_with_its_size_and_its_place(tmp_path: Path, size: int, marked: bool) -> None:
    session = session_of(tmp_path, training(Planted(leak=size, marked=marked)))
    first, *others = found(session)
    assert (first.kind, others) == ("memory-leak", [])
    assert size_in(first.title) == pytest.approx(size, rel=0.05)
    assert "log_metrics (logging.py:" in first.title
    assert job_findings(session)[0].kind == "memory-leak"


@pytest.mark.parametrize(
    ("planted", "kind", "size"),
    [
        (Planted(), None, 0),
        (Planted(leak=MIB), "memory-leak", MIB),
        (Planted(spike=80 * MIB), "memory-spike", None),
    ],
)
def test_profiler_traces_tell_the_same(tmp_path: Path, planted: Planted, kind: str | None, size: int | None) -> None:
    path = write_json(tmp_path / "rank0.json", profiler_events(training(planted)), deviceProperties=[])
    session = open_job(tmp_path, path).session
    told = found(session)
    assert [f.kind for f in told] == ([kind] if kind else [])
    if kind == "memory-leak":
        assert size_in(told[0].title) == pytest.approx(size, rel=0.05)
        assert "logging.py" in told[0].title
    elif kind:
        clean = write_json(tmp_path / "clean.json", profiler_events(training(Planted())), deviceProperties=[])
        sessions = (session, open_job(tmp_path, clean).session)
        peaks = [memory_figures(s.inputs[0].trace)[0].peak_allocated or 0 for s in sessions]
        assert size_in(told[0].title) == pytest.approx(peaks[0] - peaks[1], rel=0.05)
        assert "step 11 " in told[0].title


def test_steps_of_the_trace_serve_the_snapshot_of_the_rank(tmp_path: Path) -> None:
    """The snapshot has no annotations; borders come from the trace's marks, through the clocks of both."""
    a = training(Planted(leak=MIB))
    marks = [e for e in profiler_events(a) if str(e["name"]).startswith("ProfilerStep")]
    base = (a.events[0]["time_us"] - 100) * 1000
    info = {"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": base}
    trace = write_json(tmp_path / "trace.json", marks, deviceProperties=[], **info)
    a.annotations.clear()
    snapshot = tmp_path / "rank0.pickle"
    snapshot.write_bytes(a.pickled())
    session = open_job(tmp_path, trace, snapshot).session
    item = next(i for i in session.inputs if i.path == snapshot)
    edges = step_edges(session, item, 0)
    assert edges is not None
    assert (edges.source, edges.count) == ("steps", 16)
    (leak,) = found(session)
    assert size_in(leak.title) == pytest.approx(MIB, rel=0.05)
    assert leak.evidence[0].target is not None


def test_blocks_whose_frees_are_missing_do_not_leak(tmp_path: Path) -> None:
    """Totals that stay where they are say that the blocks were freed all the same."""
    events = profiler_events(training(Planted(leak=MIB)))
    for event in events:
        args = event.get("args", {})
        if args:
            args["Total Allocated"] = 100 * MIB
    path = write_json(tmp_path / "rank0.json", events, deviceProperties=[])
    assert found(open_job(tmp_path, path).session) == []


def test_the_step_at_which_a_leak_fills_the_device_is_told(tmp_path: Path) -> None:
    session = session_of(tmp_path, training(Planted(leak=MIB)))
    peak = memory_figures(session.inputs[0].trace)[0].peak_allocated or 0
    full = session.with_card(JobCard(hardware=HardwareCard(memory_bytes=peak + 20 * MIB)))
    (leak,) = found(full)
    steps = int(re.search(r"after ([\d,]+) more steps", leak.title)[1].replace(",", ""))  # type: ignore[index]
    assert steps in (19, 20)


@pytest.mark.parametrize("size", [60 * MIB, 200 * MIB])
def test_a_spike_is_found_with_its_step_and_size(tmp_path: Path, size: int) -> None:
    session = session_of(tmp_path, training(Planted(spike=size)))
    first, *others = found(session)
    assert (first.kind, others) == ("memory-spike", [])
    assert "step 11 " in first.title
    # The spike stands at the end of the forward pass; the usual peak is a little later, with the first gradients.
    clean = session_of(tmp_path / "clean", training(Planted()))
    peaks = [memory_figures(s.inputs[0].trace)[0].peak_allocated or 0 for s in (session, clean)]
    assert size_in(first.title) == pytest.approx(peaks[0] - peaks[1], rel=0.05)
    assert "linear (functional.py" in first.title or "forward (model.py" in first.title


def test_a_request_that_fails_for_fragmentation_is_explained(tmp_path: Path) -> None:
    a, wanted, holes = fragmented()
    (first,) = found(session_of(tmp_path, a))
    assert first.kind == "memory-fragmentation"
    assert size_in(first.title) == pytest.approx(wanted, rel=0.05)
    free, largest = (size_in(t) for t in re.findall(r"[\d.]+ [KMG]?i?B", first.title)[1:3])
    assert free == pytest.approx(holes, rel=0.05)
    assert largest == pytest.approx(20 * MIB, rel=0.05)
    told = " ".join(e.text for e in first.evidence)
    assert "held by linear (functional.py" in told
    assert "held by category" in told


def test_holes_of_another_stream_or_pool_are_no_help(tmp_path: Path) -> None:
    """They could not have held the request however they lay: nothing is fragmented."""
    for number, (stream, pool) in enumerate(((7, (0, 0)), (0, (0, 5)))):
        a = FakeAllocator(capacity=100 * MIB)
        held = [a.alloc(20 * MIB, "forward:model.py", stream=stream, pool=pool) for _ in range(4)]
        a.alloc(10 * MIB, "forward:model.py")
        for one in held[::2]:
            a.free(one)
        with pytest.raises(OutOfMemory):
            a.alloc(70 * MIB, "forward:model.py")
        (tmp_path / str(number)).mkdir()
        session = session_of(tmp_path / str(number), a)
        assert [f.kind for f in found(session)] == ["out-of-memory"]


def test_what_others_hold_of_the_device_is_told(tmp_path: Path) -> None:
    a = FakeAllocator(capacity=100 * MIB)
    a.others = 12 * MIB
    a.alloc(60 * MIB, "forward:model.py")
    with pytest.raises(OutOfMemory):
        a.alloc(50 * MIB, "forward:model.py")
    session = session_of(tmp_path, a).with_card(JobCard(hardware=HardwareCard(memory_bytes=100 * MIB)))
    (only,) = found(session)
    assert any("other processes): 12 MiB" in e.text for e in only.evidence)


def test_a_device_that_is_truly_full_is_told_apart(tmp_path: Path) -> None:
    a = FakeAllocator(capacity=100 * MIB)
    for _ in range(4):
        a.alloc(20 * MIB, "forward:model.py")
    with pytest.raises(OutOfMemory):
        a.alloc(50 * MIB, "forward:model.py")
    (only,) = found(session_of(tmp_path, a))
    assert only.kind == "out-of-memory"
    assert "30 MiB short" in only.title


def test_churn_is_found_with_its_calls_and_bytes(tmp_path: Path) -> None:
    session = session_of(tmp_path, training(Planted(churn=True)))
    first, *others = found(session)
    assert (first.kind, others) == ("allocator-churn", [])
    a = training(Planted(churn=True))
    freed = [e for e in a.events if e["action"] == "segment_free"]
    edges = [x["time_us"] for x in a.annotations if x["stage"] == "START"][4:]
    per_step = [sum(e["size"] for e in freed if a <= e["time_us"] < b) for a, b in itertools.pairwise(edges)]
    assert size_in(first.title) == pytest.approx(sorted(per_step)[len(per_step) // 2], rel=0.05)


def test_an_uneven_rank_is_named(tmp_path: Path) -> None:
    plain = Planted(steps=6)
    ranks = [training(replace(plain, seed=k, scale=1.5 if k == 2 else 1.0)) for k in range(4)]
    session = session_of(tmp_path, *ranks)
    first, *others = found(session)
    assert (first.kind, others) == ("uneven-memory", [])
    assert first.title.startswith("rank 2 ")
    assert "3.0 MiB" not in first.title
    sizes = [size_in(t) for t in re.findall(r"[\d.]+ [KMG]?i?B", first.title)]
    assert sizes[1] == pytest.approx(LAYERS * 3 * MIB, rel=0.1)
    for path in (tmp_path / "rank_1.pickle", tmp_path / "rank_2.pickle"):
        path.rename(tmp_path / f"run{path.name[5]}.pickle")
    unranked = open_job(tmp_path, tmp_path / "run1.pickle", tmp_path / "run2.pickle").session
    assert found(unranked) == []  # nobody says that they are ranks of one job
    assert found(session_of(tmp_path / "even", *[training(replace(plain, seed=k)) for k in range(4)])) == []


def served(steps: int, *stack: str) -> FakeAllocator:
    """Inference whose every step makes a tensor one MiB larger than the last one, which it frees then."""
    a = FakeAllocator()
    for _ in range(8):
        a.alloc(8 * MIB, *INIT)
    old = None
    for step in range(steps):
        a.begin(f"ProfilerStep#{step}")
        new = a.alloc((step + 1) * MIB, *stack)
        if old is not None:
            a.free(old)
        old = new
        a.free(a.alloc(2 * MIB, *FORWARD))
        a.end(f"ProfilerStep#{step}")
    return a


def test_a_cache_of_keys_and_values_is_no_leak(tmp_path: Path) -> None:
    cache = ("update:transformers/cache_utils.py", "forward:modeling.py", "decode:serve.py")
    session = session_of(tmp_path / "cache", served(30, *cache))
    assert found(session) == []
    grown = growth(session, session.inputs[0], 0)
    assert grown is not None
    assert [round(c.bytes_per_step) for c in grown.caches] == [MIB]
    (leak,) = found(session_of(tmp_path / "list", served(30, "keep:serve.py")))
    assert leak.kind == "memory-leak"


@pytest.mark.parametrize("expandable", [False, True])
def test_a_reserve_that_grows_is_no_leak(tmp_path: Path, expandable: bool) -> None:
    """Ever longer sequences: what is cached never fits the next one."""
    a = longer_and_longer(ExpandableAllocator if expandable else FakeAllocator)
    session = session_of(tmp_path, a)
    told = [f for f in job_findings(session) if f.kind in KINDS | {"reserve-growth"}]
    if expandable:  # its segment grows by what is missing
        assert told == []
        return
    (one,) = told
    assert one.kind == "reserve-growth"
    assert size_in(one.title) == pytest.approx((40 + 2 * 12) * MIB, rel=0.1)
    assert "expandable_segments:True" in one.next_step


def test_host_memory_leaks_beside_an_accelerator(tmp_path: Path) -> None:
    """Of host memory only leaks are told; marks of steps are no makers."""
    events = profiler_events(training(Planted()))
    for k, step in enumerate([e for e in events if str(e["name"]).startswith("ProfilerStep")]):
        args = {"Total Allocated": (k + 1) * MIB, "Total Reserved": 0, "Bytes": MIB, "Addr": (k + 1) << 22}
        instant = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 1}
        args |= {"Device Id": -1, "Device Type": 0}
        events.append(instant | {"ts": step["ts"] + step["dur"] / 2, "args": args})
    path = write_json(tmp_path / "rank0.json", events, deviceProperties=[])
    (leak,) = found(open_job(tmp_path, path).session)
    assert leak.title.startswith("rank 0 (cpu): memory grows by 1 MiB per step")


@pytest.mark.parametrize("kind", [6, 12, 19, 99])
def test_devices_of_any_vendor_leak(tmp_path: Path, kind: int) -> None:
    events = profiler_events(training(Planted(leak=MIB)))
    for event in events:
        if "Device Type" in event.get("args", {}):
            event["args"]["Device Type"] = kind
    path = write_json(tmp_path / "rank0.json", events, deviceProperties=[])
    (leak,) = found(open_job(tmp_path, path).session)
    assert size_in(leak.title) == pytest.approx(MIB, rel=0.05)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("planted", "kind", "size"),
    [
        (Planted(), None, None),
        (Planted(leak=MIB), "memory-leak", MIB),
        (Planted(leak=700_001), "memory-leak", 700_001),
        (Planted(spike=150 * MIB), "memory-spike", None),
        (Planted(churn=True), "allocator-churn", None),
    ],
)
def test_expandable_segments_tell_the_same(
    tmp_path: Path, planted: Planted, kind: str | None, size: int | None, seed: int
) -> None:
    session = session_of(tmp_path, training(replace(planted, seed=seed), allocator=ExpandableAllocator))
    told = found(session)
    assert [f.kind for f in told] == ([kind] if kind else [])
    if size is not None:
        assert size_in(told[0].title) == pytest.approx(size, rel=0.05)


def test_a_job_of_snapshots_alone_says_what_memory_holds(tmp_path: Path) -> None:
    session = session_of(tmp_path, training(Planted()))
    page = findings_frame(page_basis(session), job_findings(session))
    assert page.cards == ()
    assert page.sentence.startswith("rank 0 (cuda:0): memory peaks at 11")
    assert "of it optimizer" in page.sentence
    (note,) = (n.finding for n in page.notes if n.finding.kind == "memory-overview")
    told = "\n".join(e.text for e in note.evidence)
    for part in (
        *("by category: optimizer 48 MiB", "weights 24 MiB", "step (train.py:", "reserved from the device"),
        *("free inside segments", "no request failed", "nothing grows over 13 steps (steps)"),
    ):
        assert part in told
    assert note.evidence[0].target is not None
    leaking = session_of(tmp_path / "leak", training(Planted(leak=MIB)))
    page = findings_frame(page_basis(leaking), job_findings(leaking))
    assert page.sentence.startswith("Change first: find who keeps more memory from step to step on rank 0 (cuda:0) – ")
    assert "rank 0 (cuda:0): memory grows by 1 MiB per step" in page.sentence
    assert [n.finding.kind for n in page.notes].count("memory-overview") == 1


def test_a_job_with_gpu_work_has_no_overview_of_memory(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 9}
    events = [*profiler_events(training(Planted())), kernel | {"args": {"stream": 7, "device": 0}}]
    session = open_job(tmp_path, write_json(tmp_path / "rank0.json", events, deviceProperties=[])).session
    assert "memory-overview" not in {f.kind for f in job_findings(session)}
