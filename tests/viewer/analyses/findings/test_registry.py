"""Detectors are asked in turn, kept, and what could save most goes first."""

import pytest

from viewer.analyses.findings import registry
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.base.errors import Cancelled
from viewer.base.job_card import JobCard, PlanCard
from viewer.base.work import CancelToken
from viewer.store.session import Session


def a_finding(name: str, saving: int | None, *, confident: bool = True) -> JobFinding:
    evidence = (Evidence("seen"),)
    return JobFinding(name, "kind", "title", "warning", saving, "", evidence, "try", "how", confident=confident)


@pytest.fixture
def asked(monkeypatch):
    calls: list[str] = []
    answers = {
        "one": (a_finding("small", 10), a_finding("none", None), a_finding("doubtful", 99, confident=False)),
        "two": (a_finding("large", 50),),
    }

    def make(name):
        def find(_session, _cancel):
            calls.append(name)
            return answers[name]

        return find

    monkeypatch.setattr(registry, "DETECTORS", ("one", "two"))
    monkeypatch.setattr(registry, "detector", make)
    return calls


def test_the_largest_saving_goes_first_and_doubt_last(asked):
    told = []
    found = registry.job_findings(Session(), on_found=lambda f: told.append(f.id))
    assert [f.id for f in found] == ["large", "small", "none", "doubtful"]
    assert told == ["small", "none", "doubtful", "large"], "each is told as soon as it is known"


def test_answers_are_kept_until_the_card_changes(asked):
    session = Session()
    registry.job_findings(session)
    registry.job_findings(session)
    assert asked == ["one", "two"]
    registry.job_findings(session.with_card(JobCard(plan=PlanCard(tp=2))))
    assert asked == ["one", "two", "one", "two"]


def test_a_cancelled_search_stops(asked):
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        registry.job_findings(Session(), token)
    assert asked == []


def test_every_detector_of_the_table_exists():
    for name in registry.DETECTORS:
        assert callable(registry.detector(name)), name


def test_a_finding_without_evidence_is_a_defect():
    with pytest.raises(ValueError, match="no evidence"):
        JobFinding("x", "kind", "title", "warning", 1, "", (), "try", "how")
