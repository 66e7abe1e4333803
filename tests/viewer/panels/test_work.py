from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from viewer.base.errors import Cancelled
from viewer.base.work import CancelToken
from viewer.panels.work import WorkRunner


@pytest.fixture
def runner(qtbot: QtBot) -> Iterator[WorkRunner]:
    r = WorkRunner()
    yield r
    r.shutdown()


def test_a_result_arrives_on_the_gui_thread(runner: WorkRunner, qtbot: QtBot) -> None:
    got: list[tuple[int, bool]] = []
    here = threading.get_ident()
    runner.submit("a", lambda _: 42, lambda r: got.append((r, threading.get_ident() == here)))
    qtbot.waitUntil(lambda: got == [(42, True)])
    assert runner.pending == 0


def test_a_result_never_comes_before_the_request_has_returned(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    class AtOnce(ThreadPoolExecutor):
        """A pool whose jobs have ended when they are submitted."""

        def submit(self, run: Callable[..., int], /, *args: object) -> Future[int]:
            future: Future[int] = Future()
            future.set_result(run(*args))
            return future

    monkeypatch.setattr("viewer.panels.work.ThreadPoolExecutor", AtOnce)
    runner = WorkRunner()
    got: list[int] = []
    runner.submit("a", lambda _: 42, got.append)
    assert got == []
    qtbot.waitUntil(lambda: got == [42])
    runner.shutdown()


def test_the_newest_request_of_a_key_wins(runner: WorkRunner, qtbot: QtBot) -> None:
    gate = threading.Event()
    got: list[str] = []

    def slow(cancel: CancelToken) -> str:
        gate.wait(10)
        return "old"

    first = runner.submit("a", slow, got.append)
    runner.submit("a", lambda _: "new", got.append)
    runner.submit("b", lambda _: "other key", got.append)
    assert first.cancelled
    gate.set()
    qtbot.waitUntil(lambda: runner.pending == 0)
    assert sorted(got) == ["new", "other key"]


def test_held_requests_run_in_their_order_when_it_goes_on(runner: WorkRunner, qtbot: QtBot) -> None:
    got: list[str] = []
    runner.submit("before", lambda _: "before", got.append)
    runner.hold()
    begun: list[str] = []
    old = runner.submit("a", lambda _: begun.append("old"), got.append)
    runner.submit("a", lambda _: "new", got.append)
    runner.submit("long", lambda _: "long", got.append, long=True)
    assert old.cancelled
    qtbot.waitUntil(lambda: got == ["before"])
    assert runner.pending == 3
    assert not begun
    runner.hold()
    runner.go_on()
    runner.submit("after", lambda _: "after", got.append)
    qtbot.waitUntil(lambda: runner.pending == 0)
    assert sorted(got[1:]) == ["after", "long", "new"]
    assert not begun, "nobody wants it any more"
    runner.go_on()


def test_what_is_asked_for_later_need_not_wait_for_what_is_held(runner: WorkRunner, qtbot: QtBot) -> None:
    got: list[str] = []
    runner.hold()
    runner.submit("a", lambda _: "held", got.append)
    runner.submit("c", lambda _: "lanes", got.append, paints=True)
    qtbot.waitUntil(lambda: got == ["lanes"])
    runner.go_on(held=False)
    runner.submit("b", lambda _: "new", got.append)
    qtbot.waitUntil(lambda: got == ["lanes", "new"])
    assert runner.pending == 1
    runner.go_on()
    qtbot.waitUntil(lambda: got == ["lanes", "new", "held"])


def test_what_is_held_when_the_window_closes_never_runs(qtbot: QtBot) -> None:
    runner = WorkRunner()
    runner.hold()
    ran: list[None] = []
    runner.submit("a", lambda _: ran.append(None), lambda _: None)
    runner.shutdown()
    runner.go_on()
    assert not ran


def test_a_failure_reaches_its_handler(runner: WorkRunner, qtbot: QtBot) -> None:
    errors: list[Exception] = []

    def bad(_: CancelToken) -> None:
        raise ValueError("no")

    runner.submit("a", bad, lambda _: None, errors.append)
    qtbot.waitUntil(lambda: len(errors) == 1)
    assert isinstance(errors[0], ValueError)


def test_cancelled_work_reports_nothing(runner: WorkRunner, qtbot: QtBot) -> None:
    got: list[object] = []

    def stopped(_: CancelToken) -> None:
        raise Cancelled("stop")

    runner.submit("a", stopped, got.append, got.append)
    qtbot.waitUntil(lambda: runner.pending == 0)
    assert got == []


def test_a_shutdown_waits_for_what_ends_soon_and_not_for_what_does_not(qtbot: QtBot) -> None:
    gate, begun, got = threading.Event(), threading.Event(), []
    runner = WorkRunner()

    def deaf(_: CancelToken) -> str:
        begun.set()
        gate.wait(60)
        return "late"

    def obedient(cancel: CancelToken) -> None:
        while not cancel.cancelled:
            gate.wait(0.001)
        got.append("stopped")

    runner.submit("compiles", deaf, got.append)
    runner.submit("looks", obedient, got.append)
    assert begun.wait(10)
    before = time.monotonic()
    runner.shutdown(0.2)
    assert time.monotonic() - before < 10
    assert got == ["stopped"]
    runner.deleteLater()
    QApplication.sendPostedEvents(runner, QEvent.Type.DeferredDelete)
    gate.set()  # what ends after the window is gone tells nobody


def test_busy_counts_jobs(runner: WorkRunner, qtbot: QtBot) -> None:
    counts: list[int] = []
    runner.busy_changed.connect(counts.append)
    runner.submit("a", lambda _: 1, lambda _: None)
    qtbot.waitUntil(lambda: counts == [1, 0])
    assert counts == [1, 0]


def test_a_result_for_an_object_that_was_deleted_goes_nowhere(runner: WorkRunner, qtbot: QtBot) -> None:
    class Panel(QObject):
        def show_it(self, _: object) -> None:
            raise AssertionError("the panel is gone")

    gate = threading.Event()
    panel = Panel()
    runner.submit("a", lambda _: gate.wait(10), panel.show_it)
    shiboken6.delete(panel)
    gate.set()
    qtbot.waitUntil(lambda: runner.pending == 0)


def test_short_requests_do_not_queue_behind_long_ones(runner: WorkRunner, qtbot: QtBot) -> None:
    gate = threading.Event()
    got: list[str] = []
    for n in range(12):  # more than there are threads of any kind
        runner.submit(f"long {n}", lambda _: gate.wait(10), lambda _: None, long=True)
    runner.submit("short", lambda _: "short", got.append)
    qtbot.waitUntil(lambda: got == ["short"])
    assert not gate.is_set()
    gate.set()
    qtbot.waitUntil(lambda: runner.pending == 0)


def test_requests_that_nobody_wants_any_more_do_not_hold_up_the_newest(runner: WorkRunner, qtbot: QtBot) -> None:
    gate = threading.Event()
    got: list[str] = []
    for _ in range(4):  # clicks in quick succession, each slow to notice that it is cancelled
        runner.submit("panel", lambda _: gate.wait(10), lambda _: None)
    runner.submit("panel", lambda _: "newest", got.append)
    qtbot.waitUntil(lambda: got == ["newest"])
    assert not gate.is_set()
    gate.set()
    qtbot.waitUntil(lambda: runner.pending == 0)
