from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.column_frame import COUNT, NS, SHARE, TEXT, Column, ColumnFrame
from viewer.base.ids import Paint
from widgets.column_table import ColumnTable

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def frame(n: int = 4) -> ColumnFrame:
    return ColumnFrame(
        (
            Column("Name", "", TEXT, [f"kernel {chr(97 + i % 26)}{i}" for i in range(n)]),
            Column("Count", "how many", COUNT, np.arange(n) * 7 % 11),
            Column("Sum", "how long", NS, np.arange(n) * 1_000),
            Column("Share", "of what", SHARE, [None if i == 1 else i / 10 for i in range(n)]),
        ),
        [Paint.COMM] * n,
    )


@pytest.fixture
def table(qtbot: QtBot) -> ColumnTable:
    table = ColumnTable()
    qtbot.addWidget(table)
    table.set_theme(theme())
    table.resize(700, 300)
    table.set_frame(frame(), None, ("4 rows", "1", "2", ""))
    table.show()
    qtbot.waitExposed(table)
    return table


def shown(table: ColumnTable, column: int = 0) -> list[str]:
    return [table.model.index(r, column).data() for r in range(table.model.rowCount())]


def click_head(qtbot: QtBot, table: ColumnTable, column: int) -> None:
    head = table.view.horizontalHeader()
    at = QPoint(head.sectionViewportPosition(column) + 20, head.height() // 2)
    qtbot.mouseClick(head.viewport(), LEFT, NONE, at)


def row_point(table: ColumnTable, row: int) -> QPoint:
    return table.view.visualRect(table.model.index(row, 0)).center()


def test_a_click_on_a_head_sorts_numbers_from_the_largest_and_texts_from_a(qtbot: QtBot, table: ColumnTable) -> None:
    click_head(qtbot, table, 2)
    assert shown(table, 2) == ["3.000 us", "2.000 us", "1.000 us", "0 ns"]
    click_head(qtbot, table, 2)
    assert shown(table, 2) == ["0 ns", "1.000 us", "2.000 us", "3.000 us"]
    click_head(qtbot, table, 0)
    assert shown(table) == ["kernel a0", "kernel b1", "kernel c2", "kernel d3"]
    with qtbot.waitSignal(table.sorted_by) as sort:
        click_head(qtbot, table, 3)
    assert sort.args == ["Share", True]
    assert shown(table, 3) == ["30.0 %", "20.0 %", "0.0 %", "–"]


def test_rows_that_do_not_pass_are_left_out_and_the_order_stays(table: ColumnTable) -> None:
    table.set_order("Sum", True)
    table.set_keep(np.array([True, False, True, False]), ("2 rows of 4", "", "", ""))
    assert shown(table) == ["kernel c2", "kernel a0"]
    assert table.totals.texts[0] == "2 rows of 4"
    table.set_frame(frame(5), None, ("5 rows", "", "", ""))
    assert shown(table)[0] == "kernel e4"


def test_clicks_and_keys_name_the_row_of_the_frame(qtbot: QtBot, table: ColumnTable) -> None:
    table.set_order("Sum", True)
    with qtbot.waitSignal(table.row_clicked) as clicked:
        qtbot.mouseClick(table.view.viewport(), LEFT, NONE, row_point(table, 1))
    assert clicked.args == [2]
    for key, modifier, forward in (
        (Qt.Key.Key_Return, NONE, True),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier, False),
    ):
        with qtbot.waitSignal(table.row_stepped) as stepped:
            qtbot.keyClick(table.view, key, modifier)
        assert stepped.args == [2, forward]
    with qtbot.waitSignal(table.row_stepped) as stepped:
        qtbot.mouseDClick(table.view.viewport(), LEFT, NONE, row_point(table, 0))
    assert stepped.args == [3, True]


def test_ctrl_c_copies_the_selected_rows_else_all(qtbot: QtBot, table: ColumnTable) -> None:
    table.set_order("Sum", True)
    table.view.setFocus()
    qtbot.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0] == "Name\tCount\tSum (ns)\tShare\tClass"
    assert lines[1] == "kernel d3\t10\t3000\t0.3\tcommunication"
    assert len(lines) == 5
    qtbot.mouseClick(table.view.viewport(), LEFT, NONE, row_point(table, 1))
    table.copy()
    assert QGuiApplication.clipboard().text().splitlines()[1:] == ["kernel c2\t3\t2000\t0.2\tcommunication"]


def test_a_selected_row_stays_selected_when_its_figures_change(qtbot: QtBot, table: ColumnTable) -> None:
    table.set_order("Name", False)
    qtbot.mouseClick(table.view.viewport(), LEFT, NONE, row_point(table, 1))
    table.set_frame(frame(6), None, ("6 rows", "", "", ""))
    assert [i.data() for i in table.view.selectionModel().selectedRows()] == ["kernel b1"]


def test_many_rows_are_formatted_only_when_shown(table: ColumnTable) -> None:
    class Counting(list[int]):
        reads = 0

        def __getitem__(self, i: object) -> object:  # type: ignore[override]
            Counting.reads += 1
            return super().__getitem__(i)  # type: ignore[index]

    n = 50_000
    many = Counting(range(n))
    columns = (Column("Name", "", TEXT, [str(i) for i in range(n)]), Column("Mean", "", NS, many))
    table.set_frame(ColumnFrame(columns), None, ("", ""))
    table.repaint()
    assert 0 < Counting.reads < n // 10
    assert table.model.rowCount() == n


def test_texts_for_readers_that_do_not_see_colours(table: ColumnTable) -> None:
    cell = table.model.index(0, 0)
    assert cell.data(Qt.ItemDataRole.AccessibleTextRole) == "kernel a0, communication"
    assert "communication" in cell.data(Qt.ItemDataRole.ToolTipRole)
    assert "1,000 ns" in table.model.index(1, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert "how long" in table.model.headerData(2, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert table.accessibleName() == "Table of Name, Count, Sum, Share: 4 rows"
