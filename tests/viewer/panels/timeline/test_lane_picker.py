"""Several lanes at once: chosen with Ctrl and Shift at the headers and on the lanes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from tests.viewer.panels.timeline.test_panel import job
from viewer.base.frames import PlacedRow
from viewer.base.selection import EMPTY, GroupRef, Selection, SliceRef, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner

LEFT, CTRL, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[TimelinePanel]:
    work = WorkRunner()
    context = JobContext(theme(), work)
    panel = TimelinePanel(context)
    panel.context = context  # type: ignore[attr-defined]
    qtbot.addWidget(panel)
    panel.resize(1100, 900)
    panel.show()
    qtbot.waitExposed(panel)
    context.set_session(job())
    qtbot.waitUntil(lambda: work.pending == 0, timeout=60_000)
    yield panel
    work.shutdown()


def selection(panel: TimelinePanel) -> Selection:
    found: Selection = panel.context.selection  # type: ignore[attr-defined]
    return found


def lanes(panel: TimelinePanel, group: int = 0) -> list[PlacedRow]:
    return [r for r in panel.placement.rows if r.lane is not None and r.group.id == group]


def click_header(qtbot: QtBot, panel: TimelinePanel, row: PlacedRow, modifier: Qt.KeyboardModifier) -> None:
    at = QPoint(100, row.y + row.height // 2 - panel.scroll_top)
    qtbot.mouseClick(panel.headers, LEFT, modifier, at)


def keys(*rows: PlacedRow) -> frozenset[str]:
    return frozenset(r.lane.key for r in rows if r.lane is not None)


def test_ctrl_adds_lanes_and_takes_them_away(qtbot: QtBot, panel: TimelinePanel) -> None:
    first, second = lanes(panel)[:2]
    click_header(qtbot, panel, first, CTRL)
    assert selection(panel).lanes == keys(first)
    click_header(qtbot, panel, second, CTRL)
    assert selection(panel).lanes == keys(first, second)
    click_header(qtbot, panel, first, CTRL)
    assert selection(panel).lanes == keys(second)


def test_shift_chooses_all_lanes_between(qtbot: QtBot, panel: TimelinePanel) -> None:
    rows = [r for r in panel.placement.rows if r.lane is not None]
    click_header(qtbot, panel, rows[1], CTRL)
    click_header(qtbot, panel, rows[4], SHIFT)
    assert selection(panel).lanes == keys(*rows[1:5])


def test_ctrl_on_a_rank_chooses_all_its_lanes(qtbot: QtBot, panel: TimelinePanel) -> None:
    header = next(r for r in panel.placement.rows if r.lane is None)
    click_header(qtbot, panel, header, CTRL)
    assert selection(panel).lanes == keys(*lanes(panel))
    click_header(qtbot, panel, header, CTRL)
    assert selection(panel).lanes == frozenset()


def test_ctrl_on_a_slice_chooses_its_lane(qtbot: QtBot, panel: TimelinePanel) -> None:
    row = lanes(panel)[0]
    canvas = panel.canvas
    qtbot.mouseClick(canvas, LEFT, CTRL, QPoint(canvas.width() // 2, row.y + row.height // 2 - panel.scroll_top))
    assert selection(panel).lanes == keys(row)
    assert selection(panel).slice is None


def test_chosen_lanes_stay_with_a_range_and_a_slice_and_go_with_escape(qtbot: QtBot, panel: TimelinePanel) -> None:
    row = lanes(panel)[0]
    click_header(qtbot, panel, row, CTRL)
    context: JobContext = panel.context  # type: ignore[attr-defined]
    context.jump(TimeRange(context.session.origin_ns(), context.session.origin_ns() + 1_000))
    context.jump(SliceRef(0, 0))
    assert selection(panel).lanes == keys(row)
    assert selection(panel).range is not None
    panel.canvas.setFocus()
    qtbot.keyClick(panel.canvas, Qt.Key.Key_Escape)
    assert selection(panel) == EMPTY


def test_going_to_a_rank_leaves_the_chosen_lanes(qtbot: QtBot, panel: TimelinePanel) -> None:
    click_header(qtbot, panel, lanes(panel)[0], CTRL)
    context: JobContext = panel.context  # type: ignore[attr-defined]
    context.jump(GroupRef(1))
    assert selection(panel) == Selection(group=1)
