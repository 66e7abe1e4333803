from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import TableFrame
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from widgets.table import DataTable, fitted

FRAME = TableFrame(
    headers=("Name", "Where", "Time", "Count"),
    rows=[("beta", "7", "1.500 us", "3"), ("alpha", "20", "900 ns", "12"), ("<b>x</b>\tz", "7", "–", "1")],
    keys=[("beta", "7", 1_500, 3), ("alpha", "20", 900, 12), ("<b>x</b>\tz", "7", None, 1)],
    jumps=[SliceRef(0, 5), SliceRef(0, 6), None],
    how=("what", "", "how long", ""),
    paints=[Paint.COMPUTE, Paint.COMM, None],
)


@pytest.fixture
def table(qtbot: QtBot) -> DataTable:
    table = DataTable()
    qtbot.addWidget(table)
    table.set_theme(theme())
    table.set_frame(FRAME)
    table.resize(380, table.height())
    table.show()
    return table


def column(table: DataTable, c: int) -> list[str]:
    model = table.model()
    return [str(model.data(model.index(r, c))).strip() for r in range(model.rowCount())]


def click_header(qtbot: QtBot, table: DataTable, c: int) -> None:
    head = table.horizontalHeader()
    x = head.sectionViewportPosition(c) + 8
    point = head.rect().center()
    point.setX(x)
    qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=point)


def click_row(qtbot: QtBot, table: DataTable, r: int) -> None:
    rect = table.visualRect(table.model().index(r, 0))
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())


def test_numbers_sort_by_key_largest_first_then_the_other_way(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 3)
    assert column(table, 3) == ["12", "3", "1"]
    click_header(qtbot, table, 3)
    assert column(table, 3) == ["1", "3", "12"]


def test_rows_without_a_value_stay_last_in_both_directions(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 2)
    assert column(table, 2) == ["1.500 us", "900 ns", "–"]
    click_header(qtbot, table, 2)
    assert column(table, 2) == ["900 ns", "1.500 us", "–"]


def test_texts_sort_alphabetically_first(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 0)
    assert column(table, 0)[1:] == ["alpha", "beta"]


def test_the_chosen_order_survives_new_rows_of_the_same_table(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 3)
    rows = [("one", "1", "1 ns", "1"), ("two", "2", "2 ns", "2")]
    table.set_frame(TableFrame(FRAME.headers, rows, [("one", "1", 1, 1), ("two", "2", 2, 2)]))
    assert column(table, 3) == ["2", "1"]


def test_a_click_jumps_to_the_row_that_is_shown_there(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 3)
    with qtbot.waitSignal(table.jump_requested) as caught:
        click_row(qtbot, table, 0)
    assert caught.args == [SliceRef(0, 6)]


def test_a_row_without_a_jump_is_chosen_but_leads_nowhere(table: DataTable, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(table.jump_requested), qtbot.waitSignal(table.row_chosen) as caught:
        click_row(qtbot, table, 2)
    assert caught.args == [2]


def test_return_jumps_from_the_keyboard(table: DataTable, qtbot: QtBot) -> None:
    table.setCurrentIndex(table.model().index(1, 0))
    with qtbot.waitSignal(table.jump_requested) as caught:
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert caught.args == [SliceRef(0, 6)]


def test_copy_gives_exact_nanoseconds_and_the_class(table: DataTable, qtbot: QtBot) -> None:
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == (
        "Name\tWhere\tTime (ns)\tCount\tclass\n"
        "beta\t7\t1500\t3\tcompute\n"
        "alpha\t20\t900\t12\tcommunication\n"
        "<b>x</b> z\t7\t\t1\t\n"
    )


def test_copy_takes_only_the_selected_rows_in_shown_order(table: DataTable, qtbot: QtBot) -> None:
    click_header(qtbot, table, 3)
    table.selectRow(0)
    table.copy()
    assert [line.split("\t")[0] for line in QGuiApplication.clipboard().text().splitlines()] == ["Name", "alpha"]


def test_numbers_are_right_aligned_and_texts_left(table: DataTable) -> None:
    model = table.model()
    role = Qt.ItemDataRole.TextAlignmentRole
    assert model.data(model.index(0, 3), role) & int(Qt.AlignmentFlag.AlignRight)
    assert model.data(model.index(0, 0), role) & int(Qt.AlignmentFlag.AlignLeft)


def test_tooltips_are_never_markup_and_tell_exact_times(table: DataTable) -> None:
    model = table.model()
    tip = Qt.ItemDataRole.ToolTipRole
    assert "&lt;b&gt;x&lt;/b&gt;" in model.data(model.index(2, 0), tip)
    assert "1,500 ns" in model.data(model.index(0, 2), tip)
    assert "how long" in model.headerData(2, Qt.Orientation.Horizontal, tip)
    assert "communication" in model.data(model.index(1, 0), Qt.ItemDataRole.AccessibleTextRole)


def test_the_longest_text_column_takes_what_is_left(table: DataTable) -> None:
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    table.set_frame(TableFrame(("Rank", "Name", "ns"), [("rank 1", name, "5 ns")], [("rank 1", name, 5)]))
    assert table.columnWidth(1) > table.columnWidth(0)
    assert table.horizontalHeader().length() == table.viewport().width()


def test_names_that_do_not_fit_show_what_tells_them_apart(qtbot: QtBot) -> None:
    names = [f"ncclDevKernel_{what}_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)" for what in ("Sum", "Max")]
    metrics = QFontMetrics(QFont())
    full = metrics.horizontalAdvance(names[0])
    assert fitted(names[0], metrics, full) == names[0]
    assert [fitted(n, metrics, full // 2) for n in names] == ["Sum_f16_RING_LL", "Max_f16_RING_LL"]
    assert fitted("\u2002void (anonymous namespace)::of_tokens<long>(long*)", metrics, 40) == "\u2002of_tokens"
    for plain in ("trace of a rank (1).json", "torch/nn/module.py(1739): _wrapped_call_impl", "Memcpy DtoD (A -> B)"):
        assert fitted(plain, metrics, 10) == plain
    table = DataTable()
    qtbot.addWidget(table)
    frame = TableFrame(("Name", "Total"), [(n, "1 ns") for n in names], [(n, 1) for n in names], paints=[None, None])
    table.set_frame(frame)
    table.resize(200, 100)
    option = QStyleOptionViewItem()
    option.rect = QRect(0, 0, 120, 20)
    table.itemDelegateForColumn(0).initStyleOption(option, table.model().index(0, 0))
    assert option.text.strip() == "Sum_f16_RING_LL"
    assert table.model().index(0, 0).data() == names[0], "copies and tooltips keep the whole name"


def test_the_height_follows_the_rows_up_to_a_limit(qtbot: QtBot) -> None:
    table = DataTable(max_rows=4)
    qtbot.addWidget(table)
    heights = []
    for n in (1, 4, 50):
        table.set_frame(TableFrame(("a",), [(str(i),) for i in range(n)], [(i,) for i in range(n)]))
        heights.append(table.height())
    assert heights[0] < heights[1] == heights[2]


def test_a_table_that_may_shrink_gives_way(qtbot: QtBot) -> None:
    rows = [[str(r)] for r in range(8)]
    frame = TableFrame(("n",), rows, [[r] for r in range(8)])
    stiff, soft = DataTable(max_rows=8), DataTable(max_rows=8, min_rows=2)
    for table in (stiff, soft):
        qtbot.addWidget(table)
        table.set_frame(frame)
    assert stiff.minimumHeight() == stiff.maximumHeight() == soft.maximumHeight()
    assert soft.minimumHeight() < stiff.minimumHeight() // 2


def test_a_table_that_gives_way_settles_in_a_small_splitter(qtbot: QtBot) -> None:
    """Its height limits answer to the layout once, not without end."""
    from PySide6.QtWidgets import QSplitter

    parts = QSplitter(Qt.Orientation.Horizontal)
    qtbot.addWidget(parts)
    tables = [DataTable(parts, max_rows=24, min_rows=3) for _ in range(2)]
    for table in tables:
        parts.addWidget(table)
        rows = [(str(i), "x" * 400) for i in range(200)]
        table.set_frame(TableFrame(("a", "b"), rows, rows))
    parts.resize(500, 160)
    with qtbot.waitExposed(parts):
        parts.show()
    assert parts.height() == 160
    assert tables[0].minimumHeight() < 160 < tables[0].maximumHeight()
