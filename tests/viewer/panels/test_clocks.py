from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.panels import settle
from tests.support.ranks import RankJob
from tests.support.themes import theme
from viewer.analyses.collective.operations import operations
from viewer.app.clocks import settle_clocks
from viewer.base.clock import GivenClock
from viewer.base.selection import Selection, SliceRef
from viewer.panels.clocks import ClocksPanel, Wish
from viewer.panels.context import JobContext
from viewer.store.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    return settle_clocks(RankJob(ranks=4, steps=6, offsets={1: 250_000}).session(), "auto")


@pytest.fixture
def panel(context: JobContext, qtbot: QtBot, session: Session) -> ClocksPanel:
    made = ClocksPanel(context)
    qtbot.addWidget(made)
    made.resize(400, 700)
    made.show()
    assert "several ranks" in made.view.message.text()
    assert made.tools.isHidden()
    context.set_session(session)
    settle(qtbot, context)
    return made


def reduction(session: Session, source: int) -> SliceRef:
    table = operations(session.inputs[source].trace)
    return SliceRef(source, int(table.row[np.flatnonzero(table.kind == 1)[4]]))


def test_it_shows_figures_plot_and_table_and_the_method(panel: ClocksPanel) -> None:
    assert panel.view.title.text() == "Clocks"
    assert panel.method.currentText() == "Aligned by collectives"
    assert not panel.raw.isChecked()
    plot = panel.view.boxes[1].residuals
    assert plot is not None
    assert plot.isVisible()
    assert not plot.grab().isNull()


def test_a_click_on_a_rank_chooses_it_everywhere(panel: ClocksPanel, context: JobContext, qtbot: QtBot) -> None:
    table = panel.view.boxes[2].table
    assert table is not None
    table.jump_requested.emit(panel.view.boxes[2].section.table.jumps[1])  # type: ignore[union-attr]
    settle(qtbot, context)
    assert context.selection.group == 1
    assert panel.rank.currentText() == "rank 1"
    assert panel.offset.text().startswith("250")
    frame = panel.view.frame
    assert frame is not None
    plot = frame.sections[1].residuals
    assert plot is not None
    assert plot.label == "rank 1"
    assert not plot.focus.all()


def test_methods_and_offsets_are_wishes(panel: ClocksPanel, qtbot: QtBot) -> None:
    wishes: list[Wish] = []
    refused: list[str] = []
    panel.wished.connect(wishes.append)
    panel.refused.connect(refused.append)
    panel.method.activated.emit(2)
    qtbot.mouseClick(panel.more, Qt.MouseButton.LeftButton)
    assert panel.adjust.isVisible()
    panel.rank.setCurrentIndex(3)
    panel.offset.setText("-3ms")
    qtbot.keyClick(panel.offset, Qt.Key.Key_Return)
    panel.offset.setText("soon")
    panel.set_button.click()
    panel.rank.setCurrentIndex(3)
    panel.reset_button.setEnabled(True)
    panel.reset_button.click()
    assert wishes == [
        Wish("Clocks: As written", "none"),
        Wish("Offset of rank 3", given=((3, GivenClock(-3_000_000)),)),
        Wish("Reset offset of rank 3", given=((3, None),)),
    ]
    assert len(refused) == 1
    assert "is no time" in refused[0]


def test_a_slice_is_aligned_with_its_partner_or_the_anchor(
    panel: ClocksPanel, context: JobContext, session: Session, qtbot: QtBot
) -> None:
    wishes: list[Wish] = []
    refused: list[str] = []
    panel.wished.connect(wishes.append)
    panel.refused.connect(refused.append)
    assert not panel.left_button.isEnabled()
    context.select(Selection(slice=reduction(session, 1), group=1))
    assert panel.left_button.isEnabled()
    panel.right_button.click()
    ((group, clock),) = wishes[0].given
    assert group == 1
    assert clock is not None
    assert abs(clock.offset_ns - 250_000) < 1_000
    panel.anchor_button.click()
    assert panel.help.text().startswith("Anchor: rank 1 · nccl")
    panel.left_button.click()
    assert "one rank" in refused[0]
    context.select(Selection(slice=reduction(session, 2), group=2))
    panel.left_button.click()
    assert wishes[1].given[0][0] == 2
    settle(qtbot, context)


def test_both_themes(panel: ClocksPanel, context: JobContext) -> None:
    context.set_theme(theme("dark"))
    assert not panel.grab().isNull()
