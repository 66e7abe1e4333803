"""The report's part on pipelines."""

from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from viewer.exporters.report import encode_report, report

F, B = 1_000_000, 2_000_000


def test_bubble_per_step_and_worker() -> None:
    job = PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, without_file=(), steps=2)
    data = report(job.session())
    part = data["pipeline"]
    assert (part["problem"], part["stages"], part["schedule"]["name"]) == (None, 2, "1f1b")
    assert [w["label"] for w in part["workers"]] == ["rank 0", "rank 1"]
    start, end = job.phase(0, 1)
    step = part["steps"][1]
    assert (step["index"], step["bubble_ns"]) == (1, end - start - 4 * (F + B))
    assert sum(step["parts"].values()) == step["bubble_ns"]
    assert step["theory_share"] == 0.2
    for rank in data["ranks"]:
        own = rank["steps"][1]["pipeline"]
        assert own["stage"] == rank["rank"]
        assert sum(own["parts"].values()) == own["bubble_ns"] == step["bubble_ns"]
    assert b'"pipeline"' in encode_report(data)


def test_without_a_pipeline_it_says_why() -> None:
    data = report(make_session(make_trace(kernel("gemm", 0, 10), rank=0)))
    assert data["pipeline"]["stages"] is None
    assert "no group of ranks" in data["pipeline"]["problem"]


def test_missing_stages_are_said_and_null() -> None:
    job = PipelineJob(one_f_one_b(3, 4), [F] * 3, [B] * 3, without_file=(0, 1))
    part = report(job.session())["pipeline"]
    assert part["partial"] == "2 of 3 ranks of its pipelines are not open"
    assert [w["opened"] for w in part["workers"]] == [False, False, True]
    (line,) = part["steps"][0]["pipelines"]
    assert line["floor"] is True
    assert line["stages"][0]["parts"] is None
