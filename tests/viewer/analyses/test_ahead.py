from __future__ import annotations

import threading

import pytest

from tests.support.build import kernel, make_session, make_trace
from viewer.analyses import ahead
from viewer.analyses.findings.registry import job_findings
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session

PATIENCE = 60


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(ahead, "LEAST_SLICES", 0)
    monkeypatch.setattr(ahead, "MOST_THREADS", 1)
    return make_session(*(make_trace(kernel("k", 10 * r, 5), rank=r, path=f"{r}.json") for r in range(3)))


def test_from_the_last_file_on_and_in_the_order_of_asking(job: Session) -> None:
    made: list[tuple[str, int]] = []
    done = threading.Event()

    def first(_: Session, item: Input) -> None:
        made.append(("first", item.index))

    def second(_: Session, item: Input) -> None:
        made.append(("second", item.index))
        if item.index == 0:
            done.set()

    with ahead.looking_ahead(job, CancelToken(), (first, second)):
        assert done.wait(PATIENCE)
    assert made == [(name, index) for name in ("first", "second") for index in (2, 1, 0)]


def test_what_fails_stops_nothing_and_the_end_of_the_body_ends_it(job: Session) -> None:
    made: list[int] = []
    begun = threading.Event()

    def fails(_: Session, item: Input) -> None:
        made.append(item.index)
        if item.index == 1:
            begun.set()
        raise ValueError

    with ahead.looking_ahead(job, CancelToken(), (fails,)):
        assert begun.wait(PATIENCE)
    assert made in ([2, 1], [2, 1, 0])
    assert not [t for t in threading.enumerate() if t.name.startswith("ahead")]


def test_a_cancelled_search_makes_nothing_more(job: Session) -> None:
    token, made = CancelToken(), []
    begun = threading.Event()

    def cancels(_: Session, item: Input) -> None:
        made.append(item.index)
        token.cancel()
        begun.set()

    with ahead.looking_ahead(job, token, (cancels,)):
        assert begun.wait(PATIENCE)
    assert made == [2]


def test_findings_are_the_same_without(job: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    found = job_findings(job)
    for item in job.inputs:
        for make in ahead.MAKES:
            make(job, item)  # each can be made of any file
    monkeypatch.setattr(ahead, "LEAST_SLICES", 1 << 40)
    again = make_session(*(make_trace(kernel("k", 10 * r, 5), rank=r, path=f"{r}.json") for r in range(3)))
    assert found == job_findings(again)
