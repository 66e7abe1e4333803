"""Where every slice goes: its lane, its depth there, and so its place in the tables.

Lanes are numbered by (kind, order of first appearance), so each kind is a contiguous run. GPU work lies on lanes of its
own, apart from the annotations and waits that share its stream number: overlap on a STREAM lane is real overlap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, TEXT_ID, LaneKind, Role
from viewer.jit.lanes import number_keys
from viewer.jit.layout import nest, pack
from viewer.jit.ordering import group_stable, sort_by_time
from viewer.store.raw import RawTrace
from viewer.store.rules import RuleTable

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

SYNC_ROW_SHIFT: Final = 1_000_000
"""Kineto since April 2026 puts "Stream Sync" rows on tid = stream + 1,000,000."""
_PIECE: Final = 1 << 18
_TRAILING_INT = re.compile(r"(-?\d+)\s*\Z")


@dataclass(slots=True)
class Lanes:
    """Lanes by number, and the lane of each track (-1: it has no slice)."""

    kind: I64
    device: I64
    stream: I64
    track: I64
    """The track of the lane's first slice."""
    of_track: I32


@dataclass(slots=True)
class Arranged:
    """The order of the tables.

    ``by_time`` lists slices (rows of RawSlices) by (lane, start, longer first, file order); lane l holds
    [lane_begin[l], lane_begin[l + 1]) of it. ``parent`` goes with it: a place in it, -1 at the top. ``final`` lists
    slices by (lane, depth, start); ``by_row`` are their places in ``by_time``, and ``place`` is the way back.
    """

    by_time: I32
    lane_begin: I64
    parent: I32
    levels: I64
    """Rows of each lane."""
    final: I32
    by_row: I32
    place: I32
    row_begin: I64


def find_lanes(raw: RawTrace, rules: RuleTable) -> Lanes:
    """Number the lanes of a source."""
    tracks = raw.slices.tracks
    first = _first_rows(raw.slices.track, len(tracks))
    used = np.argsort(first, kind="stable")[: int((first < len(raw.slices.track)).sum())]
    kind = _kinds(raw, rules)
    on_gpu = (kind == LaneKind.STREAM) | (kind == LaneKind.STREAM_MARKS)
    device = np.where(
        on_gpu, np.where(tracks.device == ABSENT, _numbers(tracks.pid, raw.strings), tracks.device), ABSENT
    )
    stream = np.where(
        on_gpu, np.where(tracks.stream == ABSENT, _numbers(tracks.tid, raw.strings), tracks.stream), ABSENT
    )
    shifted = on_gpu & (stream >= SYNC_ROW_SHIFT) & (stream < 2 * SYNC_ROW_SHIFT)
    stream[shifted] -= SYNC_ROW_SHIFT
    pid, tid = np.where(on_gpu, 0, tracks.pid), np.where(on_gpu, 0, tracks.tid)
    keys = np.stack([kind[used], pid[used], tid[used], device[used], stream[used]], axis=1)
    lane = np.empty(len(used), np.int32)
    track = used[number_keys(keys, lane)]
    order = np.argsort(kind[track], kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    of_track = np.full(len(tracks), -1, np.int32)
    of_track[used] = number[lane]
    track = track[order]
    return Lanes(kind[track], device[track], stream[track], track, of_track)


def arrange(raw: RawTrace, lanes: Lanes) -> Arranged:
    """Sort and nest the slices."""
    s = raw.slices
    n, count = len(s.start_ns), len(lanes.kind)
    by_time, lane_begin = group_stable(lanes.of_track[s.track], count)
    sort_by_time(by_time, lane_begin, s.start_ns, s.dur_ns)
    depth, parent = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    for kind in LaneKind:
        some = np.flatnonzero(lanes.kind == kind)
        if len(some):
            first, last = int(some[0]), int(some[-1]) + 1
            if kind in (LaneKind.STREAM, LaneKind.ASYNC):
                pack(by_time, lane_begin, first, last, s.start_ns, s.dur_ns, depth)
            else:
                nest(by_time, lane_begin, first, last, s.start_ns, s.dur_ns, depth, parent)
    # Rows are numbered by (lane, depth) without gaps: as many per lane as it has levels.
    levels = np.maximum.reduceat(depth, lane_begin[:-1]).astype(np.int64) + 1 if count else np.zeros(0, np.int64)
    first_row = np.append(0, np.cumsum(levels))
    for lane in range(count):
        depth[lane_begin[lane] : lane_begin[lane + 1]] += first_row[lane]
    by_row, row_begin = group_stable(depth, int(first_row[-1]))
    del depth
    place = np.empty(n, np.int32)
    place[by_row] = np.arange(n, dtype=np.int32)
    return Arranged(by_time, lane_begin, parent, levels, by_time[by_row], by_row, place, row_begin)


def _first_rows(track: I32, tracks: int) -> I64:
    """The first slice of each track, the number of slices where it has none."""
    n = len(track)
    first = np.full(tracks, n, np.int64)
    for end in range(n, 0, -_PIECE):  # of several values the last one written stays: from back to front
        begin = max(0, end - _PIECE)
        first[track[begin:end][::-1]] = np.arange(end - 1, begin - 1, -1)
    return first


def _kinds(raw: RawTrace, rules: RuleTable) -> I64:
    tracks = raw.slices.tracks
    text = [*raw.strings, ""]  # index -1: no category
    known = {cat: int(rules.role(text[cat])) if cat >= 0 else int(Role.OTHER) for cat in set(tracks.cat.tolist())}
    role = np.array([known[cat] for cat in tracks.cat.tolist()], np.int64)
    kind = np.full(len(tracks), LaneKind.THREAD, np.int64)
    kind[tracks.pid >= TEXT_ID] = LaneKind.OTHER
    kind[(role == Role.GPU_MARK) | (role == Role.SYNC)] = LaneKind.STREAM_MARKS
    kind[role == Role.GPU_WORK] = LaneKind.STREAM
    kind[tracks.is_async] = LaneKind.ASYNC
    return kind


def _numbers(ids: I64, strings: list[str]) -> Any:
    """The number that an id states: itself, or the trailing one of a text ("stream 7"), else ABSENT."""
    distinct, place = np.unique(ids, return_inverse=True)
    for at in np.flatnonzero(distinct >= TEXT_ID).tolist():
        match = _TRAILING_INT.search(strings[int(distinct[at]) & ~TEXT_ID])
        number = int(match[1]) if match else ABSENT
        distinct[at] = number if abs(number) < TEXT_ID else ABSENT
    return distinct[place]
