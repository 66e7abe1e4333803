"""A rank's own time as its peers would take it, stretch by stretch, also where files lack communications."""

import numpy as np
import pytest

from viewer.analyses.collective.nominal import as_peers, usual_of

FULL = [1, 2, 1, 2, 3]


class Ranks:
    """Own times per rank and step, each with the numbers of its communications."""

    def __init__(self, cells):
        self.order = [[np.array(seen, np.int64) for _, seen in steps] for steps in cells]
        self.begun = np.array([[len(seen) for _, seen in steps] for steps in cells], np.int64)
        flat = [np.array(own, np.float64) for steps in cells for own, _ in steps]
        self.own_time = np.concatenate(flat)
        self._bounds = np.concatenate(([0], np.cumsum([len(f) for f in flat])))

    def part(self, rank, step):
        at = rank * self.begun.shape[1] + step
        return slice(int(self._bounds[at]), int(self._bounds[at + 1]))


class Same:
    """Every rank runs the same kernels, and nothing else."""

    def __init__(self, ranks):
        count, steps = ranks.begun.shape
        self.ns = np.array([[ranks.own_time[ranks.part(i, k)].sum() for k in range(steps)] for i in range(count)])
        self.numbers = np.zeros(count, np.int64)
        self.asked = 0

    def alike(self):
        self.asked += 1
        return self.numbers


def cell(scale=1.0, seen=FULL, own=(10.0, 20.0, 30.0, 40.0, 50.0, 60.0)):
    return [v * scale for v in own], seen


def told(cells, rank=0):
    ranks = Ranks(cells)
    alike = np.zeros(len(cells), np.int64)
    found = as_peers(ranks, alike, Same(ranks), ranks.order)
    return [found.factor[ranks.part(rank, k)] for k in range(ranks.begun.shape[1])], found.unsure, found.patchy


def test_each_stretch_is_cut_to_that_of_the_peers():
    slow = [10.0, 20.0, 60.0, 40.0, 50.0, 60.0]
    found, unsure, patchy = told([[(slow, FULL)], [cell()], [cell()]])
    assert found[0] == pytest.approx([1, 1, 0.5, 1, 1, 1])
    assert not unsure.any()
    assert not patchy.any()


def test_ranks_as_fast_as_their_peers_stay_as_they_are():
    found, _, _ = told([[cell(1.003)], [cell()], [cell()]])
    assert (found[0] == 1.0).all()


def test_a_peer_that_lacks_one_is_told_from_its_other_steps():
    lacking = ([10.0, 20.0, 70.0, 50.0, 60.0], [1, 2, 2, 3])
    found, _, patchy = told([[cell(1.25), cell(1.25)], [lacking, cell()]])
    assert found[0] == pytest.approx([0.8] * 6)
    assert patchy.all()


def test_a_peer_that_lacks_one_in_every_step_is_told_from_what_both_have():
    lacking = ([10.0, 20.0, 170.0, 50.0, 60.0], [1, 2, 2, 3])  # 100 of the third are waiting for the one that is lost
    found, _, _ = told([[cell(1.25)], [lacking]])
    assert found[0] == pytest.approx([0.8] * 6)


def test_a_rank_that_lacks_one_is_not_blamed_for_waiting_for_it():
    own = [12.5, 25.0, 37.5 + 50.0 + 900.0, 62.5, 75.0]  # the third holds 900 of waiting
    found, unsure, patchy = told([[(own, [1, 2, 2, 3]), cell(1.25)], [cell(), cell()]])
    assert found[0][[0, 1, 3, 4]] == pytest.approx([0.8] * 4)
    assert found[0][2] * own[2] == pytest.approx(own[2] - 17.5)
    assert not unsure.any()
    assert patchy.all()


def test_where_too_little_is_alike_nothing_is_told():
    found, unsure, _ = told([[([5.0, 900.0], [3]), cell(1.25)], [cell(), cell()]])
    assert (found[0] == 1.0).all()
    assert unsure[0].tolist() == [True, False]


def test_a_rank_that_always_has_fewer_lacks_nothing():
    fewer = ([12.5, 25.0, 87.5, 62.5, 75.0], [1, 2, 2, 3])
    _, unsure, _ = told([[fewer, fewer], [cell(), cell()]])
    assert not unsure.any()


def test_of_two_ranks_the_faster_one_is_usual():
    assert usual_of([8.0], 10.0) == 8.0
    assert usual_of([12.0], 10.0) == 10.0
    assert usual_of([8.0, 9.0, 30.0], 10.0) == 9.0


def test_without_a_peer_ranks_that_run_the_same_kernels_tell():
    ranks = Ranks([[cell(1.25, own=(60.0, 50.0, 40.0, 30.0, 20.0, 10.0))], [cell()], [cell()]])
    work = Same(ranks)
    found = as_peers(ranks, np.arange(3), work, ranks.order)
    assert work.asked == 1  # all kernels of the job are counted for it
    # In another order: the whole of the step compares, no stretch of it.
    assert found.factor[ranks.part(0, 0)] == pytest.approx([0.8] * 6)
    assert found.other_role.all()
    assert not found.unsure.any()


def test_ranks_that_run_other_kernels_tell_nothing():
    ranks = Ranks([[cell(1.25)], [cell()], [cell()]])
    work = Same(ranks)
    work.numbers = np.arange(3)
    found = as_peers(ranks, np.arange(3), work, ranks.order)
    assert (found.factor == 1.0).all()
    assert found.unsure.all()
