"""Replay where files of a pipeline are missing: its other replicas stand for it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.pipeline_job import PipelineJob, one_f_one_b
from viewer.analyses.findings.whatif import saved_by_leaving_out
from viewer.analyses.gpu_work import gpu_work
from viewer.app.clocks import settle_clocks
from viewer.base.ids import Paint
from viewer.store.session import Session

I64 = NDArray[np.int64]


def half_of_all_compute(session: Session) -> dict[int, tuple[I64, I64]]:
    out = {}
    for group in session.groups:
        item = session.inputs[group.inputs[0]]
        work = gpu_work(item.trace)
        mine = work.paint != Paint.COMM
        start, end = (item.clock.many_to_session(x[mine]) for x in (work.start_ns, work.end_ns))
        out[group.id] = (start, start + (end - start) // 2)
    return out


def saved(*missing: int) -> int | None:
    job = PipelineJob(
        order=one_f_one_b(3, 4),
        forward=[200_000] * 3,
        backward=[400_000] * 3,
        replicas=2,
        steps=4,
        without_file=missing,
    )
    session = settle_clocks(job.session(), "auto")
    assert session.clock_method == "collectives"
    return saved_by_leaving_out(session, half_of_all_compute(session))


@pytest.mark.parametrize("missing", [0, 3, 4])
def test_a_missing_rank_of_one_replica_changes_nothing(missing: int) -> None:
    whole = saved()
    assert whole
    assert saved(missing) == pytest.approx(whole, rel=0.02)


def test_without_a_whole_pipeline_nothing_is_said() -> None:
    assert saved(2, 3) is None
