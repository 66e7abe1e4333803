"""Merged stacks against hand-worked numbers, and sums that must hold whatever the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.build import annotation, call, kernel, make_session, make_trace, op, python
from viewer.analyses.flame import tree as trees
from viewer.analyses.flame.stacks import EVERYTHING, FRAMES, MODULES, OPERATORS
from viewer.analyses.flame.tree import CPU, GPU, NO_LAUNCH, FlameTree, flame_tree
from viewer.store.session import Session


def a_trace(**more: Any) -> Any:
    return make_trace(
        annotation("ProfilerStep#1", 0, 2000),
        python("main.py(1): train", 0, 1000),
        python("nn.Module: Block_0", 10, 300),
        python("block.py(9): forward", 20, 200),
        op("aten::mm", 40, 50),
        call("cudaLaunchKernel", 45, 5, corr=1),
        op("aten::mm", 100, 50),
        call("cudaLaunchKernel", 105, 5, corr=2),
        op("evaluate: MmBackward0", 500, 100, tid=2),
        op("MmBackward0", 505, 90, tid=2),
        call("cudaLaunchKernel", 515, 5, corr=3, tid=2),
        kernel("gemm", 300, 100, corr=1),
        kernel("gemm", 400, 30, corr=2),
        kernel("gemm_grad", 600, 300, corr=3),
        kernel("lonely", 2000, 50),
        flows=(("s", 1, "fwdbwd", 42, 100, 1), ("f", 1, "fwdbwd", 501, 100, 2)),
        **more,
    )


def tree(session: Session, weight: str, frames: str, windows: Any = None) -> FlameTree:
    return flame_tree(session, tuple(range(len(session.inputs))), windows or {}, weight, frames)


def paths(found: FlameTree) -> dict[str, tuple[int, int]]:
    """Total and own by path."""
    out: dict[str, tuple[int, int]] = {}
    names: list[str] = []
    for i, name in enumerate(found.names):
        names[int(found.depth[i]) :] = [name or "all"]
        out[" > ".join(names[1:]) or "all"] = (int(found.total[i]), int(found.own[i]))
    return out


def test_gpu_time_by_module_with_the_backward_pass_below_it() -> None:
    found = tree(make_session(a_trace()), GPU, MODULES)
    block = "nn.Module: Block_0"
    assert paths(found) == {
        "all": (480, 0),
        block: (430, 0),
        f"{block} > evaluate: MmBackward0": (300, 0),
        f"{block} > evaluate: MmBackward0 > MmBackward0": (300, 0),
        f"{block} > evaluate: MmBackward0 > MmBackward0 > gemm_grad": (300, 300),
        f"{block} > aten::mm": (130, 0),
        f"{block} > aten::mm > gemm": (130, 130),
        NO_LAUNCH: (50, 0),
        f"{NO_LAUNCH} > lonely": (50, 50),
    }


def test_gpu_time_by_operator_and_with_everything() -> None:
    session = make_session(a_trace())
    flat = paths(tree(session, GPU, OPERATORS))
    assert flat["aten::mm"] == (130, 0)
    assert flat["evaluate: MmBackward0"] == (300, 0)
    deep = paths(tree(session, GPU, EVERYTHING))
    way = "main.py(1): train > nn.Module: Block_0 > block.py(9): forward"
    assert deep[way] == (430, 0), "numbered step marks are no frames: steps are merged"
    assert deep[f"{way} > evaluate: MmBackward0"] == (300, 0)


def test_cpu_self_time() -> None:
    found = paths(tree(make_session(a_trace()), CPU, EVERYTHING))
    way = "main.py(1): train > nn.Module: Block_0 > block.py(9): forward"
    assert found["main.py(1): train"] == (1100, 700)
    assert found[way] == (300, 100), "200 ns of its own thread, of which 100 in mm, and 100 of the backward pass"
    assert found[f"{way} > aten::mm"] == (100, 90)
    assert found[f"{way} > aten::mm > cudaLaunchKernel"] == (10, 10)


def test_a_window_cuts_and_ranks_are_added() -> None:
    session = make_session(a_trace(rank=0), a_trace(rank=1, path="b.json"))
    assert paths(tree(session, GPU, OPERATORS))["aten::mm > gemm"] == (260, 260)
    cut = paths(tree(session, GPU, OPERATORS, {0: (350, 410), 1: (0, 1)}))
    assert cut == {"all": (60, 0), "aten::mm": (60, 0), "aten::mm > gemm": (60, 60)}


def test_the_longest_slice_of_a_frame_is_known() -> None:
    trace = a_trace()
    found = tree(make_session(trace), GPU, OPERATORS)
    at = found.names.index("gemm")
    assert trace.slices.dur_ns[found.row[at]] == 100
    assert found.row[0] == -1


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("weight", [GPU, CPU])
def test_parts_add_up_and_small_branches_are_counted(weight: str, frames: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session(a_trace())
    whole = tree(session, weight, frames)
    monkeypatch.setattr(trees, "SMALLEST", 4)
    for found in (whole, tree(session, weight, frames)):
        below = np.zeros(len(found), np.int64)
        np.add.at(below, found.parent[1:], found.total[1:])
        assert (below + found.own == found.total).all()
        assert int(found.total[0]) == int(whole.total[0])
        assert (found.depth[1:] == found.depth[found.parent[1:]] + 1).all()
    assert int(whole.merged.sum()) == 0
    assert int(found.merged.sum()) > 0
    monkeypatch.setattr(trees, "SMALLEST", 20_000)
    monkeypatch.setattr(trees, "MOST_NODES", 4)
    assert len(tree(session, weight, frames)) <= 4


def test_nothing_recorded() -> None:
    empty = tree(make_session(make_trace()), GPU, MODULES)
    assert len(empty) == 1
    assert int(empty.total[0]) == 0
