from __future__ import annotations

import pytest

from viewer.app.opening_state import ProgressBoard
from viewer.base.work import Progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_totals_count_files_that_wait(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 100), ("b", 300)])
    board.update(Progress("a", "reading", 50, 100, 10, 0.1))
    clock.now += 2
    view = board.view()
    assert (view.done_bytes, view.total_bytes, view.events) == (50, 400, 10)
    assert view.share == pytest.approx(0.125)
    assert view.events_per_second == pytest.approx(5)
    assert view.seconds_left == pytest.approx(350 / 25)
    assert [f.state for f in view.files] == ["reading", "waiting"]
    assert view.finished == 0


def test_no_time_left_is_guessed_from_the_first_moment(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.update(Progress("a", "reading", 50, 100, 10, 0.1))
    clock.now += 0.1
    assert board.view().seconds_left is None


def test_a_file_that_is_settled_stays_so(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 100), ("b", 100), ("c", 100)])
    board.settle("a", "open")
    board.settle("b", "failed")
    board.settle("c", "cancelled")
    board.settle("unknown", "open")
    for path in "abc":
        board.update(Progress(path, "late", 1, 100, 1, 1))
    view = board.view()
    assert [f.state for f in view.files] == ["open", "failed", "cancelled"]
    assert view.finished == 3
    assert view.share == 1.0
    assert view.total_bytes == 200, "what was left out does not count"


def test_an_empty_board_has_no_figures(clock: Clock) -> None:
    view = ProgressBoard(clock).view()
    assert (view.share, view.seconds_left, view.files) == (0.0, None, ())
