"""Names and patterns upon the image."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.base.frames import Pixels
from viewer.jit.stamp import FADE_PX, hatch, stamp

BLACK, WHITE = 0xFF000000, 0xFFFFFFFF


def stamped(x0: float, x1: float, y: int, above: int = 0, least: int = 4) -> np.ndarray:
    """An image of 20 x 60 with a mask of 12 x 4 full pixels, of which the short form is 6 wide."""
    image = np.full((20, 60), BLACK, np.uint32)
    masks = np.full(200, 255, np.uint8)
    at = np.zeros(2, np.int64)
    wide, tall = np.array([12, 6], np.int64), np.array([4, 4], np.int64)
    one = np.zeros(1, np.int64)
    colors = np.full(1, WHITE, np.uint32)
    box = np.full(1, x0), np.full(1, x1), one + y, one + 8
    stamp(*Pixels.of(image), *box, one + above, colors, one, one + 1, masks, at, wide, tall, 1, least)
    return image != BLACK


def test_a_name_lies_in_the_middle_of_its_box() -> None:
    lit = stamped(10.0, 30.0, 5)
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    assert rows.tolist() == [7, 8, 9, 10]
    assert columns.tolist() == list(range(11, 23))


def test_the_short_form_serves_where_the_whole_does_not_fit() -> None:
    assert np.flatnonzero(stamped(10.0, 20.0, 5).any(axis=0)).tolist() == list(range(11, 17))
    cut = np.flatnonzero(stamped(10.0, 15.0, 5).any(axis=0))
    assert cut[0] >= 11
    assert cut[-1] <= 15
    assert not stamped(10.0, 13.0, 5).any(), "too few pixels of it would show"


def test_nothing_is_written_outside() -> None:
    assert np.flatnonzero(stamped(-20.0, 30.0, 5).any(axis=0)).tolist() == list(range(1, 13))
    assert not stamped(58.0, 60.0, 5).any()
    assert np.flatnonzero(stamped(10.0, 30.0, 14).any(axis=1)).tolist() == [16, 17, 18, 19]
    assert np.flatnonzero(stamped(10.0, 30.0, -4).any(axis=1)).tolist() == [0, 1]
    assert np.flatnonzero(stamped(10.0, 30.0, 5, above=9).any(axis=1)).tolist() == [9, 10]
    assert not stamped(10.0, 30.0, 40).any()


def test_patterns_lie_on_their_own_paints() -> None:
    line_of = np.array([-1, 0, 0, 0, 0, 1], np.int32)
    paint = np.zeros((2, 24), np.uint8)
    paint[0, 8:16], paint[0, 16:] = 1, 2
    cover = np.full((2, 24), 255, np.uint8)
    cover[0, 10] = 0
    found = {}
    for pattern in (1, 2, 3):
        image = np.full((6, 24), BLACK, np.uint32)
        of = np.array([0, pattern, 0], np.uint8)
        hatch(*Pixels.of(image)[:3], line_of, paint, cover, of, np.full(3, WHITE, np.uint32), 4, 1)
        lit = image != BLACK
        assert not lit[[0, 5]].any()
        assert not lit[:, :8].any()
        assert not lit[:, 16:].any()
        assert not lit[:, 10].any()
        found[pattern] = [np.flatnonzero(row).tolist() for row in lit[1:5]]
    assert found[1] == [[11, 15], [14], [9, 13], [8, 12]]
    assert found[2] == [[9, 13], [14], [11, 15], [8, 12]]
    assert found[3] == [[], [], [], [8, 12]]


@settings(deadline=None, max_examples=60)
@given(
    ground=st.integers(0, 0xFFFFFF),
    ink=st.integers(0, 0xFFFFFF),
    room=st.integers(8, 90),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_name_is_blended_by_its_coverage_and_fades_where_it_is_cut(
    ground: int, ink: int, room: int, seed: int
) -> None:
    image = np.full((5, 96), 0xFF000000 | ground, np.uint32)
    mask = np.random.default_rng(seed).integers(0, 256, (3, 60)).astype(np.uint8)
    mask[0, :2] = 0, 255
    one = np.zeros(1, np.int64)
    box = np.full(1, 2.0), np.full(1, 2.0 + room), one + 1, one + 3
    size = one, one + 60, one + 3
    stamp(
        *Pixels.of(image), *box, one, np.full(1, 0xFF000000 | ink, np.uint32), one, one, mask.reshape(-1), *size, 1, 4
    )
    shown = min(60, room - 1)
    wanted = np.full((5, 96), 0xFF000000 | ground, np.uint32)
    for v in range(3):
        for u in range(shown):
            a = int(mask[v, u])
            if shown < 60 and u >= shown - FADE_PX:
                a = a * (shown - u) // (FADE_PX + 1)
            pixel = 0xFF000000
            for shift in (0, 8, 16):
                old, new = ground >> shift & 255, ink >> shift & 255
                pixel |= (old * (255 - a) + new * a) // 255 << shift
            wanted[1 + v, 3 + u] = pixel
    np.testing.assert_array_equal(image, wanted)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), spacing=st.integers(2, 9), hair=st.integers(1, 2))
def test_every_pixel_of_a_pattern_follows_from_its_place_and_paint(seed: int, spacing: int, hair: int) -> None:
    random = np.random.default_rng(seed)
    line_of = np.sort(random.integers(-1, 4, 23)).astype(np.int32)
    random.shuffle(line_of[:5])
    paint = random.integers(0, 5, (4, 40)).astype(np.uint8)
    paint[1] = 0  # a line without any pattern
    cover = random.integers(0, 256, (4, 40)).astype(np.uint8)
    pattern_of = np.array([0, 1, 2, 3, 1], np.uint8)
    inks = random.integers(0, 1 << 32, 5).astype(np.uint32)
    image = random.integers(0, 1 << 32, (23, 40)).astype(np.uint32)
    wanted = image.copy()
    for y, x in np.ndindex(*image.shape):
        line = line_of[y]
        if line < 0 or cover[line, x] < 128:
            continue
        kind = pattern_of[paint[line, x]]
        phase = {1: x + y, 2: x - y, 3: x}.get(int(kind), 0) % spacing
        inside = phase < hair and phase <= x  # a stripe that begins left of the image is none
        if kind and inside and (kind != 3 or y % spacing < hair):
            wanted[y, x] = inks[paint[line, x]]
    hatch(*Pixels.of(image)[:3], line_of, paint, cover, pattern_of, inks, spacing, hair)
    np.testing.assert_array_equal(image, wanted)
