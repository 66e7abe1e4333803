"""Findings in the window: the first tab, put aside with undo, kept in the session file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from viewer.analyses.findings import registry
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.app import dialogs
from viewer.app.features.findings import Findings
from viewer.app.panel_table import PANELS
from viewer.base.selection import SliceRef

Windows = Callable[..., Any]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[JobFinding]:
    out = [
        JobFinding(f"f{i}", "k", f"finding {i}", "warning", 9 - i, "", (Evidence("e", SliceRef(0, 0)),), "try", "how")
        for i in range(2)
    ]
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda *_a: out)
    return out


def opened(qtbot: QtBot, window: Any, path: Path) -> Any:
    """The panel of a window that opened a job, when it has its findings."""
    window.open_paths([path])
    feature = next(f for f in window.features if isinstance(f, Findings))
    qtbot.waitUntil(lambda: feature.panel is not None and not window.controller.running, timeout=60_000)
    qtbot.waitUntil(lambda: feature.panel.frame is not None and not feature.panel.frame.busy, timeout=60_000)
    return feature.panel


def shown(panel: Any, section: str) -> list[str]:
    return [v.card.id for v in panel.cards[section] if not v.isHidden()]


def test_findings_are_the_first_tab() -> None:
    assert PANELS[0].name == "findings"
    assert PANELS[0].shown


def test_what_is_put_aside_can_be_undone_and_is_saved(
    qtbot: QtBot,
    windows: Windows,
    job_folder: Path,
    told: list[JobFinding],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    window = windows()
    panel = opened(qtbot, window, job_folder)
    assert not window.isWindowModified()
    panel.cards["cards"][0].aside.click()
    assert (shown(panel, "cards"), shown(panel, "dismissed")) == (["f1"], ["f0"])
    assert window.isWindowModified()
    assert window.undo.stack.undoText() == "Dismiss finding"
    window.undo.stack.undo()
    assert shown(panel, "cards") == ["f0", "f1"]
    assert not window.isWindowModified()
    window.undo.stack.redo()
    file = tmp_path / "s.rankscope"
    monkeypatch.setattr(dialogs, "ask_save_as", lambda *_: file)
    window.actions_["save"].trigger()
    assert json.loads(file.read_text())["dismissed"] == ["f0"]
    window.close()
    again = windows()
    panel = opened(qtbot, again, file)
    qtbot.waitUntil(lambda: shown(panel, "dismissed") == ["f0"])
    assert shown(panel, "cards") == ["f1"]


def test_evidence_keeps_the_page_in_front_and_a_click_elsewhere_does_not(
    qtbot: QtBot, windows: Windows, job_folder: Path, told: list[JobFinding]
) -> None:
    window = windows()
    window.resize(1200, 600)  # too low for panels one above the other
    panel = opened(qtbot, window, job_folder)

    def front() -> set[str]:
        return {bar.tabText(bar.currentIndex()) for bar in window.findChildren(QTabBar) if bar.isVisible()}

    qtbot.waitUntil(lambda: "Findings" in front())
    card = panel.cards["cards"][0]
    card.fold.click()
    card.evidence[0].setFocus()
    card.evidence[0].clicked.emit()
    assert window.workspace.context.selection.slice == SliceRef(0, 0)
    assert "Findings" in front()
    window.workspace.timeline.setFocus()
    window.workspace.context.select(type(window.workspace.context.selection)(slice=SliceRef(0, 1)))
    qtbot.waitUntil(lambda: "Breakdown" in front())
