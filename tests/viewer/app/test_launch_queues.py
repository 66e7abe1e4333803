"""The lanes of launch queues come and go with their action, and go with the job."""

from collections.abc import Callable
from pathlib import Path

from pytestqt.qtbot import QtBot

from viewer.app.main_window import MainWindow


def queue_lanes(window: MainWindow) -> int:
    assert window.workspace is not None
    groups = window.workspace.timeline.lanes.groups
    return sum(row.label == "launch queue" for group in groups for row in group.lanes)


def test_they_are_shown_and_hidden(qtbot: QtBot, windows: Callable[..., MainWindow], job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running, timeout=20_000)
    assert queue_lanes(window) == 0
    window.actions_["launch_queues"].trigger()
    qtbot.waitUntil(lambda: queue_lanes(window) == 2, timeout=20_000)
    window.actions_["launch_queues"].trigger()
    qtbot.waitUntil(lambda: queue_lanes(window) == 0, timeout=20_000)
