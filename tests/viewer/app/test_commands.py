"""The command palette: what it lists, how typing chooses, and that it runs what was chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import PATIENCE, Windows, opened
from viewer.app.action_table import ACTIONS
from viewer.app.command_dialog import CommandDialog
from viewer.app.commands import Command, choose, score
from viewer.app.main_window import MainWindow


def nothing() -> None: ...


def command(text: str, why: str = "", name: str = "") -> Command:
    return Command(name or text, text, "", "View", nothing, why)


@pytest.mark.parametrize(
    ("typed", "better", "worse"),
    [
        ("fit", "Fit All", "Profit"),
        ("fsel", "Fit Selection", "offers some level"),
        ("next run", "Next Run", "Run the next one after the run"),
        ("gemm", "gemm_kernel", "void cutlass::Kernel<gemm_17>"),
        ("allreduce", "ncclDevKernel_AllReduce", "all the real duce words"),
    ],
)
def test_better_fits_come_first(typed: str, better: str, worse: str) -> None:
    high, low = score(typed, better), score(typed, worse)
    assert high is not None
    assert low is None or high > low


def test_all_words_must_occur_in_any_order() -> None:
    assert score("all fit", "Fit All") is not None
    assert score("fit nothing", "Fit All") is None
    assert score("", "anything") == 0


def test_recent_first_then_fits_then_what_is_not_possible_then_jumps() -> None:
    commands = [command("Zoom In"), command("Zoom Out", why="needs an open job"), command("Fit All")]
    jumps = [command("zoom kernel")]
    assert [c.text for c in choose("", commands, jumps, ["Fit All"])] == ["Fit All", "Zoom In", "Zoom Out"]
    assert [c.text for c in choose("zoom", commands, jumps, [])] == ["Zoom In", "zoom kernel", "Zoom Out"]
    assert len(choose("zoom", commands, jumps, [], most=1)) == 1


def palette(window: MainWindow) -> CommandDialog:
    window.actions_["palette"].trigger()
    feature = next(f for f in window.features if hasattr(f, "dialog") and hasattr(f, "commands"))
    dialog = feature.dialog
    assert isinstance(dialog, CommandDialog)
    return dialog


def test_it_lists_every_action_with_its_keys_and_says_why_not(qtbot: QtBot, windows: Windows) -> None:
    window = windows()
    dialog = palette(window)
    listed = {c.id: c for c in dialog._commands}
    assert {spec.id for spec in ACTIONS} - set(listed) == {"palette"}
    assert listed["open"].keys == "Ctrl+O"
    assert listed["back"].keys == "Alt+Left, Backspace"
    assert listed["fit"].why == "needs an open job"
    assert any(c.text == "Undo" for c in dialog._commands)
    qtbot.keyClicks(dialog.edit, "fit all")
    assert dialog.shown()[0].id == "fit"
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Return)
    assert dialog.isVisible()  # it cannot be done
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Escape)
    assert next(f for f in window.features if hasattr(f, "commands")).dialog is None


def test_it_runs_and_remembers_and_jumps_to_kernels(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    workspace = window.workspace
    assert workspace is not None
    dialog = palette(window)
    qtbot.keyClicks(dialog.edit, "dark")
    assert dialog.shown()[0].id == "theme_dark"
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Return)
    assert window.actions_["theme_dark"].isChecked()
    assert window.settings.recent_actions == ["theme_dark"]
    dialog = palette(window)
    assert dialog.shown()[0].id == "theme_dark"
    qtbot.waitUntil(lambda: workspace.work.pending == 0, timeout=PATIENCE)
    qtbot.keyClicks(dialog.edit, "gemm_0")
    assert (dialog.shown()[0].text, dialog.shown()[0].sort) == ("gemm_0", "kernel")
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Return)
    chosen = workspace.context.selection.slice
    assert chosen is not None
    trace = workspace.session.inputs[chosen.input].trace
    assert trace.name(chosen.index) == "gemm_0"
    dialog = palette(window)
    qtbot.keyClicks(dialog.edit, "rank 1")
    first = dialog.shown()[0]
    assert (first.text, first.sort) == ("rank 1", "rank")
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Down)
    assert dialog.list.currentItem().text(0) == dialog.shown()[1].text
    dialog.reject()
