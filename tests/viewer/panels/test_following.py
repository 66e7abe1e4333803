"""Panels that answer one question: when they ask, what they drop, what stays; kept ranks, and walks along runs."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from tests.support.build import kernel, make_session, make_trace
from tests.support.panels import settle
from viewer.base.errors import RankscopeError
from viewer.base.selection import Selection, SliceRef
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, KeptRank, Request, RunWalk
from viewer.store.session import Session


class Panel(FollowingPanel[int, str]):
    """Writes down what it is told; ``act`` is what happens in the pool."""

    KEY = "letters"
    SUBJECT = "The letters"
    HINT = "hint"
    COMPUTING = "computing"

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self.number = 1
        self.log: list[str] = []
        self.computed: list[int] = []
        self.theme: Theme | None = None
        self.follow()

    def act(self, request: Request[int, str]) -> str:
        return str(request.question)

    def question(self) -> int:
        return self.number

    def compute(self, request: Request[int, str]) -> str:
        self.computed.append(request.question)
        return self.act(request)

    def show_answer(self, answer: str) -> None:
        self.log.append(answer)

    def say(self, text: str) -> None:
        self.log.append(text)

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme

    def forget(self) -> None:
        self.log.append("forget")


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> Panel:
    made = Panel(context)
    qtbot.addWidget(made)
    return made


def job() -> Session:
    return make_session(*(make_trace(kernel("gemm", 0, 10), rank=r, path=f"{r}.json") for r in range(2)))


def test_a_hidden_panel_asks_nothing_and_a_shown_one_once(qtbot: QtBot, context: JobContext, panel: Panel) -> None:
    assert panel.theme is context.theme
    context.set_session(job())
    settle(qtbot, context)
    assert panel.computed == []
    panel.show()
    settle(qtbot, context)
    assert panel.log == ["hint", "forget", "computing", "1"]
    panel.refresh()
    panel.hide()
    panel.show()
    settle(qtbot, context)
    assert panel.computed == [1], "the answer stands"
    panel.number = 2
    panel.refresh()
    settle(qtbot, context)
    assert panel.log[4:] == ["2"], "what is shown stays until the next is there"


def test_an_empty_session_asks_nothing(qtbot: QtBot, context: JobContext, panel: Panel) -> None:
    context.set_session(job())
    panel.show()
    settle(qtbot, context)
    panel.log.clear()
    context.set_session(Session())
    settle(qtbot, context)
    assert panel.log == ["forget", "hint"]
    context.set_session(job())
    settle(qtbot, context)
    assert panel.log[2:] == ["forget", "computing", "1"]
    assert panel.computed == [1, 1], "the same question about another session"


def test_some_answers_stand_until_there_is_a_better_one(
    qtbot: QtBot, context: JobContext, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Panel, "STAYS", True)
    context.set_session(job())
    panel.show()
    settle(qtbot, context)
    context.set_session(job())
    settle(qtbot, context)
    assert panel.log == ["hint", "forget", "computing", "1", "forget", "1"]


def test_who_hides_before_the_answer_asks_again(
    qtbot: QtBot, context: JobContext, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def act(request: Request[int, str]) -> str:
        begun.set()
        assert go_on.wait(10)
        request.cancel.check()
        return "answer"

    monkeypatch.setattr(panel, "act", act)
    context.set_session(job())
    panel.show()
    assert begun.wait(10)
    panel.hide()
    go_on.set()
    settle(qtbot, context)
    assert "answer" not in panel.log
    panel.show()
    settle(qtbot, context)
    assert panel.log[-1] == "answer"
    assert panel.computed == [1, 1]


def test_parts_are_shown_only_where_they_know_more(
    qtbot: QtBot, context: JobContext, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Request[int, str]] = []

    def act(request: Request[int, str]) -> str:
        kept.append(request)
        for done in (1, 3, 2):
            request.tell(f"part {done}", done)
        return "whole"

    monkeypatch.setattr(panel, "act", act)
    context.set_session(job())
    panel.show()
    settle(qtbot, context)
    assert panel.log[3:] == ["part 1", "part 3", "whole"]
    kept[0].tell("part 4", 4)
    assert panel.log[-1] == "whole", "it came after the whole"
    panel.number = 2
    panel.refresh()
    kept[0].tell("part 9", 9)
    settle(qtbot, context)
    assert "part 9" not in panel.log, "it answers another question"
    assert panel.log[-1] == "whole"


def test_an_error_is_said_and_asked_for_again(
    qtbot: QtBot, context: JobContext, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(request: Request[int, str]) -> str:
        if len(panel.computed) == 1:
            raise RankscopeError("It is broken.")
        return "whole"

    monkeypatch.setattr(panel, "act", act)
    context.set_session(job())
    panel.show()
    settle(qtbot, context)
    assert panel.log[-1] == "The letters cannot be shown: It is broken."
    panel.refresh()
    settle(qtbot, context)
    assert panel.log[-2:] == ["computing", "whole"]


def test_a_rank_is_kept_while_slices_of_others_are_looked_at(context: JobContext) -> None:
    context.set_session(job())
    rank = KeptRank()
    assert rank.of(context) is None
    context.select(Selection(group=1))
    assert rank.of(context) == 1
    context.jump(SliceRef(0, 0))
    assert context.selection.group == 0
    assert rank.of(context) == 1
    assert rank.selection(context) == replace(context.selection, slice=None, group=1)
    context.set_session(Session(), keep_selection=True)
    assert rank.of(context) is None, "there is no such rank any more"


class Numbers:
    """Three runs."""

    def step(self, current: SliceRef | None, forward: bool) -> SliceRef | None:
        at = (-1 if current is None else current.index) + (1 if forward else -1)
        return SliceRef(0, at) if 0 <= at < 3 else None


def test_runs_are_found_once_per_row(qtbot: QtBot, context: JobContext) -> None:
    context.set_session(make_session(make_trace(*(kernel("gemm", 100 * n, 10) for n in range(3)))))
    walk, found, view = RunWalk(context, "runs"), [], object()

    def find() -> Numbers:
        found.append(threading.current_thread() is threading.main_thread())
        return Numbers()

    def step(row: int, forward: bool) -> int | None:
        walk.step(view, row, forward, find, context.jump)
        settle(qtbot, context)
        chosen = context.selection.slice
        return chosen.index if chosen is not None else None

    assert [step(0, True) for _ in range(4)] == [0, 1, 2, 2]
    assert step(0, False) == 1
    assert found == [False], "looked up once, and in the pool"
    step(1, True)
    walk.forget()
    step(1, True)
    assert len(found) == 3


def test_runs_that_are_found_for_another_session_lead_nowhere(qtbot: QtBot, context: JobContext) -> None:
    walk, gone = RunWalk(context, "runs"), list[SliceRef]()
    walk.step(object(), 0, True, Numbers, gone.append)
    walk.forget()
    settle(qtbot, context)
    assert gone == []
