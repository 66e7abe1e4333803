from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import Figure
from viewer.base.selection import SliceRef
from widgets.figure_list import FigureList

FIGURES = (
    Figure("duration", "5 ns", "End − start."),
    Figure("call", "cudaLaunchKernel", "Same correlation.", jump=SliceRef(1, 2)),
    Figure("exposed", "does not apply", tone="muted"),
)


@pytest.fixture
def figures(qtbot: QtBot) -> FigureList:
    widget = FigureList()
    qtbot.addWidget(widget)
    widget.set_theme(theme())
    widget.set_figures(FIGURES)
    widget.resize(360, 300)
    widget.show()
    return widget


def test_each_figure_hides_its_how_behind_a_button_that_has_a_name(figures: FigureList, qtbot: QtBot) -> None:
    _, _, button, how = figures.row(0)
    assert button.isVisible()
    assert not how.isVisible()
    assert button.accessibleName() == "How duration was computed"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert how.isVisible()
    assert how.text() == "End − start."
    assert not figures.row(1)[3].isVisible()


def test_a_figure_without_how_has_no_button(figures: FigureList) -> None:
    assert not figures.row(2)[2].isVisible()


def test_the_switch_shows_every_how(figures: FigureList) -> None:
    figures.set_show_how(True)
    assert [figures.row(i)[3].isVisible() for i in range(3)] == [True, True, False]
    assert not figures.row(0)[2].isVisible()
    figures.set_show_how(False)
    assert [figures.row(i)[3].isVisible() for i in range(3)] == [False, False, False]


def test_a_value_that_leads_somewhere_jumps_by_mouse_and_keyboard(figures: FigureList, qtbot: QtBot) -> None:
    value = figures.row(1)[1]
    with qtbot.waitSignal(figures.jump_requested) as caught:
        qtbot.mouseClick(value, Qt.MouseButton.LeftButton)
    assert caught.args == [SliceRef(1, 2)]
    with qtbot.waitSignal(figures.jump_requested):
        qtbot.keyClick(value, Qt.Key.Key_Return)
    with qtbot.assertNotEmitted(figures.jump_requested):
        qtbot.mouseClick(figures.row(0)[1], Qt.MouseButton.LeftButton)


def test_controls_are_reused_and_an_open_how_stays_open_with_its_label(figures: FigureList) -> None:
    before = figures.row(0)
    before[2].setChecked(True)
    figures.row(1)[2].setChecked(True)
    figures.set_figures((Figure("duration", "9 ns", "Again."), Figure("next", "x", "Other.")))
    assert figures.row(0) == before
    assert before[1].text() == "9 ns"
    assert before[3].isVisible()
    assert before[3].text() == "Again."
    assert not figures.row(1)[3].isVisible()
    assert not figures.row(2)[0].isVisible()
    assert len(figures.figures()) == 2


def test_values_have_accessible_names(figures: FigureList) -> None:
    assert figures.row(0)[1].accessibleName() == "duration: 5 ns"
    assert figures.row(0)[1].accessibleDescription() == "End − start."


def test_rows_that_are_added_while_the_list_is_seen_hide_their_how_too(figures: FigureList, qtbot: QtBot) -> None:
    figures.set_figures([Figure(f"figure {i}", str(i), f"How {i}.") for i in range(8)])
    qtbot.waitUntil(figures.row(7)[0].isVisible)
    assert [figures.row(i)[3].isVisible() for i in range(8)] == [False] * 8
