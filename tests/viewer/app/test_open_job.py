from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.picture_job import job
from viewer.app.open_job import Ending, JobController, job_paths
from viewer.app.options import JobOptions
from viewer.base.errors import InputError, UsageError
from viewer.base.work import CancelToken, Progress
from viewer.store.session import Opened, Session, build_session


@dataclass
class Candidate:
    path: Path
    size: int


@dataclass
class Result:
    session: Session
    failures: list[InputError] = field(default_factory=list)
    skipped: list[Any] = field(default_factory=list)
    jobs: list[list[int]] = field(default_factory=list)


@dataclass
class FakeOpener:
    """Opens ``session`` file by file; ``step`` is set to let one more file through."""

    session: Session
    failures: list[InputError] = field(default_factory=list)
    error: Exception | None = None
    step: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1000))
    left_out: list[Path] = field(default_factory=list)
    began: threading.Event = field(default_factory=threading.Event)

    @property
    def candidates(self) -> list[Candidate]:
        return [Candidate(i.path, 1000) for i in self.session.inputs]

    def cancel_file(self, path: Path) -> None:
        self.left_out.append(path)

    def open(
        self, progress: Callable[[Progress], None], cancel: CancelToken, opened: Callable[[Session], None]
    ) -> Result:
        self.began.set()
        if self.error is not None:
            raise self.error
        done: list[Opened] = []
        for item in self.session.inputs:
            while not self.step.acquire(timeout=0.01):
                cancel.check()
            cancel.check()
            if item.path in self.left_out:
                continue
            progress(Progress(str(item.path), "reading", 500, 1000, 7, 0.1))
            done.append(Opened(item.path, item.trace))
            opened(build_session(done))
        return Result(build_session(done), self.failures)


@pytest.fixture
def make(qtbot: QtBot) -> Iterator[Callable[..., JobController]]:
    controllers: list[JobController] = []

    def build(*openers: FakeOpener) -> JobController:
        queue = list(openers)
        controller = JobController(lambda _paths, _options: ((opener := queue.pop(0)), opener.candidates))
        controllers.append(controller)
        return controller

    yield build
    for controller in controllers:
        controller.shutdown()


def record(controller: JobController) -> tuple[list[Session], list[Ending]]:
    sessions: list[Session] = []
    endings: list[Ending] = []
    controller.snapshot.connect(sessions.append)
    controller.ended.connect(endings.append)
    return sessions, endings


def test_a_job_is_opened_by_its_folder_where_that_holds_nothing_else(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    files = [a / "0.json", a / "1.json", b / "0.json", b / "1.json"]
    assert job_paths(files[:2], files, [a, b]) == (a,)
    assert job_paths(files[2:], files, [tmp_path]) == tuple(files[2:])
    assert job_paths(files[:3], files, [a, *files[2:]]) == (a, files[2])


def test_a_first_file_shows_before_the_last_is_read(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    opener = FakeOpener(job(3), step=threading.Semaphore(1))
    controller = make(opener)
    sessions, endings = record(controller)
    controller.open([Path("/runs")])
    qtbot.waitUntil(lambda: len(sessions) == 1)
    assert len(sessions[0].inputs) == 1
    assert controller.running
    assert not endings
    opener.step.release(2)
    qtbot.waitUntil(lambda: bool(endings))
    assert endings[0].session is not None
    assert len(endings[0].session.inputs) == 3
    assert not controller.running


def test_a_first_file_does_not_wait_for_the_next_look(
    qtbot: QtBot, make: Callable[..., JobController], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.app.open_job.POLL_MS", 10_000_000)
    opener = FakeOpener(job(3), step=threading.Semaphore(2))
    controller = make(opener)
    shown: list[int] = []
    controller.snapshot.connect(lambda session: shown.append(len(session.inputs)))
    with qtbot.waitSignal(controller.snapshot):
        controller.open([Path("x")])
    assert shown in ([1], [2])  # the second may be there as well by then
    with qtbot.waitSignal(controller.ended):
        opener.step.release()
    assert len(shown) == 1  # what came after it is in the ending


def test_progress_names_every_file_from_the_start(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    opener = FakeOpener(job(2), step=threading.Semaphore(1))
    controller = make(opener)
    views: list[Any] = []
    controller.advanced.connect(views.append)
    controller.open([Path("/runs")])
    qtbot.waitUntil(lambda: bool(views) and len(views[-1].files) == 2)
    qtbot.waitUntil(lambda: views[-1].finished == 1)
    assert views[-1].total_bytes == 2000


def test_cancel_keeps_what_is_open(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    opener = FakeOpener(job(2), step=threading.Semaphore(1))
    controller = make(opener)
    sessions, endings = record(controller)
    controller.open([Path("/runs")])
    qtbot.waitUntil(lambda: bool(sessions))
    controller.cancel()
    qtbot.waitUntil(lambda: bool(endings))
    assert endings[0].cancelled
    assert endings[0].session is None
    assert len(sessions) == 1


def test_one_file_can_be_left_out(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    whole = job(3)
    opener = FakeOpener(whole, step=threading.Semaphore(1))
    controller = make(opener)
    sessions, endings = record(controller)
    controller.open([Path("/runs")])
    qtbot.waitUntil(lambda: bool(sessions))
    controller.cancel_file(str(whole.inputs[1].path))
    opener.step.release(2)
    qtbot.waitUntil(lambda: bool(endings))
    assert endings[0].session is not None
    assert [i.path for i in endings[0].session.inputs] == [whole.inputs[0].path, whole.inputs[2].path]
    assert opener.left_out == [whole.inputs[1].path]


def test_the_newest_wins(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    slow, quick = FakeOpener(job(2), step=threading.Semaphore(0)), FakeOpener(job(1))
    controller = make(slow, quick)
    sessions, endings = record(controller)
    controller.open([Path("/slow")])
    assert slow.began.wait(5)
    controller.open([Path("/quick")])
    qtbot.waitUntil(lambda: bool(endings))
    controller.shutdown()
    assert [e.paths for e in endings] == [(Path("/quick"),)]
    assert all(len(s.inputs) == 1 for s in sessions)


@pytest.mark.parametrize(
    ("error", "failures", "text"),
    [
        (InputError("/x", "is empty"), 1, ""),
        (UsageError("rank 3 is given twice."), 0, "rank 3 is given twice."),
        (ValueError("odd"), 0, "This is a defect of Rankscope: ValueError: odd"),
    ],
)
def test_a_failure_ends_in_words(
    qtbot: QtBot, make: Callable[..., JobController], error: Exception, failures: int, text: str
) -> None:
    controller = make(FakeOpener(job(1), error=error))
    _, endings = record(controller)
    controller.open([Path("/x")], JobOptions())
    qtbot.waitUntil(lambda: bool(endings))
    assert (len(endings[0].failures), endings[0].error, endings[0].session) == (failures, text, None)


def test_what_prepares_runs_first_and_can_fail(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    opener = FakeOpener(job(1))
    controller = make(opener, FakeOpener(job(1)))
    _, endings = record(controller)
    order: list[bool] = []
    controller.open([Path("/x")], prepare=lambda: order.append(opener.began.is_set()))
    qtbot.waitUntil(lambda: len(endings) == 1)
    assert order == [False]

    def fail() -> None:
        raise UsageError("no room.")

    controller.open([Path("/x")], prepare=fail)
    qtbot.waitUntil(lambda: len(endings) == 2)
    assert endings[1].error == "no room."


def test_shutdown_while_opening_is_silent(qtbot: QtBot, make: Callable[..., JobController]) -> None:
    opener = FakeOpener(job(2), step=threading.Semaphore(0))
    controller = make(opener)
    sessions, endings = record(controller)
    controller.open([Path("/runs")])
    assert opener.began.wait(5)
    controller.shutdown()
    qtbot.wait(80)
    assert (sessions, endings) == ([], [])
    assert not any(t.name == "rankscope-open" for t in threading.enumerate())
