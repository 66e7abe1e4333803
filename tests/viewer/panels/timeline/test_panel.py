"""The timeline driven as users do: real widgets, mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.support.build import call, kernel, make_session, make_trace, op, python, row_named, rows_named
from tests.support.themes import theme
from viewer.base.ids import Paint
from viewer.base.kept import Mark, Note, SliceAnchor
from viewer.base.selection import EMPTY, GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.lanes.tree import LANE_PAD
from viewer.views.timeline.viewport import SHORTEST_NS, fitted

BASE = 1_712_195_495_000_000_000
LEFT, NONE, SHIFT, CTRL = (
    Qt.MouseButton.LeftButton,
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
Key = Qt.Key


def rank(number: int, shift: int = 0) -> object:
    return make_trace(
        op("aten::mm", 1_000 + shift, 80_000, tid=100),
        call("cudaLaunchKernel", 2_000 + shift, 3_000, corr=1, tid=100),
        *(python(f"frame{k}", 10_000 + k, 50_000 - 2 * k, tid=200) for k in range(40)),
        kernel("gemm", 10_000 + shift, 20_000, corr=1),
        kernel("gemm", 50_000 + shift, 20_000, corr=2),
        kernel("ncclDevKernel_AllReduce_Sum", 60_000, 35_000, stream=20),
        rank=number,
        path=f"rank{number}.json",
        base_ns=BASE,
    )


def job(ranks: int = 2) -> Session:
    return make_session(*(rank(r, 500 * r) for r in range(ranks)))  # type: ignore[arg-type]


class Desk:
    """A shown panel with its context."""

    def __init__(self, qtbot: QtBot, work: WorkRunner) -> None:
        self.qtbot = qtbot
        self.context = JobContext(theme(), work)
        self.panel = TimelinePanel(self.context)
        qtbot.addWidget(self.panel)
        self.panel.resize(1100, 700)
        self.panel.show()
        qtbot.waitExposed(self.panel)
        self.canvas = self.panel.canvas
        self.canvas.setFocus()

    def open(self, session: Session) -> None:
        self.context.set_session(session)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: self.context.work.pending == 0, timeout=60_000)
        QApplication.processEvents()

    @property
    def window(self) -> TimeRange:
        found = self.panel.window()
        assert found is not None
        return found

    def at(self, label: str, time: int, depth: int = 0, group: int = 0) -> QPoint:
        """The px of the canvas where a lane shows a time (ns of the file)."""
        row = next(r for r in self.panel.placement.rows if r.lane and r.lane.label == label and r.group.id == group)
        x = (BASE + time - self.window.start_ns) * self.canvas.width() / self.window.length_ns
        return QPoint(round(x), int(row.y + LANE_PAD + (depth + 0.5) * row.row_height) - self.panel.scroll_top)

    def click(self, at: QPoint) -> None:
        self.qtbot.mouseClick(self.canvas, LEFT, NONE, at)

    def key(self, *keys: Qt.Key) -> None:
        for key in keys:
            self.qtbot.keyClick(self.canvas, key)

    def wheel(self, at: QPoint, notches: float, modifiers: Qt.KeyboardModifier = NONE) -> None:
        event = QWheelEvent(
            QPointF(at),
            QPointF(self.canvas.mapToGlobal(at)),
            QPoint(),
            QPoint(0, round(120 * notches)),
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.canvas, event)

    def move(self, at: QPoint, buttons: Qt.MouseButton = Qt.MouseButton.NoButton) -> None:
        where = QPointF(self.canvas.mapToGlobal(at))
        event = QMouseEvent(QEvent.Type.MouseMove, QPointF(at), where, Qt.MouseButton.NoButton, buttons, NONE)
        QApplication.sendEvent(self.canvas, event)

    def drag(
        self, start: QPoint, end: QPoint, button: Qt.MouseButton = LEFT, modifiers: Qt.KeyboardModifier = NONE
    ) -> None:
        self.qtbot.mousePress(self.canvas, button, modifiers, start)
        self.move((start + end) / 2, button)
        self.move(end, button)
        self.qtbot.mouseRelease(self.canvas, button, modifiers, end)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.settle()
    yield made
    work.shutdown()


@pytest.fixture
def open_desk(desk: Desk) -> Desk:
    desk.open(job())
    return desk


def test_it_opens_on_the_whole_job(open_desk: Desk) -> None:
    extent = open_desk.context.session.extent()
    assert extent is not None
    assert open_desk.window == fitted(extent) == open_desk.context.window
    assert open_desk.panel.extent_label.text() == "2 ranks · 94.0 us"
    assert [r.group.title for r in open_desk.panel.placement.rows if r.lane is None] == ["rank 0", "rank 1"]
    assert Paint.COMM in open_desk.panel._lanes.paints


def test_click_selects_the_slice_under_the_mouse(open_desk: Desk) -> None:
    trace = open_desk.context.session.inputs[1].trace
    open_desk.click(open_desk.at("stream 20", 80_000, group=1))
    assert open_desk.context.selection == Selection(
        slice=SliceRef(1, row_named(trace, "ncclDevKernel_AllReduce_Sum")), group=1
    )
    open_desk.click(open_desk.at("thread 100 (main)", 3_000, 1, group=1))
    assert open_desk.context.selection.slice == SliceRef(1, row_named(trace, "cudaLaunchKernel"))
    open_desk.settle()
    (arrow,) = open_desk.panel._lanes.arrows
    assert (arrow.start_ns, arrow.end_ns) == (BASE + 2_500, BASE + 10_500)


def test_click_between_kernels_selects_the_gap(open_desk: Desk) -> None:
    open_desk.click(open_desk.at("stream 7", 40_000))
    gap = open_desk.context.selection.gap
    assert isinstance(gap, GapRef)
    assert gap.range == TimeRange(BASE + 30_000, BASE + 50_000)
    open_desk.key(Key.Key_Escape)
    assert open_desk.context.selection == EMPTY


@pytest.mark.parametrize("notches", [1, 3, -1])
def test_ctrl_wheel_zooms_at_the_cursor(open_desk: Desk, notches: int) -> None:
    open_desk.panel.show_range(TimeRange(BASE + 20_000, BASE + 60_000))
    before = open_desk.window
    at = open_desk.at("stream 7", 30_000)
    open_desk.wheel(at, notches, CTRL)
    after = open_desk.window
    assert after.length_ns == pytest.approx(before.length_ns / 1.25**notches, abs=2)
    assert abs(open_desk.at("stream 7", 30_000).x() - at.x()) <= 1


def test_plain_wheel_scrolls_and_shift_wheel_pans(open_desk: Desk) -> None:
    open_desk.panel.resize(1100, 300)
    before = open_desk.window
    open_desk.wheel(QPoint(400, 100), -2)
    assert open_desk.panel.scroll_top == 120
    assert open_desk.window == before
    open_desk.panel.show_range(TimeRange(BASE + 20_000, BASE + 60_000))
    open_desk.wheel(QPoint(400, 100), -1, SHIFT)
    assert open_desk.window.start_ns > BASE + 20_000
    assert open_desk.window.length_ns == 40_000
    assert open_desk.panel.scroll_top == 120


def test_keys_zoom_pan_and_fit(open_desk: Desk) -> None:
    whole = open_desk.window
    open_desk.key(Key.Key_W, Key.Key_W)
    closer = open_desk.window
    assert closer.length_ns < whole.length_ns * 0.6
    open_desk.key(Key.Key_D)
    assert open_desk.window.start_ns > closer.start_ns
    assert open_desk.window.length_ns == closer.length_ns
    open_desk.key(Key.Key_A)
    assert abs(open_desk.window.start_ns - closer.start_ns) <= 1
    open_desk.key(Key.Key_Right)
    assert open_desk.window.start_ns > closer.start_ns
    open_desk.key(Key.Key_Left, Key.Key_S, Key.Key_S)
    assert open_desk.window.length_ns == pytest.approx(whole.length_ns, rel=0.01)
    open_desk.key(Key.Key_W, Key.Key_0)
    assert open_desk.window == whole
    for _ in range(80):
        open_desk.key(Key.Key_W)
    assert open_desk.window.length_ns == SHORTEST_NS


def test_double_click_zooms_to_the_slice(open_desk: Desk) -> None:
    at = open_desk.at("stream 7", 60_000)
    open_desk.qtbot.mouseDClick(open_desk.canvas, LEFT, NONE, at)
    assert open_desk.window == TimeRange(BASE + 45_000, BASE + 75_000)
    trace = open_desk.context.session.inputs[0].trace
    assert open_desk.context.selection.slice == SliceRef(0, rows_named(trace, "gemm")[1])


def test_f_focuses_the_selection_and_then_everything(open_desk: Desk) -> None:
    whole = open_desk.window
    open_desk.click(open_desk.at("stream 7", 60_000))
    open_desk.key(Key.Key_F)
    assert open_desk.window == TimeRange(BASE + 45_000, BASE + 75_000)
    open_desk.key(Key.Key_F)
    assert open_desk.window == whole


def test_drag_selects_a_range_of_exactly_what_was_dragged_over(open_desk: Desk) -> None:
    start, end = QPoint(200, 60), QPoint(500, 200)
    open_desk.drag(start, end)
    window, width = open_desk.window, open_desk.canvas.width()
    expected = TimeRange(*(window.start_ns + int(x * window.length_ns / width) for x in (200, 500)))
    assert open_desk.context.selection == Selection(range=expected)
    open_desk.key(Key.Key_Escape)
    open_desk.drag(end, start)
    assert open_desk.context.selection.range == expected
    # A look at a slice keeps the range.
    open_desk.click(open_desk.at("stream 7", 60_000))
    assert open_desk.context.selection.range == expected


@pytest.mark.parametrize(("button", "modifiers"), [(LEFT, SHIFT), (Qt.MouseButton.MiddleButton, NONE)])
def test_shift_drag_and_middle_drag_pan(
    open_desk: Desk, button: Qt.MouseButton, modifiers: Qt.KeyboardModifier
) -> None:
    open_desk.panel.show_range(TimeRange(BASE + 20_000, BASE + 60_000))
    open_desk.drag(QPoint(400, 100), QPoint(300, 100), button, modifiers)
    width = open_desk.canvas.width()
    assert abs(open_desk.window.start_ns - (BASE + 20_000 + 100 * 40_000 / width)) <= 2
    assert open_desk.context.selection == EMPTY


def test_hover_tells_name_duration_and_start(open_desk: Desk) -> None:
    told: list[str] = []
    open_desk.panel.hovered.connect(told.append)
    open_desk.move(open_desk.at("stream 7", 55_000))
    assert told[-1] == "gemm  ·  20.000 us  ·  starts at 40 us  ·  compute  ·  rank 0, stream 7"
    open_desk.move(open_desk.at("stream 7", 40_000))
    assert told[-1].startswith("Gap of 20.000 us")
    QApplication.sendEvent(open_desk.canvas, QEvent(QEvent.Type.Leave))
    assert told[-1] == ""


def test_a_resting_mouse_is_told_what_lies_below_it_after_the_canvas_moved(open_desk: Desk) -> None:
    told: list[str] = []
    panel = open_desk.panel
    panel.hovered.connect(told.append)
    at = open_desk.at("stream 7", 60_000)
    open_desk.move(at)
    assert told[-1].startswith("gemm")
    grown = panel.width() * 4
    panel.resize(grown, panel.height())  # the same px shows an earlier time now
    assert "starts at 40 us" not in told[-1]
    panel.resize(1100, panel.height())
    assert told[-1].startswith("gemm")
    assert "starts at 40 us" in told[-1]
    panel.resize(at.x() - 60 + open_desk.canvas.x(), panel.height())  # the canvas ends before the mouse
    assert told[-1] == ""


def test_the_tooltip_knows_what_it_must_not_cover(open_desk: Desk) -> None:
    at = open_desk.at("stream 7", 55_000)
    open_desk.move(at)
    shown = open_desk.panel.picture.source(open_desk.canvas.width(), open_desk.canvas.height(), 1.0)
    assert shown is not None
    tip = shown[1].tip
    assert tip is not None
    assert tip.avoid is not None
    assert tip.avoid.contains(QPointF(at))


def test_a_note_is_asked_for_at_the_slice_or_lane_under_the_cursor_else_at_the_selection(open_desk: Desk) -> None:
    asked: list[tuple[int, str, SliceAnchor | None, int]] = []
    kept = open_desk.panel.kept
    kept.note_requested.connect(lambda *spot: asked.append(spot))
    QApplication.sendEvent(open_desk.canvas, QEvent(QEvent.Type.Leave))
    kept.add_note()
    assert asked[-1] == (open_desk.window.start_ns + open_desk.window.length_ns // 2, "", None, 0)
    open_desk.click(open_desk.at("stream 7", 60_000))
    QApplication.sendEvent(open_desk.canvas, QEvent(QEvent.Type.Leave))
    kept.add_note()
    time, lane, anchor, _ = asked[-1]
    assert (time, lane) == (BASE + 60_000, "rank 0/stream 0:7")
    assert anchor is not None
    assert anchor.lane == lane
    at = open_desk.at("stream 20", 90_000, group=1)
    open_desk.move(at)
    kept.add_note()
    time, lane, anchor, _ = asked[-1]
    assert lane == "rank 1/stream 0:20"
    hit = open_desk.panel.pointer.hit
    assert hit is not None
    assert (anchor is not None) == (hit.slice is not None)


def test_m_marks_the_instant_under_the_cursor_or_the_selection_that_it_is_in(open_desk: Desk) -> None:
    asked: list[tuple[int, int, str]] = []
    open_desk.panel.kept.mark_requested.connect(lambda *spot: asked.append(spot))
    pixel = open_desk.window.length_ns / open_desk.canvas.width()
    at = open_desk.at("stream 20", 90_000, group=1)
    open_desk.move(at)
    open_desk.key(Key.Key_M)
    start, end, lane = asked[-1]
    assert start == end
    assert lane == ""
    assert abs(start - BASE - 90_000) <= pixel
    open_desk.panel._context.select(Selection(range=TimeRange(BASE + 80_000, BASE + 95_000)))
    open_desk.key(Key.Key_M)
    assert asked[-1] == (BASE + 80_000, BASE + 95_000, "")
    open_desk.panel._context.select(Selection(range=TimeRange(BASE, BASE + 20_000)))
    open_desk.key(Key.Key_M)
    assert asked[-1] == (start, start, "")
    QApplication.sendEvent(open_desk.canvas, QEvent(QEvent.Type.Leave))
    open_desk.key(Key.Key_M)
    assert asked[-1] == (BASE, BASE + 20_000, "")


def test_marks_show_on_the_strip_the_lanes_and_the_minimap_and_are_dragged(qtbot: QtBot, open_desk: Desk) -> None:
    panel, kept = open_desk.panel, open_desk.panel.kept
    assert not kept.strip.isVisible()
    middle = open_desk.window.start_ns + open_desk.window.length_ns // 2
    span = open_desk.window.length_ns // 10
    kept.set_marks([Mark(1, middle, middle, "here"), Mark(2, middle + span, middle + 2 * span, "range", "red")])
    assert kept.strip.isVisible()
    shown = panel.picture.source(panel.canvas.width(), panel.canvas.height(), 1.0)
    assert shown is not None
    assert [band.token for band in shown[1].marks] == ["mark_blue", "mark_red"]
    assert [token for _, _, token in panel.minimap._kept] == ["mark_blue", "mark_red"]
    moved: list[tuple[int, int, int]] = []
    kept.mark_moved.connect(lambda *to: moved.append(to))
    strip, width = kept.strip, panel.canvas.width()
    pixel = open_desk.window.length_ns / width
    begin = QPoint(width // 2 + 2, 6)
    qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=begin)
    qtbot.mouseMove(strip, begin + QPoint(60, 0))
    qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=begin + QPoint(60, 0))
    ((mark, start, end),) = moved
    assert (mark, end - start) == (1, 0)
    assert abs(start - middle - 60 * pixel) <= pixel
    grip = QPoint(round(width / 2 + 2 * span / pixel), 6)
    qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=grip)
    qtbot.mouseMove(strip, grip + QPoint(30, 0))
    qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=grip + QPoint(30, 0))
    mark, start, end = moved[-1]
    assert (mark, start) == (2, middle + span), "only the end is dragged"
    assert abs(end - middle - 2 * span - 30 * pixel) <= pixel
    kept.set_marks([])
    assert not kept.strip.isVisible()


def test_notes_are_moved_edited_and_removed_by_mouse(open_desk: Desk) -> None:
    panel = open_desk.panel
    moved: list[tuple[int, float, float]] = []
    edited: list[int] = []
    removed: list[int] = []
    panel.note_moved.connect(lambda *a: moved.append(a))
    panel.note_edited.connect(edited.append)
    panel.note_removed.connect(removed.append)
    panel.kept.set_notes([Note(7, BASE + 50_000, "rank 0/stream 0:7", "late", dx=30.0, dy=60.0)])
    open_desk.canvas.repaint()
    anchor = open_desk.at("stream 7", 50_000)
    inside = anchor + QPoint(36, 66)
    open_desk.drag(inside, inside + QPoint(50, 20))
    assert [(i, round(dx), round(dy)) for i, dx, dy in moved] == [(7, 80, 80)]
    assert open_desk.context.selection == EMPTY
    open_desk.qtbot.mouseDClick(open_desk.canvas, LEFT, NONE, inside)
    assert edited == [7]
    open_desk.click(inside)
    open_desk.key(Key.Key_Delete)
    assert removed == [7]
    open_desk.key(Key.Key_Delete)
    assert removed == [7]


def test_folding_by_the_triangle_and_reveal_unfolds(open_desk: Desk) -> None:
    panel = open_desk.panel
    rows = len(panel.placement.rows)
    open_desk.qtbot.mouseClick(panel.headers, LEFT, NONE, QPoint(12, 14))
    assert panel.collapsed == frozenset({0})
    assert len(panel.placement.rows) < rows
    trace = open_desk.context.session.inputs[0].trace
    target = SliceRef(0, rows_named(trace, "gemm")[1])
    open_desk.context.jump(target)
    assert panel.collapsed == frozenset()
    assert open_desk.context.selection.slice == target
    panel.set_collapsed(frozenset({1}))
    assert panel.collapsed == frozenset({1})


def test_clicking_a_title_selects_the_group_and_again_none(open_desk: Desk) -> None:
    open_desk.qtbot.mouseClick(open_desk.panel.headers, LEFT, NONE, QPoint(60, 14))
    assert open_desk.context.selection == Selection(group=0)
    open_desk.qtbot.mouseClick(open_desk.panel.headers, LEFT, NONE, QPoint(60, 14))
    assert open_desk.context.selection == EMPTY


def test_a_click_on_a_deep_lane_makes_it_tall(open_desk: Desk) -> None:
    panel = open_desk.panel
    row = next(r for r in panel.placement.rows if r.lane and r.lane.label == "thread 200")
    open_desk.qtbot.mouseClick(panel.headers, LEFT, NONE, QPoint(60, row.y + 10))
    tall = panel.placement.find(row.lane.key if row.lane else "")
    assert tall is not None
    assert tall.height > 2 * row.height
    assert "make it small" in panel.headers.tip_at(row.y + 10)


def test_reveal_scrolls_to_the_lane_and_moves_the_window(open_desk: Desk) -> None:
    panel = open_desk.panel
    panel.resize(1100, 260)
    panel.show_range(TimeRange(BASE + 80_000, BASE + 90_000))
    trace = open_desk.context.session.inputs[1].trace
    target = SliceRef(1, rows_named(trace, "gemm")[0])
    open_desk.context.jump(target)
    window = open_desk.window
    assert window.start_ns <= BASE + 10_500 < BASE + 30_500 <= window.end_ns
    y = open_desk.at("stream 7", 20_000, group=1).y()
    assert 0 <= y < open_desk.canvas.height()
    open_desk.context.jump(TimeRange(BASE + 1_000, BASE + 2_000))
    assert open_desk.window == TimeRange(BASE + 750, BASE + 2_250)


def test_rarely_used_threads_are_folded_until_they_are_asked_for(desk: Desk) -> None:
    idle = (op("rare", 10 * t, 5, tid=1_000 + t) for t in range(5))
    busy = (op("aten::mm", 10 * k, 5, tid=100) for k in range(2_000))
    desk.open(make_session(make_trace(kernel("gemm", 0, 20), *busy, *idle, rank=0, path="a.json", base_ns=BASE)))
    panel, trace = desk.panel, desk.context.session.inputs[0].trace

    def labels() -> list[str]:
        return [r.lane.label for r in panel.placement.rows if r.lane is not None]

    assert labels() == ["stream 7", "thread 100 (main)", "5 more threads"]
    row = panel.placement.rows[-1]
    assert "thread 1003" in panel.headers.tip_at(row.y + 5)
    assert "Click to show them" in panel.headers.tip_at(row.y + 5)
    desk.qtbot.mouseClick(panel.headers, LEFT, NONE, QPoint(60, row.y + 8))
    assert labels()[2:] == ["5 rarely used threads", *(f"thread {1_000 + t}" for t in range(5))]
    assert "fold them away" in panel.headers.tip_at(row.y + 5)
    before = desk.context.selection
    desk.click(QPoint(200, row.y + 8))  # beside it, in the lanes
    assert labels()[2:] == ["5 more threads"]
    assert desk.context.selection == before
    desk.context.jump(SliceRef(0, rows_named(trace, "rare")[3]))
    assert "thread 1003" in labels(), "what is led to is shown"
    desk.open(job(1))
    desk.open(make_session(trace))
    assert labels()[2:] == ["5 more threads"], "another job begins folded"


def test_reveal_of_a_rank_scrolls_to_its_header(open_desk: Desk) -> None:
    panel = open_desk.panel
    panel.resize(1100, 300)
    window = open_desk.window
    open_desk.context.jump(GroupRef(1))
    assert open_desk.context.selection == Selection(group=1)
    head = next(r for r in panel.placement.rows if r.lane is None and r.group.id == 1)
    assert panel.scroll_top == min(head.y, panel.scrollbar.maximum()) > 0
    assert open_desk.window == window
    open_desk.context.jump(GroupRef(None))
    assert panel.scroll_top > 0, "all ranks: the lanes stay where they are"


def test_more_files_keep_the_window_and_the_folding(open_desk: Desk) -> None:
    panel = open_desk.panel
    panel.toggle_group(1)
    open_desk.key(Key.Key_W, Key.Key_W)
    before = open_desk.window
    open_desk.context.set_session(job(3), keep_selection=True)
    open_desk.settle()
    assert open_desk.window == before
    assert panel.collapsed == frozenset({1})
    assert len([r for r in panel.placement.rows if r.lane is None]) == 3


def test_an_untouched_view_follows_the_growing_job_and_another_job_is_fitted(open_desk: Desk) -> None:
    longer = make_session(
        *(rank(r) for r in range(2)),  # type: ignore[arg-type]
        make_trace(kernel("late", 500_000, 100), rank=5, path="rank5.json", base_ns=BASE),
    )
    open_desk.context.set_session(longer, keep_selection=True)
    extent = longer.extent()
    assert extent is not None
    assert open_desk.window == fitted(extent)
    open_desk.key(Key.Key_W)
    other = make_session(make_trace(kernel("k", 10, 50), rank=0, path="else.json"))
    open_desk.context.set_session(other)
    extent = other.extent()
    assert extent is not None
    assert open_desk.window == fitted(extent)
    open_desk.settle()


def test_the_minimap_moves_and_resizes_the_window(open_desk: Desk) -> None:
    panel = open_desk.panel
    panel.show_range(TimeRange(BASE + 40_000, BASE + 50_000))
    box = panel.minimap.window_rect()
    start = box.center().toPoint()
    open_desk.qtbot.mousePress(panel.minimap, LEFT, NONE, start)
    open_desk.qtbot.mouseMove(panel.minimap, start + QPoint(100, 0))
    open_desk.qtbot.mouseRelease(panel.minimap, LEFT, NONE, start + QPoint(100, 0))
    extent = open_desk.context.session.extent()
    assert extent is not None
    per_px = fitted(extent).length_ns / panel.minimap.width()
    assert open_desk.window.length_ns == 10_000
    assert abs(open_desk.window.start_ns - (BASE + 40_000 + 100 * per_px)) <= 2 * per_px
    right = panel.minimap.window_rect().right()
    edge = QPoint(round(right), 10)
    before = open_desk.window
    open_desk.qtbot.mousePress(panel.minimap, LEFT, NONE, edge)
    open_desk.qtbot.mouseMove(panel.minimap, edge + QPoint(60, 0))
    open_desk.qtbot.mouseRelease(panel.minimap, LEFT, NONE, edge + QPoint(60, 0))
    assert abs(open_desk.window.start_ns - before.start_ns) <= 1
    assert abs(open_desk.window.length_ns - before.length_ns - 60 * per_px) <= 2 * per_px
    far = QPoint(20, 10)
    open_desk.qtbot.mouseClick(panel.minimap, LEFT, NONE, far)
    assert open_desk.window.start_ns < before.start_ns


def test_the_axis_tells_a_base_at_deep_zoom(desk: Desk) -> None:
    desk.open(make_session(make_trace(kernel("a", 0, 9), kernel("b", 5_000_123, 90), rank=0, base_ns=BASE)))
    desk.panel.show_range(TimeRange(BASE + 5_000_123, BASE + 5_000_143))
    assert desk.panel.base_label.text() == "5 ms +"
    assert desk.panel.ruler.accessibleDescription().split(", ") == ["+125 ns", "+130 ns", "+135 ns", "+140 ns"]
    desk.panel.fit()
    assert desk.panel.base_label.text() == ""


def test_another_theme_repaints_everything(open_desk: Desk) -> None:
    light = open_desk.panel.grab().toImage()
    open_desk.context.set_theme(theme("dark"))
    dark = open_desk.panel.grab().toImage()
    for x, y in ((4, 4), (4, 45), (4, 100), (600, 2), (600, 43), (600, 670), (800, 690)):
        assert light.pixelColor(x, y).lightness() > 150
        assert dark.pixelColor(x, y).lightness() < 150, (x, y)


def test_an_empty_panel_ignores_mouse_and_keys(desk: Desk) -> None:
    desk.key(Key.Key_W, Key.Key_F, Key.Key_0, Key.Key_M)
    desk.wheel(QPoint(100, 100), 1, CTRL)
    desk.drag(QPoint(100, 100), QPoint(200, 100))
    desk.click(QPoint(100, 100))
    desk.panel.zoom(2.0)
    desk.panel.reveal(TimeRange(0, 10))
    assert desk.panel.window() is None
    assert desk.context.selection == EMPTY


def test_a_trace_without_events_opens(desk: Desk) -> None:
    desk.open(make_session(make_trace(rank=0)))
    assert desk.panel.window() is None
    assert len(desk.panel.placement.rows) == 1


def test_drawing_is_right_before_levels_are_built(desk: Desk) -> None:
    desk.context.set_session(job())
    first = desk.canvas.grab().toImage()
    desk.settle()
    assert desk.canvas.grab().toImage() == first


def test_selection_of_an_input_that_is_gone_is_survived(open_desk: Desk) -> None:
    open_desk.context.select(Selection(slice=SliceRef(1, 0)))
    open_desk.context.set_session(job(1), keep_selection=True)
    open_desk.settle()
    assert not open_desk.panel.grab().isNull()
    assert open_desk.panel._lanes.arrows == []
