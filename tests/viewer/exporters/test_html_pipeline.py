"""The HTML report's section on the pipeline."""

from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.viewer.exporters.test_html import Reader
from viewer.exporters.html_page import html_report
from viewer.exporters.report import report
from viewer.store.session import Session


def page(session: Session) -> str:
    return html_report(session, report(session), "job")


def test_bubble_chart_and_parts() -> None:
    job = PipelineJob(one_f_one_b(2, 4), [1_000_000] * 2, [2_000_000] * 2)
    session = job.session()
    made = page(session)
    seen = Reader(made)
    words = " ".join(seen.words)
    assert "theory 20.0 % (1F1B, 2 stages, 4 micro-batches)" in words
    assert "uneven stages" in words
    assert made.count("p-forward") - 1 == made.count("p-backward") - 1 == 2 * 4  # one each in the style
    assert "forward, micro-batch 3" in made


def test_no_pipeline_no_section() -> None:
    made = page(make_session(make_trace(kernel("gemm", 0, 10), rank=0)))
    assert 'id="pipeline"' not in made
