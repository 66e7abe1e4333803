"""Late ranks, uneven work and what the data cannot say, on jobs whose truth is planted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import annotation, call, kernel, make_session, make_trace, op
from tests.support.planted import Worked, aligned, late_stage, pipe
from tests.support.ranks import RankJob
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.roles import roles
from viewer.analyses.findings import caveats, late_rank, uneven
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.registry import job_findings
from viewer.app.clocks import settle_clocks
from viewer.base.selection import Selection
from viewer.base.work import CancelToken
from viewer.store.session import Session


def confident(session: Session) -> list[JobFinding]:
    return [f for f in job_findings(session) if f.confident and f.severity != "info"]


def test_a_late_rank_is_first_and_its_size_is_right():
    session = aligned(RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}, offsets={1: 2_000_000}))
    first, *others = confident(session)
    assert (first.id, first.kind, others) == ("late-rank/rank 3", "late-rank", [])
    assert first.saving_ns_per_step == pytest.approx(4_000_000, rel=0.1)
    assert first.share == pytest.approx(0.1, rel=0.1)
    assert first.title.startswith("Rank 3 is late by 4.0 ms per step")
    worst, wait = first.evidence[:2]
    assert isinstance(worst.target, Selection)
    assert worst.target.group == 3
    assert "persistent (12 of 12 steps)" in worst.text
    assert "wait" in wait.text
    assert isinstance(wait.target, Selection)
    assert wait.target.group != 3


def test_nothing_is_found_in_a_healthy_job():
    assert job_findings(aligned(RankJob(ranks=6, steps=12, offsets={2: 2_500_000}))) == ()


def test_what_no_clock_joins_is_no_late_rank():
    session = RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}).session()
    assert list(late_rank.find(session, CancelToken())) == []


def test_uneven_ranks_whose_turn_changes():
    session = aligned(Worked(ranks=4, steps=12, world_operations=False, sends=False, turns=4_000_000))
    found = [f for f in uneven.find(session, CancelToken()) if f.kind == "uneven-ranks"]
    # Two ranks of a role: in half of the steps one of them has 4 ms more, 2 ms beyond their mean.
    assert [f.id for f in found] == []
    session = aligned(Worked(ranks=2, steps=12, sends=False, turns=4_000_000))
    (one,) = uneven.find(session, CancelToken())
    assert one.saving_ns_per_step == 2_000_000
    assert "another rank has the most from step to step" in one.title
    assert one.overlaps == ("late",)


def test_one_slow_rank_of_two_makes_no_uneven_stage():
    session = aligned(Worked(ranks=6, steps=8, extra={2: 4_000_000}))
    found = list(uneven.find(session, CancelToken()))
    assert [f.id for f in found] == ["uneven-ranks/rank 2"]
    assert "rank 2 has the most in 100 % of the steps" in found[0].title
    assert "does the same work" in found[0].next_step


def test_uneven_stages_name_the_stage_with_the_most():
    session = aligned(Worked(ranks=6, steps=8, extra={2: 3_000_000, 3: 3_000_000}))
    (one,) = (f for f in uneven.find(session, CancelToken()) if "stage" in f.kind)
    assert one.id == "uneven-stages/stage 1"
    assert one.saving_ns_per_step == 2_000_000
    assert one.share == pytest.approx(2 / 40, rel=0.05)
    assert one.evidence[0].text.startswith("stage 1: 10.0 ms")


@given(st.lists(st.lists(st.integers(0, 100), min_size=3, max_size=3), min_size=2, max_size=5))
def test_the_spread_against_a_plain_loop(rows):
    found = uneven.spread_of(np.array(rows, np.float64))
    assert found is not None
    excess = []
    for k in range(3):
        column = [row[k] for row in rows]
        excess.append(max(column) - sum(column) / len(column))
        assert column[int(found.most[k])] == max(column)
    assert found.excess.tolist() == pytest.approx(excess)
    assert found.saving_ns == round(sorted(excess)[1])


def test_a_stage_is_late_only_beyond_every_other():
    time = np.array([[9.0, 9.0], [5.0, 5.0], [2.0, 8.0]])
    found = uneven.beyond_next(time)
    assert found is not None
    assert found.excess.tolist() == [4.0, 1.0]
    assert found.usual == (0, 1.0)
    assert uneven.beyond_next(time[:2]) is None, "of two stages the first may have more by its place"


def kinds(session: Session) -> list[str]:
    found = list(caveats.find(session, CancelToken()))
    assert all(f.severity == "info" and f.saving_ns_per_step is None for f in found)
    return [f.kind for f in found]


def test_caveats_of_one_rank_of_many():
    trace = make_trace(op("aten::mm", 0, 5), kernel("gemm", 0, 10), rank=0, world_size=8, complete=False)
    assert kinds(make_session(trace)) == ["cut-files", "missing-ranks", "no-steps", "no-shapes"]


def test_caveats_of_a_whole_job():
    assert kinds(aligned(RankJob(ranks=4, steps=6))) == []
    assert kinds(RankJob(ranks=4, steps=6).session()) == ["clocks-not-aligned"]
    assert kinds(aligned(RankJob(ranks=4, steps=6, without_file=(3,)))) == ["missing-ranks"]


def test_shapes_are_seen_where_they_are():
    shaped = make_trace(
        annotation("ProfilerStep#1", 0, 100),
        op("aten::mm", 0, 5, args={"Input Dims": [[4, 8], [8, 4]]}),
        call("cudaLaunchKernel", 1, 2, corr=1),
        kernel("gemm", 10, 10, corr=1),
    )
    assert kinds(make_session(shaped)) == ["one-step"]


def test_warm_up_is_said():
    events = []
    for number, (at, length) in enumerate(((0, 900), (900, 100), (1000, 100), (1100, 100), (1200, 100))):
        events += [
            annotation(f"ProfilerStep#{number}", at, length),
            call("cudaLaunchKernel", at + 1, 1, corr=number + 1),
            kernel("gemm", at + 2, length - 2, corr=number + 1),
        ]
    assert kinds(make_session(make_trace(*events))) == ["warm-up"]


def test_without_gpu_work_there_is_nothing_to_say():
    assert kinds(make_session(make_trace(op("aten::mm", 0, 5)))) == []


@pytest.mark.parametrize(("took", "told"), [(6_000_000_000, True), (200_000_000, False)])
def test_a_start_that_is_recorded_is_said(took: int, told: bool):
    events = [
        call("cudaFree", 0, took),
        call("cudaLaunchKernel", took, 5, corr=1),
        kernel("gemm", took + 9, 50, corr=1),
    ]
    assert ("start-up" in kinds(make_session(make_trace(*events)))) is told
    stepped = [annotation("ProfilerStep#1", 0, took + 100), *events]
    assert "start-up" not in kinds(make_session(make_trace(*stepped))), "a step's slow call is the step's"


def test_a_stage_whose_clock_is_not_aligned_is_compared_with_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    session, _ = late_stage(tmp_path)
    assert [f.id for f in uneven.find(session, CancelToken())] == ["late-stage/stage 1"]
    found = lateness(session)
    assert found is not None
    apart = np.where(np.arange(len(found.least)) == found.ranks.index(4), np.nan, found.least)
    monkeypatch.setattr(uneven, "lateness", lambda _: replace(found, least=apart))
    assert list(uneven.find(session, CancelToken())) == []


def test_files_of_several_jobs_go_before_everything_else_that_is_found():
    sizes = (4, 4, 4, 8)
    of = [make_trace(kernel("gemm", 0, 9), rank=r, path=f"{r}.json", world_size=n) for r, n in enumerate(sizes)]
    assert next(iter(caveats.find(make_session(*of[:2]), CancelToken()))).kind == "missing-ranks"
    first = job_findings(make_session(*of))[0]
    assert (first.kind, first.severity) == ("several-jobs", "error")
    assert "2 jobs, of 4 and 8 ranks" in first.title
    told = [e.text for e in first.evidence]
    assert told == ["4 ranks: 3 files, for example 0.json", "8 ranks: 1 file, for example 3.json"]


def test_stages_without_replicas_are_no_peers():
    """They compute differently by their place, and nothing says that one is late."""
    alone = roles(aligned(RankJob(ranks=2, steps=4)))
    assert len(set(alone.values())) == 1
    stages = settle_clocks(pipe(replicas=1).session(), "auto")
    assert len(set(roles(stages).values())) == 4
    both = settle_clocks(pipe().session(), "auto")
    assert sorted(Counter(roles(both).values()).values()) == [2] * 4


def test_a_lateness_that_nothing_explains_is_not_sure(monkeypatch: pytest.MonkeyPatch):
    session = aligned(RankJob(ranks=6, steps=6, late_ns={3: 4_000_000}))
    (explained,) = late_rank.find(session, CancelToken())
    monkeypatch.setattr(late_rank, "cause_of", lambda *_: None)
    (unexplained,) = late_rank.find(session, CancelToken())
    assert explained.id == unexplained.id == "late-rank/rank 3"
    assert explained.confident
    assert not unexplained.confident


def test_stages_without_replicas_have_no_late_rank():
    assert list(late_rank.find(settle_clocks(pipe(replicas=1).session(), "auto"), CancelToken())) == []
