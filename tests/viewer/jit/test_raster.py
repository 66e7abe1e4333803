from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit.compose import compose
from viewer.jit.lod import Lod, build_lod, no_lod
from viewer.jit.raster import mark, sample
from viewer.jit.raster_reference import Slice, bins, sample_row
from viewer.jit.row_search import find_wide, first_from, first_touching

EPOCH = 1_712_195_495_519_689_047


def frozen(values: list[int], dtype: type = np.int64) -> np.ndarray:
    """Like a mapped column: read-only."""
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


class Rows:
    """Columns of some rows, each a list of slices by time."""

    def __init__(self, *rows: list[Slice]) -> None:
        flat = [s for row in rows for s in row]
        self.starts = frozen([s[0] for s in flat])
        self.durs = frozen([s[1] for s in flat])
        self.paints = frozen([s[2] for s in flat], np.uint8)
        ends = np.cumsum([len(row) for row in rows]).tolist()
        self.begin, self.end = frozen([0, *ends[:-1]]), frozen(ends)

    def lod(self, few: int = 1) -> Lod:
        return build_lod(self.starts, self.durs, self.paints, self.begin, self.end, few)

    def sample(
        self,
        t0: int,
        length: int,
        width: int,
        lod: Lod | None = None,
        lines: list[int] | None = None,
        edge: float = 5.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(self.begin)
        out = np.zeros((3, count, width), np.uint8)
        lod = lod or no_lod(count)
        sample(
            self.starts,
            self.durs,
            self.paints,
            self.begin,
            self.end,
            np.arange(count),
            np.array(lines if lines is not None else range(count), np.int64),
            lod.origin,
            lod.shift,
            lod.levels,
            lod.bins,
            lod.offset,
            lod.paint,
            lod.cover,
            t0,
            length,
            edge,
            *out,
        )
        return out[0], out[1], out[2]


@st.composite
def disjoint(draw: st.DrawFn, most: int = 40, longest: int = 60, origin: int = 0) -> list[Slice]:
    out: list[Slice] = []
    t = origin
    for gap, dur, paint in draw(
        st.lists(
            st.tuples(st.integers(0, longest), st.integers(0, longest), st.integers(0, 9)), min_size=1, max_size=most
        )
    ):
        out.append((t + gap, dur, paint))
        t += gap + max(dur, 0)
    return out


@settings(deadline=None)
@given(row=disjoint(), t0=st.integers(-200, 2500), length=st.integers(1, 4000), width=st.integers(1, 120))
def test_sampled_slices_equal_the_reference(row: list[Slice], t0: int, length: int, width: int) -> None:
    paint, cover, _ = Rows(row).sample(t0, length, width)
    expected = sample_row(row, t0, length, width)
    for x in range(width):
        share = expected[x][1]
        assert (cover[0, x] == 0) == (share == 0), x
        assert abs(int(cover[0, x]) - float(share) * 255) <= 1, x
    clear = [x for x in range(width) if expected[x][1] > 0 and not _tied(row, t0, length, width, x)]
    assert [int(paint[0, x]) for x in clear] == [expected[x][0] for x in clear]


def _tied(row: list[Slice], t0: int, length: int, width: int, x: int) -> bool:
    """Whether two slices share a pixel equally but for rounding: then either paint is right."""
    shares = []
    for start, dur, _ in row:
        a, b = (start - t0) * width / length, (start + dur - t0) * width / length
        part = min(b, x + 1) - max(a, x)
        if part >= 0:
            shares.append(max(part, 1 / 64))
    shares.sort()
    return any(b - a < 1e-6 for a, b in pairwise(shares)) or len(shares) > 2


@settings(deadline=None)
@given(row=disjoint(), width=st.integers(1, 60))
def test_every_slice_is_seen_and_every_wide_gap_too(row: list[Slice], width: int) -> None:
    t0 = row[0][0]
    length = max(row[-1][0] + row[-1][1] - t0, 1) + 1
    _, cover, _ = Rows(row).sample(t0, length, width)
    for start, dur, _ in row:
        a, b = (start - t0) * width // length, -(-(start + dur - t0) * width // length)
        assert cover[0, max(a - 1, 0) : b + 1].any()
    for (start, dur, _), (following, _, _) in pairwise(row):
        first, last = (start + dur - t0) * width / length, (following - t0) * width / length
        if last - first > 2:
            assert (cover[0, int(np.ceil(first)) : int(last)] == 0).any() or last - first < 3


def test_a_gap_of_more_than_a_pixel_between_wide_slices_stays_a_gap() -> None:
    for offset in range(100):
        row = [(0, 1000 + offset, 1), (1101 + offset, 1000, 2)]
        _, cover, _ = Rows(row).sample(0, 3000, 30)  # 100 ns per pixel, a gap of 101 ns
        assert (cover[0, 5:20] == 0).sum() >= 1, offset


@pytest.mark.parametrize("inside", [1, 20, 49, 50, 99])
def test_a_wide_slice_that_hardly_reaches_into_the_window_shows_at_its_border(inside: int) -> None:
    """100 ns per pixel: of half a pixel on it fills one, with less it shows by its coverage, and is marked there."""
    row = [(0, 1000, 3), (2000, 1000, 4)]
    t0, length = 1000 - inside, 1000 + 2 * inside
    rows, width = Rows(row), 10
    paint, cover, _ = rows.sample(t0, length, width)
    expected = sample_row(row, t0, length, width)
    share = inside * width / length
    assert float(expected[0][1]) == (1.0 if share >= 0.5 else pytest.approx(max(share, 1 / 64)))
    assert [abs(int(c) - float(e[1]) * 255) <= 1 for c, e in zip(cover[0], expected, strict=True)] == [True] * width
    assert (cover[0] > 0).tolist() == [True, *[False] * 8, True]
    assert (int(paint[0, 0]), int(paint[0, -1])) == (3, 4)
    marks, one = np.zeros((1, width), np.uint8), np.zeros(1, np.int64)
    mark(rows.starts, rows.durs, rows.begin, rows.end, one, one, np.arange(2), t0, length, marks)
    assert marks[0].tolist() == [1, *[0] * 8, 1]


@pytest.mark.parametrize("origin", [0, EPOCH])
@pytest.mark.parametrize("length", [1, 3, 10, 1000])
def test_deep_zoom_is_exact(origin: int, length: int) -> None:
    # 1 ns slices, each followed by 1 ns of nothing, at 96 px per ns and more.
    row = [(origin + 2 * k, 1, k % 3) for k in range(600)]
    width = length * 96
    paint, cover, edge = Rows(row).sample(origin + 101, length, width)
    for ns in range(length):
        busy = (101 + ns) % 2 == 0
        pixels = slice(ns * 96, ns * 96 + 96)
        assert (cover[0, pixels] == (255 if busy else 0)).all()
        if busy:
            assert (paint[0, pixels] == ((101 + ns) // 2) % 3).all()
            assert edge[0, ns * 96] == 1


def test_a_slice_that_began_hours_ago_fills_the_window_without_an_edge() -> None:
    paint, cover, edge = Rows([(EPOCH - 10**13, 3 * 10**13, 4)]).sample(EPOCH, 10, 50)
    assert (cover == 255).all()
    assert (paint == 4).all()
    assert not edge.any()


def test_only_wide_slices_get_an_edge() -> None:
    _, _, edge = Rows([(0, 40, 1), (40, 60, 2), (100, 400, 3)]).sample(0, 1000, 100, edge=5.0)
    assert np.flatnonzero(edge[0]).tolist() == [4, 10]


def test_rows_that_share_a_line_let_the_larger_coverage_win_then_the_smaller_paint() -> None:
    rows = Rows([(0, 100, 2)], [(0, 50, 1), (300, 5, 1)], [(300, 100, 3)])
    paint, cover, _ = rows.sample(0, 400, 40, lines=[0, 0, 0])
    assert paint[0, :5].tolist() == [1] * 5
    assert paint[0, 5:10].tolist() == [2] * 5
    assert paint[0, 30:40].tolist() == [3] * 10
    assert cover[0, 10:30].sum() == 0


@settings(deadline=None)
@given(row=disjoint(most=200, longest=40))
def test_levels_agree_with_the_reference_bins(row: list[Slice]) -> None:
    lod = Rows(row).lod()
    assert lod.levels[0] >= 1
    assert int(lod.longest[0]) == max(dur for _, dur, _ in row)
    width, count = 1 << int(lod.shift[0]), int(lod.bins[0])
    assert count <= max(len(row) // 2, 1)
    expected = bins(row, int(lod.origin[0]), width, count)
    for k, parts in enumerate(expected):
        total = sum(parts.values())
        cover = int(lod.cover[k])
        assert (cover == 0) == (total == 0)
        assert (cover == 255) == (total >= width)
        if 0 < total < width:
            assert cover == max(min(total * 255 // width, 254), 1)
        if parts:
            assert parts[int(lod.paint[k])] == max(parts.values())


@settings(deadline=None)
@given(row=disjoint(most=300, longest=40))
def test_coarser_levels_keep_empty_full_and_the_mean(row: list[Slice]) -> None:
    lod = Rows(row).lod()
    at, count = 0, int(lod.bins[0])
    finest = lod.cover[:count].astype(float)
    for level in range(int(lod.levels[0])):
        here = lod.cover[at : at + count].astype(int)
        for k, cover in enumerate(here):
            below = finest[k << level : (k + 1) << level]
            missing = (1 << level) - len(below)
            assert (cover == 0) == (not below.any())
            assert (cover == 255) == (missing == 0 and bool((below == 255).all()))
            assert abs(cover - below.sum() / (1 << level)) <= 1 + level / 2
        at += count
        count = (count + 1) // 2
    assert at == len(lod.cover)


@settings(max_examples=60, deadline=None)
@given(row=disjoint(most=1200, longest=30), width=st.integers(2, 40), shift=st.integers(0, 300))
def test_levels_show_what_slices_show(row: list[Slice], width: int, shift: int) -> None:
    rows = Rows(row)
    t0 = row[0][0] - shift
    length = max(row[-1][0] + row[-1][1] - t0 + shift, 1)
    lod = rows.lod()
    _, exact, _ = rows.sample(t0, length, width)
    _, level, _ = rows.sample(t0, length, width, lod)
    # A bin lies in one pixel as a whole: it may be up to half a bin (a quarter of a pixel) off.
    seen = set(np.flatnonzero(level[0]).tolist())
    for x in np.flatnonzero(exact[0]).tolist():
        assert seen & {x - 1, x, x + 1}
    free = np.flatnonzero(exact[0] == 0)
    for x in free.tolist():
        if {x - 1, x + 1} <= set(free.tolist()):
            assert level[0, x] == 0
    if len(row) > 2 * width and (2 << int(lod.shift[0])) <= length // width:
        assert abs(level.mean() - exact.mean()) < 0.5 * 255


def test_rows_with_few_slices_have_no_levels() -> None:
    rows = Rows([(k * 10, 5, 1) for k in range(50)], [(k * 10, 5, 1) for k in range(100)])
    assert rows.lod(few=60).levels.tolist() == [0, rows.lod(few=1).levels[1]]
    assert no_lod(3).longest.min() == np.iinfo(np.int64).max


def test_levels_survive_stamps_from_zero_to_the_epoch() -> None:
    row = [(0, 0, 1), *((EPOCH + 10 * k, 5, 2) for k in range(3000))]
    rows = Rows(row)
    paint, cover, _ = rows.sample(0, EPOCH + 40_000, 100, rows.lod())
    assert np.flatnonzero(cover[0]).tolist() == [0, 99]
    assert (paint[0, 0], paint[0, 99]) == (1, 2)


@settings(deadline=None)
@given(row=disjoint(), time=st.integers(-10, 2600))
def test_searches(row: list[Slice], time: int) -> None:
    rows = Rows(row)
    n = len(row)
    touching = [k for k, (s, d, _) in enumerate(row) if s + d > time or s >= time]
    assert first_touching(rows.starts, rows.durs, 0, n, time) == min(touching, default=n)
    assert first_from(rows.starts, 0, n, time) == min((k for k in range(n) if row[k][0] >= time), default=n)


@settings(deadline=None)
@given(
    row=disjoint(most=150, longest=50),
    t0=st.integers(-100, 3000),
    length=st.integers(1, 6000),
    at_least=st.integers(1, 400),
)
def test_wide_slices_are_all_found(row: list[Slice], t0: int, length: int, at_least: int) -> None:
    rows = Rows(row)
    lod = rows.lod()
    expected = [k for k, (s, d, _) in enumerate(row) if min(s + d, t0 + length) - max(s, t0) >= at_least]
    which, found = np.zeros(500, np.int64), np.zeros(500, np.int64)
    for longest in (lod.longest, no_lod(1).longest):
        n = find_wide(
            rows.starts,
            rows.durs,
            rows.begin,
            rows.end,
            longest,
            np.zeros(1, np.int64),
            t0,
            length,
            at_least,
            which,
            found,
        )
        assert found[:n].tolist() == expected


def test_wide_slices_stop_at_the_capacity() -> None:
    rows = Rows([(k * 10, 10, 1) for k in range(100)])
    which, found = np.zeros(7, np.int64), np.zeros(7, np.int64)
    args = (no_lod(1).longest, np.zeros(1, np.int64), 0, 1000, 5, which, found)
    assert find_wide(rows.starts, rows.durs, rows.begin, rows.end, *args) == 7
    assert found.tolist() == list(range(7))


@settings(deadline=None)
@given(row=disjoint(), t0=st.integers(-50, 2000), length=st.integers(1, 3000), data=st.data())
def test_marks_lie_where_their_slices_are_drawn(row: list[Slice], t0: int, length: int, data: st.DataObject) -> None:
    width = 50
    picked = sorted(data.draw(st.sets(st.integers(0, len(row) - 1))))
    rows = Rows(row)
    marks = np.zeros((1, width), np.uint8)
    one = np.zeros(1, np.int64)
    mark(rows.starts, rows.durs, rows.begin, rows.end, one, one, np.array(picked, np.int64), t0, length, marks)
    drawn = Rows([row[k] for k in picked] or [(10**9, 0, 0)]).sample(t0, length, width)[1]
    assert (marks[0] > 0).tolist() == (drawn[0] > 0).tolist()


def test_compose_draws_backgrounds_slices_edges_and_underlines() -> None:
    width = 6
    paint = np.array([[1, 1, 1, 0, 2, 2]], np.uint8)
    cover = np.array([[255, 255, 128, 0, 255, 255]], np.uint8)
    edge = np.array([[0, 1, 0, 0, 0, 0]], np.uint8)
    marks = np.array([[0, 0, 0, 0, 0, 1]], np.uint8)
    grounds = np.full((2, width), 7, np.uint32)
    grounds[1] = 9
    fills = np.arange(2 * 3 * 256, dtype=np.uint32).reshape(2, 3, 256)
    edges = np.array([1000, 1001, 1002], np.uint32)
    image = np.zeros((5, width), np.uint32)
    line_of = np.array([-1, 0, 0, 0, -1], np.int32)
    ground_of = np.array([0, 0, 0, 0, 1], np.uint8)
    under_of = np.array([0, 0, 0, 1, 0], np.uint8)
    compose(
        image.reshape(-1),
        0,
        width,
        line_of,
        ground_of,
        under_of,
        grounds,
        fills,
        edges,
        1,
        5555,
        paint,
        cover,
        edge,
        marks,
    )
    row = [fills[0, 1, 255], 1001, fills[0, 1, 128], 7, fills[0, 2, 255], fills[0, 2, 255]]
    assert image[0].tolist() == [7] * width
    assert image[1].tolist() == row
    assert image[2].tolist() == row
    assert image[3].tolist() == [*row[:5], 5555]
    assert image[4].tolist() == [9] * width
