from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.panels import settle
from tests.support.ranks import RankJob
from tests.support.themes import theme
from viewer.app.clocks import settle_clocks
from viewer.base.selection import GroupRef
from viewer.panels.context import JobContext
from viewer.panels.stragglers import StragglersPanel
from viewer.store.session import Session
from viewer.views.stragglers.panel import step_selection


@pytest.fixture(scope="module")
def late() -> Session:
    return settle_clocks(RankJob(ranks=4, steps=5, late_ns={3: 4_000_000}).session(), "auto")


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> StragglersPanel:
    made = StragglersPanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 260)
    return made


def test_nothing_is_computed_before_it_is_shown(
    qtbot: QtBot, context: JobContext, panel: StragglersPanel, late: Session
) -> None:
    context.set_session(late)
    assert context.work.pending == 0
    assert panel.sentence.text() == StragglersPanel.HINT
    panel.show()
    settle(qtbot, context)
    assert panel.sentence.text().startswith("rank 3 is late by")
    assert panel.heat_view is not None
    assert panel.table.model().rowCount() == 4
    context.set_session(Session())
    assert panel.sentence.text() == StragglersPanel.HINT
    assert panel.parts.isHidden()


def test_clicks_jump_to_the_step_and_to_the_evidence(
    qtbot: QtBot, context: JobContext, panel: StragglersPanel, late: Session
) -> None:
    context.set_session(late)
    panel.show()
    settle(qtbot, context)
    asked: list[object] = []
    context.reveal_requested.connect(asked.append)
    at = panel.map.cell_rect(1, 2).center().toPoint()
    qtbot.mouseClick(panel.map, Qt.MouseButton.LeftButton, pos=at)
    wanted = step_selection(late, 1, 2)
    assert wanted is not None
    assert context.selection == wanted
    assert asked == [GroupRef(1), wanted.range]
    qtbot.mouseClick(
        panel.table.viewport(),
        Qt.MouseButton.LeftButton,
        pos=panel.table.visualRect(panel.table.model().index(0, 0)).center(),
    )
    assert context.selection.slice is not None
    assert context.selection.slice.input == 3


def test_measure_and_reference_change_the_map(
    qtbot: QtBot, context: JobContext, panel: StragglersPanel, late: Session
) -> None:
    context.set_session(late)
    panel.show()
    settle(qtbot, context)
    panel.measure.setCurrentIndex(panel.measure.findData("busbw"))
    settle(qtbot, context)
    assert panel.map.frame is not None
    assert (panel.map.frame.unit, panel.map.frame.diverging) == ("GB/s", False)
    panel.relative.setChecked(True)
    settle(qtbot, context)
    assert panel.map.frame.diverging
    context.set_theme(theme("dark"))


def test_it_says_why_nothing_can_be_told(qtbot: QtBot, context: JobContext, panel: StragglersPanel) -> None:
    context.set_session(RankJob(ranks=4, steps=3).session())
    panel.show()
    settle(qtbot, context)
    assert "clocks of the ranks are not aligned" in panel.sentence.text()
    assert panel.left.isHidden()
