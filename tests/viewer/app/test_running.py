"""What runs, in the status bar, and stopping it; colours that go with a session file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from viewer.app import dialogs
from viewer.app.features.running import OTHERS, STOPPABLE
from viewer.app.main_window import MainWindow
from viewer.base.errors import Cancelled
from viewer.base.session_file import SavedColors
from viewer.base.work import CancelToken

Windows = Callable[..., MainWindow]


def opened(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running, timeout=60_000)
    assert window.workspace is not None
    qtbot.waitUntil(lambda: window.workspace.work.pending == 0, timeout=60_000)  # type: ignore[union-attr]


def test_long_work_is_named_and_stopped_from_the_status_bar(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window)
    workspace, status = window.workspace, window.status
    assert workspace is not None
    assert not status.stop.isVisible()
    told: list[Exception] = []
    freed = threading.Event()

    def long(cancel: CancelToken) -> None:
        while not freed.wait(0.01):
            cancel.check()

    workspace.work.submit("find", long, lambda _: told.append(AssertionError()), told.append)
    qtbot.waitUntil(status.stop.isVisible)
    assert status.busy.text() == "Find…"
    assert status.stop.accessibleName()
    freed.set()
    qtbot.waitUntil(lambda: workspace.work.pending == 0)
    assert status.busy.text() == "", "what is over is not told any more"
    assert not status.stop.isVisible()
    told.clear()
    freed.clear()
    workspace.work.submit("find", long, lambda _: told.append(AssertionError()), told.append)
    qtbot.waitUntil(status.stop.isVisible)
    qtbot.mouseClick(status.stop, Qt.MouseButton.LeftButton)
    assert [type(e) for e in told] == [Cancelled]
    qtbot.waitUntil(lambda: workspace.work.pending == 0)
    freed.set()
    assert not status.stop.isVisible()
    assert status.busy.text() == ""


def test_work_that_is_over_at_once_is_not_told(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window)
    assert window.workspace is not None
    window.workspace.work.submit("find", lambda _: None, lambda _: None)
    assert window.status.busy.text() == ""
    opened(qtbot, window)


def test_what_can_be_stopped_and_what_cannot_are_apart() -> None:
    assert not set(STOPPABLE) & set(OTHERS)


def test_colours_go_with_the_session_and_leave_the_persons_own(
    qtbot: QtBot, windows: Windows, job_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = job_folder.parent / "kept.rankscope"
    monkeypatch.setattr(dialogs, "ask_save_as", lambda *_: file)
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window)
    window.actions_["save"].trigger()
    assert not window.isWindowModified()
    for action in ("color_name", "paints_safe", "patterns_on"):
        window.actions_[action].trigger()
    opened(qtbot, window)
    assert window.isWindowModified()
    window.actions_["save"].trigger()
    for action in ("color_class", "paints_usual", "patterns_off"):
        window.actions_[action].trigger()
    window.close()

    again = windows()
    again.open_paths([file])
    opened(qtbot, again)
    assert again.workspace is not None
    assert again.workspace.colors == SavedColors("name", safe=True, patterns=True)
    assert again.actions_["color_name"].isChecked()
    assert not again.isWindowModified()
    assert again.settings.coloring == "class"
    again.open_paths([job_folder])
    opened(qtbot, again)
    assert again.workspace.colors == SavedColors()
    assert again.actions_["color_class"].isChecked()
