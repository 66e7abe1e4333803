"""The Findings panel: found in the background, shown as cards, followed, put aside, copied."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication

from tests.support.build import kernel, make_session, make_trace
from tests.support.themes import theme
from viewer.analyses.findings import registry
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.base.selection import GroupRef, Selection, SliceRef, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.findings import HINT, MOST_CARDS, FindingsPanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session


def finding(name: str, saving: int | None = None, **more: Any) -> JobFinding:
    facts: dict[str, Any] = {
        "kind": "k", "title": f"title of {name}", "severity": "warning", "saving_how": "a bound",
        "evidence": (Evidence("seen"),), "next_step": "try it", "how": "looked", **more,
    }  # fmt: skip
    return JobFinding(id=name, saving_ns_per_step=saving, **facts)


PLACES = (
    Evidence("a slice", SliceRef(0, 0)),
    Evidence("a step", Selection(range=TimeRange(5, 9), group=1)),
    Evidence("nowhere"),
)


@pytest.fixture
def told(monkeypatch):
    out = [finding("large", 50, evidence=PLACES), finding("small", 9), finding("note", severity="info")]
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda _session, _cancel: out)
    return out


@pytest.fixture
def context(qtbot):
    work = WorkRunner()
    yield JobContext(theme(), work)
    work.shutdown()


@pytest.fixture
def panel(qtbot, context, told):
    made = FindingsPanel(context)
    qtbot.addWidget(made)
    made.resize(400, 600)
    made.show()
    return made


def job() -> Session:
    return make_session(
        make_trace(kernel("gemm", 0, 10), kernel("copy", 20, 5), rank=0),
        make_trace(kernel("gemm", 0, 10), rank=1, path="b.json"),
    )


def show(qtbot, context, panel, session: Session) -> None:
    context.set_session(session)
    qtbot.waitUntil(lambda: panel.frame is not None and not panel.frame.busy)


def titles(panel, section="cards"):
    return [v.card.title for v in panel.cards[section] if not v.isHidden()]


def test_cards_come_in_order_with_sections_apart(qtbot, context, panel):
    assert panel.sentence.text() == HINT
    show(qtbot, context, panel, job())
    assert titles(panel) == ["title of large", "title of small"]
    assert titles(panel, "notes") == ["title of note"]
    assert panel.sections["notes"].header.text() == "For information (1)"
    assert panel.sections["notes"].body.isHidden()
    panel.sections["notes"].header.click()
    assert not panel.sections["notes"].body.isHidden()
    assert panel.sentence.text().startswith("Change first: title of large")
    assert [m.text()[:16] for m in panel.moves] == ["1  Largest block", "2  Gaps and seri", "3  Long tail acr"]


def test_evidence_leads_to_slices_and_to_a_rank_with_a_range(qtbot, context, panel):
    show(qtbot, context, panel, job())
    revealed = []
    context.reveal_requested.connect(revealed.append)
    card = panel.cards["cards"][0]
    card.fold.click()
    assert not card.details.isHidden()
    assert [label.text() for label in card.evidence] == ["• a slice →", "• a step →", "• nowhere"]
    card.evidence[0].clicked.emit()
    assert context.selection.slice == SliceRef(0, 0)
    card.evidence[1].clicked.emit()
    assert (context.selection.slice, context.selection.range) == (None, TimeRange(5, 9))
    assert context.selection.group == 1
    assert revealed == [SliceRef(0, 0), GroupRef(1), TimeRange(5, 9)]
    panel.moves[0].clicked.emit()
    assert context.selection.slice is not None


def test_what_is_put_aside_goes_below_and_comes_back(qtbot, context, panel):
    show(qtbot, context, panel, job())
    panel.dismiss_toggled.connect(lambda key: panel.set_dismissed({key}))
    panel.cards["cards"][0].aside.click()
    assert titles(panel) == ["title of small"]
    assert titles(panel, "dismissed") == ["title of large"]
    assert panel.cards["dismissed"][0].aside.text() == "Restore"
    assert "title of small" in panel.sentence.text()
    panel.set_dismissed(())
    assert titles(panel) == ["title of large", "title of small"]


def test_copies_as_text_and_markdown(qtbot, context, panel):
    show(qtbot, context, panel, job())
    clipboard = QGuiApplication.clipboard()
    panel.copy.click()
    assert clipboard.text().startswith("## Change first")
    next(a for a in panel.copy.menu().actions() if a.text() == "Copy as Text").trigger()
    assert clipboard.text().startswith("Change first")
    menu = panel.cards["cards"][1].menu()
    actions = {a.text(): a for a in menu.actions() if a.text()}
    assert list(actions) == ["Copy as Text", "Copy as Markdown", "Dismiss"]
    actions["Copy as Text"].trigger()
    assert clipboard.text().splitlines()[0] == "title of small"
    actions["Copy as Markdown"].trigger()
    assert clipboard.text().startswith("### title of small")


def test_another_job_replaces_what_was_found(qtbot, context, panel, told):
    show(qtbot, context, panel, job())
    told[:] = [finding("other", 5)]
    show(qtbot, context, panel, job())
    qtbot.waitUntil(lambda: titles(panel) == ["title of other"])
    context.set_session(Session())
    assert panel.sentence.text() == HINT
    assert titles(panel) == []
    assert panel.frame is None


def test_findings_of_an_old_job_are_not_shown(qtbot, context, panel):
    show(qtbot, context, panel, job())
    before = titles(panel)
    panel._one_more(Session(), finding("stray", 99))
    panel._show()
    assert titles(panel) == before


def test_a_hidden_panel_computes_nothing(qtbot, context, told):
    panel = FindingsPanel(context)
    qtbot.addWidget(panel)
    context.set_session(job())
    assert not panel._settle.isActive()
    panel.show()
    qtbot.waitUntil(lambda: panel.frame is not None and not panel.frame.busy)


def test_an_error_is_one_sentence(qtbot, context, panel, monkeypatch):
    def fails(_session, _cancel):
        raise RuntimeError("no room")

    monkeypatch.setattr("viewer.panels.findings.three_moves", fails)
    context.set_session(job())
    qtbot.waitUntil(lambda: "no room" in panel.sentence.text())
    assert panel.sentence.text() == "What to change cannot be shown: RuntimeError: no room."


def test_what_is_found_shows_while_a_detector_builds(qtbot, context, panel, monkeypatch):
    go_on = threading.Event()

    def slow(session, _cancel):
        session.clocked_memo("slow", lambda: go_on.wait(30))  # holds what others would wait for
        return [finding("late", 99)]

    quick = [finding("quick", 5)]
    monkeypatch.setattr(registry, "DETECTORS", ("quick", "slow"))
    monkeypatch.setattr(registry, "detector", lambda name: slow if name == "slow" else lambda *_: quick)
    context.set_session(job())
    try:
        qtbot.waitUntil(lambda: titles(panel) == ["title of quick"])
        assert panel.frame.busy
        assert not panel.progress.isHidden()
        panel.set_dismissed({"quick"})
        assert titles(panel) == []
        panel.set_dismissed(())
    finally:
        go_on.set()
    qtbot.waitUntil(lambda: not panel.frame.busy)
    assert titles(panel) == ["title of late", "title of quick"]
    assert panel.progress.isHidden()


def test_another_job_stops_the_search_in_the_old_one(qtbot, context, panel, monkeypatch):
    tokens = []

    def waits(_session, cancel):
        tokens.append(cancel)
        while len(tokens) == 1 and not cancel.cancelled:
            threading.Event().wait(0.01)
        cancel.check()
        return [finding("new", 1)]

    monkeypatch.setattr(registry, "detector", lambda _: waits)
    context.set_session(job())
    qtbot.waitUntil(lambda: len(tokens) == 1)
    context.set_session(job())
    qtbot.waitUntil(lambda: titles(panel) == ["title of new"])
    assert tokens[0].cancelled
    assert not tokens[1].cancelled


def test_of_very_many_the_first_are_shown(qtbot, context, panel, told):
    told[:] = [finding(f"f{i}", 1_000 - i) for i in range(MOST_CARDS + 5)]
    show(qtbot, context, panel, job())
    assert len(titles(panel)) == MOST_CARDS
    assert "5 more findings are in the report" in panel.together.text()
