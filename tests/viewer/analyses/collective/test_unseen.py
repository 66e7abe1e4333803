"""What a rank without a file sent follows from what was sent to it."""

from __future__ import annotations

import numpy as np

from viewer.analyses.collective.unseen import _of

I64 = np.int64


def told(
    sends: list[tuple[int, int]], receives: list[tuple[int, int, int]]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Sends to the rank (node, start) and receives from it (node, start, end), one step; in the order of Answers."""
    node = np.array([n for n, _ in sends] + [n for n, *_ in receives], np.int32)
    start = np.array([s for _, s in sends] + [s for _, s, _ in receives], I64)
    end = np.array([s + 10 for _, s in sends] + [e for *_, e in receives], I64)
    count = len(sends)
    found = _of(np.arange(count), np.arange(count, len(node)), node, (start, end, np.zeros(len(node), np.int32)))
    receive, send, _, follows, least = (a.tolist() for a in found)
    return [r - count for r in receive], send, [f - count if f >= 0 else -1 for f in follows], least


def test_a_stage_passes_on_what_it_received() -> None:
    # Neighbour 0 sends three forward passes, neighbour 1 receives them 100 later.
    receive, send, follows, least = told([(0, 0), (0, 200), (0, 400)], [(1, 90, 110), (1, 290, 310), (1, 490, 510)])
    assert (receive, send) == ([0, 1, 2], [0, 1, 2])
    assert follows == [-1, 0, 1]
    assert least == [70, 70, 70]  # a pass without the transfers at both ends


def test_the_last_stage_answers_its_only_neighbour() -> None:
    receive, send, _, _ = told([(0, 0), (0, 300)], [(0, 180, 210), (0, 480, 510)])
    assert (receive, send) == ([0, 1], [0, 1])


def test_a_pass_that_waited_for_the_neighbour_itself() -> None:
    # Forward passes 0 -> x -> 1 are at once there; x sends the third one only after a backward pass came back from 1.
    sends = [(0, 0), (0, 10), (0, 20), (1, 900)]
    receives = [(1, 90, 110), (1, 190, 210), (1, 1_200, 1_210), (0, 1_010, 1_100)]
    _, send, _, _ = told(sends, receives)
    assert send == [0, 1, 3, 3]


def test_what_was_sent_before_anything_came_answers_nothing() -> None:
    receive, send, _, _ = told([(1, 500)], [(1, 10, 30)])
    assert (receive, send) == ([], [])
