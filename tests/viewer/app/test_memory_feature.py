"""Memory in the window: a click on its lane and one key lead to the panel."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF
from pytestqt.qtbot import QtBot

from tests.support.memory_job import Planted, training
from viewer.app.features.memory import Memory
from viewer.app.main_window import MainWindow
from viewer.views.lanes.hit import time_at


@pytest.fixture
def window(qtbot: QtBot, windows: Callable[..., MainWindow], tmp_path: Path) -> MainWindow:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(training(Planted(steps=3)).pickled())
    made = windows()
    made.resize(1200, 800)
    made.open_paths([path])
    qtbot.waitUntil(lambda: made.has_job and not made.controller.running, timeout=30_000)
    qtbot.waitUntil(lambda: feature(made).panel is not None, timeout=30_000)
    settle(qtbot, made)
    return made


def feature(window: MainWindow) -> Memory:
    return next(f for f in window.features if isinstance(f, Memory))


def settle(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.workspace is not None and window.workspace.work.pending == 0, timeout=60_000)


def test_the_peak_is_one_key_away(qtbot: QtBot, window: MainWindow) -> None:
    panel = feature(window).panel
    assert panel is not None
    assert not panel.isVisible()
    assert [k.toString() for k in window.actions_["memory_peak"].shortcuts()] == ["P"]
    window.actions_["memory_peak"].trigger()
    qtbot.waitUntil(panel.isVisible)
    settle(qtbot, window)
    assert panel.view is not None
    assert panel.view.at_peak


def test_a_click_on_the_lane_shows_who_holds_what_there(qtbot: QtBot, window: MainWindow) -> None:
    panel = feature(window).panel
    assert panel is not None
    assert window.workspace is not None
    timeline = window.workspace.timeline
    row = next(r for r in timeline.lanes.placement.rows if r.lane is not None and r.lane.memory)
    at = QPointF(timeline.canvas.width() * 0.4, row.y + row.height / 2 - timeline.scroll_top)
    shown = timeline.window()
    assert shown is not None
    wanted = time_at(shown, timeline.canvas.width(), at.x())
    timeline.canvas.clicked.emit(at)
    qtbot.waitUntil(panel.isVisible)
    settle(qtbot, window)
    assert panel.view is not None
    item = window.workspace.session.inputs[0]
    times = item.trace.tables["allocator_events"].time_ns
    assert panel.view.event is not None
    assert times[panel.view.event] <= item.clock.to_raw(wanted) < times[panel.view.event + 1]


def test_the_map_moves_the_lanes(qtbot: QtBot, window: MainWindow) -> None:
    panel = feature(window).panel
    assert panel is not None
    assert window.workspace is not None
    window.actions_["memory"].trigger()
    qtbot.waitUntil(panel.isVisible)
    settle(qtbot, window)
    qtbot.waitUntil(lambda: panel.canvas.frame is not None, timeout=10_000)
    panel.canvas.zoom(4.0, 0.5)
    seen = window.workspace.timeline.window()
    assert seen is not None
    assert (seen.start_ns, seen.end_ns) == (panel.canvas.span.x0, panel.canvas.span.x1)
    settle(qtbot, window)
