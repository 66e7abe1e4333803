"""Blocks as pixels, against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit.memory_raster import fill_blocks, fill_boxes, fill_layers, line_edges, stack_blocks, stack_edges


def test_layers_fill_from_edge_to_edge_inside_the_image() -> None:
    image = np.zeros((4, 2), np.uint32)
    edges = np.array([[6, 6], [4, 6], [1, 3]], np.int32)  # the lane's rows 1..4 are in sight
    fill_layers(image, 1, edges, np.array([7, 9], np.uint32))
    assert image[:, 0].tolist() == [9, 9, 9, 7]
    assert image[:, 1].tolist() == [0, 0, 9, 9]


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=6),
    st.permutations(range(4)),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.integers(0, 3),
)
def test_layers_lie_upon_each_other_from_below(
    found: list[list[int]], order: list[int], breaks: list[bool], start: int
) -> None:
    layer = np.cumsum([0, *breaks])
    edges = np.full((layer[-1] + 2, start + len(found)), 90, np.int32)
    stack_edges(np.array(found, np.int64), np.array(order), layer, 0.5, 90, start, edges)
    assert (edges[:, :start] == 90).all()
    for k, parts in enumerate(found):
        for number in range(layer[-1] + 1):
            upto = sum(parts[order[i]] for i in range(4) if layer[i] <= number)
            assert edges[number + 1, start + k] == 90 - (upto + 1) // 2
        assert edges[0, start + k] == 90


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=9), st.integers(1, 3))
def test_a_line_has_all_values_of_a_column_and_no_gap_to_the_one_before(
    values: list[tuple[int, int]], hair: int
) -> None:
    least, most = np.array([sorted(v) for v in values], np.int64).T.copy()
    edges = np.full((2, 1 + len(values)), 35, np.int32)
    line_edges(least, most, 1.0, 35, hair, 1, edges)
    image = np.zeros((40, 1 + len(values)), np.uint32)
    fill_layers(image, 0, edges, np.array([1], np.uint32))
    assert not image[:, 0].any()
    for k in range(len(values)):
        before = max(k - 1, 0)
        top, bottom = 35 - max(most[k], least[before]), 35 - min(least[k], most[before])
        assert np.flatnonzero(image[:, 1 + k]).tolist() == list(range(top, min(bottom + hair, 40)))


def test_the_last_box_lies_on_top() -> None:
    out = np.full((2, 3), -1, np.int32)
    one = [np.array(v, np.int32) for v in ([0, 1], [3, 2], [0, 0], [2, 1], [5, 6])]
    fill_boxes(*one, out)
    assert out.tolist() == [[5, 6, 5], [5, 5, 5]]


blocks_of = st.lists(st.tuples(st.integers(-2, 9), st.integers(0, 12), st.integers(1, 9)), max_size=8)


@settings(max_examples=80)
@given(blocks_of, st.lists(st.integers(-1, 12), min_size=1, max_size=5), st.integers(0, 5))
def test_stacks_are_those_of_a_plain_loop(blocks: list[tuple[int, int, int]], events: list[int], beyond: int) -> None:
    blocks.sort()
    events.sort()
    made, gone, size = (np.array([b[k] for b in blocks], np.int64) for k in range(3))
    held_at = [[k for k, (m, g, _) in enumerate(blocks) if m <= e < g] for e in events]
    level = np.array([beyond + sum(blocks[k][2] for k in held) for held in held_at], np.float64)
    tall = 40
    out = np.full((tall, len(events)), -1, np.int32)
    columns = np.array(events, np.int64)
    stack_blocks(made, gone, size, columns, level, 0.0, 1.0, np.zeros(len(blocks), np.int32), -2, out)
    for column, held in enumerate(held_at):
        expected = [-2] * beyond + [k for k in held for _ in range(blocks[k][2])]
        expected = (expected + [-1] * tall)[:tall]
        assert out[::-1, column].tolist() == expected


boxes_of = st.lists(
    st.tuples(st.integers(-5, 40), st.integers(1, 30), st.integers(-1, 60), st.integers(1, 20)), max_size=12
)


@settings(max_examples=80)
@given(boxes_of, st.integers(-3, 20), st.integers(1, 40), st.integers(0, 20), st.integers(1, 50))
def test_every_block_in_sight_is_at_least_a_pixel(
    boxes: list[tuple[int, int, int, int]], t0: int, length: int, y0: int, height: int
) -> None:
    start, span, low, size = (np.array([b[k] for b in boxes], np.int64) for k in range(4))
    out, best = np.full((7, 9), -1, np.int32), np.zeros((7, 9), np.float32)
    fill_blocks(start, start + span, low, size, t0, length, float(y0), float(height), 100, out, best)
    want = np.full((7, 9), -1, np.int32)
    areas = [(min(s + d, t0 + length) - max(s, t0)) * z for s, d, _, z in boxes]
    for k in sorted(range(len(boxes)), key=lambda k: (areas[k], -k)):  # the largest last
        s, d, at, z = boxes[k]
        if at < 0 or s >= t0 + length or s + d <= t0 or at >= y0 + height or at + z <= y0:
            continue
        x0 = min(int((max(s, t0) - t0) * (9 / length)), 8)
        x1 = max(min(int(np.ceil((min(s + d, t0 + length) - t0) * (9 / length))), 9), x0 + 1)
        under = min(max(int(np.floor((at - y0) * (7 / height))), 0), 6)
        above = max(min(max(round((at + z - y0) * (7 / height)), 0), 7), under + 1)
        want[7 - above : 7 - under, x0:x1] = 100 + k
    assert out.tolist() == want.tolist()
