from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.support.build import call, kernel, make_session, make_trace, rows_named
from tests.support.panels import settle
from tests.support.themes import theme
from viewer.base.errors import InputError, UsageError
from viewer.base.frames import SourcePlace
from viewer.base.selection import GroupRef, Selection, SliceRef, TimeRange
from viewer.importers.opening import JobOpener
from viewer.panels.attribution import AttributionPanel
from viewer.panels.breakdown import BreakdownPanel
from viewer.panels.context import JobContext
from viewer.panels.files import FilesPanel
from viewer.panels.section_view import SectionView
from viewer.store.cache import Cache
from viewer.store.session import Session
from viewer.views import attribution as attribution_view
from viewer.views.breakdown import panel as breakdown_view


@pytest.fixture
def session() -> Session:
    return make_session(
        make_trace(call("launch", 0, 10, corr=1), kernel("gemm", 20, 80, corr=1), kernel("gemm", 200, 40), rank=0),
        make_trace(kernel("gemm", 10, 90), rank=1, path="rank1.json"),
    )


def ref(session: Session, at: int = 0, item: int = 0) -> SliceRef:
    return SliceRef(item, rows_named(session.inputs[item].trace, "gemm")[at])


def value(view: SectionView, section: int, label: str) -> str:
    assert view.frame is not None
    return next(f.value for f in view.frame.sections[section].figures if f.label == label)


def test_a_hint_stands_where_nothing_is_selected(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panel = BreakdownPanel(context)
    qtbot.addWidget(panel)
    assert "Click a kernel" in panel.view.message.text()
    context.set_session(session)
    context.select(Selection(slice=ref(session)))
    settle(qtbot, context)
    assert panel.view.frame is not None
    context.select(Selection())
    assert panel.view.frame is None
    assert "Click a kernel" in panel.view.message.text()


def test_the_breakdown_follows_the_selection_and_its_rows_jump(
    context: JobContext, qtbot: QtBot, session: Session
) -> None:
    panel = BreakdownPanel(context)
    qtbot.addWidget(panel)
    panel.resize(380, 900)
    panel.show()
    context.set_session(session)
    context.select(Selection(slice=ref(session)))
    settle(qtbot, context)
    assert value(panel.view, 0, "duration") == "80 ns"
    runs = next(b for b in panel.view.boxes if b.section.title == "All runs on this rank")
    with qtbot.waitSignal(context.reveal_requested) as caught:
        runs.buttons[1].click()
    assert caught.args == [ref(session, 1)]
    settle(qtbot, context)
    assert value(panel.view, 0, "duration") == "40 ns"


def gated(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> tuple[threading.Event, list[object]]:
    """Make the first computation of a view wait for a gate; record what was asked for."""
    gate, asked = threading.Event(), []
    real: Callable[..., object] = getattr(module, name)

    def slow(*args: object) -> object:
        asked.append(args[1:])
        if len(asked) == 1:
            assert gate.wait(60)
        return real(*args)

    monkeypatch.setattr(module, name, slow)
    return gate, asked


def test_the_newest_selection_wins_and_old_content_stays_until_then(
    context: JobContext, qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = BreakdownPanel(context)
    qtbot.addWidget(panel)
    panel.show()
    context.set_session(session)
    context.select(Selection(slice=ref(session, 0)))
    settle(qtbot, context)
    gate, asked = gated(monkeypatch, breakdown_view, "breakdown")
    shown: list[str] = []
    real = panel.view.set_frame
    monkeypatch.setattr(panel.view, "set_frame", lambda frame: (shown.append(frame.subtitle), real(frame)))
    context.select(Selection(slice=ref(session, 1)))
    qtbot.waitUntil(lambda: len(asked) == 1)
    assert panel.view.stale
    assert value(panel.view, 0, "duration") == "80 ns"
    context.select(Selection(slice=ref(session, 0, item=1)))
    qtbot.waitUntil(lambda: len(asked) == 2)
    gate.set()
    settle(qtbot, context)
    assert value(panel.view, 0, "duration") == "90 ns"
    assert shown == ["rank 1 · GPU 0 · stream 7"]
    assert not panel.view.stale


def test_an_error_is_one_sentence(
    context: JobContext, qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(*_: object) -> None:
        raise UsageError("the args are gone.")

    monkeypatch.setattr(breakdown_view, "breakdown", bad)
    monkeypatch.setattr(attribution_view, "attribution", bad)
    panel, other = BreakdownPanel(context), AttributionPanel(context)
    qtbot.addWidget(panel)
    qtbot.addWidget(other)
    context.set_session(session)
    context.select(Selection(slice=ref(session)))
    settle(qtbot, context)
    assert panel.view.message.text() == "The selection cannot be shown: the args are gone."
    assert other.view.message.text() == "The attribution cannot be shown: the args are gone."


def test_attribution_follows_group_and_range_and_computes_nothing_twice(
    context: JobContext, qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    real = attribution_view.attribution
    monkeypatch.setattr(attribution_view, "attribution", lambda *a: (asked.append(a[1:]), real(*a))[1])
    panel = AttributionPanel(context)
    qtbot.addWidget(panel)
    assert "Open a trace" in panel.view.message.text()
    context.set_session(session)
    settle(qtbot, context)
    assert panel.view.title.text() == "2 ranks"
    context.select(Selection(group=1))
    context.select(Selection(group=1, slice=ref(session, 0, 1)))
    settle(qtbot, context)
    context.select(Selection(group=1, range=TimeRange(0, 50)))
    settle(qtbot, context)
    assert panel.view.title.text() == "rank 1 · GPU 0"
    assert value(panel.view, 0, "sum = span") == "50 ns"
    context.set_window(TimeRange(0, 77))
    settle(qtbot, context)
    chosen: frozenset[int] = frozenset()  # no lanes are
    assert asked == [(None, None, chosen), (1, None, chosen), (1, TimeRange(0, 50), chosen)]


def test_a_row_of_a_rank_selects_it_and_a_button_all_of_them_again(
    context: JobContext, qtbot: QtBot, session: Session
) -> None:
    panel = AttributionPanel(context)
    qtbot.addWidget(panel)
    panel.resize(380, 900)
    panel.show()
    context.set_session(session)
    context.select(Selection(range=TimeRange(0, 50)))
    settle(qtbot, context)
    ranks = next(b for b in panel.view.boxes if b.section.title == "By rank")
    assert ranks.table is not None
    assert ranks.table.horizontalScrollBar().maximum() == 0, "the table fits the width of the panel"
    with qtbot.waitSignal(context.reveal_requested) as caught:
        ranks.table.clicked.emit(ranks.table.model().index(1, 0))
    assert caught.args == [GroupRef(1)]
    assert context.selection == Selection(range=TimeRange(0, 50), group=1)
    settle(qtbot, context)
    assert panel.view.title.text() == "rank 1 · GPU 0"
    panel.view.boxes[0].buttons[0].click()
    assert context.selection == Selection(range=TimeRange(0, 50))
    settle(qtbot, context)
    assert panel.view.title.text() == "2 ranks"


def test_panels_say_that_they_compute_before_there_is_anything_to_show(
    context: JobContext, qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = gated(monkeypatch, attribution_view, "attribution")
    second, _ = gated(monkeypatch, breakdown_view, "breakdown")
    attribution, breakdown = AttributionPanel(context), BreakdownPanel(context)
    for panel in (attribution, breakdown):
        qtbot.addWidget(panel)
    context.set_session(session)
    context.select(Selection(slice=ref(session)))
    said = [panel.view.message.text() for panel in (attribution, breakdown)]
    first.set()
    second.set()
    settle(qtbot, context)
    assert said == ["Computing where the time went…", "Computing what this is and why it took so long…"]
    assert attribution.view.frame is not None
    assert breakdown.view.frame is not None


def test_attribution_of_the_visible_window(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panel = AttributionPanel(context)
    qtbot.addWidget(panel)
    context.set_session(session)
    context.set_window(TimeRange(0, 60))
    panel.scope.setCurrentIndex(1)
    settle(qtbot, context)
    assert value(panel.view, 0, "sum = span") == "120 ns"
    context.set_window(TimeRange(0, 30))
    qtbot.waitUntil(lambda: panel.view.frame is not None and value(panel.view, 0, "sum = span") == "60 ns")


def test_another_session_is_attributed_anew(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panel = AttributionPanel(context)
    qtbot.addWidget(panel)
    context.set_session(session)
    settle(qtbot, context)
    context.set_session(make_session(session.inputs[0].trace), keep_selection=True)
    settle(qtbot, context)
    assert panel.view.title.text() == "rank 0 · GPU 0"
    context.set_session(Session())
    assert "Open a trace" in panel.view.message.text()


def test_files_are_listed_with_details_of_the_chosen_one(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panel = FilesPanel(context)
    qtbot.addWidget(panel)
    panel.resize(380, 600)
    panel.show()
    assert "Open trace files" in panel.view.message.text()
    context.set_session(session)
    assert panel.table.model().rowCount() == 2
    assert panel.view.title.text() == "trace.json"
    cell = panel.table.visualRect(panel.table.model().index(1, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    assert panel.view.title.text() == "rank1.json"
    context.select(Selection(slice=ref(session)))
    assert panel.view.title.text() == "trace.json"


def test_failures_are_told_with_and_without_open_files(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panel = FilesPanel(context)
    qtbot.addWidget(panel)
    panel.set_failures([InputError("/a/b.json", "is empty")])
    assert panel.view.boxes[0].section.title == "Not opened"
    context.set_session(session)
    assert panel.view.boxes[0].section.title == "Not opened"
    panel.set_failures([])
    assert panel.view.boxes[0].section.title == "File"


def test_all_panels_follow_the_theme(context: JobContext, qtbot: QtBot, session: Session) -> None:
    panels = [BreakdownPanel(context), AttributionPanel(context), FilesPanel(context)]
    for panel in panels:
        qtbot.addWidget(panel)
    context.set_session(session)
    context.set_theme(theme("dark"))
    settle(qtbot, context)
    for panel in panels:
        assert panel.view.palette().window().color().name() == theme("dark")["window"]


def test_the_import_panel_filters_copies_and_shows_the_text_of_a_place(
    context: JobContext, qtbot: QtBot, tmp_path: Path
) -> None:
    good, poor = tmp_path / "rank_0.json", tmp_path / "rank_1.json"
    good.write_text('[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1}]')
    poor.write_text('[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1}, {}]')
    result = JobOpener([tmp_path], cache=Cache(tmp_path / "cache")).open()
    panel = FilesPanel(context)
    qtbot.addWidget(panel)
    panel.resize(400, 700)
    panel.show()
    context.set_session(result.session)
    assert "3 read = 2 kept + 0 repaired + 1 rejected" in panel.sums.text()
    assert panel.only_problems.text() == "Only problems (1)"
    panel.only_problems.click()
    assert panel.table.model().rowCount() == 1
    assert panel.view.title.text() == "rank_1.json"
    panel.copy_button.click()
    assert "rank_0.json" in QGuiApplication.clipboard().text()
    panel.view.jump_requested.emit(SourcePlace(1, 54))
    box = next(b for b in panel.view.boxes if b.section.title == "Source")
    qtbot.waitUntil(lambda: "▸{}]" in box.section.note)
    poor.unlink()
    panel.view.jump_requested.emit(SourcePlace(1, 53))
    qtbot.waitUntil(lambda: "no such file" in box.section.note)
