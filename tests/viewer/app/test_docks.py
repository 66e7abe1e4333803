"""Panels in a small window: it never grows for them, each can be brought to the front, put away and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import opened
from viewer.app.docks import BELOW, BUTTONS, SHOWN
from viewer.app.features.panel_bar import PanelButtons
from viewer.app.main_window import MainWindow
from viewer.app.panel_table import PANELS

Windows = Callable[..., MainWindow]
USEFUL = 200
"""px of lanes that are worth a look."""


@pytest.fixture
def small(qtbot: QtBot, windows: Windows, job_folder: Path) -> MainWindow:
    window = windows()
    window.showNormal()
    window.resize(1280, 720)
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    return window


def settle() -> None:
    for _ in range(5):
        QApplication.processEvents()


def lanes_height(window: MainWindow) -> int:
    assert window.workspace is not None
    return window.workspace.timeline.canvas.height()


def test_no_panel_makes_the_window_larger_and_the_lanes_stay_useful(small: MainWindow) -> None:
    for spec in PANELS:
        small.docks.reset()
        settle()
        assert (small.width(), small.height()) == (1280, 720), f"reset after {spec.name}"
        small.docks.show_panel(spec.name)
        settle()
        assert (small.width(), small.height()) == (1280, 720), spec.name
        assert lanes_height(small) >= USEFUL, spec.name
        dock = small.docks[spec.name]
        assert small.docks.in_front(spec.name)
        assert small.rect().contains(dock.geometry()), spec.name


def test_all_panels_together_are_two_stacks_of_tabs(small: MainWindow) -> None:
    for spec in PANELS:
        small.docks.show_panel(spec.name)
        settle()
    assert (small.width(), small.height()) == (1280, 720)
    assert lanes_height(small) >= USEFUL
    for place in ("right", "below"):
        names = [p.name for p in PANELS if p.place == place]
        assert len(small.tabifiedDockWidgets(small.docks[names[0]])) == len(names) - 1
        for name in (names[0], names[-1], names[1]):  # asked for again, it comes to the front
            small.docks.show_panel(name)
            settle()
            assert [n for n in names if small.docks.in_front(n)] == [name]


def test_panels_of_the_menu_are_tabs_as_well(small: MainWindow) -> None:
    for spec in PANELS:
        if not small.docks[spec.name].isVisible():
            small.docks[spec.name].toggleViewAction().trigger()
            settle()
            assert small.docks.in_front(spec.name)
    assert (small.width(), small.height()) == (1280, 720)
    for place in ("right", "below"):
        names = [p.name for p in PANELS if p.place == place]
        assert len(small.tabifiedDockWidgets(small.docks[names[0]])) == len(names) - 1
    small.docks["gaps"].toggleViewAction().trigger()
    settle()
    assert not small.docks["gaps"].isVisible()


def test_the_height_of_the_stack_below_stays_when_one_of_it_closes(small: MainWindow) -> None:
    for name in ("gaps", "kernels", "flame"):
        small.docks.show_panel(name)
        settle()
    height = small.docks["flame"].height()
    small.docks["flame"].close()
    settle()
    fronts = [p.name for p in BELOW if small.docks.in_front(p.name)]
    assert len(fronts) == 1
    assert abs(small.docks[fronts[0]].height() - height) <= 2


def test_the_button_of_a_panel_in_front_of_its_tabs_puts_it_away(small: MainWindow) -> None:
    bar = next(f for f in small.features if isinstance(f, PanelButtons)).bar
    bar.toggle("gaps")
    bar.toggle("kernels")
    settle()
    assert [small.docks.in_front(n) for n in ("gaps", "kernels")] == [False, True]
    bar.toggle("gaps")
    settle()
    assert [small.docks.in_front(n) for n in ("gaps", "kernels")] == [True, False]
    bar.toggle("gaps")
    settle()
    assert not small.docks["gaps"].isVisible()
    assert small.docks.in_front("kernels")
    assert not bar.buttons["gaps"].isChecked()


def test_the_buttons_of_a_title_bar_can_be_seen_in_a_dark_window(small: MainWindow) -> None:
    small.choose_theme("dark")
    small.docks.show_panel("gaps")
    settle()
    for name in BUTTONS:
        button = small.docks["gaps"].findChild(QAbstractButton, name)
        assert button is not None
        assert button.isVisible()
        image = button.icon().pixmap(16, 16).toImage()
        ink = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
        assert max(c.lightness() for c in ink if c.alpha() > 200) > 180
        assert "Gaps" in button.toolTip()


@pytest.mark.qt_log_ignore("This plugin does not support raise")
def test_a_floating_panel_and_the_stacks_come_back_after_a_restart_and_go_home_on_reset(
    qtbot: QtBot, windows: Windows, small: MainWindow, job_folder: Path
) -> None:
    small.docks.show_panel("gaps")
    small.docks.show_panel("kernels")
    small.docks["job_card"].setFloating(True)
    small.docks.show_panel("job_card")
    small.docks["clocks"].setFloating(True)
    settle()
    small.docks["clocks"].setGeometry(QRect(200, 150, 420, 300))
    small.close()
    again = windows()
    again.showNormal()
    again.resize(1280, 720)
    again.open_paths([job_folder])
    opened(qtbot, again, 2)
    settle()
    clocks = again.docks["clocks"]
    assert clocks.isFloating()
    assert clocks.isVisible()
    assert (clocks.width(), clocks.height()) == (420, 300)
    assert again.docks["kernels"] in again.tabifiedDockWidgets(again.docks["gaps"])
    again.docks.reset()
    settle()
    assert not any(again.docks[p.name].isFloating() for p in PANELS)
    assert {p.name for p in PANELS if again.docks[p.name].isVisible()} == {p.name for p in SHOWN}
    assert (again.width(), again.height()) == (1280, 720)
