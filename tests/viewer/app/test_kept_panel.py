"""The panel of notes, marks and bookmarks in the real window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QMainWindow, QMenu
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_session import opened
from viewer.app.docks import Docks
from viewer.app.features.marks import MarksFeature
from viewer.app.main_window import MainWindow
from viewer.app.themes import load_theme
from viewer.panels.kept_panel import KeptPanel
from viewer.views.kept.kept_list import kept_rows, kept_text

Windows = Callable[..., MainWindow]


@pytest.fixture
def window(qtbot: QtBot, windows: Windows, job_folder: Path) -> MainWindow:
    """A window with a job, a note, a range mark, an instant mark and a bookmark."""
    made = windows()
    made.open_paths([job_folder])
    opened(qtbot, made, 2)
    workspace = made.workspace
    assert workspace is not None
    origin = workspace.session.origin_ns()
    made.kept.notes.add(origin + 300_000, "rank 1/stream 0:7", "zebra")
    made.kept.marks.add(origin + 100_000, origin + 150_000, "", "red")
    made.kept.marks.add(origin + 200_000, origin + 200_000)
    made.actions_["save_bookmark_4"].trigger()
    return made


def panel_of(window: MainWindow) -> KeptPanel:
    panel = next(f for f in window.features if isinstance(f, MarksFeature)).panel
    assert panel is not None
    return panel


def click(qtbot: QtBot, panel: KeptPanel, kind: str) -> None:
    table = panel.table
    number = next(i for i, row in enumerate(table.shown()) if row.cells[0] == kind)
    at = table.visualRect(table.filter.index(number, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_it_lists_sorts_filters_and_copies(window: MainWindow) -> None:
    panel = panel_of(window)
    kinds = [row.cells[0] for row in panel.table.shown()]
    assert kinds == ["Bookmark 4", "Mark", "Mark", "Note"]
    panel.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    assert [row.cells[2] for row in panel.table.shown()][1] == "50.000 us"
    panel.filter_box.setText("STREAM note")
    assert [row.text for row in panel.table.shown()] == ["zebra"]
    panel.table.copy()
    assert QGuiApplication.clipboard().text() == (
        "Kind\tTime (ns)\tLength (ns)\tWhere\tText\nNote\t300000\t0\trank 1/stream 0:7\tzebra\n"
    )


def test_a_click_goes_there(qtbot: QtBot, window: MainWindow) -> None:
    panel, workspace = panel_of(window), window.workspace
    assert workspace is not None
    window.docks["kept"].raise_()
    timeline, origin = workspace.timeline, workspace.session.origin_ns()
    whole = timeline.window()
    panel.filter_box.setText("50.000")
    click(qtbot, panel, "Mark")
    shown = timeline.window()
    assert shown is not None
    assert shown.start_ns <= origin + 100_000 < origin + 150_000 <= shown.end_ns
    assert shown.length_ns < 200_000
    panel.filter_box.clear()
    timeline.set_collapsed(frozenset({1}))
    click(qtbot, panel, "Note")
    shown = timeline.window()
    assert shown is not None
    assert shown.contains(origin + 300_000)
    assert timeline.collapsed == frozenset(), "the note's rank is unfolded"
    click(qtbot, panel, "Bookmark 4")
    assert timeline.window() == whole


def test_texts_are_edited_in_place_and_entries_removed_and_both_undone(qtbot: QtBot, window: MainWindow) -> None:
    panel = panel_of(window)
    window.docks["kept"].raise_()
    table = panel.table
    note = next(row for row in table.shown() if row.kind == "note")
    table.edit_row(note)
    editor = table.findChild(QLineEdit)
    assert editor is not None
    editor.setText("yak")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: [n.text for n in window.kept.notes.book] == ["yak"])
    assert next(row for row in table.shown() if row.kind == "note").text == "yak"
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert table.shown() == []
    window.undo.stack.undo()
    assert len(table.shown()) == 4
    window.undo.stack.undo()
    assert [n.text for n in window.kept.notes.book] == ["zebra"]


def test_a_mark_gets_another_colour_from_the_menu(window: MainWindow) -> None:
    panel = panel_of(window)
    row = next(row for row in panel.table.shown() if row.kind == "mark")
    menu = QMenu(panel)
    panel.menu_wanted.emit(row, menu)
    colors = menu.actions()[0].menu()
    next(a for a in colors.actions() if a.text() == "Green").trigger()
    assert window.kept.marks.book.get(row.id).color == "green"


def test_texts_are_bounded_and_in_one_line() -> None:
    assert kept_text([]) == "Kind\tTime (ns)\tLength (ns)\tWhere\tText\n"
    assert kept_rows([], [], [], 0) == []


def test_a_layout_from_before_the_panel_existed_does_not_lose_it(qtbot: QtBot) -> None:
    host = QMainWindow()
    qtbot.addWidget(host)
    host.resize(900, 600)
    host.show()
    docks = Docks(host, load_theme("light"))
    docks.enter_job()
    old = docks.state().replace("kept".encode("utf-16-be"), "gone".encode("utf-16-be"))
    again = QMainWindow()
    qtbot.addWidget(again)
    again.resize(900, 600)
    again.show()
    later = Docks(again, load_theme("light"))
    later.adopt(old)
    later.enter_job()
    assert later["kept"].isVisibleTo(again)
    assert later["files"] in again.tabifiedDockWidgets(later["kept"])
    later["kept"].hide()
    third = QMainWindow()
    qtbot.addWidget(third)
    third.show()
    last = Docks(third, load_theme("light"))
    last.adopt(later.state())
    last.enter_job()
    assert not last["kept"].isVisibleTo(third), "closed by the person: it stays closed"
