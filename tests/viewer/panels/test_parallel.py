"""The Parallel panel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.support.build import kernel, make_session, make_trace
from tests.support.panels import settle
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.support.themes import theme
from viewer.base.selection import Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.parallel import ParallelPanel
from viewer.store.session import Session

F, B = 1_000_000, 2_000_000


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> ParallelPanel:
    made = ParallelPanel(context)
    qtbot.addWidget(made)
    made.resize(1000, 320)
    return made


def job() -> PipelineJob:
    return PipelineJob(one_f_one_b(2, 4), [F] * 2, [B] * 2, replicas=2, steps=3)


def test_it_shows_the_job_and_forgets_it(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    context.set_session(job().session())
    assert context.work.pending == 0
    assert panel.sentence.text() == ParallelPanel.HINT
    panel.show()
    settle(qtbot, context)
    assert panel.sentence.text().startswith("Bubble ")
    assert panel.steps.count() == 3
    assert panel.chart.frame is not None
    assert len(panel.chart.frame.rows) == 4
    assert [s.text for s in panel.legend.swatches][-1] == "bubble: no compute"
    context.set_theme(theme("dark"))
    context.set_session(Session())
    assert panel.sentence.text() == ParallelPanel.HINT
    assert panel.scrolled.isHidden()


def test_it_follows_the_selected_step(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    made = job()
    context.set_session(made.session())
    panel.show()
    settle(qtbot, context)
    for number in (2, 0):
        context.select(Selection(range=TimeRange(*made.phase(0, number))))
        settle(qtbot, context)
        assert panel.view is not None
        assert (panel.view.step, panel.steps.currentData()) == (number, number)
    assert not panel.before.isEnabled()
    panel.after.click()
    settle(qtbot, context)
    assert panel.steps.currentData() == 1
    panel.steps.setCurrentIndex(2)
    panel.steps.activated.emit(2)
    settle(qtbot, context)
    assert panel.view.step == 2


def test_the_step_that_was_asked_for_last_is_shown(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    made = job()
    context.set_session(made.session())
    panel.show()
    context.select(Selection(range=TimeRange(*made.phase(0, 0))))
    settle(qtbot, context)
    panel.steps.activated.emit(0)
    settle(qtbot, context)
    panel.after.click()
    panel.after.click()
    assert context.work.pending > 0, "neither is shown yet"
    settle(qtbot, context)
    assert panel.view is not None
    assert panel.view.step == 2, "two steps on"
    panel.before.click()
    panel.steps.activated.emit(2)  # back to what is still shown
    settle(qtbot, context)
    assert (panel.view.step, panel.steps.currentData()) == (2, 2)


def test_replicas_fold(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    context.set_session(job().session())
    panel.show()
    settle(qtbot, context)
    panel.fold.click()
    settle(qtbot, context)
    assert panel.chart.frame is not None
    assert len(panel.chart.frame.rows) == 2


def test_clicks_jump_to_the_lanes(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    context.set_session(job().session())
    panel.show()
    settle(qtbot, context)
    frame = panel.chart.frame
    assert frame is not None
    qtbot.mouseClick(panel.chart, Qt.MouseButton.LeftButton, pos=panel.chart.cell_rect(0).center().toPoint())
    assert context.selection.slice == frame.refs[0]
    at = QPoint(8, int(panel.chart.cell_rect(frame.of_row(1).start).center().y()))
    qtbot.mouseClick(panel.chart, Qt.MouseButton.LeftButton, pos=at)
    assert frame.rows[1].target is not None
    assert context.selection.group == frame.rows[1].target.group
    assert context.selection.range is not None


def test_it_says_why_there_is_nothing(qtbot: QtBot, context: JobContext, panel: ParallelPanel) -> None:
    context.set_session(make_session(make_trace(kernel("gemm", 0, 10), rank=0)))
    panel.show()
    settle(qtbot, context)
    assert panel.sentence.text().startswith("No pipeline:")
    assert panel.scrolled.isHidden()
