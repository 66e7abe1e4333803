"""The Selection panel in the window: when it shows, and what it saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import opened, texts
from viewer.app.features.selection import SelectionTable
from viewer.app.main_window import MainWindow
from viewer.base.selection import EMPTY, Selection, TimeRange

Windows = Callable[..., MainWindow]


def feature(window: MainWindow) -> SelectionTable:
    return next(f for f in window.features if isinstance(f, SelectionTable))


def select(window: MainWindow) -> None:
    assert window.workspace is not None
    context = window.workspace.context
    context.select(EMPTY)
    extent = context.session.extent()
    assert extent is not None
    context.select(Selection(range=TimeRange(extent.start_ns, extent.end_ns)))


def test_it_shows_with_a_range_and_stays_closed_when_closed(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    dock = window.docks["range"]
    assert not dock.isVisibleTo(window)
    select(window)
    assert dock.isVisibleTo(window)
    dock.close()
    select(window)
    assert not dock.isVisibleTo(window)
    window.actions_["selection_table"].trigger()
    assert dock.isVisibleTo(window)
    qtbot.waitUntil(lambda: feature(window).panel.table.model.rowCount() > 0)  # type: ignore[union-attr]
    window.close_job()
    assert not dock.isVisibleTo(window)


def test_saving_asks_for_a_file_and_says_what_was_written(
    windows: Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = windows()
    target = tmp_path / "out"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    feature(window).save([["Name"], ["gemm"]])
    assert (tmp_path / "out.csv").read_bytes() == b"Name\r\ngemm\r\n"
    assert texts(window) == [f"1 row written to {tmp_path / 'out.csv'}."]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "where.csv"), ""))
    feature(window).save([["Name"], ["gemm"]])
    assert sum("cannot be written" in text for text in texts(window)) == 1
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    feature(window).save([["Name"]])
    assert len(texts(window)) == 2
