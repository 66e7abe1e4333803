"""The Selection panel: real widgets on a small job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.build import make_session, make_trace, op
from tests.support.themes import theme
from tests.viewer.views.test_range_table import job
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.range_table import RangePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


class Desk:
    def __init__(self, qtbot: QtBot, work: WorkRunner) -> None:
        self.qtbot, self.context = qtbot, JobContext(theme(), work)
        self.panel = RangePanel(self.context)
        qtbot.addWidget(self.panel)
        self.panel.resize(1000, 300)
        self.panel.show()
        qtbot.waitExposed(self.panel)

    def open(self, session: Session) -> None:
        self.context.set_session(session)
        origin = session.origin_ns()
        self.context.set_window(TimeRange(origin - 10, origin + 90))
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(
            lambda: self.context.work.pending == 0 and not self.panel._timer.isActive(), timeout=60_000
        )

    def rows(self) -> dict[str, str]:
        model = self.panel.table.model
        return {model.index(r, 0).data(): model.index(r, 2).data() for r in range(model.rowCount())}

    def row(self, name: str) -> int:
        return list(self.rows()).index(name)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    yield Desk(qtbot, work)
    work.shutdown()


def test_it_says_what_it_is_for_before_anything_is_open(desk: Desk) -> None:
    assert desk.panel.scope.text() == RangePanel.HINT


def test_it_counts_what_is_in_sight_largest_sum_first_until_a_range_is_selected(desk: Desk) -> None:
    session = job()
    desk.open(session)
    assert list(desk.rows().items()) == [
        ("ncclDevKernel_AllReduce", "80 ns"),
        ("gemm", "60 ns"),
        ("Memcpy DtoD", "20 ns"),
    ]
    assert desk.panel.scope.text().startswith("Visible window")
    assert desk.panel.table.totals.texts[2] == "160 ns"
    origin = session.origin_ns()
    desk.context.select(Selection(range=TimeRange(origin, origin + 15)))
    desk.settle()
    assert desk.rows() == {"gemm": "30 ns", "ncclDevKernel_AllReduce": "10 ns"}
    desk.context.set_window(TimeRange(origin, origin + 5))
    desk.settle()
    assert desk.rows() == {"gemm": "30 ns", "ncclDevKernel_AllReduce": "10 ns"}


def test_a_click_goes_to_the_longest_and_return_walks_all(desk: Desk) -> None:
    session = job()
    desk.open(session)
    table = desk.panel.table
    at = table.view.visualRect(table.model.index(desk.row("gemm"), 0)).center()
    desk.qtbot.mouseClick(table.view.viewport(), LEFT, NONE, at)

    def now() -> tuple[int, int]:
        chosen = desk.context.selection.slice
        assert chosen is not None
        return chosen.input, int(session.inputs[chosen.input].trace.slices.start_ns[chosen.index])

    assert now() == (0, 10)
    seen = []
    for _ in range(4):
        desk.qtbot.keyClick(table.view, Qt.Key.Key_Return)
        desk.settle()
        seen.append(now())
    assert seen == [(1, 10), (0, 50), (1, 50), (0, 10)]
    desk.qtbot.keyClick(table.view, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    desk.settle()
    assert now() == (1, 50)


def test_grouping_lanes_and_filter(desk: Desk) -> None:
    desk.open(job())
    panel = desk.panel
    panel.by.setCurrentIndex(panel.by.findData("class"))
    desk.settle()
    assert set(desk.rows()) == {"communication", "compute", "memory"}
    panel.by.setCurrentIndex(panel.by.findData("name"))
    panel.what.setCurrentIndex(panel.what.findData("all"))
    desk.settle()
    assert "aten::mm" in desk.rows()
    desk.qtbot.keyClicks(panel.rows.filter, "class:compute")
    assert set(desk.rows()) == {"gemm"}
    assert panel.table.totals.texts[0] == "1 row of 4"
    panel.rows.filter.setText("dur:abc")
    assert len(desk.rows()) == 4
    assert "dur:abc" in panel.rows.filter.toolTip()


def test_the_filter_outlives_another_selection(desk: Desk) -> None:
    session = job()
    desk.open(session)
    desk.panel.rows.filter.setText("gemm")
    desk.context.select(Selection(group=1))
    desk.settle()
    assert desk.rows() == {"gemm": "30 ns"}


def test_without_gpu_work_all_lanes_count(desk: Desk) -> None:
    desk.open(make_session(make_trace(op("aten::mm", 0, 10))))
    assert desk.rows() == {"aten::mm": "10 ns"}


def test_a_hidden_panel_counts_nothing_until_it_shows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.open(job())
    desk.panel.hide()
    asked: list[str] = []
    submit: Callable[..., object] = desk.context.work.submit
    monkeypatch.setattr(desk.context.work, "submit", lambda key, *a: (asked.append(key), submit(key, *a))[1])
    desk.context.select(Selection(group=1))
    assert asked == []
    desk.panel.show()
    desk.settle()
    assert asked == ["range"]
    assert desk.rows()["gemm"] == "30 ns"


def test_rows_to_save_are_exact_and_as_shown(desk: Desk) -> None:
    desk.open(job())
    desk.panel.rows.filter.setText("gemm")
    with desk.qtbot.waitSignal(desk.panel.save_requested) as saved:
        desk.qtbot.mouseClick(desk.panel.rows.save, LEFT)
    (records,) = saved.args
    assert records[0][:3] == ["Name", "Count", "Sum (ns)"]
    assert [r[:3] for r in records[1:]] == [["gemm", "4", "60"]]


def test_a_table_of_another_job_leads_nowhere(desk: Desk) -> None:
    desk.open(job())
    desk.context.set_session(Session())
    desk.panel.table.row_clicked.emit(0)
    desk.panel.table.row_stepped.emit(0, True)
    assert desk.context.selection.slice is None
    assert desk.panel.scope.text() == RangePanel.HINT


def test_jumping_keeps_the_range(desk: Desk) -> None:
    session = job()
    desk.open(session)
    span = TimeRange(session.origin_ns(), session.origin_ns() + 15)
    desk.context.select(Selection(range=span))
    desk.settle()
    desk.panel.table.row_clicked.emit(0)
    assert desk.context.selection.range == span
    assert isinstance(desk.context.selection.slice, SliceRef)


def test_a_row_of_a_class_asks_for_its_slices_to_stand_out(desk: Desk) -> None:
    desk.open(job())
    asked: list[str] = []
    desk.panel.emphasis_wanted.connect(asked.append)
    desk.panel.table.row_clicked.emit(0)
    assert asked == [], "a name is no class"
    desk.panel.by.setCurrentIndex(desk.panel.by.findData("class"))
    desk.settle()
    view = desk.panel.shown
    assert view is not None
    desk.panel.table.row_clicked.emit(list(view.frame.columns[0].values).index("communication"))
    assert asked == ["class:comm"]


def test_a_part_says_how_much_is_counted_by_now(desk: Desk) -> None:
    desk.open(job())
    whole = desk.panel.shown
    assert whole is not None
    part = replace(whole, table=replace(whole.table, done=whole.table.inputs - 1))
    desk.panel.show_part(part)
    assert desk.panel.shown is part
    assert desk.panel.scope.text().endswith(f"{part.table.done} of {part.table.inputs} files…")
    desk.panel.show_answer(whole)
    assert "files" not in desk.panel.scope.text()
