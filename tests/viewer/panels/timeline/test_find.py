"""The find bar on a real timeline."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.viewer.panels.timeline.test_panel import BASE, CTRL, LEFT, NONE, SHIFT, Desk, Key, job
from viewer.base.selection import TimeRange
from viewer.base.work import CancelToken
from viewer.panels.timeline.find import FindPanel
from viewer.panels.work import WorkRunner
from viewer.views.timeline.viewport import fitted


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    work = WorkRunner()
    made = Desk(qtbot, work)
    made.open(job())
    yield made
    work.shutdown()


def find(desk: Desk, text: str) -> FindPanel:
    finder = desk.panel.finder
    finder.open()
    desk.qtbot.keyClicks(finder.bar.edit, text)
    desk.settle()
    return finder


def enter(desk: Desk, modifiers: Qt.KeyboardModifier = NONE) -> None:
    desk.qtbot.keyClick(desk.panel.finder.bar.edit, Key.Key_Return, modifiers)


def chosen(desk: Desk) -> tuple[int, str, int]:
    ref = desk.context.selection.slice
    assert ref is not None
    trace = desk.context.session.inputs[ref.input].trace
    return ref.input, trace.name(ref.index), int(trace.slices.start_ns[ref.index])


def test_enter_walks_in_time_order_across_ranks(desk: Desk) -> None:
    finder = find(desk, "GEMM")
    assert finder.bar.count.text() == "4 hits"
    places, seen = [], []
    for _ in range(5):
        enter(desk)
        desk.settle()
        places.append(finder.bar.count.text())
        seen.append(chosen(desk))
    assert places == ["1 of 4", "2 of 4", "3 of 4", "4 of 4", "1 of 4"]
    assert seen[:4] == [(0, "gemm", 10_000), (1, "gemm", 10_500), (0, "gemm", 50_000), (1, "gemm", 50_500)]
    enter(desk, SHIFT)
    assert chosen(desk) == (1, "gemm", 50_500)
    desk.settle()


def test_it_begins_at_the_view_and_comes_into_sight(desk: Desk) -> None:
    finder = find(desk, "gemm")
    desk.panel.show_range(TimeRange(BASE + 40_000, BASE + 45_000))
    enter(desk)
    assert chosen(desk) == (0, "gemm", 50_000)
    assert finder.bar.count.text() == "3 of 4"
    assert desk.window.start_ns <= BASE + 50_000 < desk.window.end_ns
    desk.settle()


def test_hits_are_marked_on_lanes_headers_and_minimap(desk: Desk) -> None:
    finder = find(desk, "nccl")
    counts = desk.panel.headers._rows.counts
    assert counts == dict.fromkeys(counts, 1)
    assert len(counts) == 2
    assert all("20" in key for key in counts)
    assert set(desk.panel._lanes.painter._picked) == {0, 1}
    shares = desk.panel.minimap._marks["found"]
    extent = desk.context.session.extent()
    assert extent is not None
    whole = fitted(extent)
    assert [round(s, 2) for s in shares] == [round((BASE + 60_000 - whole.start_ns) / whole.length_ns, 2)]
    image = desk.panel.headers.grab().toImage()
    row = next(r for r in desk.panel.placement.rows if r.lane is not None and r.lane.key in counts)
    from PySide6.QtGui import QColor

    accent = QColor(desk.context.theme["accent"]).name()
    strip = [image.pixelColor(x, row.y + row.height // 2).name() for x in range(image.width() - 60, image.width())]
    assert accent in strip
    # Selecting a slice keeps the marks of the search.
    enter(desk)
    desk.settle()
    assert set(desk.panel._lanes.painter._picked) == {0, 1}
    finder.close()
    desk.settle()
    assert desk.panel.headers._rows.counts == {}
    assert desk.panel.minimap._marks["found"] == ()
    assert not finder.bar.isVisible()


def test_escape_closes_and_gives_the_focus_back(desk: Desk) -> None:
    finder = find(desk, "gemm")
    assert finder.bar.isVisible()
    desk.qtbot.keyClick(finder.bar.edit, Key.Key_Escape)
    assert not finder.bar.isVisible()
    assert desk.canvas.hasFocus()
    # The text is kept: the next hit can be asked for with the bar closed.
    finder.step(1)
    desk.settle()
    assert finder.bar.isVisible()
    assert finder.bar.count.text() == "1 of 4"


def test_the_newest_text_wins_and_enter_may_come_before_the_hits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    finder, held = desk.panel.finder, []
    with monkeypatch.context() as patch:
        patch.setattr(desk.context.work, "submit", lambda key, job, done, _: held.append((key, job, done)))
        finder.open()
        for text in ("aten", "gem", "nccl"):
            finder.bar.edit.setText(text)
        assert finder.bar.count.text() == "Searching…"
        enter(desk)
    assert [key for key, _, _ in held] == ["find"] * 3
    _, run, done = held[-1]
    done(run(CancelToken()))
    desk.settle()
    assert chosen(desk)[1].startswith("nccl")
    assert finder.bar.count.text() == "1 of 2"


def test_switches_and_what_is_wrong(desk: Desk) -> None:
    finder = find(desk, "GEMM")
    finder.bar.case.click()
    desk.settle()
    assert finder.bar.count.text() == "No hits"
    finder.bar.case.click()
    finder.bar.regex.click()
    finder.bar.edit.setText("^(gemm|aten)")
    desk.settle()
    assert finder.bar.count.text() == "6 hits"
    finder.bar.edit.setText("gemm(")
    desk.settle()
    assert "no regular expression" in finder.bar.count.text()
    assert desk.panel.headers._rows.counts == {}
    enter(desk)
    assert desk.context.selection.slice is None


def test_more_files_are_searched_too(desk: Desk) -> None:
    finder = find(desk, "gemm")
    desk.open(job(3))
    assert finder.bar.count.text() == "6 hits"


def test_the_wheel_on_the_minimap_zooms_there(desk: Desk) -> None:
    panel, minimap = desk.panel, desk.panel.minimap
    before = desk.window
    at = QPointF(minimap.width() * 0.75, 10)
    where = QPointF(minimap.mapToGlobal(at))
    event = QWheelEvent(
        at, where, QPoint(), QPoint(0, 480), Qt.MouseButton.NoButton, CTRL, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(minimap, event)
    instant = before.start_ns + before.length_ns * 3 // 4
    assert desk.window.length_ns == pytest.approx(before.length_ns / 1.25**4, rel=0.01)
    assert desk.window.contains(instant)
    panel.show_range(TimeRange(BASE + 1_000, BASE + 2_000))
    QApplication.sendEvent(minimap, event)
    assert desk.window.contains(instant)  # out of sight before


@pytest.mark.parametrize("fitted_first", [True, False])
def test_a_drag_on_the_minimap_draws_a_new_window(desk: Desk, fitted_first: bool) -> None:
    panel, minimap = desk.panel, desk.panel.minimap
    whole = desk.window
    if not fitted_first:
        panel.show_range(TimeRange(BASE + 80_000, BASE + 85_000))
    a, b = QPoint(minimap.width() // 4, 10), QPoint(minimap.width() // 2, 10)
    desk.qtbot.mousePress(minimap, LEFT, NONE, a)
    desk.qtbot.mouseMove(minimap, (a + b) / 2)
    desk.qtbot.mouseMove(minimap, b)
    desk.qtbot.mouseRelease(minimap, LEFT, NONE, b)
    assert desk.window.start_ns == pytest.approx(whole.start_ns + whole.length_ns / 4, abs=whole.length_ns / 200)
    assert desk.window.length_ns == pytest.approx(whole.length_ns / 4, rel=0.02)
