"""The Communication panel: follows the rank, goes to what is clicked, copies and saves."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent
from pytestqt.qtbot import QtBot

from tests.support.gradients import GradientJob
from tests.support.panels import settle
from tests.support.themes import theme
from viewer.base.curve_frame import CurveFrame
from viewer.base.selection import Selection
from viewer.panels.communication import CommunicationPanel
from viewer.panels.context import JobContext
from viewer.store.session import Session
from widgets.curve_plot import CurvePlot


@pytest.fixture(scope="module")
def job() -> Session:
    return GradientJob(steps=4).session()


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> CommunicationPanel:
    made = CommunicationPanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 340)
    return made


def test_it_computes_when_it_is_shown_and_follows_the_rank(
    qtbot: QtBot, context: JobContext, panel: CommunicationPanel, job: Session
) -> None:
    context.set_session(job)
    assert context.work.pending == 0
    panel.show()
    settle(qtbot, context)
    assert panel.shown is not None
    assert panel.table.model.rowCount() == 3
    assert panel.sentence.text().startswith("In ")
    context.select(Selection(group=2))
    settle(qtbot, context)
    assert panel.shown.rank == 2
    assert panel.sentence.text().startswith("rank 2: In ")
    assert panel.table.model.rowCount() == 2
    context.set_session(Session())
    assert panel.sentence.text() == CommunicationPanel.HINT
    assert panel.parts.isHidden()


def test_a_row_goes_to_its_kernel_and_shows_its_details_which_another_rank_keeps(
    qtbot: QtBot, context: JobContext, panel: CommunicationPanel, job: Session
) -> None:
    context.set_session(job)
    panel.show()
    settle(qtbot, context)
    assert panel.details.isHidden()
    view = panel.shown
    assert view is not None
    row = next(i for i, r in enumerate(view.rows) if r.group is not None and r.group.purpose == "dp")
    panel.table.row_clicked.emit(row)
    settle(qtbot, context)
    assert context.selection.slice == view.longest(row)
    assert not panel.details.isHidden()
    assert panel.pace.frame is not None
    panel.pace.chosen.emit(3)
    assert context.selection.slice == panel.pace.frame.ref(3)
    panel.hiders.jump_requested.emit(panel.hiders.model().frame.jumps[0])
    assert context.selection.slice == panel.hiders.model().frame.jumps[0]
    context.select(Selection(group=0))
    settle(qtbot, context)
    assert not panel.details.isHidden()
    context.select(Selection(group=3))  # not in that group
    settle(qtbot, context)


def test_filter_and_saving(qtbot: QtBot, context: JobContext, panel: CommunicationPanel, job: Session) -> None:
    context.set_session(job)
    panel.show()
    settle(qtbot, context)
    panel.rows.filter.setText("send")
    assert panel.table.model.rowCount() == 0
    panel.rows.filter.setText("")
    with qtbot.waitSignal(panel.save_requested) as saved:
        panel.rows.save.click()
    records = saved.args[0]
    assert records[0][:3] == ["Kind", "Group", "Size"]
    assert len(records) == 4


def test_a_point_of_the_rates_chooses_its_row(qtbot: QtBot) -> None:
    plot = CurvePlot()
    qtbot.addWidget(plot)
    plot.set_theme(theme())
    plot.resize(400, 200)
    one = np.array([1024.0, 1 << 20])
    plot.set_frame(CurveFrame(one, np.array([1.0, 90.0]), np.array([0.5, 80.0]), ("a", "b"), (4, 7), 1, one,
                              np.array([2.0, 100.0]), "base", "Rates", "note"))  # fmt: skip
    plot.grab()  # it paints
    x, y = plot.places(one, np.array([1.0, 90.0]))
    at = QPointF(float(x[1]), float(y[1]))
    assert plot.at(at) == 1
    assert plot.at(QPointF(2.0, 2.0)) is None
    left = Qt.MouseButton.LeftButton
    with qtbot.waitSignal(plot.chosen) as chosen:
        plot.mousePressEvent(
            QMouseEvent(QMouseEvent.Type.MouseButtonPress, at, at, left, left, Qt.KeyboardModifier.NoModifier)
        )
    assert chosen.args == [7]
    assert "2 sizes" in plot.accessibleName()
    plot.set_frame(None)
    plot.grab()
    assert plot.at(at) is None
