"""The fingerprint and the card in the report and in the summary."""

from __future__ import annotations

import json

from tests.support.build import make_session, make_trace
from tests.viewer.analyses.fingerprint.test_figures import job
from viewer.analyses.card_fill import with_filled_card
from viewer.exporters.report import encode_report, report
from viewer.exporters.report_fingerprint import fingerprint_lines
from viewer.exporters.summary import summary

KEYS = {
    "title", "value", "unit", "theory", "theory_how", "range", "lower_is_better", "condition", "applies", "status",
    "needs", "why", "how", "note", "steps", "ranks", "evidence",
}  # fmt: skip


def test_every_figure_of_the_report_explains_itself() -> None:
    data = json.loads(encode_report(report(job())))
    training = data["fingerprint"]["training"]
    names = {"mfu", "exposed_communication", "memory_peak", "unused_reserve", "pipeline_bubble", "step_gap"}
    assert set(training) == names | {"hfu", "waterfall", "problem"}
    for name in names:
        assert set(training[name]) == KEYS
        assert training[name]["how"]
        assert (training[name]["value"] is None) == bool(training[name]["status"] == "unknown")
    assert training["mfu"]["range"] == {"low": 0.4, "high": 0.55}
    assert training["step_gap"]["evidence"][0]["start_ns"] == 800  # after the first GPU start
    parts = training["waterfall"]
    assert sum(x["ns"] for x in parts["losses"]) + parts["model"]["ns"] == parts["total_ns"]
    assert data["fingerprint"]["inference"] is None
    assert data["fingerprint"]["inference_why"]


def test_the_card_of_the_report_has_its_sources() -> None:
    session = job()
    told = report(with_filled_card(session, session.card))["job"]["card"]
    assert told["model"]["parameters"] == 5_000
    assert told["model"]["name"] is None
    assert told["hardware"]["hosts"] is None
    one = {f"plan.{name}" for name in ("tp", "cp", "dp", "pp", "ep")}
    assert set(told["sources"]) == one, "the person said all else, and a job of one rank has no dimensions"
    filled = report(with_filled_card(job(communicate=False), make_session(make_trace()).card))["job"]["card"]
    assert filled["sources"]["plan.world_size"]


def test_a_card_that_contradicts_itself_is_said_in_report_and_summary() -> None:
    data = report(job(plan__tp=2))  # of one rank
    assert data["job"]["card"]["problems"] == ["tp is 2, which does not divide the world's 1 ranks"]
    assert "the job card cannot be right: tp is 2" in summary(data)


def test_a_window_has_no_fingerprint_and_the_summary_no_lines() -> None:
    data = report(job(), window=(0, 500))
    assert data["fingerprint"]["training"] is None
    assert fingerprint_lines(data) == []


def test_the_summary_says_each_figure_or_the_field_that_it_needs() -> None:
    session = job()
    text = summary(report(session.with_card(session.card.with_value("model.parameters", None))))
    assert "not computable: needs model.parameters on the job card" in text
    assert "Exposed communication   20.0 %, usual 5 % to 15 %, outside" in text
    assert "profile_memory=True" in text
