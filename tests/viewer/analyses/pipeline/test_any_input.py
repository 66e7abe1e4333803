"""Whatever files hold: figures that add up, or one sentence why there are none."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import Event, make_session, make_trace
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from viewer.analyses.findings.bubble import find
from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.base.work import CancelToken
from viewer.exporters.report_pipeline import pipeline_part
from viewer.store.session import Session
from viewer.views.parallel import parallel
from viewer.views.stragglers.panel import stragglers

NAMES = ("forward-compute", "backward-compute", "forward", "backward", "wgrad", "forward-recv", "backward-send",
         "grads-reduce-scatter", "PP:1F0", "PP:0B1", "other")  # fmt: skip
number = st.one_of(st.integers(-2, 3), st.integers(-(2**70), 2**70), st.none(), st.text(max_size=3), st.booleans())
small = st.integers(0, 2)


@st.composite
def span(draw: st.DrawFn) -> Event:
    args: dict[str, Any] = {"step": draw(small), "pp_rank": draw(small), "mb_id": draw(small)}
    for key in draw(st.sets(st.sampled_from(("step", "pp_rank", "mb_id", "model_chunk", "dp_rank", "seq_id")))):
        args[key] = draw(number)
    name = draw(st.sampled_from(NAMES))
    start, length = draw(st.integers(0, 1_000)), draw(st.integers(0, 300))
    return Event(name, start, length, "user_annotation", 1, draw(small), args=args)


@settings(max_examples=60)
@given(st.lists(span(), max_size=24))
def test_any_spans(events: list[Event]) -> None:
    check(make_session(make_trace(*events)))


@settings(max_examples=12)
@given(st.integers(0, 1_000), st.floats(0.0, 0.6), st.booleans(), st.sampled_from((0, 5_000_000)))
def test_any_losses(seed: int, share: float, marks: bool, offset: int) -> None:
    chance = random.Random(seed)
    job = PipelineJob(one_f_one_b(3, 3), [100_000] * 3, [200_000] * 3, replicas=2, marks=marks, offsets={1: offset})
    job.lost = lambda _rank, event: not event.name.startswith("ProfilerStep") and chance.random() < share
    check(job.session())


def check(session: Session) -> None:
    """Everything that is made of passes, and that parts add up."""
    out = pipeline(session)
    if isinstance(out, Pipeline):
        for step in out.steps:
            for line in step.lines:
                for stage in line.stages:
                    assert stage.compute_ns + stage.bubble_ns == line.phase_ns or line.floor
                    assert stage.parts is None or stage.parts.total_ns() == stage.bubble_ns
            parts = step.parts()
            assert parts is None or parts.total_ns() == step.bubble_ns
    else:
        assert out
    assert pipeline_part(session)["problem"] is None or isinstance(out, str)
    assert parallel(session).sentence
    assert stragglers(session).sentence
    assert all(f.evidence for f in find(session, CancelToken()))
