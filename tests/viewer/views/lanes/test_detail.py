"""What a frame shows at any zoom, compared with the slices themselves: none vanishes, no gap closes, none jumps."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.build import kernel, make_session, make_trace
from tests.support.themes import theme
from viewer.base.selection import TimeRange
from viewer.store.session import Session
from viewer.views.lanes.lod import LodStore, build
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.palette import palette
from viewer.views.lanes.tree import LANE_PAD, build_tree, place
from viewer.views.timeline import viewport

HOUR = 3_600_000_000_000
DPRS = (1.0, 1.25, 1.5, 2.0)
WIDTH = 320
Spans = list[tuple[int, int]]


def zooms() -> Iterator[int]:
    """Lengths of windows from four hours down to 1 ns."""
    length = 4 * HOUR
    while length > 1:
        yield length
        length = max(length // 7, 1)
    yield 1


class Strip:
    """One stream of slices, drawn."""

    def __init__(self, spans: Spans, *, levels: bool = False) -> None:
        self.spans = spans
        self.session: Session = make_session(make_trace(*(kernel("k", a, b - a) for a, b in spans)))
        lods = LodStore()
        if levels:
            for item in self.session.inputs:
                lods.put(item.trace, build(item.trace))
        placement = place(build_tree(self.session))
        self.painter = LanePainter(self.session, placement, theme(), lods)
        self.row = next(r for r in placement.rows if r.lane is not None)
        self.ground = palette(theme()).grounds

    def shown(self, window: TimeRange, dpr: float) -> NDArray[np.bool_]:
        """Which device pixels of the stream are no background."""
        frame = self.painter.frame(window, WIDTH, 0, 100, dpr, labels=False)
        line = frame.image[round((self.row.y + LANE_PAD) * dpr) + 1]
        return ~np.isin(line, self.ground)


def px(time: int, window: TimeRange, wide: int) -> float:
    """Device pixels, from an exact difference."""
    return (time - window.start_ns) * wide / window.length_ns


@pytest.mark.parametrize("dpr", DPRS)
def test_a_lone_slice_is_a_pixel_at_any_zoom_and_lies_where_it_is(dpr: float) -> None:
    source = random.Random(1)
    for dur in (0, 1, 12_345, 9_000_000_000):
        strip = Strip([(5 * HOUR, 5 * HOUR + dur)])
        for length in zooms():
            for _ in range(2):
                start = 5 * HOUR - source.randrange(length)
                window = TimeRange(start, start + length)
                lit = np.flatnonzero(strip.shown(window, dpr))
                wide = max(1, round(WIDTH * dpr))
                x0, x1 = px(5 * HOUR, window, wide), min(px(5 * HOUR + dur, window, wide), wide)
                if x1 - x0 < 0.5 and dur * wide / length >= 2:
                    continue  # borders of wide slices are rounded: less than half a pixel of it is inside the window
                assert len(lit) >= 1, (dur, length)
                assert abs(lit[0] - x0) <= 1, (dur, length)
                assert abs(lit[-1] + 1 - max(x1, x0 + 1)) <= 1, (dur, length)
                assert len(lit) == lit[-1] - lit[0] + 1


@pytest.mark.parametrize("dpr", DPRS)
def test_a_gap_of_more_than_a_pixel_stays_one_at_any_zoom(dpr: float) -> None:
    source = random.Random(2)
    wide = max(1, round(WIDTH * dpr))
    for length in zooms():
        if length < 4 * wide:
            continue
        for _ in range(2):
            gap = int(length / wide * source.uniform(1.02, 3)) + 1
            a = 5 * HOUR
            long = int(length / wide * 8)
            strip = Strip([(a - long, a), (a + gap, a + gap + long)])
            start = a - length // 2 - source.randrange(length // wide + 1)
            window = TimeRange(start, start + length)
            lit = strip.shown(window, dpr)
            x0, x1 = px(a, window, wide), px(a + gap, window, wide)
            free = ~lit[max(math.floor(x0) - 1, 0) : math.ceil(x1) + 1]
            assert free.any(), (length, gap)
            assert lit[math.floor(x0) - 2]
            assert lit[math.ceil(x1) + 1]


@pytest.mark.parametrize("dpr", DPRS)
def test_among_many_slices_every_one_is_seen_and_every_gap_of_two_pixels(dpr: float) -> None:
    source = np.random.default_rng(3)
    gaps = (10 ** source.uniform(0, 7, 6_000)).astype(np.int64)
    durs = (10 ** source.uniform(0, 5, 6_000)).astype(np.int64)
    starts = HOUR + np.cumsum(gaps + np.append(0, durs[:-1]))
    spans = list(zip(starts.tolist(), (starts + durs).tolist(), strict=True))
    plain, levelled = Strip(spans), Strip(spans, levels=True)
    wide = max(1, round(WIDTH * dpr))
    whole = int(starts[-1] + durs[-1] - starts[0])
    for length in (whole, whole // 2, whole // 3, whole // 7, whole // 50, whole // 1_000, whole // 100_000):
        start = HOUR + int(source.integers(0, whole - length + 1))
        window = TimeRange(start, start + length)
        for strip in (plain, levelled):
            lit = strip.shown(window, dpr)
            ends = starts + durs
            inside = (starts >= window.start_ns) & (starts < window.end_ns)
            at = np.floor((starts[inside] - window.start_ns) * (wide / length)).astype(np.int64)
            near = lit[np.clip(at, 0, wide - 1)] | lit[np.clip(at + 1, 0, wide - 1)] | lit[np.clip(at - 1, 0, wide - 1)]
            assert near.all(), length
            x0 = (ends[:-1] - window.start_ns) * (wide / length)
            x1 = (starts[1:] - window.start_ns) * (wide / length)
            for a, b in zip(x0.tolist(), x1.tolist(), strict=True):
                if b - a > 3 and a >= 0 and b <= wide:
                    assert not lit[math.ceil(a) : math.floor(b)].all(), (length, a, b)


@pytest.mark.parametrize("share", [0.0, 0.31, 0.5, 0.999])
def test_zooming_in_keeps_what_is_under_the_pointer_down_to_one_ns(share: float) -> None:
    extent = TimeRange(HOUR, 3 * HOUR)
    window = viewport.fitted(extent)
    under = window.start_ns + window.length_ns * share
    x = share * WIDTH
    seen = [window.length_ns]
    for _ in range(400):
        under = window.start_ns + window.length_ns * share
        window = viewport.zoomed(window, 1.2, x, WIDTH, extent)
        assert abs(window.start_ns + window.length_ns * share - under) <= 0.51 + under * 1e-15
        seen.append(window.length_ns)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 1
    for _ in range(400):
        window = viewport.zoomed(window, 1 / 1.2, x, WIDTH, extent)
    assert window == viewport.fitted(extent)
