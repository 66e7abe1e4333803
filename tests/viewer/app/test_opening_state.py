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


def read(board: ProgressBoard, clock: Clock, path: str, blocks: int, total: int, each: float = 0.1) -> None:
    """Read the first half of a file in equal blocks of 10 events, one per ``each`` seconds."""
    for k in range(blocks + 1):
        board.update(Progress(path, "read", total * k // (2 * blocks), total, 10 * k, 0.1))
        clock.now += each if k < blocks else 0.0


def test_totals_count_files_that_wait(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 100), ("b", 300)])
    read(board, clock, "a", 10, 100, 0.2)
    view = board.view()
    assert (view.done_bytes, view.total_bytes, view.events) == (50, 400, 100)
    assert view.share == pytest.approx(0.125)
    assert view.bytes_per_second == pytest.approx(25)
    assert view.events_per_second == pytest.approx(50)
    assert view.seconds_left == pytest.approx(350 / 25)
    assert [f.state for f in view.files] == ["reading", "waiting"]
    assert view.finished == 0
    assert view.seconds == pytest.approx(2)


def test_nothing_is_guessed_from_the_first_moment(clock: Clock) -> None:
    board = ProgressBoard(clock)
    read(board, clock, "a", 3, 100)
    view = board.view()
    assert (view.seconds_left, view.events_per_second) == (None, 0.0)


def test_compiling_counts_neither_as_time_nor_as_work(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 1000), ("b", 1000)])
    board.update(Progress("a", "read", 0, 1000, 0, 0.0))
    clock.now += 40  # the scanner compiles
    board.update(Progress("a", "read", 400, 1000, 400, 40.0))
    assert board.view().seconds_left is None
    for k in range(1, 7):
        clock.now += 0.1
        board.update(Progress("a", "read", 400 + 100 * k, 1000, 400 + 100 * k, 41.0))
    clock.now += 30  # what sorts compiles
    board.update(Progress("a", "sort", 1000, 1000, 1000, 70.0))
    view = board.view()
    assert view.bytes_per_second == pytest.approx(1000)
    assert view.events_per_second == pytest.approx(1000)
    assert view.seconds_left == pytest.approx(1)


def test_sorting_and_writing_take_time_of_files_that_do_not_compile(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 10), ("b", 1000), ("c", 1000)])
    for stage in ("read", "sort", "done"):
        board.update(Progress("a", stage, 10, 10, 1, 0.0))
    board.update(Progress("b", "read", 0, 1000, 0, 0.0))
    clock.now += 0.5
    board.update(Progress("b", "read", 1000, 1000, 100, 0.0))
    for stage in ("sort", "done"):
        clock.now += 2.0
        board.update(Progress("b", stage, 1000, 1000, 100, 0.0))
    assert board.view().bytes_per_second == pytest.approx(1000 / 4.5)


def test_files_from_the_cache_make_no_rate(clock: Clock) -> None:
    board = ProgressBoard(clock)
    board.expect([("a", 1000), ("b", 1000)])
    for path in "ab":
        clock.now += 0.4
        board.update(Progress(path, "done", 1000, 1000, 5000, 0.0))
    assert board.view().bytes_per_second == 0.0


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
