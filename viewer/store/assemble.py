"""From raw columns to tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, TEXT_ID, Role
from viewer.jit.lanes import number_keys
from viewer.jit.ordering import bind_to_slices, group_stable
from viewer.store.arrange import Arranged, Lanes, arrange, find_lanes
from viewer.store.lazy import PIECE, LazyColumn, gather, taken
from viewer.store.raw import RawTrace
from viewer.store.rules import COLLECTIVE_METADATA, RuleTable

Tables = dict[str, dict[str, Any]]
"""Table name -> column name -> numpy array, LazyColumn, or for text columns a list of str or an Arrow array."""

_NAMES_AT_ONCE: Final = 1 << 18
_DENSE: Final = 1 << 20
"""Pairs of category and name that get a table of all, however few slices there are."""


def assemble(raw: RawTrace, rules: RuleTable) -> Tables:
    """Build every table of viewer.store.schema from raw columns.

    Args:
        raw: the columns in file order; not changed, and used until the tables are written.
        rules: roles of categories and classes of GPU work.

    Returns:
        Columns per table, ready for viewer.store.files.write_tables.
    """
    s, strings = raw.slices, raw.strings
    lanes = find_lanes(raw, rules)
    order = arrange(raw, lanes)
    pid, tid = s.tracks.pid[lanes.track].tolist(), s.tracks.tid[lanes.track].tolist()
    first_row = np.append(0, np.cumsum(order.levels))
    row_lane = np.repeat(np.arange(len(lanes.kind), dtype=np.int32), order.levels)
    return {
        "slices": _slices(raw, rules, order),
        "rows": {
            "lane": row_lane,
            "depth": (np.arange(len(row_lane)) - first_row[row_lane]).astype(np.int32),
            "begin": order.row_begin[:-1],
            "end": order.row_begin[1:],
        },
        "lanes": {
            "kind": lanes.kind.astype(np.uint8),
            "pid": [_id_text(v, strings) for v in pid],
            "tid": [_id_text(v, strings) for v in tid],
            "device": lanes.device,
            "stream": lanes.stream,
            "process_name": [raw.process_names.get(p, "") for p in pid],
            "thread_name": [raw.thread_names.get((p, t), "") for p, t in zip(pid, tid, strict=True)],
            "sort": np.array([raw.thread_sort.get((p, t), ABSENT) for p, t in zip(pid, tid, strict=True)], np.int64),
            "row_begin": first_row[:-1],
            "row_end": first_row[1:],
        },
        "strings": {"text": strings},
        "recorded": {"text": raw.recorded},
        "collectives": _collectives(raw, order),
        "marks": _marks(raw),
        "counters": _counters(raw),
        "flows": _flows(raw, lanes, order),
        **raw.memory,
    }


def _slices(raw: RawTrace, rules: RuleTable, order: Arranged) -> dict[str, Any]:
    s, final, by_row, above, place = raw.slices, order.final, order.by_row, order.parent, order.place
    tracks, track = s.tracks.cat, s.track

    def parent(begin: int, end: int) -> NDArray[np.int32]:
        there = gather(above, by_row[begin:end])
        out: NDArray[np.int32] = gather(place, np.maximum(there, 0))
        out[there < 0] = -1
        return out

    n = len(final)
    cat = LazyColumn(n, np.int32, lambda a, b: gather(tracks, track[a:b]))
    paint = paints(cat, s.name, raw.strings, rules)
    if raw.collectives is not None:
        rows = raw.collectives.slice
        mark_collectives(paint, tracks[track[rows]], rows, raw.strings, rules)
    return {
        "start_ns": taken(s.start_ns, final),
        "dur_ns": taken(s.dur_ns, final),
        "name": taken(s.name, final),
        "cat": LazyColumn(n, np.int32, lambda a, b: gather(tracks, gather(track, final[a:b]))),
        "paint": taken(paint, final),
        "parent": LazyColumn(n, np.int32, parent),
        "corr": taken(s.corr, final),
        "ext": taken(s.ext, final),
        "args_off": taken(s.args_off, final),
        "args_len": taken(s.args_len, final),
        "recorded": taken(s.recorded, final),
    }


def _id_texts(values: NDArray[np.int64], strings: list[str]) -> Any:
    number = np.empty(len(values), np.int32)
    return _texts_of(values[number_keys(values.reshape(-1, 1), number)], number, strings)


def _texts_of(ids: NDArray[np.int64], number: NDArray[np.int32], strings: list[str]) -> Any:
    """The ids ``ids[number]`` as texts."""
    return pa.array([_id_text(v, strings) for v in ids.tolist()], pa.large_string()).take(pa.array(number))


def _by_time(times: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rows by time, else as they stand."""
    if (times[1:] >= times[:-1]).all():
        return np.arange(len(times), dtype=np.int32)
    return np.argsort(times, kind="stable").astype(np.int32)


def _id_text(value: int, strings: list[str]) -> str:
    value = int(value)
    return strings[value & ~TEXT_ID] if value >= TEXT_ID else str(value)


def paints(
    cat: NDArray[np.int32] | LazyColumn, name: NDArray[np.int32], strings: list[str], rules: RuleTable
) -> NDArray[np.uint8]:
    """Paint of each slice by category and name; the rules see each distinct pair once, and names of GPU work only."""
    n, width = len(name), len(strings) + 1  # name and category -1: none
    text = [*strings, ""]

    def cats(begin: int, end: int) -> Any:
        return cat.part(begin, end) if isinstance(cat, LazyColumn) else cat[begin:end]

    there = np.zeros(width, np.bool_)
    for begin in range(0, n, PIECE):
        there[cats(begin, min(begin + PIECE, n))] = True
    flat = np.zeros(width, np.uint8)
    number = np.full(width, -1, np.int64)  # of each category of GPU work
    for one in np.flatnonzero(there).tolist():
        if rules.role(text[one]) == Role.GPU_WORK:
            number[one] = number.max() + 1
        else:
            flat[one] = rules.paint(text[one], "")
    categories = np.flatnonzero(number >= 0)[np.argsort(number[number >= 0])]

    def pairs(begin: int, some: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the rows from ``begin`` on are GPU work, and the pair of each of those."""
        work = np.flatnonzero(number[some] >= 0)
        return work, number[some[work]] * width + name[begin : begin + PIECE][work] % width

    out = np.empty(n, np.uint8)
    if len(categories) * width > max(_DENSE, 4 * n):
        rows, keys = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for begin in range(0, n, PIECE):
            some = cats(begin, min(begin + PIECE, n))
            out[begin : begin + PIECE] = flat[some]
            work, pair = pairs(begin, some)
            rows.append(work + begin)
            keys.append(pair)
        work, pair = np.concatenate(rows), np.concatenate(keys)
        place = np.empty(len(pair), np.int32)
        distinct = pair[number_keys(pair.reshape(-1, 1), place)]
        out[work] = _paints_of_pairs(categories[distinct // width], distinct % width, strings, rules)[place]
        return out
    table, seen = np.zeros((2, len(categories) * width), np.uint8)
    names = np.ascontiguousarray(name, np.int32)

    def paint() -> None:
        from viewer.jit.gather import paint_rows  # loads the compiler

        for begin in range(0, n, PIECE):
            some = np.ascontiguousarray(cats(begin, min(begin + PIECE, n)), np.int32)
            piece, beside = out[begin : begin + len(some)], names[begin : begin + len(some)]
            paint_rows(some.ctypes.data, beside.ctypes.data, number, flat, table, seen, piece)

    paint()
    if len(distinct := np.flatnonzero(seen)):
        table[distinct] = _paints_of_pairs(categories[distinct // width], distinct % width, strings, rules)
        paint()
    return out


def _paints_of_pairs(
    cat: NDArray[np.int64], name: NDArray[np.int64], strings: list[str], rules: RuleTable
) -> NDArray[np.uint8]:
    """Paint of distinct pairs of GPU work; len(strings) is no text."""
    text = [*strings, ""]
    out = np.empty(len(cat), np.uint8)
    for one in np.unique(cat).tolist():
        rows = np.flatnonzero(cat == one)
        for begin in range(0, len(rows), _NAMES_AT_ONCE):
            some = rows[begin : begin + _NAMES_AT_ONCE]
            texts = [text[n] for n in name[some].tolist()]
            out[some] = rules.paints_of(text[one], pa.array(texts, pa.large_string()))
    return out


def gpu_categories(cat: NDArray[np.int32], strings: Sequence[str], rules: RuleTable) -> NDArray[np.bool_]:
    """bool[strings + 1]: which of the categories that occur are GPU work; the last entry serves -1 and is False."""
    flags = np.zeros(len(strings) + 1, np.bool_)
    for one in np.unique(cat).tolist():
        flags[one] = one >= 0 and rules.role(strings[one]) == Role.GPU_WORK
    return flags


def mark_collectives(
    paint: NDArray[np.uint8], cat: NDArray[np.int32], rows: NDArray[np.int64], strings: list[str], rules: RuleTable
) -> None:
    """Paint GPU work as communication where the trace's own metadata says so. Changes ``paint[rows]``.

    ``cat`` is that of each of the ``rows``.
    """
    if len(rows):
        paint[rows[gpu_categories(cat, strings, rules)[cat]]] = COLLECTIVE_METADATA.paint


def _collectives(raw: RawTrace, arranged: Arranged) -> dict[str, Any]:
    c = raw.collectives
    if c is None:
        return {}
    new_index = np.empty(len(arranged.final), np.int32)
    new_index[arranged.final] = np.arange(len(new_index), dtype=np.int32)
    where = new_index[c.slice].astype(np.int64)
    order = np.argsort(where, kind="stable")
    out = {name: getattr(c, name)[order] for name in c.__slots__}
    out["slice"] = where[order]
    return out


def _marks(raw: RawTrace) -> dict[str, Any]:
    m = raw.marks
    if m is None:
        return {}
    o = _by_time(m.time_ns)
    track = m.track[o]
    return {
        "time_ns": m.time_ns[o],
        "phase": m.phase[o],
        "lane_pid": _texts_of(m.tracks.pid, track, raw.strings),
        "lane_tid": _texts_of(m.tracks.tid, track, raw.strings),
        "name": m.name[o],
        "cat": m.tracks.cat[track],
        "args_off": m.args_off[o],
        "args_len": m.args_len[o],
    }


def _counters(raw: RawTrace) -> dict[str, Any]:
    c = raw.counters
    if c is None:
        return {}
    o = _by_time(c.time_ns)
    return {
        "time_ns": c.time_ns[o],
        "pid": _id_texts(c.pid[o], raw.strings),
        "name": c.name[o],
        "series": c.series[o],
        "value": c.value[o],
    }


def _flows(raw: RawTrace, lanes: Lanes, order: Arranged) -> dict[str, Any]:
    """Flow ends by time, each bound to the deepest slice that encloses it on its (pid, tid)."""
    f = raw.flows
    if f is None:
        return {}
    s = raw.slices
    used = lanes.of_track >= 0
    # The lowest lane first: GPU work is bound to before annotations on the same stream.
    distinct = np.unique(np.stack([s.tracks.pid[used], s.tracks.tid[used], lanes.of_track[used]], axis=1), axis=0)
    pairs = np.ascontiguousarray(np.concatenate([distinct[:, :2], np.stack([f.tracks.pid, f.tracks.tid], axis=1)]))
    thread = np.empty(len(pairs), np.int32)
    threads = len(number_keys(pairs, thread))
    lanes_by_thread, lanes_begin = group_stable(thread[: len(distinct)], threads)
    bound = np.empty(len(f.time_ns), np.int32)
    bind_to_slices(
        f.time_ns,
        thread[len(distinct) :][f.track],
        lanes_begin,
        distinct[lanes_by_thread, 2],
        order.by_time,
        order.lane_begin,
        s.start_ns,
        s.dur_ns,
        order.parent,
        bound,
    )
    by_time = _by_time(f.time_ns)

    def target(begin: int, end: int) -> NDArray[np.int64]:
        there = bound[by_time[begin:end]]
        out = np.full(len(there), ABSENT, np.int64)
        out[there >= 0] = order.place[there[there >= 0]]
        return out

    own = {k: taken(getattr(f, k), by_time) for k in ("time_ns", "phase", "id")}
    cat = LazyColumn(len(bound), np.int32, lambda a, b: gather(f.tracks.cat, gather(f.track, by_time[a:b])))
    return {**own, "cat": cat, "slice": LazyColumn(len(bound), np.int64, target)}
