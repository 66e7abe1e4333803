"""Sums of GPU and CPU time by what launched the work, against hand-worked numbers and brute force."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.support.build import Event, annotation, call, copy, kernel, make_session, make_trace, op, python
from viewer.analyses.optable.modules import is_backward, module_nest, operator_nest
from viewer.analyses.optable.part import CLASS, GROUPINGS, KERNEL, MODULE, OPERATOR, SHAPE, STEP
from viewer.analyses.optable.table import OpTable, entries, op_table
from viewer.store.session import Session

BF = "c10::BFloat16"


def a_trace(**more: Any) -> Any:
    """A module that multiplies and adds; its backward pass on another thread; a copy that nothing launched."""
    shapes = {"Input Dims": [[8, 5], [5, 3]], "Input type": [BF, BF]}
    return make_trace(
        annotation("ProfilerStep#7", 0, 1000),
        python("nn.Module: Block_0", 10, 300),
        python("nn.Module: Linear_0", 20, 200),
        op("aten::linear", 30, 100),
        op("aten::mm", 40, 50, args=shapes),
        call("cudaLaunchKernel", 45, 5, corr=1),
        op("aten::add", 150, 40),
        call("cudaLaunchKernel", 155, 5, corr=2),
        op("MmBackward0", 500, 100, tid=2),
        op("aten::mm", 510, 60, tid=2, args=shapes),
        call("cudaLaunchKernel", 515, 5, corr=3, tid=2),
        kernel("gemm_nn", 100, 100, corr=1),
        kernel("elementwise", 210, 30, corr=2),
        kernel("gemm_nn", 600, 300, corr=3),
        copy("Memcpy DtoD", 2000, 50, args={"bytes": 100}),
        flows=(("s", 1, "fwdbwd", 42, 100, 1), ("f", 1, "fwdbwd", 501, 100, 2)),
        **more,
    )


def table(session: Session, by: str, windows: Any = None) -> OpTable:
    return op_table(session, tuple(range(len(session.inputs))), windows or {}, by)


def sums(found: OpTable) -> dict[Any, tuple[int, int, int]]:
    columns = zip(found.count.tolist(), found.total.tolist(), found.own.tolist(), strict=True)
    return dict(zip((k[0] for k in found.keys), columns, strict=True))


def test_kernels_and_classes() -> None:
    session = make_session(a_trace())
    found = table(session, KERNEL)
    assert sums(found) == {"gemm_nn": (2, 400, 400), "elementwise": (1, 30, 30), "Memcpy DtoD": (1, 50, 50)}
    at = [k[0] for k in found.keys].index("gemm_nn")
    assert (found.means()[at], int(found.median[at]), int(found.most[at])) == (200, 200, 300)
    assert found.tflops()[at] == pytest.approx(480 / 400 * 1e-3)
    copied = [k[0] for k in found.keys].index("Memcpy DtoD")
    assert found.gbytes()[copied] == pytest.approx(2.0)
    assert found.gpu_ns == 480
    assert sums(table(session, CLASS)) == {1: (3, 430, 430), 3: (1, 50, 50)}


def test_operators_hold_what_they_call_and_their_own() -> None:
    found = table(make_session(a_trace()), OPERATOR)
    assert sums(found) == {
        "": (1, 50, 50),
        "aten::linear": (1, 100, 0),
        "aten::mm": (2, 400, 400),
        "aten::add": (1, 30, 30),
        "MmBackward0": (1, 300, 0),
    }
    names = [k[0] for k in found.keys]
    assert int(found.own.sum()) == found.gpu_ns, "own times add up to all GPU work"
    cpu = {n: (int(a), int(b)) for n, a, b in zip(names, found.cpu_total, found.cpu_own, strict=True)}
    assert cpu["aten::linear"] == (100, 50)
    assert cpu["aten::mm"] == (110, 110)
    assert cpu["MmBackward0"] == (100, 40)


def test_backward_work_belongs_to_the_module_of_the_forward_operator() -> None:
    trace = a_trace()
    found = table(make_session(trace), MODULE)
    assert sums(found) == {"": (1, 50, 50), "Block_0": (1, 430, 0), "Linear_0": (1, 430, 430)}
    assert is_backward(trace).tolist() == [False, False, True, False]


def test_without_arrows_sequence_numbers_link_forward_and_backward() -> None:
    trace = make_trace(
        python("nn.Module: Linear_0", 20, 200),
        op("aten::linear", 30, 100, args={"Sequence number": 5, "Fwd thread id": 0}),
        op("aten::mm", 40, 50, args={"Sequence number": 5, "Fwd thread id": 0}),
        op("MmBackward0", 500, 100, tid=2, args={"Sequence number": 5, "Fwd thread id": 1}),
        op("other", 700, 100, tid=2, args={"Sequence number": 6, "Fwd thread id": 1}),
        call("cudaLaunchKernel", 515, 5, corr=3, tid=2),
        kernel("gemm_nn", 600, 300, corr=3),
    )
    assert sums(table(make_session(trace), MODULE)) == {"Linear_0": (1, 300, 300)}


def test_shapes_and_steps() -> None:
    session = make_session(a_trace())
    found = table(session, SHAPE)
    assert dict(zip(found.keys, found.count.tolist(), strict=True)) == {
        ("", ""): 1,
        ("aten::mm", "[8x5] BFloat16, [5x3] BFloat16"): 2,
        ("aten::add", ""): 1,
    }
    assert sums(table(session, STEP)) == {"ProfilerStep#7": (3, 430, 430), "outside of steps": (1, 50, 50)}


def test_modules_of_operators_where_no_frames_are() -> None:
    trace = make_trace(
        op("aten::mm", 0, 20, args={"Module Hierarchy": "Net.fc"}),
        call("cudaLaunchKernel", 5, 2, corr=1),
        kernel("gemm", 50, 10, corr=1),
        kernel("lonely", 70, 5),
    )
    assert sums(table(make_session(trace), MODULE)) == {"": (1, 5, 5), "Net.fc": (1, 10, 10)}


def test_a_window_cuts_sums_and_leaves_durations_whole() -> None:
    session = make_session(a_trace())
    found = table(session, KERNEL, {0: (150, 220)})
    assert sums(found) == {"gemm_nn": (1, 50, 50), "elementwise": (1, 10, 10), "Memcpy DtoD": (0, 0, 0)}
    assert int(found.most[[k[0] for k in found.keys].index("gemm_nn")]) == 100
    by_op = table(session, OPERATOR, {0: (150, 220)})
    got = sums(by_op)
    assert got["aten::mm"] == (1, 50, 50), "its GPU work is inside, its call is not"
    assert got["aten::linear"] == (1, 50, 0)
    assert int(by_op.cpu_total[[k[0] for k in by_op.keys].index("aten::add")]) == 40


def test_ranks_are_merged_and_the_slowest_is_known() -> None:
    slow = make_trace(kernel("gemm_nn", 0, 999), rank=1, path="b.json")
    session = make_session(a_trace(rank=0), slow)
    found = table(session, KERNEL)
    at = [k[0] for k in found.keys].index("gemm_nn")
    assert (int(found.count[at]), int(found.median[at])) == (3, 300)
    assert (int(found.longest_input[at]), int(found.longest_row[at])) == (1, 0)
    runs = entries(session, (0, 1), {}, KERNEL, found.keys[at])
    assert [ns.tolist() for _, ns in runs.values()] == [[100, 300], [999]]


def test_recursion_counts_once() -> None:
    trace = make_trace(
        op("f", 0, 100),
        op("g", 5, 90),
        op("f", 10, 50),
        call("cudaLaunchKernel", 20, 5, corr=1),
        kernel("k", 200, 40, corr=1),
    )
    found = table(make_session(trace), OPERATOR)
    assert sums(found) == {"f": (2, 40, 40), "g": (1, 40, 0)}
    cpu = dict(zip((k[0] for k in found.keys), found.cpu_total.tolist(), strict=True))
    assert cpu == {"f": 100, "g": 90}


def test_no_gpu_work() -> None:
    session = make_session(make_trace(op("aten::mm", 0, 50)))
    for by in GROUPINGS:
        found = table(session, by)
        assert found.gpu_ns == 0
        assert int(found.own.sum()) == 0


def _random_events(seed: int) -> list[Event]:
    """Operators nested at random, launches inside some of them."""
    rnd, events, corr = random.Random(seed), [], 0

    def nest(lo: int, hi: int, depth: int) -> None:
        nonlocal corr
        if hi - lo < 12 or depth > 5:
            if rnd.random() < 0.7 and hi - lo > 3:
                corr += 1
                events.append(call("cudaLaunchKernel", lo + 1, 1, corr=corr))
                events.append(kernel(rnd.choice("ab"), 10_000 + 50 * corr, rnd.randint(1, 40), corr=corr))
            return
        events.append(op(rnd.choice(("x", "y", "z")), lo, hi - lo))
        cuts = sorted(rnd.sample(range(lo + 1, hi), 2))
        nest(cuts[0], cuts[1], depth + 1)
        nest(cuts[1], hi, depth + 1)

    for n in range(6):
        nest(n * 1000, n * 1000 + 400, 0)
    return events


@pytest.mark.parametrize("seed", range(5))
def test_against_walking_up_from_each_kernel(seed: int) -> None:
    trace = make_trace(*_random_events(seed))
    found = table(make_session(trace), OPERATOR)
    s = trace.slices
    launches = {int(s.corr[r]): r for r in range(len(trace)) if trace.cat(r) == "cuda_runtime"}
    total: dict[str, int] = {}
    own: dict[str, int] = {}
    for r in range(len(trace)):
        if trace.cat(r) != "kernel":
            continue
        at, names = int(s.parent[launches[int(s.corr[r])]]), []
        while at >= 0:
            names.append(trace.name(at))
            at = int(s.parent[at])
        own[names[0] if names else ""] = own.get(names[0] if names else "", 0) + int(s.dur_ns[r])
        for name in set(names) or {""}:
            total[name] = total.get(name, 0) + int(s.dur_ns[r])
    got = sums(found)
    assert {k: v[1] for k, v in got.items() if v[1]} == total
    assert {k: v[2] for k, v in got.items() if v[2]} == own


def test_nests_know_their_depth() -> None:
    nest = operator_nest(a_trace())
    assert np.bincount(nest.depth).tolist() == [3, 2]
    assert len(module_nest(a_trace())) == 2


def test_gpu_work_without_anything_of_the_host() -> None:
    session = make_session(make_trace(kernel("k", 0, 7), kernel("ncclDevKernel_AllReduce", 3, 9, stream=20)))
    for by in GROUPINGS:
        found = table(session, by)
        assert int(found.own.sum()) == 16, by
        assert int(found.count.sum()) == 2, by
