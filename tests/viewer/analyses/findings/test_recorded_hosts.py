"""A host that is slow only while it is watched: what recording may explain is not sure, what it cannot explain is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace, op, python
from tests.support.host_job import US, HostJob, launch_bound_job
from viewer.analyses.findings import data_loading, host_bound, host_jitter, launch_bound, sync_drain
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.idleness.recording import own_ns, slowed_by
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.store.trace import Trace

SHAPES = {"record_shapes": 1}


def only(module: object, session: Session) -> JobFinding:
    (found,) = module.find(session, CancelToken())  # type: ignore[attr-defined]
    assert isinstance(found, JobFinding)
    return found


def eager(between: list[Event], runs_ns: int, launch_ns: int = 5 * US, **facts: object) -> Trace:
    """Steps of 60 kernels; before each launch the host does ``between``, of which the times are lengths."""
    events, at, corr = [], 0, 0
    for step in range(4):
        begin = at
        for _ in range(60):
            for e in between:
                events.append(type(e)(**{**{f: getattr(e, f) for f in e.__dataclass_fields__}, "start": at}))
                at += e.dur
            corr += 1
            events += [
                call("cudaLaunchKernel", at, launch_ns, corr=corr),
                kernel("gelu", at + launch_ns + 2 * US, runs_ns, corr=corr),
            ]
            at += launch_ns + US
        events.append(annotation(f"ProfilerStep#{step}", begin, at - begin))
        at += US
    return make_trace(*events, facts=facts)


@pytest.mark.parametrize(("facts", "sure"), [({}, True), (SHAPES, False)])
def test_many_short_operators_are_slow_for_sure_only_where_no_shapes_were_recorded(
    facts: dict[str, int], sure: bool
) -> None:
    trace = eager([op("aten::view", 0, 90 * US) for _ in range(4)], 100 * US, **facts)
    found = only(host_bound, make_session(trace))
    assert found.confident is sure
    assert slowed_by(trace) == tuple(facts)


def test_python_that_runs_for_long_in_one_piece_is_slow_whatever_was_recorded() -> None:
    trace = eager([python("model.py(3): loop", 0, 900 * US)], 100 * US, with_stack=1)
    assert only(host_bound, make_session(trace)).confident
    short = eager([python(f"model.py({i}): f", 0, 90 * US) for i in range(10)], 100 * US, with_stack=1)
    assert not only(host_bound, make_session(short)).confident


def test_launches_that_take_longer_than_their_kernels_are_the_limit_with_stacks_too() -> None:
    job = launch_bound_job()
    job.facts = {"with_stack": 1, "record_shapes": 1}
    assert only(launch_bound, make_session(job.trace())).confident
    slow = [op("aten::add", 0, 30 * US)]
    assert not only(launch_bound, make_session(eager(slow, 12 * US, **SHAPES))).confident
    assert only(launch_bound, make_session(eager(slow, 12 * US))).confident


def test_frames_tell_of_stacks_where_the_file_does_not() -> None:
    assert slowed_by(HostJob(faults=("sync",)).trace()) == ("with_stack",)
    bare = make_trace(call("cudaLaunchKernel", 0, 5, corr=1), kernel("k", 10, 5, corr=1))
    assert slowed_by(bare) == ()


def test_what_recording_cannot_explain_by_hand() -> None:
    trace = make_trace(
        python("f", 0, 100 * US),
        op("aten::mm", 20 * US, 30 * US),
        call("cudaLaunchKernel", 40 * US, 8 * US, corr=1),
        kernel("k", 60 * US, 5, corr=1),
        facts={"record_shapes": 1},
    )
    (lane,) = {int(x.id) for x in trace.lanes if x.device is None}
    at = [np.array([x], np.int64) for x in (lane, 0, 100 * US)]
    # Borders at 0, 20, 40, 48, 50 and 100 us: 10 + 10 + the call's 8 + 0 + 40.
    assert own_ns(trace, *at).tolist() == [68 * US]
    # As pace: only the call; no piece of Python lasts for half a millisecond.
    assert own_ns(trace, *at, pace=True).tolist() == [8 * US]


def test_in_one_step_slow_first_runs_are_no_disturbance_of_the_host() -> None:
    def one(names: list[str]) -> bool:
        events, at = [], 0
        for i, name in enumerate(names):
            for k in range(12):
                events.append(op(name, at, (2_000 if k == 5 else 4) * US))
                at += (2_001 if k == 5 else 5) * US
            events += [call("cudaLaunchKernel", at, 5 * US, corr=i), kernel("k", at + 7 * US, 20 * US, corr=i)]
            at += 6 * US
        events.append(annotation("ProfilerStep#3", 0, at))
        return only(host_jitter, make_session(make_trace(*events))).confident

    assert one([f"aten::op{i}" for i in range(8)])
    assert not one(["aten::addmm", "aten::copy_"])


def test_compute_that_starves_after_a_synchronisation_while_a_receive_waits() -> None:
    """The device is never idle: a receive spins on another stream. Compute waits 500 us per step all the same."""
    events, at, corr = [], 0, 0
    for step in range(4):
        begin = at
        events.append(call("cudaLaunchKernel", at, 5 * US, corr=corr + 1))
        events.append(kernel("gemm", at + 10 * US, 1_000 * US, corr=corr + 1))
        end = at + 1_010 * US
        events.append(call("cudaStreamSynchronize", at + 10 * US, end - at - 5 * US))
        events.append(call("cudaLaunchKernel", at + 6 * US, 3 * US, corr=corr + 2))
        spin = kernel("ncclDevKernel_SendRecv", at + 15 * US, 1_600 * US, corr=corr + 2, stream=24)
        after = end + 495 * US
        events += [spin, call("cudaLaunchKernel", after, 4 * US, corr=corr + 3)]
        events.append(kernel("gemm", after + 5 * US, 1_000 * US, corr=corr + 3))
        at, corr = after + 1_005 * US, corr + 3
        events.append(annotation(f"ProfilerStep#{step}", begin, at - begin - 10))
    found = only(sync_drain, make_session(make_trace(*events)))
    assert "compute waits" in found.title
    assert found.saving_ns_per_step == pytest.approx(495 * US, rel=0.01)
    assert (found.confident, found.overlaps) == (True, ("idle/sync-drain", "exposed"))
    assert "nothing computes for" in found.evidence[0].text


@pytest.mark.parametrize(("taking_us", "told"), [(300, False), (700, True)])
def test_taking_a_batch_that_is_ready_is_no_wait_for_data(taking_us: int, told: bool) -> None:
    events, at = [], 0
    for step in range(5):
        begin = at
        events.append(annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, taking_us * US))
        at += taking_us * US
        events.append(call("cudaLaunchKernel", at, 5 * US, corr=step))
        events.append(kernel("gemm", at + 8 * US, 5_000 * US, corr=step))
        at += 5_010 * US
        events.append(annotation(f"ProfilerStep#{step}", begin, at - begin - US))
    assert bool([*data_loading.find(make_session(make_trace(*events)), CancelToken())]) is told
