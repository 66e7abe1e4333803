"""Findings of a job in the report and in the summary: places, order, savings that do not add twice."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.analyses.findings import registry
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.app.clocks import settle_clocks
from viewer.base.selection import GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.exporters.report import encode_report, report
from viewer.exporters.report_findings import place_of
from viewer.exporters.summary import summary
from viewer.exporters.summary_findings import WIDTH
from viewer.store.session import Session


def finding(name: str, saving: int | None = None, **more: Any) -> JobFinding:
    facts: dict[str, Any] = {
        "kind": name.partition("/")[0], "title": f"title of {name}", "severity": "warning", "saving_how": "a bound",
        "evidence": (Evidence("seen"),), "next_step": "try it", "how": "looked", **more,
    }  # fmt: skip
    return JobFinding(id=name, saving_ns_per_step=saving, **facts)


@pytest.fixture
def told(monkeypatch):
    """The findings that a job is to have."""
    out: list[JobFinding] = []
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda _session, _cancel: out)
    return out


def test_places_of_evidence_count_from_the_origin():
    first = make_trace(kernel("warm", 1_000, 10), kernel("gemm", 1_500, 40), rank=4)
    session = make_session(first, make_trace(kernel("gemm", 1_200, 5), rank=6, path="b.json"))
    row = int(first.slices.start_ns.argmax())
    nowhere = {"input": None, "rank": None, "start_ns": None, "end_ns": None, "name": None}
    assert place_of(session, None) == nowhere
    gemm = {"input": 0, "rank": 4, "start_ns": 500, "end_ns": 540, "name": "gemm"}
    assert place_of(session, SliceRef(0, row)) == gemm
    assert place_of(session, Selection(slice=SliceRef(0, row), group=0)) == gemm
    span = TimeRange(1_100, 1_150)
    timed = {**nowhere, "start_ns": 100, "end_ns": 150}
    assert place_of(session, span) == timed
    assert place_of(session, GapRef(1, 0, span)) == {**timed, "input": 1, "rank": 6}
    assert place_of(session, Selection(range=span, group=1)) == {**timed, "input": 1, "rank": 6}
    assert place_of(session, GroupRef(1)) == {**nowhere, "input": 1, "rank": 6}


def test_the_report_has_them_in_order_with_a_total(told):
    told += [
        finding("late-rank/rank 5", 300, overlaps=("late",), share=0.3),
        finding("wait", 900, overlaps=("exposed",), caused_by=("late-rank",)),
        finding("sync-drain", 200, overlaps=("idle",)),
        finding("doubt", 800, confident=False),
    ]
    found = report(make_session(make_trace(kernel("gemm", 0, 10), rank=0)))
    rows = found["findings"]
    assert [(r["id"], r["follows"], r["adds"]) for r in rows] == [
        ("late-rank/rank 5", None, True),
        ("wait", "late-rank/rank 5", False),
        ("sync-drain", None, True),
        ("doubt", None, False),
    ]
    assert found["saving"] == {"together_ns_per_step": 500, "step_ns": None, "warm_up_steps": 0}
    assert rows[0]["share"] == 0.3
    assert rows[0]["saving_how"] == "a bound"
    assert rows[0]["evidence"][0]["text"] == "seen"


def test_half_surrogates_are_no_obstacle(told):
    told += [finding("x/\udcff", title="bad \ud800 name", evidence=(Evidence("\udfff"),))]
    data = json.loads(encode_report(report(make_session(make_trace(kernel("a", 0, 1))))))
    assert data["findings"][0]["title"] == "bad ? name"
    assert data["findings"][0]["evidence"][0]["text"] == "?"


def test_a_failing_search_is_said_and_the_others_stay(monkeypatch, caplog):
    def broken(_session, _cancel):
        raise KeyError("no such column")

    monkeypatch.setattr(registry, "DETECTORS", ("broken_part", "fine"))
    monkeypatch.setattr(
        registry, "detector", lambda name: broken if name == "broken_part" else lambda *_: [finding("fine", 5)]
    )
    fine, failed = registry.job_findings(Session())
    assert fine.id == "fine"
    assert failed.title == "The search for broken part failed: its findings are missing"
    assert "no such column" in failed.evidence[0].text
    assert "broken_part" in caplog.text


def test_the_summary_says_what_to_change_first():
    session = settle_clocks(RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}).session(), "auto")
    lines = summary(report(session)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("what to change"))
    assert "together at most 4." in lines[at]
    assert "of 39.9 ms" in lines[at]
    assert lines[at + 1].startswith("  up to 4.")
    assert "Rank 3 is late by 4.0 ms per step" in lines[at + 1]
    tried = next(f for f in report(session)["findings"] if f["kind"] == "late-rank")
    assert tried["change"] == "bring rank 3 up to its peers' pace"
    wrapped = lines[at + 2 : at + 2 + len(textwrap.wrap(tried["next_step"], WIDTH - 11, break_on_hyphens=False))]
    assert wrapped[0].startswith("      try: ")
    assert " ".join(line.strip() for line in wrapped) == f"try: {tried['next_step']}"
    assert max(len(line) for line in wrapped) <= WIDTH


def test_the_summary_of_a_healthy_job_says_so():
    text = summary(report(settle_clocks(RankJob(ranks=6, steps=6, without_file=(5,)).session(), "auto")))
    assert "what to change: nothing stands out from noise" in text
    assert "note: 5 of 6 ranks are open" in text


def test_many_are_cut_and_consequences_are_marked(told):
    told += [finding(f"f{i}", 100 - i, overlaps=(str(i),)) for i in range(9)]
    told += [finding("follows", 7, caused_by=("f0",)), finding("unsure", confident=False)]
    text = summary(report(make_session(make_trace(kernel("gemm", 0, 10)))))
    assert "  follows: up to 7 ns: title of follows" in text
    assert "  and 4 more in the JSON report" in text
    assert "  unsure: title of unsure" in text
