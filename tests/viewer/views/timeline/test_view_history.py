"""Back and forth through views."""

from __future__ import annotations

from viewer.base.selection import TimeRange
from viewer.views.timeline.view_history import MOST, ViewHistory, ViewState


def view(start: int, length: int = 1000, top: int = 0) -> ViewState:
    return ViewState(TimeRange(start, start + length), top)


def test_back_and_forward_walk_the_settled_views() -> None:
    history = ViewHistory()
    for start in (0, 5000, 9000):
        history.settle(view(start))
    assert history.go(-1, view(9000)) == view(5000)
    assert history.go(-1, view(5000)) == view(0)
    assert history.go(-1, view(0)) is None
    assert history.can_go_forward
    assert history.go(1, view(0)) == view(5000)
    # From an earlier view a new way begins.
    history.settle(view(70_000))
    assert not history.can_go_forward
    assert history.go(-1, view(70_000)) == view(5000)


def test_a_view_that_has_not_settled_yet_can_be_returned_to() -> None:
    history = ViewHistory()
    history.settle(view(0))
    assert history.go(-1, view(5000)) == view(0)
    assert history.go(1, view(0)) == view(5000)


def test_a_nudge_is_no_view_of_its_own() -> None:
    history = ViewHistory()
    history.settle(view(0))
    history.settle(view(5000))
    history.settle(view(5030))
    history.settle(view(5030, top=100))
    assert history.go(-1, view(5030, top=100)) == view(0)
    assert history.go(1, view(0)) == view(5030, top=100)


def test_scrolling_far_is_a_view() -> None:
    history = ViewHistory()
    history.settle(view(0))
    history.settle(view(0, top=3000))
    assert history.go(-1, view(0, top=3000)) == view(0)


def test_growth_of_the_job_replaces_the_view() -> None:
    history = ViewHistory()
    history.replace(view(0))
    history.replace(view(0, 9000))
    assert not history.can_go_back
    assert history.go(-1, view(0, 9000)) is None
    history.clear()
    assert not history.can_go_back
    assert not history.can_go_forward


def test_it_is_bounded() -> None:
    history = ViewHistory()
    for k in range(MOST + 50):
        history.settle(view(k * 5000))
    steps = 0
    now = view((MOST + 49) * 5000)
    while (found := history.go(-1, now)) is not None:
        now, steps = found, steps + 1
    assert steps == MOST - 1
