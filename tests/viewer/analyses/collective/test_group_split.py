"""Groups of one size are told apart by which ranks' operations end together, whatever numbers the ranks have."""

from __future__ import annotations

import numpy as np

from tests.support.build import kernel, make_trace
from viewer.analyses.collective.group_split import split
from viewer.analyses.collective.operations import Operations, operations

Users = list[tuple[int, Operations, int]]


def users(lowest: dict[int, int]) -> Users:
    """Each rank's operations; those of ranks with one lowest member end together."""
    out: Users = []
    for rank, group in lowest.items():
        ends = 1_000_000 * np.arange(1, 9) + np.random.default_rng(group).integers(0, 400_000, 8)
        events = [
            kernel("ncclDevKernel_AllReduce", int(end) - 50_000, 50_000, collective="allreduce",
                   about={"group_size": 2, "seq": n})
            for n, end in enumerate(ends)
        ]  # fmt: skip
        out.append((rank, operations(make_trace(*events, rank=rank)), 0))
    return out


def test_neighbours_and_ranks_a_stride_apart() -> None:
    for lowest in ({0: 0, 1: 0, 2: 2, 3: 2}, {0: 0, 1: 1, 2: 0, 3: 1}):
        assert split(users(lowest), 2) == lowest


def test_a_number_that_is_no_place_in_a_layout_tells_nothing_and_takes_no_time() -> None:
    assert split(users({0: 0, 1: 0, 2: 2, 20_240_301_120_000: 2}), 2) is None
