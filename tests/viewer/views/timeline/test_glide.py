"""Held keys: a tap is one step, a held key moves with time and not with frames."""

from __future__ import annotations

import pytest

from viewer.views.timeline.glide import PAN_STEP, SCROLL_STEP, STEP_SECONDS, ZOOM_STEP, Glide, Motion


def total(motions: list[Motion]) -> Motion:
    zoom, pan, scroll = 1.0, 0.0, 0.0
    for m in motions:
        zoom, pan, scroll = zoom * m.zoom, pan + m.pan, scroll + m.scroll
    return Motion(zoom, pan, scroll)


def test_a_tap_is_exactly_one_step_and_begins_at_once() -> None:
    glide = Glide()
    first = glide.press("later", 10.0)
    assert 0 < first.pan < PAN_STEP
    whole = total([first, glide.advance(10.02), glide.release("later", 10.03)])
    assert whole.pan == pytest.approx(PAN_STEP)
    assert not glide.moving
    assert glide.advance(11.0) == Motion()


@pytest.mark.parametrize("frames", [3, 60, 240])
def test_the_way_depends_on_time_and_not_on_frames(frames: int) -> None:
    glide = Glide()
    moved = [glide.press("closer", 0.0)]
    moved += [glide.advance(k / frames) for k in range(1, frames + 1)]
    expected = ZOOM_STEP ** ((1.0 + 1 / 60) / STEP_SECONDS)
    assert total(moved).zoom == pytest.approx(expected)
    assert glide.release("closer", 1.0) == Motion(pytest.approx(1.0))


def test_opposite_keys_cancel_and_ways_combine() -> None:
    glide = Glide()
    glide.press("later", 0.0)
    glide.press("earlier", 0.0)
    glide.press("down", 0.0)
    m = glide.advance(0.5)
    assert m.pan == pytest.approx(0.0)
    assert m.scroll == pytest.approx(SCROLL_STEP * 0.5 / STEP_SECONDS)
    glide.stop()
    assert not glide.moving
    assert glide.release("later", 0.6) == Motion()


def test_a_repeated_press_does_not_begin_anew() -> None:
    glide = Glide()
    moved = [glide.press("later", 0.0), glide.press("later", 0.5), glide.advance(1.0)]
    assert total(moved).pan == pytest.approx(PAN_STEP * (1.0 + 1 / 60) / STEP_SECONDS)
