"""Each cause of a late rank, planted in a small job."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.build import annotation, call, kernel, python
from tests.support.gradients import GradientJob
from tests.support.ranks import RankJob
from viewer.analyses.collective import causes
from viewer.analyses.collective.causes import cause_of
from viewer.analyses.collective.lateness import lateness
from viewer.app.clocks import settle_clocks
from viewer.base.selection import SliceRef, TimeRange
from viewer.store.session import Session

LATE, BY = 3, 4_000_000
NAMES = ("gemm", "gelu", "norm")
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@dataclass
class CausedJob(RankJob):
    """Rank 3 is late for one reason. A step's compute is three kernels of 2 ms in every rank."""

    cause: str = ""

    def _compute(self, rank: int, start: int, length: int, name: str = "gemm") -> None:
        if name != "gemm":
            super()._compute(rank, start, length, name)
            return
        late = BY if rank == LATE and self.cause else 0
        lengths = dict.fromkeys(NAMES, 2_000_000)
        grid = 64
        if late and self.cause == causes.SLOWER:
            lengths = dict.fromkeys(NAMES, 2000000 + BY // 3)
        if late and self.cause in (causes.ONE_KERNEL, "larger grid"):
            lengths["gelu"] += BY
            grid = 192 if self.cause == "larger grid" else 64
        at = start
        for n in NAMES:
            if late and n == "norm" and self.cause in (causes.HOST, causes.LOADING, causes.COLLECTION):
                self._held(at, BY)
                at += BY
            self._run(rank, n, at, lengths[n], grid if n == "gelu" else 64)
            at += lengths[n]
            if late and n == "gelu" and self.cause == causes.MORE_WORK:
                for _ in range(4):
                    self._run(rank, n, at, BY // 4, 64)
                    at += BY // 4

    def _run(self, rank: int, name: str, at: int, length: int, grid: int) -> None:
        self._corr += 1
        begun = at - 20_000
        self._events[rank] += [
            call("cudaLaunchKernel", begun, 5_000, corr=self._corr),
            kernel(name, at, length, corr=self._corr, args={"grid": [grid, 1, 1]}),
        ]

    def _held(self, at: int, length: int) -> None:
        if self.cause == causes.LOADING:
            self._events[LATE].append(annotation(LOADER, at, length - 40_000))
        if self.cause == causes.COLLECTION:
            self._events[LATE].append(python("Python GC: generation 2", at, length - 40_000))


def job(cause: str) -> Session:
    late = {LATE: BY} if cause else {}
    return settle_clocks(CausedJob(ranks=6, steps=6, late_ns=late, cause=cause).session(), "auto")


@pytest.mark.parametrize(
    "planted",
    [
        causes.SLOWER,
        causes.ONE_KERNEL,
        causes.MORE_WORK,
        "larger grid",
        causes.HOST,
        causes.LOADING,
        causes.COLLECTION,
    ],
)
def test_the_planted_cause_is_found(planted: str) -> None:
    session = job(planted)
    found = cause_of(session, LATE)
    assert found is not None
    assert found.code == (causes.MORE_WORK if planted == "larger grid" else planted)
    assert found.share == pytest.approx(1.0, abs=0.1)
    assert found.peers == (2,), "its partner of the same pipeline stage"
    first = found.evidence[0]
    # What the host held up counts up to the own lateness, which has some jitter of the arrivals in it.
    held = planted in (causes.HOST, causes.LOADING, causes.COLLECTION)
    extra = BY / 3 if planted == causes.SLOWER else BY
    assert first.extra_ns == pytest.approx(extra, rel=0.15 if held else 0.02)
    s = session.inputs[LATE].trace
    if held:
        assert isinstance(first.where, TimeRange)
        assert first.where.length_ns == pytest.approx(BY, rel=0.02)
    else:
        assert isinstance(first.where, SliceRef)
        assert s.name(first.where.index) in NAMES if planted == causes.SLOWER else s.name(first.where.index) == "gelu"


def test_slower_kernels_say_by_how_much() -> None:
    found = cause_of(job(causes.SLOWER), LATE)
    assert found is not None
    assert found.ratio == pytest.approx(1 + BY / 6_000_000, rel=0.01)
    assert found.slower_share is not None
    assert found.slower_share > 0.8
    assert found.words == "its kernels are 67 % slower everywhere"


def test_ranks_on_time_have_no_cause() -> None:
    session = job("")
    ranks = lateness(session)
    assert ranks is not None
    assert all(cause_of(session, r) is None for r in ranks.ranks)
    late = job(causes.SLOWER)
    assert all(cause_of(late, r) is None for r in range(6) if r != LATE)


def test_without_a_cause_in_kernels_or_host_it_is_unknown() -> None:
    # The compute is as the peers'; only the arrival is late, by something that no event shows.
    session = settle_clocks(CausedJob(ranks=6, steps=6, late_ns={LATE: BY}).session(), "auto")
    found = cause_of(session, LATE)
    assert found is not None
    assert found.code in (causes.UNKNOWN, causes.HOST)


def test_a_slow_link_is_named_with_what_it_costs_its_ranks_and_no_others() -> None:
    session = GradientJob(ranks=8, groups=4, slow={2: 3.0}).session()
    told = causes._slow_link(session, 4)
    assert told is not None
    # Four layers of 2,430 us where the others take 830.
    assert told[0] == pytest.approx(4 * 1_600_000, rel=0.01)
    assert told[1].startswith("its link in dp [4, 5] is slow: ")
    assert causes._slow_link(session, 0) is None
    assert cause_of(session, 4) is None  # its own time is as its peers': the link holds up whoever needs it
