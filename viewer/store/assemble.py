"""From raw columns to tables: lanes, nesting, sorting, rows.

Lanes are numbered by (kind, order of first appearance), so each kind is a contiguous run. GPU work lies on lanes of its
own, apart from the annotations and waits that share its stream number: overlap on a STREAM lane is real overlap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, TEXT_ID, LaneKind, Role
from viewer.jit.lanes import number_keys
from viewer.jit.layout import nest, pack
from viewer.jit.ordering import bind_to_slices, count_levels, group_stable, is_in_time_order
from viewer.store.raw import RawTrace
from viewer.store.rules import COLLECTIVE_METADATA, RuleTable

Tables = dict[str, dict[str, Any]]
"""Table name -> column name -> numpy array, or list of str for text columns."""

SYNC_ROW_SHIFT = 1_000_000
"""Kineto since April 2026 puts "Stream Sync" rows on tid = stream + 1,000,000."""

_NAMES_AT_ONCE: Final = 1 << 18
_TRAILING_INT = re.compile(r"(-?\d+)\s*\Z")


def assemble(raw: RawTrace, rules: RuleTable) -> Tables:
    """Build every table of viewer.store.schema from raw columns.

    Args:
        raw: the columns in file order; not changed.
        rules: roles of categories and classes of GPU work.

    Returns:
        Columns per table, ready for viewer.store.files.write_tables.
    """
    s = raw.slices
    n = len(s.start_ns)
    strings = raw.strings
    kind = _lane_kinds(raw, rules)
    keys, device, stream = _lane_keys(raw, kind)
    lane = np.empty(n, np.int32)
    first = number_keys(keys, lane)
    lane_kind = kind[first]
    order = np.argsort(lane_kind, kind="stable")
    rank_of = np.empty(len(order), np.int32)
    rank_of[order] = np.arange(len(order), dtype=np.int32)
    lane = rank_of[lane] if n else lane
    first, lane_kind = first[order], lane_kind[order]

    by_time, lane_begin = _time_order(lane, s.start_ns, s.dur_ns, len(lane_kind))
    lane_t, start_t = lane[by_time], s.start_ns[by_time]
    end_t = start_t + s.dur_ns[by_time]
    depth_t = np.zeros(n, np.int32)
    parent_t = np.full(n, -1, np.int64)
    for k in LaneKind:
        lanes_of_kind = np.flatnonzero(lane_kind == k)
        if not len(lanes_of_kind):
            continue
        a, b = int(lane_begin[lanes_of_kind[0]]), int(lane_begin[lanes_of_kind[-1] + 1])
        if k in (LaneKind.STREAM, LaneKind.ASYNC):
            pack(lane_t[a:b], start_t[a:b], end_t[a:b], depth_t[a:b])
        else:
            nest(lane_t[a:b], start_t[a:b], end_t[a:b], depth_t[a:b], parent_t[a:b])
            inside = parent_t[a:b] >= 0
            parent_t[a:b][inside] += a

    # Rows are numbered by (lane, depth) without gaps: as many per lane as it has levels.
    levels = count_levels(lane_t, depth_t, len(lane_kind))
    first_row = np.append(0, np.cumsum(levels))
    by_row, row_begin = group_stable((first_row[lane_t] + depth_t).astype(np.int64), int(first_row[-1]))
    final = by_time[by_row]
    place = np.empty(n, np.int32)
    place[by_row] = np.arange(n, dtype=np.int32)
    parent_sorted = parent_t[by_row]
    parent = np.full(n, -1, np.int32)
    inside = parent_sorted >= 0
    parent[inside] = place[parent_sorted[inside]]
    new_index = np.empty(n, np.int64)
    new_index[final] = np.arange(n, dtype=np.int64)

    row_lane = np.repeat(np.arange(len(lane_kind), dtype=np.int32), levels)
    tables: Tables = {
        "slices": {
            "start_ns": s.start_ns[final],
            "dur_ns": s.dur_ns[final],
            "name": s.name[final],
            "cat": s.cat[final],
            "paint": _paints(raw, rules)[final],
            "parent": parent,
            "corr": s.corr[final],
            "ext": s.ext[final],
            "args_off": s.args_off[final],
            "args_len": s.args_len[final],
        },
        "rows": {
            "lane": row_lane,
            "depth": (np.arange(len(row_lane)) - first_row[row_lane]).astype(np.int32),
            "begin": row_begin[:-1],
            "end": row_begin[1:],
        },
        "lanes": {
            "kind": lane_kind.astype(np.uint8),
            "pid": [_id_text(v, strings) for v in s.pid[first]],
            "tid": [_id_text(v, strings) for v in s.tid[first]],
            "device": device[first],
            "stream": stream[first],
            "process_name": [raw.process_names.get(int(p), "") for p in s.pid[first]],
            "thread_name": [
                raw.thread_names.get((int(p), int(t)), "") for p, t in zip(s.pid[first], s.tid[first], strict=True)
            ],
            "sort": np.array(
                [
                    raw.thread_sort.get((int(p), int(t)), ABSENT)
                    for p, t in zip(s.pid[first], s.tid[first], strict=True)
                ],
                np.int64,
            ),
            "row_begin": first_row[:-1],
            "row_end": first_row[1:],
        },
        "strings": {"text": strings},
    }
    tables["collectives"] = _collectives(raw, new_index)
    tables["marks"] = _marks(raw)
    tables["counters"] = _counters(raw)
    tables["flows"] = _flows(raw, lane, place, lane_begin, start_t, end_t, parent_t)
    return tables


def _time_order(
    lane: NDArray[np.int32], start: NDArray[np.int64], dur: NDArray[np.int64], lanes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Slices by lane, then start, the longer first, then file order; and where each lane begins in that order."""
    order, begin = group_stable(lane.astype(np.int64), lanes)
    for number in range(lanes):
        part = order[begin[number] : begin[number + 1]]
        if not is_in_time_order(part, start, dur):
            part[:] = part[np.lexsort((-dur[part], start[part]))]
    return order, begin


def _id_texts(values: NDArray[np.int64], strings: list[str]) -> list[str]:
    distinct, inverse = np.unique(values, return_inverse=True)
    texts: list[str] = np.array([_id_text(v, strings) for v in distinct], object)[inverse].tolist()
    return texts


def _id_text(value: int, strings: list[str]) -> str:
    value = int(value)
    return strings[value & ~TEXT_ID] if value >= TEXT_ID else str(value)


def _lane_kinds(raw: RawTrace, rules: RuleTable) -> NDArray[np.int64]:
    s = raw.slices
    roles = np.full(len(raw.strings) + 1, Role.OTHER, np.int64)  # the last entry serves cat = -1
    for cat in np.unique(s.cat):
        if cat >= 0:
            roles[cat] = rules.role(raw.strings[cat])
    role = roles[s.cat]
    kind = np.full(len(role), LaneKind.THREAD, np.int64)
    kind[(s.pid >= TEXT_ID)] = LaneKind.OTHER
    kind[(role == Role.GPU_MARK) | (role == Role.SYNC)] = LaneKind.STREAM_MARKS
    kind[role == Role.GPU_WORK] = LaneKind.STREAM
    kind[s.is_async] = LaneKind.ASYNC
    return kind


def _lane_keys(raw: RawTrace, kind: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Keys int64[n, 5] (kind, pid, tid, device, stream); device and stream are ABSENT on CPU lanes."""
    s = raw.slices
    on_gpu = (kind == LaneKind.STREAM) | (kind == LaneKind.STREAM_MARKS)
    device = np.where(on_gpu, np.where(s.device == ABSENT, _numbers(s.pid, raw.strings), s.device), ABSENT)
    stream = np.where(on_gpu, np.where(s.stream == ABSENT, _numbers(s.tid, raw.strings), s.stream), ABSENT)
    shifted = on_gpu & (stream >= SYNC_ROW_SHIFT) & (stream < 2 * SYNC_ROW_SHIFT)
    stream[shifted] -= SYNC_ROW_SHIFT
    keys = np.empty((len(kind), 5), np.int64)
    keys[:, 0] = kind
    keys[:, 1] = np.where(on_gpu, 0, s.pid)
    keys[:, 2] = np.where(on_gpu, 0, s.tid)
    keys[:, 3] = device
    keys[:, 4] = stream
    return keys, device, stream


def _numbers(ids: NDArray[np.int64], strings: list[str]) -> NDArray[np.int64]:
    """The number that an id states: itself, or the trailing one of a text ("stream 7"), else ABSENT."""
    out = ids.copy()
    for value in np.unique(ids[ids >= TEXT_ID]):
        match = _TRAILING_INT.search(strings[int(value) & ~TEXT_ID])
        number = int(match[1]) if match else ABSENT
        out[ids == value] = number if abs(number) < TEXT_ID else ABSENT
    return out


def paints(cat: NDArray[np.int32], name: NDArray[np.int32], strings: list[str], rules: RuleTable) -> NDArray[np.uint8]:
    """Paint of each slice by category and name; the rules see each distinct pair once."""
    pairs = np.stack([cat.astype(np.int64), name.astype(np.int64)], axis=1)
    number = np.empty(len(pairs), np.int32)
    distinct = pairs[number_keys(pairs, number)]
    table = np.empty(len(distinct), np.uint8)
    for one in np.unique(distinct[:, 0]).tolist():
        rows = np.flatnonzero(distinct[:, 0] == one)
        for begin in range(0, len(rows), _NAMES_AT_ONCE):
            some = rows[begin : begin + _NAMES_AT_ONCE]
            texts = [strings[n] if n >= 0 else "" for n in distinct[some, 1].tolist()]
            category = strings[one] if one >= 0 else ""
            table[some] = rules.paints_of(category, pa.array(texts, pa.large_string()))
    return table[number]


def gpu_categories(cat: NDArray[np.int32], strings: Sequence[str], rules: RuleTable) -> NDArray[np.bool_]:
    """bool[strings + 1]: which of the categories that occur are GPU work; the last entry serves -1 and is False."""
    flags = np.zeros(len(strings) + 1, np.bool_)
    for one in np.unique(cat).tolist():
        flags[one] = one >= 0 and rules.role(strings[one]) == Role.GPU_WORK
    return flags


def mark_collectives(
    paint: NDArray[np.uint8], cat: NDArray[np.int32], rows: NDArray[np.int64], strings: list[str], rules: RuleTable
) -> None:
    """Paint GPU work as communication where the trace's own metadata says so. Changes ``paint``."""
    if len(rows):
        gpu = gpu_categories(cat[rows], strings, rules)
        paint[rows[gpu[cat[rows]]]] = COLLECTIVE_METADATA.paint


def _paints(raw: RawTrace, rules: RuleTable) -> NDArray[np.uint8]:
    s = raw.slices
    out = paints(s.cat, s.name, raw.strings, rules)
    if raw.collectives is not None:
        mark_collectives(out, s.cat, raw.collectives.slice, raw.strings, rules)
    return out


def _collectives(raw: RawTrace, new_index: NDArray[np.int64]) -> dict[str, Any]:
    c = raw.collectives
    if c is None:
        return {}
    order = np.argsort(new_index[c.slice], kind="stable")
    out = {name: getattr(c, name)[order] for name in c.__slots__}
    out["slice"] = new_index[c.slice][order]
    return out


def _marks(raw: RawTrace) -> dict[str, Any]:
    m = raw.marks
    if m is None:
        return {}
    o = np.argsort(m.time_ns, kind="stable")
    return {
        "time_ns": m.time_ns[o],
        "phase": m.phase[o],
        "lane_pid": _id_texts(m.pid[o], raw.strings),
        "lane_tid": _id_texts(m.tid[o], raw.strings),
        "name": m.name[o],
        "cat": m.cat[o],
        "args_off": m.args_off[o],
        "args_len": m.args_len[o],
    }


def _counters(raw: RawTrace) -> dict[str, Any]:
    c = raw.counters
    if c is None:
        return {}
    o = np.argsort(c.time_ns, kind="stable")
    return {
        "time_ns": c.time_ns[o],
        "pid": _id_texts(c.pid[o], raw.strings),
        "name": c.name[o],
        "series": c.series[o],
        "value": c.value[o],
    }


def _flows(
    raw: RawTrace,
    lane: NDArray[np.int32],
    place: NDArray[np.int32],
    lane_begin: NDArray[np.int64],
    start_t: NDArray[np.int64],
    end_t: NDArray[np.int64],
    parent_t: NDArray[np.int64],
) -> dict[str, Any]:
    """Flow ends by time, each bound to the deepest slice that encloses it on its (pid, tid)."""
    f = raw.flows
    if f is None:
        return {}
    s = raw.slices
    triples = np.stack([s.pid, s.tid, lane.astype(np.int64)], axis=1)
    distinct = triples[number_keys(triples, np.empty(len(lane), np.int32))]
    pairs = np.concatenate([distinct[:, :2], np.stack([f.pid, f.tid], axis=1)])
    track = np.empty(len(pairs), np.int32)
    tracks = len(number_keys(pairs, track))
    # The lowest lane first: GPU work is bound to before annotations on the same stream.
    ascending = np.argsort(distinct[:, 2], kind="stable")
    order, lanes_begin = group_stable(track[: len(distinct)][ascending].astype(np.int64), tracks)
    lanes_of = distinct[ascending, 2][order]
    bound = np.empty(len(f.time_ns), np.int64)
    bind_to_slices(
        f.time_ns, track[len(distinct) :], lanes_begin, lanes_of, lane_begin, start_t, end_t, parent_t, bound
    )
    target = np.full(len(bound), ABSENT, np.int64)
    target[bound >= 0] = place[bound[bound >= 0]]
    o = np.argsort(f.time_ns, kind="stable")
    return {"time_ns": f.time_ns[o], "phase": f.phase[o], "id": f.id[o], "cat": f.cat[o], "slice": target[o]}
