"""Compare with…: a second run in the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.viewer.app.conftest import trace_text
from viewer.app import dialogs
from viewer.app.cli import main
from viewer.app.features.comparing import Comparing
from viewer.app.main_window import MainWindow
from viewer.panels.compare import HINT

PATIENCE = 30_000
Windows = Callable[..., MainWindow]


def feature(window: MainWindow) -> Comparing:
    return next(f for f in window.features if isinstance(f, Comparing))


@pytest.fixture
def second(tmp_path: Path) -> Path:
    folder = tmp_path / "second"
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"rank {rank}.json").write_text(trace_text(rank, kernels=6))
    return folder


def compared(qtbot: QtBot, window: MainWindow) -> Comparing:
    comparing = feature(window)
    qtbot.waitUntil(lambda: comparing.panel is not None and comparing.panel.comparison is not None, timeout=PATIENCE)
    return comparing


def test_a_second_run_beside_the_first_and_back(
    qtbot: QtBot, windows: Windows, job_folder: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = windows()
    window.open_paths([job_folder])
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running, timeout=PATIENCE)
    monkeypatch.setattr(dialogs, "ask_folder", lambda *_: [second])
    window.actions_["compare_folder"].trigger()
    comparing = compared(qtbot, window)
    assert window.workspace is not None
    assert window.workspace.centre.count() == 2
    assert comparing.linked is not None
    assert len(comparing.linked.context.session.inputs) == 2
    assert window.docks["compare"].isVisible()
    assert comparing.panel is not None
    assert "second" in comparing.panel.text.text()
    # The base run is what it was: nothing of the second one is in it.
    assert [i.path.parent for i in window.workspace.session.inputs] == [job_folder] * 2
    window.actions_["end_compare"].trigger()
    assert comparing.linked is None
    assert comparing.panel.text.text() == HINT
    qtbot.waitUntil(lambda: window.workspace is not None and window.workspace.centre.count() == 1)
    assert window.workspace.timeline.legend.isVisible()


def test_a_run_named_at_the_start_waits_for_the_job(
    qtbot: QtBot, windows: Windows, job_folder: Path, second: Path
) -> None:
    window = windows()
    window.open_paths([job_folder])
    window.compare_with([second])
    comparing = compared(qtbot, window)
    assert comparing.panel is not None
    assert comparing.panel.comparison is not None
    assert comparing.panel.comparison.comparable
    # Findings come later: looking for them takes longer than all else.
    qtbot.waitUntil(lambda: bool(window.workspace is not None and window.workspace.work.pending == 0), timeout=PATIENCE)
    assert comparing.panel.comparison.findings_kept
    # Another job ends it.
    window.open_paths([second])
    qtbot.waitUntil(lambda: comparing.linked is None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not window.controller.running, timeout=PATIENCE)


def test_what_does_not_open_is_said(qtbot: QtBot, windows: Windows, job_folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("")
    window = windows()
    window.open_paths([job_folder])
    window.compare_with([bad])
    comparing = feature(window)
    qtbot.waitUntil(
        lambda: comparing.panel is not None and "did not open" in comparing.panel.text.text(), timeout=PATIENCE
    )
    assert comparing.linked is None
    assert window.has_job


def test_the_command_opens_a_window(monkeypatch: pytest.MonkeyPatch, job_folder: Path, second: Path) -> None:
    from viewer.app import launch

    asked: list[tuple[list[Path], list[Path]]] = []

    def opened(paths: list[Path], _: object, beside: list[Path]) -> int:
        asked.append((paths, beside))
        return 0

    monkeypatch.setattr(launch, "open_window", opened)
    assert main(["compare", str(job_folder), str(second), "--window"]) == 0
    assert asked == [([job_folder], [second])]
