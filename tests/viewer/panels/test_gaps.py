from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.support.build import make_session
from tests.support.host_job import HostJob
from tests.support.panels import settle
from tests.support.themes import theme
from viewer.base.selection import EMPTY, Selection
from viewer.panels.context import JobContext
from viewer.panels.gaps import BESIDE, GapsPanel
from viewer.store.session import Session


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> GapsPanel:
    made = GapsPanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 320)
    return made


@pytest.fixture(scope="module")
def job() -> Session:
    return make_session(HostJob(faults=("sync",)).trace(), HostJob(rank=1, faults=("data-loading",)).trace())


def test_it_computes_when_shown_and_says_so_without_a_job(
    qtbot: QtBot, context: JobContext, panel: GapsPanel, job: Session
) -> None:
    context.set_session(job)
    assert context.work.pending == 0
    assert panel.sentence.text() == GapsPanel.HINT
    panel.show()
    settle(qtbot, context)
    assert panel.sentence.text().startswith("2 ranks:")
    assert panel.gaps.model().rowCount() > 10
    assert panel.scope.isVisible()
    context.set_session(Session())
    assert panel.sentence.text() == GapsPanel.HINT
    assert panel.parts.isHidden()


def test_a_row_of_causes_filters_and_a_second_click_shows_all(
    qtbot: QtBot, context: JobContext, panel: GapsPanel, job: Session
) -> None:
    context.set_session(job)
    panel.show()
    settle(qtbot, context)
    assert panel.frame is not None
    every = panel.gaps.model().rowCount()
    at = panel.frame.names.index("data loading")
    place = panel.causes.visualRect(panel.causes.model().index(at, 0)).center()
    qtbot.mouseClick(panel.causes.viewport(), Qt.MouseButton.LeftButton, pos=place)
    settle(qtbot, context)
    assert panel.cause.currentData() == "data loading"
    assert panel.gaps.model().rowCount() == 5
    assert "data loader" in panel.note.text()
    qtbot.mouseClick(panel.causes.viewport(), Qt.MouseButton.LeftButton, pos=place)
    settle(qtbot, context)
    assert panel.cause.currentData() is None
    assert panel.gaps.model().rowCount() == every


def test_the_selected_rank_and_the_length_filter(
    qtbot: QtBot, context: JobContext, panel: GapsPanel, job: Session
) -> None:
    context.set_session(job)
    panel.show()
    panel.scope.setCurrentIndex(1)
    panel.length.setCurrentIndex(3)
    context.select(Selection(group=1))
    settle(qtbot, context)
    assert panel.sentence.text().startswith("rank 1:")
    assert panel.gaps.model().rowCount() == 5
    context.select(EMPTY)
    settle(qtbot, context)
    assert panel.sentence.text().startswith("2 ranks:")


def test_a_gap_is_selected_and_revealed(qtbot: QtBot, context: JobContext, panel: GapsPanel, job: Session) -> None:
    context.set_session(job)
    panel.show()
    settle(qtbot, context)
    asked: list[object] = []
    context.reveal_requested.connect(asked.append)
    place = panel.gaps.visualRect(panel.gaps.model().index(0, 0)).center()
    qtbot.mouseClick(panel.gaps.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert panel.frame is not None
    assert panel.frame.gaps is not None
    assert context.selection.gap == panel.frame.gaps.jumps[0]
    assert asked == [context.selection.gap]


def test_a_job_without_gaps_hides_the_tools(qtbot: QtBot, context: JobContext, panel: GapsPanel) -> None:
    from tests.support.build import kernel, make_trace

    context.set_session(make_session(make_trace(kernel("a", 0, 5))))
    panel.show()
    settle(qtbot, context)
    assert "never idle" in panel.sentence.text()
    assert panel.parts.isHidden()
    assert panel.cause.isHidden()
    context.set_theme(theme("dark"))


def test_other_lists_in_the_same_panel(qtbot: QtBot, context: JobContext, panel: GapsPanel) -> None:
    from tests.support.host_job import launch_bound_job

    context.set_session(make_session(launch_bound_job().trace()))
    panel.show()
    panel.what.setCurrentIndex(1)
    settle(qtbot, context)
    assert "wait" in panel.sentence.text()
    assert panel.gaps.model().rowCount() > 5
    assert panel.causes.isHidden()
    assert panel.cause.isHidden()
    panel.what.setCurrentIndex(2)
    settle(qtbot, context)
    assert panel.sentence.text() == "No two streams ran one after the other."
    assert panel.parts.isHidden()
    panel.what.setCurrentIndex(0)
    settle(qtbot, context)
    assert panel.causes.isVisible()
    assert panel.gaps.isVisible()


def test_in_a_narrow_panel_the_sentence_has_a_row_of_its_own(
    qtbot: QtBot, context: JobContext, panel: GapsPanel, job: Session
) -> None:
    context.set_session(job)
    panel.show()
    settle(qtbot, context)
    for width in (1200, 560, 1200):
        panel.resize(width, 400)
        QApplication.processEvents()
        assert (panel.sentence.y() >= panel.what.geometry().bottom()) == (width == 560)
        assert panel.sentence.width() >= BESIDE
