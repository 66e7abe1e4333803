"""The panels Fingerprint and Job card by themselves."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.support.panels import settle
from tests.support.themes import theme
from tests.viewer.analyses.fingerprint.test_figures import job
from viewer.analyses.card_fill import with_filled_card
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.base.selection import Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.fingerprint import FingerprintPanel
from viewer.panels.job_card import JobCardPanel
from viewer.store.session import Session


def test_the_fingerprint_is_taken_when_it_is_shown_and_jumps_to_evidence(qtbot: QtBot, context: JobContext) -> None:
    panel = FingerprintPanel(context)
    qtbot.addWidget(panel)
    panel.resize(400, 800)
    session = job()
    context.set_session(session)
    assert context.work.pending == 0
    assert panel.sentence.text() == FingerprintPanel.HINT
    panel.show()
    settle(qtbot, context)
    assert panel.sentence.text().startswith("MFU is 30.0 %")
    assert len(panel.tiles.tiles) == 6
    assert panel.hfu.text().startswith("HFU –: recorded shapes")
    panel.tiles.chosen.emit(0)
    assert context.selection == Selection(range=TimeRange(900, 1900), group=0)
    wanted: list[str] = []
    panel.field_wanted.connect(wanted.append)
    context.set_session(session.with_card(session.card.with_value("model.parameters", None)), keep_selection=True)
    settle(qtbot, context)
    panel.tiles.chosen.emit(0)
    assert wanted == ["model.parameters"]
    context.set_theme(theme("dark"))
    context.set_session(Session())
    assert panel.sentence.text() == FingerprintPanel.HINT
    assert panel.tiles.isHidden()


@pytest.fixture
def form(qtbot: QtBot, context: JobContext) -> JobCardPanel:
    panel = JobCardPanel(context)
    qtbot.addWidget(panel)
    panel.resize(400, 600)
    panel.show()
    return panel


def test_the_form_shows_what_was_said_and_marks_what_was_filled_in(form: JobCardPanel, context: JobContext) -> None:
    assert not form.area.isEnabled()
    session = job(communicate=False)
    context.set_session(with_filled_card(session, session.card.with_value("plan.world_size", None)))
    assert form.area.isEnabled()
    world, parameters = form.edits["plan.world_size"], form.edits["model.parameters"]
    assert (world.text(), parameters.text()) == ("", "5000")
    assert world.line is not None
    assert world.line.placeholderText() == "1  ·  from the traces"
    assert "the only trace has one GPU" in world.editor.toolTip()
    assert form.edits["run.dtype"].text() == "bf16"


def test_typing_wishes_a_card_or_says_what_is_wrong(qtbot: QtBot, form: JobCardPanel, context: JobContext) -> None:
    wishes: list[tuple[JobCard, str]] = []
    form.wished.connect(lambda card, text: wishes.append((card, text)))
    context.set_session(job().with_card(EMPTY_CARD))
    edit = form.edits["hardware.memory_bytes"]
    assert edit.line is not None
    qtbot.keyClicks(edit.line, "80 GiBs")
    qtbot.keyClick(edit.line, Qt.Key.Key_Return)
    assert wishes == []
    assert 'the unit "GiBs"' in edit.problem.text()
    assert edit.problem.isVisibleTo(form)
    context.session_changed.emit(context.session)  # what is being typed stays
    assert edit.text() == "80 GiBs"
    qtbot.keyClick(edit.line, Qt.Key.Key_Backspace)
    qtbot.keyClick(edit.line, Qt.Key.Key_Return)
    assert [(c.hardware.memory_bytes, t) for c, t in wishes] == [(80 * 2**30, "Job card: memory")]
    assert not edit.problem.isVisibleTo(form)


def test_lists_templates_and_clear_wish_cards(form: JobCardPanel, context: JobContext) -> None:
    wishes: list[JobCard] = []
    form.wished.connect(lambda card, _: wishes.append(card))
    context.set_session(job().with_card(EMPTY_CARD.with_value("plan.tp", 2)))
    schedule = form.edits["run.schedule"]
    assert schedule.list is not None
    schedule.list.setCurrentIndex(schedule.list.findData("zb1p"))
    schedule.list.activated.emit(schedule.list.currentIndex())
    form.template.menu().actions()[0].trigger()
    form.clear.click()
    assert [(c.run.schedule, c.model.name, c.plan.tp) for c in wishes] == [
        ("zb1p", None, 2),
        (None, "Llama 3 8B", 2),
        (None, None, None),
    ]


def test_the_wheel_scrolls_the_form_and_changes_no_list(qtbot: QtBot, form: JobCardPanel, context: JobContext) -> None:
    context.set_session(job().with_card(EMPTY_CARD))
    causal = form.edits["model.causal"]
    turn = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(causal.editor, turn)
    assert causal.text() == ""
    gpu = form.edits["hardware.gpu"]
    assert gpu.line is not None
    gpu.line.completer().setCompletionPrefix("h100")
    assert gpu.line.completer().completionCount() >= 3


def test_the_sentence_leads_to_the_missing_field(qtbot: QtBot, form: JobCardPanel, context: JobContext) -> None:
    context.set_session(job().with_card(EMPTY_CARD.with_value("model.parameters", 9)))
    assert form.sentence.text().startswith("MFU of training needs run.tokens_per_step")
    qtbot.waitExposed(form)
    form.sentence.clicked.emit()
    assert form.edits["run.tokens_per_step"].editor.hasFocus()
    form.show_field("no.such")
    context.set_theme(theme("dark"))
