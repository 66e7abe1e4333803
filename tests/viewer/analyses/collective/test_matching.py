"""Which operations belong together, and what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bench.sweep import too_early
from tests.support.build import annotation, call, kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.call_inputs import read_call
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.in_order import keeps_step, pair_by_ends
from viewer.analyses.collective.kinds import Kind, kind_of
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.matching import Method, matches
from viewer.analyses.collective.operations import operations, read_ranks
from viewer.app.clocks import settle_clocks
from viewer.base.ids import ABSENT
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Kind.ALL_REDUCE),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", Kind.ALL_GATHER),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", Kind.REDUCE_SCATTER),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", Kind.SEND_RECV),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", Kind.BROADCAST),
        ("_allgather_base", Kind.ALL_GATHER),
        ("allgather_into_tensor_coalesced", Kind.ALL_GATHER),
        ("_reduce_scatter_base", Kind.REDUCE_SCATTER),
        ("all_to_allv", Kind.ALL_TO_ALL_V),
        ("all_to_all", Kind.ALL_TO_ALL),
        ("allreduce_coalesced", Kind.ALL_REDUCE),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", Kind.ALL_REDUCE),
        ("send", Kind.SEND),
        ("recv", Kind.RECV),
        ("barrier", Kind.BARRIER),
        ("reduce", Kind.REDUCE),
        ("gather", Kind.GATHER),
        ("scatter", Kind.SCATTER),
        ("ncclDevKernel_Generic", Kind.UNKNOWN),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    assert kind_of(text) is kind


def test_lists_of_ranks() -> None:
    assert read_ranks("[0, 1, 12]") == ((0, 1, 12), False)
    assert read_ranks("[0, 1, ...]") == ((0, 1), True)
    assert read_ranks("") == ((), True)


def test_inputs_of_older_calls() -> None:
    args = {
        "Concrete Inputs": ["", "337", "93825114103440", "3", "", "[]", "[]", "8"],
        "Input type": ["TensorList", "Scalar"],
        "Input Dims": [[[4, 2048]], []],
    }
    kernel_name = "ncclDevKernel_AllReduce_Sum_f16_RING_LL("
    assert read_call(args, kernel_name) == (337, 8, "93825114103440", 4 * 2048 * 2)
    assert read_call(args, "unknown") == (337, 8, "93825114103440", None)
    assert read_call(args | {"Concrete Inputs": ["337", "0", "0", "", "[]", "[]", "1"]}, kernel_name) is None
    assert read_call(args | {"Concrete Inputs": "[]"}, kernel_name) is None
    assert read_call({}, kernel_name) is None


def test_a_kernel_takes_what_the_call_around_its_launch_states() -> None:
    about = {"group": "7", "group_size": 2, "group_ranks": "[0, 1]", "seq": 5, "in_elems": 10, "dtype": "Float"}
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 1000),
        annotation("record_param_comms", 10, 50, cat="cpu_op", collective="allreduce", about=about),
        call("cudaLaunchKernel", 20, 5, corr=3),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 50, corr=3),
    )
    found = operations(trace)
    assert (found.kind.tolist(), found.seq.tolist(), found.size_bytes.tolist()) == ([Kind.ALL_REDUCE], [5], [40])
    assert (found.groups[0].name, found.groups[0].ranks) == ("7", (0, 1))


def test_copies_between_devices_are_no_operations() -> None:
    trace = make_trace(kernel("Memcpy PtoP (Device -> Device)", 0, 5, cat="gpu_memcpy"))
    assert len(operations(trace)) == 0


def test_groups_and_what_they_are_for() -> None:
    found = job_groups(RankJob(ranks=4).session())
    assert [(g.purpose, g.ranks) for g in found.groups] == [
        ("pp", (0, 2)),
        ("dp", (0, 1)),
        ("world", (0, 1, 2, 3)),
        ("pp", (1, 3)),
        ("dp", (2, 3)),
    ]
    assert found.groups[1].label == "dp [0, 1]"


def test_matching_by_sequence_number() -> None:
    found = matches(RankJob(ranks=4, steps=5).session())
    assert len(found) == 5 * (2 * 4 + 1)
    assert set(found.method.tolist()) == {Method.SEQUENCE}
    assert sorted(set(zip(found.expected().tolist(), found.present().tolist(), strict=True))) == [(2, 2), (4, 4)]
    assert found.size_bytes.tolist() == [2 << 20] * len(found)


def test_a_number_that_comes_twice_on_one_rank_only_is_left_out() -> None:
    def trace(rank: int, times: list[int]) -> object:
        about = {"group": "0", "group_ranks": "[0, 1]", "seq": 1}
        events = [kernel("nccl_AllReduce", t, 5, collective="allreduce", about=about) for t in times]
        return make_trace(*events, path=f"{rank}.json", rank=rank)

    assert len(matches(make_session(trace(0, [10, 30]), trace(1, [11, 31])))) == 2  # type: ignore[arg-type]
    assert len(matches(make_session(trace(0, [10, 30]), trace(1, [31])))) == 0  # type: ignore[arg-type]


def test_sends_with_their_receives() -> None:
    job = RankJob(ranks=6, steps=10, offsets={2: 900_000})
    found = align(job.session())
    assert len(found.pairs) == 10 * 4
    lossy = align(RankJob(ranks=6, steps=30, lost={2: 0.1, 3: 0.1}, seed=3).session())
    # What is paired is right: a receive never ends before its send began.
    assert all(c.low_ns is not None and c.high_ns is not None and c.low_ns <= c.high_ns for c in lossy.clocks)


def test_pairs_by_ends_skip_what_is_missing() -> None:
    rng = np.random.default_rng(4)
    one = np.cumsum(rng.integers(500_000, 3_000_000, 400))
    kept = rng.random(400) > 0.1
    other = one[kept] + 77_000 + (one[kept] * 2e-5).astype(np.int64)
    a, b = pair_by_ends(one, other)
    assert np.array_equal(np.flatnonzero(kept)[b], a)
    assert len(a) > 0.98 * len(other)


def test_equally_many_but_not_the_same_ones() -> None:
    one = np.arange(100, dtype=np.int64) * 1_000_000
    assert keeps_step(one, one + 5_000)
    assert not keeps_step(np.delete(one, 20), np.delete(one, 60))
    outlier = one.copy()
    outlier[50] += 900_000
    assert keeps_step(one, outlier)


def test_megatron(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "kineto-multirank" / "megatron_tp8_a100"
    session = JobOpener([folder], cache=Cache(tmp_path)).open().session
    found = align(session)
    assert found.match_rate == 1.0
    assert len(matches(session)) == 84
    assert all(c.connected and c.spread_ns is not None and c.spread_ns < 15_000 for c in found.clocks)
    assert np.abs(found.residual_after).max() < 40_000
    assert max(abs(c.offset_ns) for c in found.clocks) < 15_000  # one host, one clock
    assert not any(c.jump for c in found.clocks)
    assert all(c.low_ns is not None and c.high_ns is not None and c.low_ns <= c.high_ns for c in found.clocks)
    aligned = settle_clocks(session, "auto")
    assert too_early(aligned) == 0.0  # no member ends before the last one began, beyond doubt
    late = lateness(aligned)
    assert late is None or not late.straggler.any()


def test_two_ranks_of_many_without_metadata(shared: Path, tmp_path: Path) -> None:
    session = (
        JobOpener([shared / "data" / "kineto-multirank" / "hta_sampled_2rank"], cache=Cache(tmp_path)).open().session
    )
    found = align(session)
    assert (found.reference, found.match_rate) == (None, None)
    assert all(o.peer.tolist() == [ABSENT] * 10 for o in (operations(i.trace) for i in session.inputs))


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_groups_that_no_name_tells_apart_are_told_by_their_ends(stride: int) -> None:
    """Four groups of two of eight ranks: neighbours, two or four apart; each file knows the size of its own alone."""
    random = np.random.default_rng(stride)
    members = {r: r // (2 * stride) * 2 * stride + r % stride for r in range(8)}
    traces = []
    for rank in range(8):
        events = []
        for n in range(8):
            end = 1_000_000 * (n + 1) + int(np.random.default_rng([members[rank], n]).integers(0, 400_000))
            about = {"group_size": 2, "seq": n}
            end += int(random.integers(0, 500)) + 90_000 * rank  # the rank's clock
            events.append(
                kernel("ncclDevKernel_AllReduce", end - 50_000, 50_000, stream=20, collective="allreduce", about=about)
            )
        traces.append(make_trace(*events, path=f"rank-{rank}.json", rank=rank, rank_source="distributedInfo"))
    session = make_session(*traces)
    found = matches(session)
    assert found.present().tolist() == [2] * 32
    pairs = {tuple(session.groups[n].rank for n in found.node[a : a + 2]) for a in found.offset[:-1].tolist()}
    assert pairs == {(r, r + stride) for r in range(8) if members[r] == r}


def test_where_nothing_tells_groups_apart_their_operations_stay_alone() -> None:
    about = [{"group_size": 2, "seq": n} for n in range(8)]
    traces = [
        make_trace(
            *[kernel("ncclAllReduce", 1_000 * n, 500, collective="allreduce", about=about[n]) for n in range(8)],
            path=f"rank-{rank}.json", rank=rank, rank_source="distributedInfo",
        )
        for rank in range(4)
    ]  # fmt: skip
    assert len(matches(make_session(*traces))) == 0
