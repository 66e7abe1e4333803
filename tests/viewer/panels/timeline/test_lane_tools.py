"""Filter, menus, drags, pins and colours of the lanes, on the real panel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from tests.support.build import kernel, make_session, make_trace, op
from tests.support.themes import theme
from viewer.analyses.query import parse
from viewer.analyses.query_match import slice_mask
from viewer.base.ids import Paint
from viewer.panels.context import JobContext
from viewer.panels.timeline.lane_menu import menu_actions
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.lanes.arrangement import Height, LaneArrangement, RankSort
from viewer.views.lanes.emphasis import query_of_swatch
from viewer.views.lanes.looks import NO_GROUP, Coloring, hue_of
from viewer.views.lanes.palette import DIM, FIRST_HUE, palette

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def job() -> Session:
    traces = [
        make_trace(
            kernel("gemm", 0, 40_000),
            kernel("copy", 50_000, 40_000),
            kernel("ncclDevKernel_AllReduce", 0, 90_000 + r, stream=20),
            op("aten::mm", 0, 30_000, tid=5),
            rank=r,
            path=f"rank{r}.json",
        )
        for r in range(2)
    ]
    return make_session(*traces)


class Desk:
    def __init__(self, qtbot: QtBot, work: WorkRunner) -> None:
        self.qtbot = qtbot
        self.context = JobContext(theme(), work)
        self.panel = TimelinePanel(self.context)
        qtbot.addWidget(self.panel)
        self.panel.resize(1000, 600)
        self.panel.show()
        qtbot.waitExposed(self.panel)
        self.lanes = self.panel.lanes
        self.context.set_session(job())
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: self.context.work.pending == 0, timeout=120_000)
        QApplication.processEvents()

    def labels(self) -> list[str]:
        rows = self.panel.placement.rows
        return [f"{r.group.title}/{r.lane.label}" if r.lane else r.section or r.group.title for r in rows]

    def colors(self, label: str) -> set[int]:
        """The colours along the middle of a lane."""
        self.panel.canvas.repaint()
        shown = self.panel.picture.source(self.panel.canvas.width(), self.panel.canvas.height(), 1.0)
        assert shown is not None
        row = next(r for r in self.panel.placement.rows if r.lane and f"{r.group.title}/{r.lane.label}" == label)
        y = row.y + row.height // 2 + 7
        return {int(c) for c in shown[0].image[int(self.panel.placement.screen_y(y, self.panel.scroll_top))]}

    def y(self, label: str) -> int:
        row = self.panel.placement.rows[self.labels().index(label)]
        return row.y + row.height // 2

    def drag(self, start: QPoint, end: QPoint) -> None:
        headers = self.panel.headers
        self.qtbot.mousePress(headers, LEFT, NONE, start)
        for at in ((start + end) / 2, end):
            where = QPointF(headers.mapToGlobal(at))
            event = QMouseEvent(QEvent.Type.MouseMove, QPointF(at), where, Qt.MouseButton.NoButton, LEFT, NONE)
            QApplication.sendEvent(headers, event)
        headers.grab()
        self.qtbot.mouseRelease(headers, LEFT, NONE, end)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    yield Desk(qtbot, work)
    work.shutdown(60.0)


RANK_0 = ["rank 0/stream 7", "rank 0/stream 20", "rank 0/thread 5"]


def test_the_filter_hides_lanes_and_dims_slices_as_it_is_typed(desk: Desk) -> None:
    field, colors = desk.panel.lane_tools.field, palette(theme())
    bright = set(colors.fills[:2, Paint.COMPUTE, 255].tolist())
    pale = set(colors.fills[:2, Paint.COMPUTE | DIM, 255].tolist())
    assert desk.colors("rank 0/stream 7") & bright
    field.setText("gemm rank:0")
    desk.settle()
    assert desk.labels() == ["rank 0", "rank 0/stream 7"]
    found = desk.colors("rank 0/stream 7")
    assert found & bright
    assert found & pale, "copy is on the lane and does not match"
    assert "1 slice on 1 lane" in field.accessibleDescription()
    field.setText("stream:20")
    desk.settle()
    assert desk.labels() == ["rank 0", "rank 0/stream 20", "rank 1", "rank 1/stream 20"]
    desk.panel.lane_tools.focus_filter()
    desk.qtbot.keyClick(field, Qt.Key.Key_Escape)
    desk.settle()
    assert field.text() == ""
    assert desk.labels()[:4] == ["rank 0", *RANK_0]
    assert not desk.colors("rank 0/stream 7") & pale


def test_a_bad_term_is_explained_and_changes_nothing(desk: Desk) -> None:
    field = desk.panel.lane_tools.field
    field.setText("rank:0")
    desk.settle()
    shown = desk.labels()
    field.setText("rank:0 dur:soon")
    desk.settle()
    assert desk.labels() == shown
    assert field.toolTip().startswith("dur:soon: write >soon")
    said = desk.panel.findChild(QLabel, "filter-result")
    assert said is not None
    assert said.isVisible()
    assert said.text().startswith("dur:soon: write")
    field.setText("rank:0 dur:>1us")
    desk.settle()
    assert not field.toolTip().startswith("dur")


def test_the_menu_of_a_lane_does_what_it_says(desk: Desk) -> None:
    def act(label: str, text: str) -> None:
        row = desk.panel.placement.rows[desk.labels().index(label)]
        entry = next(e for e in menu_actions(desk.lanes, row) if e.text == text)
        entry.run()
        desk.settle()

    act("rank 0/stream 20", "Hide Lane")
    assert "rank 0/stream 20" not in desk.labels()
    assert desk.panel.lane_tools.hidden.isVisible()
    assert desk.panel.lane_tools.hidden.text() == "1 hidden"
    desk.panel.lane_tools.hidden.menu().actions()[-1].trigger()
    assert "rank 0/stream 20" in desk.labels()
    assert not desk.panel.lane_tools.hidden.isVisible()
    act("rank 0/stream 20", "Pin on Every Rank")
    assert [r.pinned for r in desk.panel.placement.rows[:3]] == [True, True, False]
    act("rank 0", "Unpin All")
    act("rank 0/thread 5", "Tall")
    assert desk.lanes.arrangement == LaneArrangement().with_height(Height.TALL, "rank 0/thread 100:5")
    act("rank 0/stream 7", "Fold GPU 0")
    assert desk.labels()[:3] == ["rank 0", "GPU 0", "rank 0/thread 5"]
    act("GPU 0", "Unfold GPU 0")
    act("rank 0", "Fold All GPUs")
    assert desk.labels().count("GPU 0") == 2
    act("rank 0", "Longest First")
    assert desk.lanes.arrangement.sort is RankSort.DURATION
    assert [r.group.id for r in desk.panel.placement.rows if r.lane is None and not r.section] == [1, 0]
    act("rank 1", "Hide rank 1")
    assert "rank 1" not in desk.labels()
    menu = desk.panel.lane_tools.menu_of(desk.panel.placement.rows[0])
    assert [a.text() for a in menu.actions() if a.menu()] == ["Sort Ranks", "Height of All Lanes"]
    menu.close()


def test_the_right_button_asks_for_a_menu(desk: Desk) -> None:
    asked = []
    desk.panel.headers.menu_requested.disconnect()
    desk.panel.headers.menu_requested.connect(lambda row, _: asked.append(row.lane.label))
    at = QPoint(60, desk.y("rank 0/stream 20"))
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, desk.panel.headers.mapToGlobal(at))
    QApplication.sendEvent(desk.panel.headers, event)
    assert asked == ["stream 20"]


def test_lanes_and_ranks_are_dragged(desk: Desk) -> None:
    desk.drag(QPoint(80, desk.y("rank 0/thread 5")), QPoint(80, desk.y("rank 0/stream 7") - 12))
    assert desk.labels()[1:4] == ["rank 0/thread 5", "rank 0/stream 7", "rank 0/stream 20"]
    desk.drag(QPoint(80, desk.y("rank 1")), QPoint(80, 2))
    assert [label for label in desk.labels() if "/" not in label] == ["rank 1", "rank 0"]
    before = desk.labels()
    desk.drag(QPoint(80, desk.y("rank 0")), QPoint(81, desk.y("rank 0") + 1))
    assert desk.labels() == before
    assert desk.context.selection.group == 0, "a short drag is a click"


def test_a_click_beside_the_spine_folds_the_gpu(desk: Desk) -> None:
    headers = desk.panel.headers
    desk.qtbot.mouseClick(headers, LEFT, NONE, QPoint(12, desk.y("rank 0/stream 20")))
    assert desk.labels()[:2] == ["rank 0", "GPU 0"]
    assert headers.tip_at(desk.y("GPU 0")).startswith("GPU 0 of rank 0")
    desk.qtbot.mouseClick(headers, LEFT, NONE, QPoint(80, desk.y("GPU 0")))
    assert desk.labels()[:4] == ["rank 0", *RANK_0]


def test_pinned_lanes_stay_while_the_others_scroll(desk: Desk) -> None:
    desk.lanes.set_arrangement(LaneArrangement(pinned=("rank 1/stream 0:20",), height=Height.TALL))
    desk.panel.resize(1000, 220)
    desk.settle()
    comm = set(palette(theme()).fills[:2, Paint.COMM, 255].tolist())
    top_row = desk.panel.placement.rows[0]
    assert top_row.pinned
    desk.panel.scrollbar.setValue(desk.panel.scrollbar.maximum())
    assert desk.panel.scroll_top > 20
    shown = desk.panel.picture.source(desk.panel.canvas.width(), desk.panel.canvas.height(), 1.0)
    assert shown is not None
    assert comm & set(shown[0].image[5].tolist())
    hit = desk.panel.pointer.hit_at(QPointF(300, 12))
    assert hit is not None
    assert hit.row is top_row
    below = desk.panel.pointer.hit_at(QPointF(300, top_row.height + 6))
    assert below is not None
    assert below.row.y > top_row.height


def test_changes_go_through_whoever_keeps_them(desk: Desk) -> None:
    kept = []
    desk.lanes.commit = lambda text, before, after, apply: kept.append((text, before, after, apply))
    desk.panel.toggle_group(0)
    (text, before, after, apply), *_ = kept
    assert text == "Fold Ranks"
    assert desk.panel.collapsed == frozenset(), "not yet in force"
    apply(after)
    assert desk.panel.collapsed == frozenset({0})
    desk.panel.lane_tools.field.setText("rank:0-9")
    apply(before)
    assert desk.panel.collapsed == frozenset()
    assert desk.panel.lane_tools.field.text() == "rank:0-9", "the filter is no part of a step"


@pytest.mark.parametrize("coloring", list(Coloring))
def test_colours_say_what_was_chosen(desk: Desk, coloring: Coloring) -> None:
    desk.lanes.looks.set_coloring(coloring)
    desk.settle()
    fills = palette(theme()).fills
    inks = {
        Coloring.CLASS: {Paint.COMPUTE},
        Coloring.NAME: {hue_of("gemm"), hue_of("copy")},
        Coloring.RANK: {FIRST_HUE},
        Coloring.GROUP: {Paint.OTHER},
    }[coloring]
    found = desk.colors("rank 0/stream 7")
    for ink in inks:
        assert found & set(fills[:2, ink, 255].tolist())
    words = desk.panel.legend.accessibleDescription()
    expected = {"class": "communication", "name": "gemm", "rank": "rank 1", "group": "no communicator"}
    assert expected[coloring] in words


def test_patterns_are_a_second_sign_of_classes(desk: Desk) -> None:
    plain = desk.colors("rank 0/stream 20")
    desk.lanes.looks.set_patterned(True)
    desk.settle()
    extra = desk.colors("rank 0/stream 20") - plain
    assert extra == {int(palette(theme()).patterns[Paint.COMM])}
    desk.lanes.looks.set_coloring(Coloring.RANK)
    desk.settle()
    assert int(palette(theme()).patterns[Paint.COMM]) not in desk.colors("rank 0/stream 20")


def test_nothing_runs_while_nothing_happens(desk: Desk) -> None:
    from PySide6.QtCore import QTimer

    desk.panel.canvas.repaint()
    QApplication.processEvents()
    assert [t for t in desk.panel.findChildren(QTimer) if t.isActive() and not t.isSingleShot()] == []
    painted = np.zeros(1, int)
    original = desk.panel.canvas.paint

    def count(painter: object) -> None:
        painted[0] += 1
        original(painter)  # type: ignore[arg-type]

    desk.panel.canvas.paint = count  # type: ignore[method-assign,assignment]
    for _ in range(20):
        QApplication.processEvents()
    assert painted[0] == 0


def test_a_click_in_the_legend_pales_all_but_its_class(desk: Desk) -> None:
    colors, legend = palette(theme()), desk.panel.legend
    pale = set(colors.fills[:2, Paint.COMPUTE | DIM, 255].tolist())
    legend.repaint()
    comm = next(s for s in legend.swatches if s.text == "communication")
    at = next(box.center().toPoint() for box, swatch in legend._boxes if swatch == comm)
    assert not desk.colors("rank 0/stream 7") & pale
    desk.qtbot.mouseClick(legend, LEFT, NONE, at)
    desk.settle()
    assert legend.chosen == comm
    assert desk.colors("rank 0/stream 7") & pale
    assert not desk.colors("rank 0/stream 20") & set(colors.fills[:2, Paint.COMM | DIM, 255].tolist())
    assert desk.labels()[:4] == ["rank 0", *RANK_0], "nothing is hidden"
    desk.panel.lane_tools.field.setText("rank:0")
    desk.settle()
    assert desk.colors("rank 0/stream 7") & pale, "beside the filter"
    desk.panel.lane_tools.field.clear()
    desk.qtbot.keyClick(desk.panel.canvas, Qt.Key.Key_Escape)
    desk.settle()
    assert legend.chosen is None
    assert not desk.colors("rank 0/stream 7") & pale


@pytest.mark.parametrize("coloring", list(Coloring))
def test_every_entry_of_the_legend_has_slices(desk: Desk, coloring: Coloring) -> None:
    desk.lanes.looks.set_coloring(coloring)
    desk.settle()
    for swatch in desk.panel.legend.swatches:
        query = query_of_swatch(swatch, coloring, desk.context.session)
        if swatch.text == NO_GROUP:
            assert query == ""
            continue
        counts = [int(slice_mask(parse(query), item).sum()) for item in desk.context.session.inputs]
        assert sum(counts) > 0, query
