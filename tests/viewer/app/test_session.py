"""Session files in the real window: saved, opened, asked about, and kept over a crash."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import drop, mime_of
from viewer.app import dialogs
from viewer.app.features.session import SessionFeature
from viewer.app.features.side_panels import SidePanels
from viewer.app.main_window import MainWindow
from viewer.app.unsaved import LeftBehind, UnsavedFile, left_behind, unsaved_folder
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.store.session_file import read_session

Windows = Callable[..., MainWindow]
PATIENCE = 30_000


def feature(window: MainWindow) -> SessionFeature:
    return next(f for f in window.features if isinstance(f, SessionFeature))


def opened(qtbot: QtBot, window: MainWindow, inputs: int) -> None:
    def there() -> bool:
        return (
            window.workspace is not None
            and len(window.workspace.session.inputs) == inputs
            and not window.controller.running
            and feature(window)._coming is None
            and next(f for f in window.features if isinstance(f, SidePanels)).are_filled
        )

    qtbot.waitUntil(there, timeout=PATIENCE)


def texts(window: MainWindow) -> list[str]:
    return [m.text for m in window.messages.messages]


def press(window: MainWindow, text: str, button: str) -> None:
    message = next(m for m in window.messages.messages if text in m.text)
    window.messages.dismiss(message)
    next(run for label, run in message.buttons if label == button)()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the dialogs answer; ``asked`` lists what was asked."""
    out: dict[str, Any] = {"save": "discard", "save_as": None, "note": "look", "folder": None, "asked": []}

    def answer(name: str) -> Callable[..., Any]:
        def dialog(*_: object) -> Any:
            out["asked"].append(name)
            return out[name]

        return dialog

    monkeypatch.setattr(dialogs, "ask_save_as", answer("save_as"))
    monkeypatch.setattr(dialogs, "ask_search_folder", answer("folder"))
    monkeypatch.setattr(dialogs, "ask_note", answer("note"))
    return out


@pytest.fixture
def asking(windows: Windows, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Windows:
    """Windows whose question about unsaved changes is answered by ``answers["save"]``."""

    def ask(*_: object) -> Any:
        answers["asked"].append("save")
        return answers["save"]

    monkeypatch.setattr(dialogs, "ask_save", ask)
    return windows


def work_on(window: MainWindow) -> None:
    """A note on a slice, a range mark, a bookmark, a folded rank, a zoomed view."""
    workspace = window.workspace
    assert workspace is not None
    origin = workspace.session.origin_ns()
    workspace.context.select(Selection(slice=SliceRef(1, 0), group=1))
    window.actions_["add_note"].trigger()
    workspace.timeline.kept.mark_requested.emit(origin, origin + 50_000, "")
    workspace.timeline.show_range(TimeRange(origin + 10_000, origin + 90_000))
    window.actions_["save_bookmark_3"].trigger()
    workspace.timeline.toggle_group(0)


def seen(window: MainWindow) -> Any:
    workspace = window.workspace
    assert workspace is not None
    kept = window.kept
    return (
        kept.notes.book.notes,
        kept.marks.book.marks,
        kept.bookmarks.book.bookmarks,
        workspace.timeline.window(),
        workspace.timeline.collapsed,
        workspace.context.selection,
    )


def test_a_saved_session_opens_as_it_was(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path
) -> None:
    window = asking()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    assert not window.isWindowModified()
    work_on(window)
    assert window.isWindowModified()
    answers["save_as"] = job_folder.parent / "my job.rankscope"
    window.actions_["save"].trigger()
    assert not window.isWindowModified()
    assert "my job.rankscope[*]" in window.windowTitle()
    before = seen(window)
    assert before[0][0].slice is not None
    data = json.loads(answers["save_as"].read_text())
    assert [s["path"] for s in data["sources"]] == ["a job é/rank 0.json", "a job é/rank 1.json.gz"]
    assert "traceEvents" not in json.dumps(data)
    window.close()
    assert answers["asked"] == ["note", "save_as"], "all was saved: nothing is asked"

    again = asking()
    assert drop(again, mime_of(answers["save_as"]))
    opened(qtbot, again, 2)
    assert seen(again) == before
    assert not again.isWindowModified()
    assert again.settings.recent[0] == [str(answers["save_as"])]
    assert texts(again) == []
    again.actions_["fit"].trigger()
    again.actions_["bookmark_3"].trigger()
    assert again.workspace is not None
    assert again.workspace.timeline.window() == before[3]
    again.actions_["save"].trigger()
    assert read_session(answers["save_as"]).content == read_session(answers["save_as"]).content


def test_unsaved_work_is_asked_about(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path, tmp_path: Path
) -> None:
    window = asking()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    window.open_paths([job_folder / "rank 0.json"])
    opened(qtbot, window, 1)
    window.close_job()
    assert answers["asked"] == [], "only looking is no work"
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    work_on(window)
    answers["asked"].clear()
    answers["save"] = "cancel"
    window.close_job()
    assert window.has_job
    window.open_paths([job_folder / "rank 0.json"])
    assert not window.controller.running
    window.close()
    assert window.isVisible()
    assert answers["asked"] == ["save"] * 3
    answers["save"] = "save"
    window.close()
    assert window.isVisible(), "no file was named: nothing is saved, so the window stays"
    window.add_paths([job_folder / "rank 0.json"])
    opened(qtbot, window, 2)
    assert len(window.kept.notes.book) == 1, "more files of a job: its notes stay"
    answers["save_as"] = tmp_path / "x.rankscope"
    window.close()
    assert not window.isVisible()
    assert len(read_session(tmp_path / "x.rankscope").content.notes) == 1
    assert left_behind() == []


def test_undo_back_to_what_was_saved_is_no_unsaved_work(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path, tmp_path: Path
) -> None:
    window = asking()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    work_on(window)
    answers["save_as"] = tmp_path / "x.rankscope"
    window.actions_["save_as"].trigger()
    window.kept.marks.remove(1)
    assert window.isWindowModified()
    window.undo.stack.undo()
    assert not window.isWindowModified()


def test_missing_traces_are_named_the_rest_opens_and_they_are_found_again(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path
) -> None:
    window = asking()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    work_on(window)
    path = answers["save_as"] = job_folder.parent / "x.rankscope"
    window.actions_["save"].trigger()
    before = seen(window)
    window.close()
    elsewhere = job_folder.parent / "moved" / "deep"
    elsewhere.mkdir(parents=True)
    shutil.move(job_folder / "rank 1.json.gz", elsewhere / "rank 1.json.gz")
    again = asking()
    again.open_paths([path])
    opened(qtbot, again, 1)
    assert len(again.kept.notes.book) == 1
    assert any("1 of its 2 traces are not there" in t and "rank 1.json.gz" in t for t in texts(again))
    again.actions_["save"].trigger()
    assert len(read_session(path).content.sources) == 2, "what is missing stays listed"
    answers["folder"] = job_folder.parent / "moved"
    press(again, "not there", "Locate…")
    opened(qtbot, again, 2)
    assert seen(again)[:3] == before[:3]
    again.actions_["save"].trigger()
    assert read_session(path).content.sources[1].path == "moved/deep/rank 1.json.gz"
    again.close()


def test_a_session_whose_traces_are_all_gone_offers_to_look_for_them(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path
) -> None:
    path = job_folder.parent / "x.rankscope"
    source = {"path": "gone/rank 0.json"}
    path.write_text(json.dumps({"format": "rankscope.session", "version": "1.0", "sources": [source]}))
    window = asking()
    window.open_paths([path])
    qtbot.waitUntil(lambda: len(texts(window)) == 1, timeout=PATIENCE)
    assert "its only trace is not there" in texts(window)[0]
    assert window.stack.currentWidget() is window.start_page
    answers["folder"] = job_folder.parent / "nowhere"
    press(window, "not there", "Locate…")
    qtbot.waitUntil(lambda: any("None of the missing" in t for t in texts(window)), timeout=PATIENCE)
    answers["folder"] = job_folder
    press(window, "not there", "Locate…")
    opened(qtbot, window, 1)


def test_changed_traces_are_said_and_a_bad_session_is_one_sentence(
    qtbot: QtBot, asking: Windows, job_folder: Path
) -> None:
    path = job_folder.parent / "x.rankscope"
    source = {"path": "a job é/rank 0.json", "size": 3, "digest": "x", "rank": 5}
    path.write_text(json.dumps({"format": "rankscope.session", "version": "1.0", "sources": [source]}))
    window = asking()
    window.open_paths([path])
    opened(qtbot, window, 1)
    assert any("1 trace has changed since it was saved" in t for t in texts(window))
    assert window.workspace is not None
    assert window.workspace.session.inputs[0].rank == 5
    path.write_text("{")
    window.open_paths([path])
    qtbot.waitUntil(lambda: any("no session file" in t for t in texts(window)), timeout=PATIENCE)
    assert window.has_job


def test_a_file_that_another_program_wrote_is_not_overwritten_unasked(
    qtbot: QtBot,
    asking: Windows,
    answers: dict[str, Any],
    job_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = asking()
    window.open_paths([job_folder / "rank 0.json"])
    opened(qtbot, window, 1)
    path = answers["save_as"] = tmp_path / "x.rankscope"
    window.actions_["save"].trigger()
    path.write_text("theirs")
    monkeypatch.setattr(dialogs, "ask_overwrite", lambda *_: False)
    window.actions_["save"].trigger()
    assert path.read_text() == "theirs"
    monkeypatch.setattr(dialogs, "ask_overwrite", lambda *_: True)
    window.actions_["save"].trigger()
    assert read_session(path).content.title == "x.rankscope"


def kept_over_a_crash(qtbot: QtBot, window: MainWindow) -> Path:
    feature(window).autosave()

    def there() -> bool:
        return (
            any(n.endswith(".rankscope") for n in os.listdir(unsaved_folder())) if unsaved_folder().exists() else False
        )

    qtbot.waitUntil(there, timeout=PATIENCE)
    return unsaved_folder()


def test_unsaved_work_is_kept_a_moment_after_a_change_and_removed_when_it_is_saved(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path, tmp_path: Path
) -> None:
    window = asking()
    window.open_paths([job_folder / "rank 0.json"])
    opened(qtbot, window, 1)
    assert not feature(window)._timer.isActive() or not feature(window).dirty
    window.kept.marks.add(5, 5)
    assert feature(window)._timer.isActive()
    folder = kept_over_a_crash(qtbot, window)
    assert left_behind() == [], "its window lives"
    answers["save_as"] = tmp_path / "x.rankscope"
    window.actions_["save"].trigger()
    qtbot.waitUntil(lambda: not any(n.endswith(".rankscope") for n in os.listdir(folder)), timeout=PATIENCE)
    window.close()
    assert os.listdir(folder) == []


def test_work_of_a_window_that_was_closed_without_a_question_is_offered(
    qtbot: QtBot, asking: Windows, answers: dict[str, Any], job_folder: Path
) -> None:
    window = asking()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    work_on(window)
    before = seen(window)
    window.asks = False  # Ctrl+C in the terminal
    window.close()
    assert "save" not in answers["asked"]
    again = asking()
    qtbot.waitUntil(lambda: len(texts(again)) == 1, timeout=PATIENCE)
    assert "Restore 1 note, 1 mark, 1 bookmark of a job é" in texts(again)[0]
    second = asking()
    qtbot.waitUntil(lambda: second.workspace is not None and not feature(second).work.pending, timeout=PATIENCE)
    assert texts(second) == [], "one window offers it"
    press(again, "closed unexpectedly", "Restore")
    opened(qtbot, again, 2)
    assert seen(again) == before
    assert again.isWindowModified()
    qtbot.waitUntil(lambda: not feature(again).offers.open, timeout=PATIENCE)
    assert len([n for n in os.listdir(unsaved_folder()) if n.endswith(".rankscope")]) == 1, "its own, not the old one"


CHILD = """
import sys, time
from pathlib import Path
from PySide6.QtCore import QTimer
from viewer.app.features.session import SessionFeature
from viewer.app.gui import Desktop, make_application
from viewer.app.options import JobOptions
app = make_application()
desktop = Desktop(JobOptions())
window = desktop.new_window([Path(sys.argv[1])])
session = next(f for f in window.features if isinstance(f, SessionFeature))
def work():
    if not window.has_job or window.controller.running:
        return
    timer.stop()
    origin = window.workspace.session.origin_ns()
    window.kept.notes.add(origin + 7, "", "before the crash")
    window.kept.marks.add(origin, origin + 9)
timer = QTimer()
timer.timeout.connect(work)
timer.start(20)
app.exec()
"""


def test_work_survives_kill_9(qtbot: QtBot, asking: Windows, job_folder: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(job_folder / "rank 0.json")], env=os.environ.copy())
    try:
        end = time.monotonic() + PATIENCE / 1000
        while not list(unsaved_folder().glob("*.rankscope")):
            assert time.monotonic() < end
            assert child.poll() is None
            qtbot.wait(50)
        assert left_behind() == [], "its process lives"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    window = asking()
    qtbot.waitUntil(lambda: len(texts(window)) == 1, timeout=PATIENCE)
    assert "Restore 1 note, 1 mark of rank 0.json" in texts(window)[0]
    press(window, "closed unexpectedly", "Restore")
    opened(qtbot, window, 1)
    assert [n.text for n in window.kept.notes.book] == ["before the crash"]


def test_discarded_work_is_gone(qtbot: QtBot, asking: Windows, job_folder: Path) -> None:
    unsaved = UnsavedFile()
    data = json.dumps({"format": "rankscope.session", "version": "1.0"}).encode()
    assert unsaved.write(data, 1)
    unsaved.close(keep=True)
    window = asking()
    qtbot.waitUntil(lambda: len(texts(window)) == 1, timeout=PATIENCE)
    window.open_paths([job_folder / "rank 0.json"])
    opened(qtbot, window, 1)
    assert len(texts(window)) == 1, "opening something does not take the offer away"
    press(window, "closed unexpectedly", "Discard")
    assert os.listdir(unsaved_folder()) == []


def test_later_writes_win_and_damaged_files_are_set_aside(tmp_path: Path) -> None:
    one, two = UnsavedFile(tmp_path), UnsavedFile(tmp_path)
    data = json.dumps({"format": "rankscope.session", "version": "1.0", "title": "new"}).encode()
    assert one.write(data, 2)
    assert one.write(b"older", 1)
    assert one.path is not None
    assert one.path.read_bytes() == data
    assert two.write(b"no session", 1)
    assert left_behind(tmp_path) == []
    one.close(keep=True)
    two.close(keep=True)
    found: list[LeftBehind] = left_behind(tmp_path)
    assert [f.document.content.title for f in found] == ["new"]
    assert left_behind(tmp_path) == [], "locked by the first who looked"
    found[0].let_go()
    (again,) = left_behind(tmp_path)
    again.drop()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".damaged", ".lock"]


def test_no_room_for_what_is_kept_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    unsaved = UnsavedFile(tmp_path / "file" / "below")
    assert not unsaved.write(b"x", 1)
    unsaved.close(keep=False)
    assert left_behind(tmp_path / "file") == []
