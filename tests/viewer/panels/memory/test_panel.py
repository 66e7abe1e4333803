"""The Memory panel: hint, peak, blocks, clicks, zoom with the lanes, ranks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from pytestqt.qtbot import QtBot

from tests.support.build import kernel, make_session, make_trace
from tests.support.memory import FakeAllocator, profiler_events
from tests.support.memory_job import Planted, fragmented, training
from tests.support.themes import theme
from tests.viewer.importers.test_memory_exports import ROWS
from tests.viewer.importers.texts import open_job, write_json
from viewer.base.selection import Selection, TimeRange
from viewer.panels.context import JobContext
from viewer.panels.memory.panel import HINT, MemoryPanel
from viewer.panels.memory.parts import BLOCKS, FIGURES, RANKS
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.lanes.tree import build_tree
from viewer.views.memory.map import MapKind
from viewer.views.memory.panel import NO_RECORDS


@pytest.fixture
def context() -> Iterator[JobContext]:
    work = WorkRunner()
    yield JobContext(theme(), work)
    work.shutdown()


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> MemoryPanel:
    made = MemoryPanel(context)
    qtbot.addWidget(made)
    made.resize(1200, 340)
    return made


def opened(tmp_path: Path, *jobs: FakeAllocator) -> Session:
    paths = []
    for rank, a in enumerate(jobs):
        paths.append(tmp_path / f"rank{rank}.pickle")
        paths[-1].write_bytes(a.pickled())
    return open_job(tmp_path, *paths).session


def settle(qtbot: QtBot, context: JobContext, panel: MemoryPanel) -> None:
    def still() -> bool:
        return context.work.pending == 0 and not panel._soon.isActive()

    qtbot.waitUntil(still, timeout=60_000)


def show(qtbot: QtBot, context: JobContext, panel: MemoryPanel, session: Session) -> None:
    context.set_session(session)
    extent = session.extent()
    if extent is not None:
        context.set_window(extent)
    panel.show()
    settle(qtbot, context, panel)


def test_without_records_it_says_how_to_make_some(qtbot: QtBot, context: JobContext, panel: MemoryPanel) -> None:
    assert panel.sentence.text() == HINT
    show(qtbot, context, panel, make_session(make_trace(kernel("a", 0, 7))))
    assert panel.sentence.text() == NO_RECORDS
    assert panel.parts.isHidden()


def test_it_begins_at_the_peak_and_a_click_leads_to_a_block(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    session = opened(tmp_path, training(Planted(steps=4)))
    show(qtbot, context, panel, session)
    assert panel.view is not None
    assert panel.view.at_peak
    assert "(the peak)" in panel.sentence.text()
    sizes = [panel.blocks.model().frame.keys[k][0] for k in range(3)]
    assert sizes == sorted(sizes, reverse=True)
    area = panel.canvas.area()
    low = QPoint(int(area.left() + area.width() / 2), int(area.bottom()) - 4)
    assert "held" in panel.canvas.teller(*panel.canvas.shares(QPointF(low)))
    qtbot.mouseClick(panel.canvas, Qt.MouseButton.LeftButton, pos=low)
    settle(qtbot, context, panel)
    assert panel.what.currentData() == FIGURES
    assert panel.view.figures.sections[0].title == "Block"
    assert panel.map is not None
    assert panel.map.selected is not None
    assert not panel.view.at_peak
    panel.peak.click()
    settle(qtbot, context, panel)
    assert panel.view.at_peak


def test_a_row_of_blocks_tells_its_stack_and_the_rule(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    show(qtbot, context, panel, opened(tmp_path, training(Planted(steps=4))))
    panel.blocks.row_chosen.emit(0)
    settle(qtbot, context, panel)
    assert panel.view is not None
    block = panel.view.figures.sections[0]
    assert {f.label for f in block.figures} >= {"size", "category", "rule", "made by", "held for", "address"}
    assert block.table is not None
    assert block.table.rows[0][2].startswith("/job/")


def test_a_block_of_a_trace_leads_to_its_maker(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "trace.json", profiler_events(training(Planted(steps=2))))
    show(qtbot, context, panel, open_job(tmp_path, path).session)
    panel.blocks.row_chosen.emit(0)
    settle(qtbot, context, panel)
    assert panel.view is not None
    ((text, target),) = panel.view.figures.sections[0].actions
    assert text == "Go to Its Operator"
    panel.figures.jump_requested.emit(target)
    assert context.selection.slice == target


def test_map_and_lanes_move_together(qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path) -> None:
    session = opened(tmp_path, training(Planted(steps=4)))
    show(qtbot, context, panel, session)
    with qtbot.waitSignal(panel.window_wanted) as wanted:
        panel.canvas.zoom(2.0, 0.5)
    window = wanted.args[0]
    assert window.length_ns == pytest.approx(panel.canvas.frame.whole.length / 2, rel=0.01)
    context.set_window(window)
    settle(qtbot, context, panel)
    other = TimeRange(window.start_ns, window.start_ns + window.length_ns // 3)
    context.set_window(other)
    settle(qtbot, context, panel)
    assert (panel.canvas.span.x0, panel.canvas.span.x1) == (other.start_ns, other.end_ns)
    panel.linked.setChecked(False)
    settle(qtbot, context, panel)
    with qtbot.assertNotEmitted(panel.window_wanted):
        panel.canvas.zoom(2.0, 0.5)
    settle(qtbot, context, panel)


def test_an_instant_of_a_lane_is_shown(qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path) -> None:
    session = opened(tmp_path, training(Planted(steps=4)))
    show(qtbot, context, panel, session)
    (lane,) = (lane for group in build_tree(session) for lane in group.lanes if lane.memory)
    times = session.inputs[0].trace.tables["allocator_events"].time_ns
    panel.show_instant(lane, session.inputs[0].clock.to_session(int(times[5])))
    settle(qtbot, context, panel)
    assert panel.view is not None
    assert panel.view.event == 5


def test_other_maps_and_a_failed_request(qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path) -> None:
    a, _, _ = fragmented()
    show(qtbot, context, panel, opened(tmp_path, a))
    assert panel.sentence.text().endswith("1 request failed.")
    for kind in (MapKind.ADDRESSES, MapKind.SEGMENTS):
        panel.kind.setCurrentIndex(panel.kind.findData(kind))
        settle(qtbot, context, panel)
        assert panel.map is not None
        assert panel.map.kind is kind
    assert panel.view is not None
    sections = {s.title: s for s in panel.view.figures.sections}
    (row,) = sections["Requests that failed"].table.rows
    assert row[0] == "50 MiB"
    assert "fragmentation" in row[-1]


def test_a_block_chosen_on_another_page_leaves_one_page_in_sight(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    show(qtbot, context, panel, opened(tmp_path, training(Planted(steps=3))))
    panel.blocks.row_chosen.emit(0)
    settle(qtbot, context, panel)
    for page in (RANKS, FIGURES, BLOCKS):
        panel.what.setCurrentIndex(panel.what.findData(page))
        panel.show_peak() if page != RANKS else None
        settle(qtbot, context, panel)
        seen = [k for k in range(panel.pages.count()) if panel.pages.widget(k).isVisible()]
        assert seen == [page]


def test_a_source_without_blocks_shows_its_figures(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    path = tmp_path / "rank_0.raw.json"
    path.write_text(json.dumps(ROWS))
    show(qtbot, context, panel, open_job(tmp_path, path).session)
    assert panel.view is not None
    for page, seen in ((BLOCKS, FIGURES), (FIGURES, FIGURES), (RANKS, RANKS), (BLOCKS, FIGURES)):
        panel.what.setCurrentIndex(panel.what.findData(page))
        settle(qtbot, context, panel)
        assert panel.pages.currentIndex() == seen


def test_ranks_are_compared_and_lead_to_their_rank(
    qtbot: QtBot, context: JobContext, panel: MemoryPanel, tmp_path: Path
) -> None:
    jobs = [training(Planted(steps=3)), training(Planted(steps=3, scale=2.0))]
    events = []
    for rank, a in enumerate(jobs):
        info = {"rank": rank, "world_size": 2, "backend": "nccl"}
        events.append(write_json(tmp_path / f"rank{rank}.json", profiler_events(a), distributedInfo=info))
    session = open_job(tmp_path, *events).session
    show(qtbot, context, panel, session)
    panel.what.setCurrentIndex(panel.what.findData(RANKS))
    settle(qtbot, context, panel)
    assert panel.ranks is not None
    assert panel.ranks.sentence.startswith("2 ranks: peaks from ")
    assert panel.ranks.sentence.endswith("(rank 1).")
    assert panel.heat.isVisible()
    assert not panel.canvas.isVisible()  # the ranks have the whole width
    assert not panel.device.isVisible()
    panel.show_peak()
    settle(qtbot, context, panel)
    assert panel.canvas.isVisible()
    panel.what.setCurrentIndex(panel.what.findData(RANKS))
    panel.heat.chosen.emit(1, 0)
    settle(qtbot, context, panel)
    assert context.selection == Selection(group=session.groups[1].id)
    assert panel.choice is not None
    assert panel.choice.input == session.groups[1].inputs[0]
    panel.what.setCurrentIndex(panel.what.findData(BLOCKS))
    assert panel.blocks.isVisible()
