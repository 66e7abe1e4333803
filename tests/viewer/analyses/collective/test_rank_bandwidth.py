"""Slow links: groups whose operations run slower than others of their kind, without waiting for it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.ranks import RankJob
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.rank_bandwidth import slow_links
from viewer.app.clocks import settle_clocks
from viewer.views.stragglers.panel import stragglers


@dataclass
class SlowGroup(RankJob):
    """The data-parallel group of ranks 4 and 5 takes ``factor`` times as long as the others."""

    factor: float = 1.0

    def _reduce(self, members: tuple[int, ...], purpose: str, arrive: dict[int, int], transfer: int) -> None:
        slow = members == (4, 5)
        super()._reduce(members, purpose, arrive, round(transfer * self.factor) if slow else transfer)


def test_the_slow_group_is_named_with_its_rate_and_that_of_the_others() -> None:
    session = settle_clocks(SlowGroup(ranks=6, steps=4, factor=2.0).session(), "auto")
    (link,) = slow_links(session)
    assert (link.kind, link.group.ranks, link.others) == (Kind.ALL_REDUCE, (4, 5), 2)
    assert link.busbw_gbps == pytest.approx(2 * 2**20 / 1_000_000, rel=0.01)
    assert link.usual_gbps == pytest.approx(2 * link.busbw_gbps, rel=0.01)
    assert link.wait_share < 0.5
    frame = stragglers(session)
    assert frame.links is not None
    assert len(frame.links.rows) == 1
    assert len(frame.links.how) == len(frame.links.headers)


def test_groups_that_are_as_fast_as_each_other_are_not_named() -> None:
    assert slow_links(settle_clocks(SlowGroup(ranks=6, steps=4).session(), "auto")) == []


def test_with_one_other_group_nobody_can_say_which_is_slow() -> None:
    session = settle_clocks(SlowGroup(ranks=4, steps=4).session(), "auto")
    assert slow_links(session) == []
