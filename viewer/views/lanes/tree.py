"""Which lanes a job has, in which order, and where they lie on the timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from viewer.base.frames import LaneGroup, LaneRow, PlacedRow, Placement
from viewer.base.ids import LaneKind, Paint
from viewer.store.session import RankGroup, Session
from viewer.store.trace import Lane, Trace
from viewer.views.lanes.counters import counter_lanes
from viewer.views.lanes.rare import more_row, rare_threads
from viewer.views.memory.lanes import ROW_PX, memory_lanes
from viewer.views.text import one_line

HEADER_HEIGHT: Final = 28
"""Height of a group header, px; the summary strip of a collapsed group lies inside."""
HEADER_PAD: Final = 5
"""Free px above and below the summary strip."""
LANE_PAD: Final = 3
"""Free px above and below the sub-rows of a lane."""
DEEP_THREAD_PX: Final = 160
"""Sub-rows of a thread shrink until the lane is about this tall; a tall lane keeps readable ones."""

_FULL_HEIGHT: Final = {
    LaneKind.STREAM: 20,
    LaneKind.STREAM_MARKS: 14,
    LaneKind.THREAD: 14,
    LaneKind.ASYNC: 14,
    LaneKind.OTHER: 14,
    LaneKind.COUNTER: 34,
}
_BEFORE_RARE: Final = (LaneKind.STREAM, LaneKind.STREAM_MARKS, LaneKind.THREAD)
_SMALLEST_SUB_ROW: Final = 4
_SAMPLE: Final = 20_000

RowHeight = Callable[[LaneRow], int]


def build_tree(session: Session) -> tuple[LaneGroup, ...]:
    """The groups of a session in order, each with its lanes in order.

    A stream's marks (annotations, waits) come just above it, streams before threads, threads before the rest. Lanes
    that are the same in several segments of a rank are one lane with several parts. Memory and counters come below the
    streams.
    """
    repeats = Counter(g.label for g in session.groups)
    seen: Counter[str] = Counter()
    out = []
    for group in session.groups:
        seen[group.label] += 1
        # Two unranked files may share their name: keys must still differ.
        prefix = group.label if repeats[group.label] == 1 else f"{group.label}#{seen[group.label]}"
        out.append(_group(session, group, prefix, show_folder=repeats[group.label] > 1))
    return tuple(out)


def default_row_height(lane: LaneRow) -> int:
    """Height of one sub-row: full for streams, smaller the deeper a thread is."""
    full = full_row_height(lane)
    return max(_SMALLEST_SUB_ROW, min(full, DEEP_THREAD_PX // max(lane.sub_rows, 1)))


def full_row_height(lane: LaneRow) -> int:
    """Height of one sub-row in which names can be read, however deep the lane is."""
    return ROW_PX if lane.memory else _FULL_HEIGHT[lane.kind]


def shrinks(lane: LaneRow) -> bool:
    """Whether the lane is drawn with smaller sub-rows unless it is made tall."""
    return default_row_height(lane) < full_row_height(lane)


def place(
    groups: Iterable[LaneGroup],
    collapsed: frozenset[int] = frozenset(),
    row_height: RowHeight | None = None,
    tall: frozenset[str] = frozenset(),
    unfolded: frozenset[int] | None = None,
) -> Placement:
    """Stack the groups from top to bottom.

    Args:
        groups: from :func:`build_tree`.
        collapsed: ids of groups of which only the header (with a summary strip) shows.
        row_height: height of one sub-row of a lane, by default :func:`default_row_height`.
        tall: keys of lanes that keep their full sub-row height although they are deep.
        unfolded: ids of groups whose rare threads show, below a row that says how many; in the others that row stands
            for them. By default all lanes show, without such rows.
    """
    height_of = row_height or default_row_height
    rows: list[PlacedRow] = []
    y = 0
    for group in groups:
        rows.append(PlacedRow(y, HEADER_HEIGHT, group, None, HEADER_HEIGHT - 2 * HEADER_PAD))
        y += HEADER_HEIGHT
        if group.id in collapsed:
            continue
        for lane in with_rare_folded(group, unfolded):
            sub = full_row_height(lane) if lane.key in tall else height_of(lane)
            height = sub * lane.sub_rows + 2 * LANE_PAD
            rows.append(PlacedRow(y, height, group, lane, sub))
            y += height
    return Placement(tuple(rows), y)


def with_rare_folded(group: LaneGroup, unfolded: frozenset[int] | None) -> Iterator[LaneRow]:
    """The lanes that show, in order: rare threads after the other threads, behind the row that counts them."""
    if unfolded is None or not group.rare:
        yield from group.lanes
        return
    common = [lane for lane in group.lanes if lane.key not in group.rare]
    last = max((i for i, lane in enumerate(common) if lane.kind in _BEFORE_RARE), default=-1)
    yield from common[: last + 1]
    yield more_row(group, unfolded=group.id in unfolded)
    if group.id in unfolded:
        yield from (lane for lane in group.lanes if lane.key in group.rare)
    yield from common[last + 1 :]


def is_collapsed(placement: Placement, index: int) -> bool:
    """Whether the header at ``placement.rows[index]`` has no lanes below it."""
    rows = placement.rows
    folded = rows[index].folded
    if folded is not None:
        return folded
    return rows[index].lane is None and (index + 1 == len(rows) or rows[index + 1].lane is None)


def _group(session: Session, group: RankGroup, prefix: str, *, show_folder: bool) -> LaneGroup:
    inputs = [session.inputs[i] for i in group.inputs]
    title = group.label
    if show_folder:
        title = f"{title} in {inputs[0].path.parent.name or inputs[0].path.parent}"
    if len(inputs) > 1:
        title += f" · {len(inputs)} segments"
    warnings = []
    if any(i.conflict for i in inputs):
        warnings.append(f"Another file says that it is rank {group.rank} at the same time; each is shown apart.")
    if any(not i.clock.known for i in inputs):
        warnings.append("Its clock has another origin: it was moved to start with the first file.")
    subtitle = " · ".join(part for part in (group.host, group.gpu) if part)
    lanes = _lanes(session, group, prefix)
    return LaneGroup(group.id, title, subtitle, lanes, " ".join(warnings), rare_threads(session, lanes), prefix)


def _lanes(session: Session, group: RankGroup, prefix: str) -> tuple[LaneRow, ...]:
    members: dict[str, list[tuple[int, Lane]]] = {}
    for index in group.inputs:
        for lane in session.inputs[index].trace.lanes:
            members.setdefault(_key(lane), []).append((index, lane))
    devices = {lane.device for parts in members.values() for _, lane in parts if lane.device is not None}
    rows = []
    for key, parts in members.items():
        lane = parts[0][1]
        said = session.inputs[parts[0][0]].trace.meta.labels.get(lane.pid, "")
        label, detail = _describe(lane, several=len(devices) > 1, labels=said)
        sub_rows = max(part.row_end - part.row_begin for _, part in parts)
        rows.append(
            (
                _order(session, parts),
                LaneRow(
                    key=f"{prefix}/{key}",
                    label=label,
                    detail=detail,
                    kind=lane.kind,
                    sub_rows=sub_rows,
                    parts=tuple((index, part.id) for index, part in parts),
                    section=section_of(lane),
                ),
            )
        )
    rows.sort(key=lambda pair: pair[0])
    # Lanes of one process lie together, in the order of the first of each.
    places = {row.section: i for i, (_, row) in reversed(list(enumerate(rows)))}
    found = sorted((row for _, row in rows), key=lambda row: places[row.section])
    on_gpu = sum(row.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS) for row in found)
    values = (*memory_lanes(session, group, prefix), *counter_lanes(session, group, prefix))
    return (*found[:on_gpu], *values, *found[on_gpu:])


def section_of(lane: Lane) -> str:
    """The GPU or process that a lane belongs to."""
    if lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        return f"GPU {'?' if lane.device is None else lane.device}"
    return f"process {lane.pid}"


def _key(lane: Lane) -> str:
    if lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        word = "stream" if lane.kind is LaneKind.STREAM else "marks"
        return f"{word} {'?' if lane.device is None else lane.device}:{'?' if lane.stream is None else lane.stream}"
    word = {LaneKind.THREAD: "thread", LaneKind.ASYNC: "async"}.get(lane.kind, "other")
    return f"{word} {lane.pid}:{lane.tid}"


def _describe(lane: Lane, *, several: bool, labels: str = "") -> tuple[str, str]:
    """Label and detail (tooltip) of a lane; ``labels`` are those that the writer gave its process."""
    if lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        stream = f"stream {'?' if lane.stream is None else lane.stream}"
        device = "GPU ?" if lane.device is None else f"GPU {lane.device}"
        label = f"{device} · {stream}" if several else stream
        if lane.kind is LaneKind.STREAM_MARKS:
            return f"{label} marks", f"Annotations and waits of {device}, {stream}"
        return label, f"GPU work of {device}, {stream}"
    name = lane.thread_name.strip()
    said = ", ".join(dict.fromkeys(text for text in (lane.process_name, one_line(labels)) if text))
    process = f"process {lane.pid}" + (f" ({said})" if said else "")
    if lane.kind is LaneKind.THREAD:
        label = f"thread {lane.tid}"
        if name and lane.tid in name.split():
            label = name  # the writer already put the number into the name
        elif name or lane.tid == lane.pid:
            label += f" ({name or 'main'})"
        return label, f"{label}, {process}"
    label = name or (lane.tid if not lane.tid.lstrip("-").isdigit() else f"{lane.process_name or lane.pid} {lane.tid}")
    if lane.kind is LaneKind.ASYNC:
        label = f"{label} (async)"
    return label, f"{label}, {process}"


def _order(session: Session, parts: list[tuple[int, Lane]]) -> tuple[int, ...] | tuple[object, ...]:
    lane = parts[0][1]
    far = 2**63 - 1
    if lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS):
        device = far if lane.device is None else lane.device
        stream = far if lane.stream is None else lane.stream
        return (0, device, stream, lane.kind is LaneKind.STREAM, 0, "")
    section = {LaneKind.THREAD: 1, LaneKind.ASYNC: 2}.get(lane.kind, 3)
    busy = any(_drives_gpu(session.inputs[index].trace, part) for index, part in parts)
    sort = far if lane.sort is None else lane.sort
    return (section, sort, not busy, *_natural(lane.tid))


def _natural(text: str) -> tuple[int, str]:
    digits = text.lstrip("-")
    return (int(text), "") if digits.isdecimal() and len(digits) < 30 else (2**63, text)


def _drives_gpu(trace: Trace, lane: Lane) -> bool:
    """Whether launches or operators are among the first slices of the lane."""
    if lane.row_end == lane.row_begin:
        return False
    a = int(trace.rows.begin[lane.row_begin])
    b = int(trace.rows.end[lane.row_end - 1])
    sample = trace.slices.paint[a : min(b, a + _SAMPLE)]
    return bool(np.any((sample == Paint.RUNTIME) | (sample == Paint.OPERATOR)))
