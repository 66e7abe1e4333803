"""The parallel view as plain data."""

from __future__ import annotations

import numpy as np

from tests.support.build import kernel, make_session, make_trace
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from viewer.base.pipeline_frame import CellKind
from viewer.base.selection import GroupRef, TimeRange
from viewer.views.parallel import parallel, step_of

F, B = 1_000_000, 2_000_000


def job(**more: object) -> PipelineJob:
    return PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, replicas=2, **more)  # type: ignore[arg-type]


def test_a_row_per_worker_and_a_cell_per_pass() -> None:
    made = job()
    view = parallel(made.session(), step=1)
    frame = view.frame
    assert frame is not None
    assert (view.steps, view.step, view.can_fold, view.folded) == ((0, 1), 1, True, False)
    assert [(r.label, r.detail, r.heading) for r in frame.rows] == [
        ("stage 0", "rank 0", "replica 0"), ("stage 1", "rank 2", ""),
        ("stage 0", "rank 1", "replica 1"), ("stage 1", "rank 3", ""),
    ]  # fmt: skip
    for row, rank in enumerate((0, 2, 1, 3)):
        part = frame.of_row(row)
        cells = np.flatnonzero(frame.kind[part] <= CellKind.WEIGHT) + part.start
        told = [
            (
                int(frame.kind[c]),
                frame.text[c],
                frame.origin_ns + int(frame.start[c]),
                frame.origin_ns + int(frame.end[c]),
            )
            for c in cells
        ]
        assert told == [("FB".index(k), str(m), s, e) for k, m, _, s, e in made.passes[rank, 1]]
    start, end = made.phase(0, 1)
    assert frame.rows[0].phase == (start - frame.origin_ns, end - frame.origin_ns)
    assert frame.zero_ns == start - frame.origin_ns
    share = (end - start - 4 * (F + B)) / (end - start)
    assert frame.rows[0].bubble == f"{100 * share:.1f} %"
    assert frame.rows[0].theory == "20.0 %"
    assert frame.rows[0].target == GroupRef(0)
    assert "made of: theory 3.000 ms" in frame.rows[0].told


def test_folded_rows_stand_for_their_replicas() -> None:
    view = parallel(job(slow={3: 1.5}).session(), folded=True)
    assert view.frame is not None
    assert [(r.label, r.detail) for r in view.frame.rows] == [("stage 0", "2 replicas"), ("stage 1", "2 replicas")]
    assert "over 2 replicas" in view.frame.rows[1].told
    assert view.tone == "warning"


def test_missing_ranks_are_rows_without_figures() -> None:
    view = parallel(job(without_file=(2,)).session())
    assert view.frame is not None
    row = view.frame.rows[1]
    assert (row.missing, row.bubble, row.target) == (True, "", None)
    assert "its trace is not open" in row.told
    assert "1 of 4 ranks of its pipelines are not open." in view.sentence


def test_the_sentence_says_what_lies_beyond_theory() -> None:
    view = parallel(PipelineJob(one_f_one_b(2, 4), [F, 2 * F], [B, 2 * B]).session())
    assert view.sentence.startswith("Bubble ")
    assert "theory 20.0 % (1F1B, 2 stages, 4 micro-batches)" in view.sentence
    assert "Beyond theory: uneven stages" in view.sentence
    assert "Stage 1 computes longest." in view.sentence
    late = parallel(PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, replicas=3, steps=3, slow={4: 1.3}).session())
    assert "Rank 4 computes 3.600 ms per step longer than the others of its stage." in late.sentence


def test_the_step_of_a_range() -> None:
    made = job()
    session = made.session()
    start, end = made.phase(0, 1)
    assert step_of(session, TimeRange(start - 500_000, end)) == 1
    assert step_of(session, TimeRange(0, 10)) is None
    assert step_of(session, None) is None


def test_no_pipeline_is_said() -> None:
    view = parallel(make_session(make_trace(kernel("gemm", 0, 10), rank=0)))
    assert (view.frame, view.tone) == (None, "muted")
    assert view.sentence.startswith("No pipeline: no group of ranks")
    assert step_of(make_session(make_trace(kernel("gemm", 0, 10), rank=0)), TimeRange(0, 10)) is None
