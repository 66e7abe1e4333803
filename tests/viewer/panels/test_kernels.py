"""The Kernels panel: groupings, filter, going there, pace."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from tests.support.build import call, kernel, make_session, make_trace, op
from tests.support.panels import settle
from viewer.base.selection import Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.kernels import KernelsPanel
from viewer.store.session import Session
from viewer.views import op_table
from viewer.views.op_table import OpView

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def job() -> Session:
    def rank(number: int) -> object:
        events = [op("aten::mm", 0, 1000, args={"Input Dims": [[8, 5], [5, 3]], "Input type": ["float", "float"]})]
        for n in range(12):
            events += [call("cudaLaunchKernel", 10 + n, 1, corr=n + 1)]
            events += [kernel("gemm", 2000 + 100 * n, 90 if n == 7 and number else 30, corr=n + 1)]
        events.append(kernel("ncclDevKernel_AllReduce", 4000, 500, stream=20))
        return make_trace(*events, rank=number, path=f"{number}.json")

    return make_session(rank(0), rank(1))  # type: ignore[arg-type]


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> KernelsPanel:
    made = KernelsPanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 300)
    return made


def rows(panel: KernelsPanel) -> list[str]:
    model = panel.table.model
    return [str(model.frame.columns[0].values[r]) for r in model.order.tolist()]


def opened(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> Session:
    session = job()
    context.set_session(session)
    panel.show()
    settle(qtbot, context)
    return session


def test_it_waits_for_a_job(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> None:
    panel.show()
    assert panel.scope.text() == KernelsPanel.HINT


def test_groupings_ranges_ranks_and_filter(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> None:
    session = opened(qtbot, context, panel)
    assert rows(panel) == ["ncclDevKernel_AllReduce", "gemm"]
    assert "all 2 ranks · whole trace" in panel.scope.text()
    assert panel.table.totals.texts[2] == "1.780 us"
    panel.by.setCurrentIndex(panel.by.findData("operator"))
    settle(qtbot, context)
    assert rows(panel) == ["(no operator recorded)", "aten::mm"]
    heads = panel.table.model.frame.heads
    assert {"GPU total", "GPU self", "CPU total", "CPU self", "TFLOP/s", "GB/s"} <= set(heads)
    panel.rows.filter.setText("mm")
    assert rows(panel) == ["aten::mm"]
    panel.rows.filter.setText("dur:abc")
    assert len(rows(panel)) == 2
    assert "dur:abc" in panel.rows.filter.toolTip()
    panel.rows.filter.setText("")
    panel.by.setCurrentIndex(panel.by.findData("kernel"))
    origin = session.origin_ns()
    context.select(Selection(group=1, range=TimeRange(origin, origin + 100)))
    settle(qtbot, context)
    assert rows(panel) == ["gemm", "ncclDevKernel_AllReduce"]
    assert panel.table.totals.texts[2] == "30 ns"
    assert panel.scope.text().startswith("rank 1 · range")


def test_a_click_goes_to_the_slowest_and_shows_the_pace(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> None:
    opened(qtbot, context, panel)
    view = panel.table.view
    at = view.visualRect(panel.table.model.index(1, 0)).center()
    qtbot.mouseClick(view.viewport(), LEFT, NONE, at)
    settle(qtbot, context)
    chosen = context.selection.slice
    assert chosen is not None
    assert chosen.input == 1
    assert panel.pace.isVisible()
    frame = panel.pace.frame
    assert frame is not None
    assert int(frame.outlier.sum()) == 1
    assert frame.note.startswith("1 run of 24 far above the median 30 ns: 60 ns more")
    x, y = panel.pace.points()
    spot = QPointF(x[3], y[3])
    assert panel.pace.at(spot) in (2, 3), "runs of two ranks lie on each other"
    qtbot.mouseClick(panel.pace, LEFT, NONE, spot.toPoint())
    assert context.selection.slice in (frame.ref(2), frame.ref(3))
    qtbot.keyClick(panel.pace, Qt.Key.Key_Right)
    assert context.selection.slice == chosen, "the arrow keys go to the outlier"
    qtbot.keyClick(view, Qt.Key.Key_Return)
    settle(qtbot, context)
    after = context.selection.slice
    assert after is not None
    assert after != chosen, "Return goes to the next run"


def test_the_pace_of_another_session_never_shows(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> None:
    opened(qtbot, context, panel)
    panel.table.row_clicked.emit(0)
    context.set_session(Session())
    settle(qtbot, context)
    assert panel.pace.frame is None
    assert panel.pace.isHidden()


def test_a_slow_table_says_how_much_is_counted_by_now(
    qtbot: QtBot, context: JobContext, panel: KernelsPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(qtbot, context, panel)
    monkeypatch.setattr(op_table, "TELL_AFTER_SECONDS", -1.0)
    told: list[tuple[OpView, str]] = []
    whole = panel.show_part

    def part(view: OpView) -> None:
        whole(view)
        told.append((view, panel.scope.text()))
        assert panel.shown is view

    monkeypatch.setattr(panel, "show_part", part)
    panel.by.setCurrentIndex(panel.by.findData("operator"))
    settle(qtbot, context)
    assert [view.table.done for view, _ in told] == [1]
    assert told[0][1].endswith("1 of 2 files…")
    assert panel.shown is not None
    assert panel.shown.table.done == 2
    assert "files" not in panel.scope.text()


def test_rows_are_saved_with_exact_values(qtbot: QtBot, context: JobContext, panel: KernelsPanel) -> None:
    opened(qtbot, context, panel)
    saved: list[list[list[str]]] = []
    panel.save_requested.connect(saved.append)
    panel.rows.save.click()
    assert saved[0][0][:3] == ["Kernel", "Count", "GPU time (ns)"]
    assert saved[0][1][:3] == ["ncclDevKernel_AllReduce", "2", "1000"]
