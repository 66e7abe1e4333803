"""The clocks of an open job are changed, undone, saved and opened again in the real window."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from viewer.app import dialogs
from viewer.app.features.clocks import ClocksFeature
from viewer.app.features.session import SessionFeature
from viewer.app.features.side_panels import SidePanels
from viewer.app.main_window import MainWindow
from viewer.base.clock import Clock, GivenClock
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.panels.clocks import Wish
from viewer.store.session import Opened, build_session
from viewer.store.session_file import read_session

Windows = Callable[..., MainWindow]
PATIENCE = 30_000
OFFSET = 250_000
BASE = 1_700_000_000_000_000_000


def trace(rank: int, *, collectives: bool = True) -> str:
    """Ten all-reduces that end together; rank 1's clock is ahead."""
    events: list[dict[str, Any]] = []
    late = OFFSET / 1000 if rank else 0.0
    for k in range(10):
        at = 1_000.0 + 2_000 * k + 37 * rank * (k % 3)
        args = {"device": 0, "stream": 7, "correlation": k + 1} | (
            {
                "Collective name": "allreduce",
                "Process Group Name": "0",
                "Process Group Ranks": "[0, 1]",
                "Group size": 2,
            }
            | {"Process Group Description": "default_pg", "Seq": k, "In msg nelems": 64, "dtype": "Float"}
            if collectives
            else {}
        )
        events.append(
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": at + late}
            | {"dur": 2_000.0 * k + 1_900 - at, "args": args}
        )
    about = {"backend": "nccl", "rank": rank, "world_size": 4}
    return json.dumps(
        {"schemaVersion": 1, "baseTimeNanoseconds": BASE, "traceEvents": events, "distributedInfo": about}
    )


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(2):
        (folder / f"r{rank}.json").write_text(trace(rank))
    return folder


def feature(window: MainWindow) -> ClocksFeature:
    return next(f for f in window.features if isinstance(f, ClocksFeature))


def settle(qtbot: QtBot, window: MainWindow) -> None:
    def done() -> bool:
        workspace = window.workspace
        return workspace is not None and not window.controller.running and workspace.work.pending == 0

    qtbot.waitUntil(done, timeout=PATIENCE)


def opened(qtbot: QtBot, windows: Windows, path: Path) -> MainWindow:
    window = windows()
    window.show()
    window.open_paths([path])
    session = next(f for f in window.features if isinstance(f, SessionFeature))
    side = next(f for f in window.features if isinstance(f, SidePanels))
    qtbot.waitUntil(
        lambda: window.has_job and not window.controller.running and session._coming is None and side.are_filled,
        timeout=PATIENCE,
    )
    settle(qtbot, window)
    return window


def clocks(window: MainWindow) -> list[Clock]:
    assert window.workspace is not None
    return [i.clock for i in window.workspace.session.inputs]


def test_methods_offsets_and_undo_keep_selection_and_view(qtbot: QtBot, windows: Windows, job: Path) -> None:
    window = opened(qtbot, windows, job)
    workspace, mine = window.workspace, feature(window)
    assert workspace is not None
    assert workspace.session.clock_method == "collectives"
    assert abs(clocks(window)[1].offset_ns - OFFSET) < 2
    assert mine.label.text().startswith("clocks: aligned by 10 collectives, ± ")
    chosen = Selection(slice=SliceRef(1, 3), group=1)
    workspace.context.select(chosen)
    origin = workspace.session.origin_ns()
    view = TimeRange(origin + 2_000_000, origin + 6_000_000)
    workspace.timeline.show_range(view)
    aligned = clocks(window)

    mine.wish(Wish("offset", given=((1, GivenClock(-5)),)))
    settle(qtbot, window)
    assert clocks(window)[1].offset_ns == -5
    assert window.isWindowModified()
    assert (workspace.context.selection, workspace.timeline.window()) == (chosen, view)
    assert workspace.timeline.lanes.session is workspace.session
    window.undo.stack.undo()
    settle(qtbot, window)
    assert clocks(window) == aligned
    assert not window.isWindowModified()
    window.undo.stack.redo()
    settle(qtbot, window)
    assert clocks(window)[1].offset_ns == -5

    window.actions_["raw_times"].trigger()
    settle(qtbot, window)
    assert workspace.session.clock_method == "base"
    assert [c.offset_ns for c in clocks(window)] == [0, 0]
    assert mine.panel is not None
    assert mine.panel.raw.isChecked()
    window.actions_["raw_times"].trigger()
    settle(qtbot, window)
    assert clocks(window)[1].offset_ns == -5
    assert (workspace.context.selection, workspace.timeline.window()) == (chosen, view)


def test_times_as_written_take_view_range_and_marks_along(qtbot: QtBot, windows: Windows, job: Path) -> None:
    window = opened(qtbot, windows, job)
    workspace, mine = window.workspace, feature(window)
    assert workspace is not None
    origin = workspace.session.origin_ns()
    span = TimeRange(origin + 2_000_000, origin + 3_000_000)
    workspace.context.select(Selection(range=span))
    window.kept.marks.add(span.start_ns, span.end_ns)
    workspace.timeline.show_range(span)
    view = workspace.timeline.window()
    assert view is not None
    mine.wish(Wish("none", "none"))
    settle(qtbot, window)
    assert [c.base_ns for c in clocks(window)] == [0, 0]
    (mark,) = window.kept.marks.book
    moved = TimeRange(span.start_ns - BASE, span.end_ns - BASE)
    assert (mark.start_ns, mark.end_ns) == (moved.start_ns, moved.end_ns)
    assert workspace.context.selection.range == moved
    shown = workspace.timeline.window()
    assert shown is not None
    assert (shown.start_ns, shown.length_ns) == (view.start_ns - BASE, view.length_ns)
    window.undo.stack.undo()
    settle(qtbot, window)
    (mark,) = window.kept.marks.book
    assert mark.start_ns == span.start_ns
    assert workspace.timeline.window() == view


def test_chosen_clocks_are_in_the_session_file(
    qtbot: QtBot, windows: Windows, job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(qtbot, windows, job)
    feature(window).wish(Wish("base", "base"))
    settle(qtbot, window)
    feature(window).wish(Wish("offset", given=((1, GivenClock(77)),)))
    settle(qtbot, window)
    file = tmp_path / "x.rankscope"
    monkeypatch.setattr(dialogs, "ask_save_as", lambda *_: file)
    window.actions_["save"].trigger()
    assert not window.isWindowModified()
    content = read_session(file).content
    assert content.clock.align == "base"
    assert [s.offset_ns for s in content.sources] == [None, 77]
    again = opened(qtbot, windows, file)
    assert clocks(again) == clocks(window)
    assert clocks(again)[1] == Clock(BASE, 77, given=True)
    assert not again.isWindowModified()


def test_offsets_of_a_file_and_back_into_one(qtbot: QtBot, windows: Windows, job: Path, tmp_path: Path) -> None:
    window = opened(qtbot, windows, job)
    mine = feature(window)
    assert window.workspace is not None
    target = tmp_path / "clocks.json"
    mine.save(target, window.workspace.session)
    aligned = clocks(window)
    mine.wish(Wish("base", "base"))
    settle(qtbot, window)
    mine.load(target)
    settle(qtbot, window)
    assert [c.offset_ns for c in clocks(window)] == [c.offset_ns for c in aligned]
    assert all(c.given for c in clocks(window))
    (tmp_path / "other.json").write_text('{"ranks": [{"rank": 9, "offset_ns": 1}]}')
    mine.load(tmp_path / "other.json")
    mine.load(tmp_path / "gone.json")
    said = [m.text for m in window.messages.messages]
    assert any("names none of the ranks" in text for text in said)
    assert any("does not exist" in text and "--align" not in text for text in said)


def test_a_job_that_cannot_say_moves_nothing_and_says_so(qtbot: QtBot, windows: Windows, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(2):
        (folder / f"r{rank}.json").write_text(trace(rank, collectives=False))
    window = opened(qtbot, windows, folder)
    before = clocks(window)
    assert feature(window).label.text() == "clocks: base times"
    feature(window).wish(Wish("auto", "auto"))
    settle(qtbot, window)
    assert clocks(window) == before
    assert any("nothing was moved" in m.text for m in window.messages.messages)
    assert not window.isWindowModified()


def test_no_choice_is_lost_while_another_one_is_settled(qtbot: QtBot, windows: Windows, job: Path) -> None:
    window = opened(qtbot, windows, job)
    mine = feature(window)
    mine.wish(Wish("one", given=((0, GivenClock(7)),)))
    mine.wish(Wish("other", given=((1, GivenClock(-5)),)))
    settle(qtbot, window)
    assert [c.offset_ns for c in clocks(window)] == [7, -5]
    window.undo.stack.undo()
    settle(qtbot, window)
    assert not any(c.given for c in clocks(window))


def test_a_choice_holds_for_a_session_that_arrives_meanwhile(qtbot: QtBot, windows: Windows, job: Path) -> None:
    window = opened(qtbot, windows, job)
    workspace = window.workspace
    assert workspace is not None
    feature(window).wish(Wish("offset", given=((1, GivenClock(-5)),)))
    arrived = build_session([Opened(i.path, i.trace) for i in workspace.session.inputs])
    workspace.show_session(arrived, same_job=True)
    settle(qtbot, window)
    assert workspace.session is not arrived
    assert clocks(window)[1].offset_ns == -5
    assert clocks(window)[1].given
