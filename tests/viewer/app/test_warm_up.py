from __future__ import annotations

import sys
import threading

import pytest
from pytestqt.qtbot import QtBot

from viewer.app import warm_up
from viewer.app.compile_ahead import Build, Shared
from viewer.base.errors import Cancelled
from viewer.base.work import CancelToken
from viewer.jit.table import Entry
from viewer.views.lanes import warm as lane_warm


@pytest.mark.parametrize(
    ("parts", "done"), [([], ["lanes", "engine"]), (["engine"], ["engine"]), (["lanes"], ["lanes"])]
)
def test_set_up_can_compile_a_part_or_all(parts: list[str], done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(warm_up, "begin_build", lambda: None)
    monkeypatch.setattr(warm_up, "warm_lanes", lambda: warmed.append("lanes"))
    monkeypatch.setattr(warm_up, "warm_engine", lambda: warmed.append("engine"))
    assert warm_up.main(parts) == 0
    assert warmed == done


def test_the_tiny_job_reaches_every_loop_of_an_import_and_a_click() -> None:
    """A loop that the warm-up does not call is compiled while a user waits."""
    from viewer.jit import intervals, join, lanes, layout, scan_events

    warm_up.warm_engine()
    for loop in (scan_events.scan_events, layout.nest, layout.pack, lanes.number_keys, join.join, intervals.union):
        assert loop.signatures, loop


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is loaded or compiled; what would be is listed."""
    warmed: list[str] = []
    monkeypatch.setattr(warm_up, "warm_lanes", lambda: warmed.append("lanes"))
    monkeypatch.setattr(warm_up, "warm_engine", lambda: warmed.append("engine"))
    return warmed


def built_by(program: str) -> Shared:
    """One helper that runs ``program`` and has two kernels to compile."""
    entries = [Entry("a.scan", "read", ()), Entry("a.paint", "lanes", (), ("a.scan",))]

    def begin() -> Build:
        build = Build(entries, 1, (sys.executable, "-c", program))
        build.start()
        return build

    return Shared(begin)


def test_when_the_helpers_die_the_window_is_warmed_up_all_the_same(qtbot: QtBot, light: list[str]) -> None:
    warm = warm_up.WarmUp(shared=built_by("raise SystemExit(1)"))
    with qtbot.waitSignal(warm.ready, timeout=20_000):
        warm.start()
    qtbot.waitUntil(lambda: warm.is_done, timeout=20_000)
    warm.wait_for(CancelToken(), "read")
    warm.stop()
    assert light == ["lanes", "engine"]


def test_a_job_that_opens_holds_up_the_panels_until_its_lanes_are_there(qtbot: QtBot, light: list[str]) -> None:
    warm = warm_up.WarmUp(shared=Shared(lambda: None))
    loaded: list[None] = []
    warm.engine_loaded.connect(lambda: loaded.append(None))
    warm.hold()
    with qtbot.waitSignal(warm.ready, timeout=20_000):
        warm.start()
    assert not loaded
    assert light == ["lanes"]
    with qtbot.waitSignal(warm.engine_loaded, timeout=20_000):
        warm.go_on()
    qtbot.waitUntil(lambda: warm.is_done, timeout=20_000)
    warm.stop()
    assert light == ["lanes", "engine"]


def test_what_comes_after_the_panels_waits_for_them(qtbot: QtBot, light: list[str]) -> None:
    warm = warm_up.WarmUp(shared=Shared(lambda: None))
    warm.expect_panels()
    with qtbot.waitSignal(warm.engine_loaded, timeout=20_000):
        warm.start()
    ended: list[None] = []
    waiting = threading.Thread(target=lambda: ended.append(warm.wait_for(CancelToken(), "figures")))
    waiting.start()
    waiting.join(0.2)
    assert (light, ended, warm.is_done) == (["lanes"], [], False)
    warm.panels_made()
    qtbot.waitUntil(lambda: warm.is_done, timeout=20_000)
    waiting.join(20)
    assert (light, ended) == (["lanes", "engine"], [None])
    warm.stop()


def test_lanes_that_are_made_while_helpers_compile_wait_for_them(
    qtbot: QtBot, light: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling the same beside them takes longer, and holds up the window."""
    monkeypatch.setattr(lane_warm, "_warm", threading.Event())
    monkeypatch.setattr(lane_warm, "warm_up", lambda: light.append("beside"))
    warm = warm_up.WarmUp(shared=built_by("import time; time.sleep(100)"))
    with qtbot.waitSignal(warm.imported, timeout=20_000):
        warm.start()
    assert not warm.is_ready
    token = CancelToken()
    failed: list[type] = []

    def lanes() -> None:
        try:
            lane_warm.wait_until_warm(token)
        except Cancelled:
            failed.append(Cancelled)

    waiting = threading.Thread(target=lanes)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    token.cancel()
    waiting.join(20)
    assert failed == [Cancelled]
    warm.stop()
    assert light == []
    lane_warm.wait_until_warm(CancelToken())
    assert light == ["beside"]


def test_it_compiles_until_helpers_made_what_figures_need(qtbot: QtBot, light: list[str]) -> None:
    obey = "import sys\nfor line in sys.stdin: print('ok', line.strip(), flush=True)"
    for program, over in (("import time; time.sleep(100)", False), (obey, True)):
        warm = warm_up.WarmUp(shared=built_by(program))
        assert not warm.is_compiling
        warm.start()
        qtbot.waitUntil(lambda warm=warm, over=over: warm.is_done if over else warm.is_compiling, timeout=20_000)
        assert warm.is_compiling is not over
        warm.stop()


def test_a_closing_window_ends_its_helpers_and_loads_nothing_more(qtbot: QtBot, light: list[str]) -> None:
    warm = warm_up.WarmUp(shared=built_by("import time; time.sleep(100)"))
    warm.start()
    token = CancelToken()
    waited = threading.Thread(target=warm.wait_for, args=(token, "read"))
    waited.start()
    warm.stop()
    waited.join(20)
    assert not waited.is_alive()
    assert light == []


def test_reading_waits_for_its_loops_until_it_is_cancelled(qtbot: QtBot, light: list[str]) -> None:
    warm = warm_up.WarmUp(shared=built_by("import time; time.sleep(100)"))
    warm.start()
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        warm.wait_for(token, "read")
    warm.stop()


def test_reading_begins_before_the_lanes_are_there(qtbot: QtBot, light: list[str]) -> None:
    program = "import sys, time; name = sys.stdin.readline().strip(); print('ok', name, flush=True); time.sleep(100)"
    warm = warm_up.WarmUp(shared=built_by(program))
    warm.start()
    warm.wait_for(CancelToken(), "read")
    assert not warm.is_ready
    warm.stop()
