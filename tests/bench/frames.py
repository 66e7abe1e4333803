"""The timeline: from an input to its pixels, on the real panel at full size.

The machine may be busy with other things, so what is compared with a limit is the time of the thread that paints (of
all threads where other threads must answer); the time on the clock is printed beside it.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

from tests.bench.made import make_job
from tests.support.themes import theme
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.panels.breakdown import BreakdownPanel
from viewer.panels.context import JobContext
from viewer.panels.range_table import RangePanel
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.range_table import ALL

Figure = dict[str, Any]
RANKS: Final = 64
MOST_SECONDS: Final = 30.0
"""A click that has no answer by then has none."""
BYTES_PER_SLICE: Final = 45
"""What a slice of a made job takes at most while it is made and shown."""


class Desk:
    """A timeline of a job beside its Breakdown, at a size of our own."""

    def __init__(self, session: Session, width: int, height: int) -> None:
        self.work = WorkRunner()
        self.context = JobContext(theme("dark"), self.work)
        self.top = QWidget()
        row = QHBoxLayout(self.top)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self.panel = TimelinePanel(self.context)
        self.breakdown = BreakdownPanel(self.context)
        self.breakdown.setFixedWidth(400)
        self.breakdown.hide()
        row.addWidget(self.panel, 1)
        row.addWidget(self.breakdown)
        self.top.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.top.resize(width, height)
        self.top.show()
        self.context.set_session(session)
        self.settle()
        self.panel.canvas.setFocus()
        self.settle()

    @property
    def canvas(self) -> QWidget:
        """Where the lanes are."""
        return self.panel.canvas

    def window(self) -> TimeRange:
        """What is shown."""
        found = self.panel.window()
        assert found is not None
        return found

    def settle(self) -> None:
        """Wait until nothing is computed or painted any more."""
        quiet = 0
        while quiet < 3:
            QApplication.processEvents()
            quiet = 0 if self.work.pending else quiet + 1
            if self.work.pending:
                time.sleep(0.005)

    def close(self) -> None:
        """Stop and forget everything."""
        self.work.shutdown()
        self.top.close()
        self.top.deleteLater()
        QApplication.processEvents()

    def key(self, key: Qt.Key) -> None:
        """A key on the lanes."""
        for kind in (QKeyEvent.Type.KeyPress, QKeyEvent.Type.KeyRelease):
            QApplication.sendEvent(self.canvas, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier))

    def wheel(self, x: float, y: float, notches: float, modifiers: Qt.KeyboardModifier) -> None:
        """Turn the wheel on the lanes."""
        at = QPointF(x, y)
        none = Qt.MouseButton.NoButton
        event = QWheelEvent(
            at,
            QPointF(self.canvas.mapToGlobal(at.toPoint())),
            QPoint(),
            QPoint(0, round(notches * 120)),
            none,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.canvas, event)

    def click(self, x: float, y: float) -> None:
        """Click on the lanes."""
        at = QPointF(x, y)
        for kind in (QMouseEvent.Type.MouseButtonPress, QMouseEvent.Type.MouseButtonRelease):
            left = Qt.MouseButton.LeftButton
            where = QPointF(self.canvas.mapToGlobal(at.toPoint()))
            held = left if kind == QMouseEvent.Type.MouseButtonPress else Qt.MouseButton.NoButton
            event = QMouseEvent(kind, at, where, left, held, Qt.KeyboardModifier.NoModifier)
            QApplication.sendEvent(self.canvas, event)

    def timed(self, act: Callable[[], None]) -> tuple[float, float]:
        """(ms of this thread, ms on the clock) from an input until all of it is painted."""
        wall, cpu = time.perf_counter(), time.thread_time()
        act()
        QApplication.processEvents()
        return (time.thread_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def at_most(figure: str, value: float, unit: str, limit: float) -> Figure:
    """A figure with its limit."""
    shown = float(f"{value:.4g}")
    return {"figure": figure, "value": shown, "unit": unit, "limit": f"<= {limit:g}", "holds": value <= limit}


def only(figure: str, value: float | None, unit: str, why: str = "none") -> Figure:
    """A figure without a limit, or one that could not be measured."""
    shown = None if value is None else float(f"{value:.4g}")
    return {"figure": figure, "value": shown, "unit": unit, "limit": why, "holds": None}


def travel(desk: Desk, rounds: int = 1) -> Iterator[tuple[float, float]]:
    """Pan and zoom as people do, from the whole job down to some us and back, with all lanes open and folded."""
    canvas, panel = desk.canvas, desk.panel
    ctrl, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    everything = frozenset(g.id for g in desk.context.session.groups)
    for number in range(rounds):
        for folded in (False, True):
            panel.set_collapsed(everything if folded else frozenset())
            panel.fit()
            desk.settle()
            x = canvas.width() * (0.31 + 0.2 * number)
            for depth in range(60):  # down at the cursor; every few steps some panning
                yield desk.timed(lambda at=x: desk.wheel(at, 300, 1, ctrl))
                if depth % 4 == 0:
                    for notches in (-1, -1, 1):
                        yield desk.timed(lambda at=x, n=notches: desk.wheel(at, 300, n, shift))
                if depth % 10 == 0:
                    for key in (Qt.Key.Key_D, Qt.Key.Key_D, Qt.Key.Key_A):
                        yield desk.timed(lambda k=key: desk.key(k))
                    yield desk.timed(lambda at=x: desk.wheel(at, 300, -3, Qt.KeyboardModifier.NoModifier))
            for _ in range(40):
                yield desk.timed(lambda: desk.key(Qt.Key.Key_S))


def _frames(desk: Desk, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    list(zip(range(60), travel(desk), strict=False))  # names and buffers are there
    gc.collect()
    gc.freeze()
    times = np.array(list(travel(desk, rounds)))
    gc.unfreeze()
    return times[:, 0], times[:, 1]


def smooth(desk: Desk, what: str, limits: tuple[float | None, float, float | None], rounds: int) -> Iterator[Figure]:
    """Median, 99th percentile and worst of the frames of a journey."""
    cpu, wall = _frames(desk, rounds)
    for name, value, clock, limit in zip(
        ("median", "p99", "worst"),
        (np.median(cpu), np.percentile(cpu, 99), cpu.max()),
        (np.median(wall), np.percentile(wall, 99), wall.max()),
        limits,
        strict=True,
    ):
        label = f"pan and zoom, {what}, {name} of {len(cpu)} frames"
        yield only(label, float(value), "ms") if limit is None else at_most(label, float(value), "ms", limit)
        yield only("the same on the clock", float(clock), "ms")


def click_to_breakdown(desk: Desk) -> Iterator[Figure]:
    """A click on a kernel until the lanes show it selected and Breakdown explains it."""
    desk.breakdown.show()
    desk.panel.set_collapsed(frozenset())
    desk.panel.scrollbar.setValue(0)  # the journey left it elsewhere
    extent = desk.context.session.extent()
    assert extent is not None
    middle = extent.start_ns + extent.length_ns // 2
    rows = desk.context.session.inputs[0].trace.rows
    kernels = int(rows.end[0] - rows.begin[0])
    desk.panel.show_range(TimeRange(middle, middle + extent.length_ns * 40 // kernels))
    desk.settle()
    stream = next(r for r in desk.panel.placement.rows if r.lane is not None and r.lane.label == "stream 7")
    boxes = [b for b in desk.panel._lanes.painter.boxes(desk.window(), desk.canvas.width(), 8) if b.y == stream.y + 3]
    cpu, clock = [], []
    for box in boxes[:12]:
        begin, used = time.perf_counter(), time.process_time()
        desk.click(box.x + box.width / 2, box.y + box.height / 2 - desk.panel.scroll_top)
        while desk.context.selection.slice != box.ref or desk.work.pending:
            if time.perf_counter() - begin > MOST_SECONDS:
                yield at_most("click on a kernel to its pixels and Breakdown: no answer after", MOST_SECONDS, "s", 0.1)
                return
            QApplication.processEvents()
            time.sleep(0.0005)
        QApplication.processEvents()
        cpu.append((time.process_time() - used) * 1000)
        clock.append((time.perf_counter() - begin) * 1000)
        assert desk.breakdown.view.frame is not None
    desk.breakdown.hide()
    desk.settle()
    yield at_most("click on a kernel to its pixels and Breakdown, median (all threads)", _median(cpu), "ms", 100)
    yield only("the same on the clock", _median(clock), "ms")


def range_table(desk: Desk) -> Iterator[Figure]:
    """The Selection panel over everything: from the selection of a range to the rows."""
    panel = RangePanel(desk.context)
    panel.what.setCurrentIndex(panel.what.findData(ALL))
    panel.resize(1200, 300)
    panel.show()
    extent = desk.context.session.extent()
    assert extent is not None
    cpu, clock, lag = [], [], 0.0
    for n in range(5):
        begin, used = time.perf_counter(), time.process_time()
        desk.context.select(Selection(range=TimeRange(extent.start_ns - n, extent.end_ns + 1)))
        last = time.thread_time()
        while desk.work.pending:
            QApplication.processEvents()
            lag = max(lag, time.thread_time() - last) if n else 0.0
            last = time.thread_time()
            time.sleep(0.005)
        cpu.append((time.process_time() - used) * 1000)
        clock.append((time.perf_counter() - begin) * 1000)
        assert panel.shown is not None
        assert panel.shown.table.total[0] == sum(len(i.trace) for i in desk.context.session.inputs)
    inside = []
    for n in range(1, 6):
        used = time.process_time()
        air = extent.length_ns // 1000 + n
        desk.context.select(Selection(range=TimeRange(extent.start_ns + air, extent.end_ns - air)))
        desk.settle()
        inside.append((time.process_time() - used) * 1000)
    desk.context.select(EMPTY)
    desk.settle()
    panel.deleteLater()
    yield at_most("range table over all slices, median (all threads)", _median(cpu[1:]), "ms", 300)
    yield only("the same on the clock", _median(clock[1:]), "ms")
    yield at_most("range table over all but the first and last 0.1 %, median (all threads)", _median(inside), "ms", 300)
    yield only("the first range table of a job, with its index (all threads)", cpu[0], "ms")
    yield only("the longest that the window was busy meanwhile", lag * 1000, "ms")


def find(desk: Desk) -> Iterator[Figure]:
    """A regular expression over all slices: until the first hit is selected, and until all are counted and marked."""
    panel, finder = desk.panel, desk.panel.finder
    slices = sum(len(i.trace) for i in desk.context.session.inputs)
    panel.set_collapsed(frozenset())
    panel.fit()
    desk.settle()
    first, every, clock = [], [], []
    for n in range(5):
        desk.settle()
        begin, used, one = time.perf_counter(), time.process_time(), None
        finder.open(f"gemm_{n}[0-9]*_128x[0-9]+_tn", regex=True)
        finder.search()
        finder.step(1)
        while desk.work.pending or finder.found is None:
            QApplication.processEvents()
            if one is None and desk.context.selection.slice is not None:
                one = (time.process_time() - used) * 1000
            time.sleep(0.0005)
        QApplication.processEvents()
        every.append((time.process_time() - used) * 1000)
        clock.append((time.perf_counter() - begin) * 1000)
        first.append(one if one is not None else every[-1])
        assert finder.found is not None
        assert finder.found.hits.count
        finder.close()
        desk.context.select(EMPTY)
        desk.settle()
    yield at_most(
        f"search of a regex over {slices / 1e6:.1f}M slices, first hit (all threads)", _median(first), "ms", 100
    )
    yield at_most("search of a regex, all hits counted and marked (all threads)", _median(every), "ms", 1000)
    yield only("the same on the clock", _median(clock), "ms")


def _median(values: list[float]) -> float:
    return float(np.median(values))


ON_THE_DESK: Final[tuple[Callable[[Desk], Iterator[Figure]], ...]] = (click_to_breakdown, range_table, find)
"""Measured on the job of 10M slices after the frames: add a function of the Desk here."""

APART: Final[tuple[str, ...]] = ("tests.bench.start",)
"""Modules with ``figures(folder: Path) -> Iterator[Figure]`` that need no desk; left out where they do not exist."""


def _free_bytes() -> int:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return int(text.split("MemAvailable:")[1].split()[0]) * 1024


def application() -> QCoreApplication:
    """The application, to be kept while there are windows; offscreen where there is no display."""
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return QApplication.instance() or QApplication([])


def figures(folder: Path, scale: float) -> Iterator[Figure]:
    """Measure one figure after another. ``scale`` is the size of the jobs."""
    app = application()
    many = int(10_000_000 * scale)
    session = make_job(RANKS, many)
    total = sum(len(i.trace) for i in session.inputs)
    what = f"{total / 1e6:.1f}M slices in {RANKS} ranks"
    desk = Desk(session, 1920, 1080)
    yield from smooth(desk, f"1920x1080, {what}", (4, 12, 33), rounds=2)
    for row in ON_THE_DESK:
        yield from row(desk)
    desk.close()
    desk = Desk(session, 3840, 2160)
    yield from smooth(desk, f"3840x2160, {what}", (None, 16, None), rounds=1)
    desk.close()
    del desk, session
    gc.collect()
    if _free_bytes() < many * 10 * BYTES_PER_SLICE:
        yield only(f"pan and zoom, {many * 10 / 1e6:.0f}M slices", None, "ms", "not measured: too little memory")
    else:
        session = make_job(RANKS, many * 10)
        total = sum(len(i.trace) for i in session.inputs)
        desk = Desk(session, 1920, 1080)
        yield from smooth(desk, f"1920x1080, {total / 1e6:.0f}M slices in {RANKS} ranks", (None, 16, None), rounds=1)
        desk.close()
    for name in APART:
        try:
            module = __import__(name, fromlist=["figures"])
        except ModuleNotFoundError:
            continue
        yield from module.figures(folder)
    del app
