"""The job card in the real window: changed, undone, saved with the session, loaded from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from viewer.app import dialogs
from viewer.app.features.job_card import JobCardFeature
from viewer.app.features.session import SessionFeature
from viewer.app.features.side_panels import SidePanels
from viewer.app.main_window import MainWindow
from viewer.app.options import JobOptions
from viewer.base.job_card import EMPTY_CARD
from viewer.store.card_file import read_card
from viewer.store.session_file import read_session

Windows = Callable[..., MainWindow]


def of(window: MainWindow, kind: type) -> object:
    return next(f for f in window.features if isinstance(f, kind))


def opened(qtbot: QtBot, window: MainWindow, path: Path) -> JobCardFeature:
    window.open_paths([path])
    side = of(window, SidePanels)
    assert isinstance(side, SidePanels)
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running and side.are_filled, timeout=60_000)
    settle(qtbot, window)
    feature = of(window, JobCardFeature)
    assert isinstance(feature, JobCardFeature)
    return feature


def settle(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.workspace is not None and window.workspace.work.pending == 0, timeout=60_000)


def test_a_card_is_changed_undone_saved_and_opened_again(
    qtbot: QtBot, windows: Windows, job_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = windows()
    feature = opened(qtbot, window, job_folder)
    assert window.workspace is not None
    assert window.workspace.session.card.plan.world_size == 2  # filled in while it was opened
    session = of(window, SessionFeature)
    assert isinstance(session, SessionFeature)
    assert not session.dirty
    feature.show_field("plan.tp")
    assert window.docks["job_card"].isVisible()
    feature.choose(EMPTY_CARD.with_value("plan.tp", 2), "Job card: tensor")
    settle(qtbot, window)
    card = window.workspace.session.card
    assert (card.plan.tp, card.plan.dp, card.source("plan.dp")) == (2, 1, "the other dimensions are the whole world")
    assert session.dirty
    assert window.isWindowModified()
    window.undo.stack.undo()
    settle(qtbot, window)
    assert window.workspace.session.card.plan.tp is None
    assert not session.dirty
    window.undo.stack.redo()
    settle(qtbot, window)
    path = tmp_path / "job.rankscope"
    monkeypatch.setattr(dialogs, "ask_save_as", lambda *_: path)
    assert session.save()
    assert read_session(path).content.job == {"plan": {"tp": 2}}
    other = windows()
    again = opened(qtbot, other, path)
    assert other.workspace is not None
    assert other.workspace.session.card.plan.tp == 2
    session_again = of(other, SessionFeature)
    assert isinstance(session_again, SessionFeature)
    assert not session_again.dirty
    assert again.panel is not None
    assert again.panel.edits["plan.tp"].text() == "2"


def test_cards_go_to_and_come_from_files(
    qtbot: QtBot, windows: Windows, job_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = EMPTY_CARD.with_value("model.parameters", 7 * 10**9)
    window = windows(options=JobOptions(card=given))
    feature = opened(qtbot, window, job_folder)
    assert window.workspace is not None
    assert window.workspace.session.card.model.parameters == 7 * 10**9
    session = of(window, SessionFeature)
    assert isinstance(session, SessionFeature)
    assert not session.dirty
    assert window.job.options.card == given
    assert window.options.card == EMPTY_CARD  # the next job in this window is another one
    path = tmp_path / "card.toml"
    monkeypatch.setattr(dialogs, "ask_card_target", lambda *_: path)
    monkeypatch.setattr(dialogs, "ask_card_file", lambda *_: path)
    feature.ask_save()
    assert read_card(path) == given
    path.write_text("[plan]\ntp = 2\n")
    feature.ask_load()
    settle(qtbot, window)
    assert (window.workspace.session.card.plan.tp, window.workspace.session.card.model.parameters) == (2, None)
    path.write_text("[plan]\ntp = 'many'\n")
    feature.ask_load()
    assert "plan.tp many" in window.messages.messages[-1].text
    assert window.job.options.card.plan.tp == 2
    monkeypatch.setattr(dialogs, "ask_card_target", lambda *_: tmp_path / "no folder" / "card.toml")
    feature.ask_save()
    assert "cannot be written" in window.messages.messages[-1].text
