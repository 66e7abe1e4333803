"""What a filter matches: lanes by where they are, slices by their names, classes, durations and groups."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.query import Query, Span, Term, Text, Value
from viewer.base.ids import LaneKind, Paint
from viewer.base.work import CancelToken
from viewer.store.session import Input
from viewer.store.trace import Lane, Trace

Bools = NDArray[np.bool_]


def lane_matches(query: Query, item: Input, lane: Lane) -> bool:
    """Whether the conditions on lanes hold for a lane of an input."""
    return all(any(_lane_has(t.field, v, item, lane) for v in t.values) != t.negated for t in query.of_lanes)


def slice_mask(query: Query, item: Input, cancel: CancelToken | None = None) -> Bools:
    """bool[slices of the input]: which match all conditions, those on lanes included.

    Names and categories are compared once per distinct text, so the cost per slice is a look-up per condition.

    Raises:
        Cancelled: on request, between two conditions.
    """
    trace = item.trace
    out = _lane_mask(query, item)
    for term in query.of_slices:
        if cancel is not None:
            cancel.check()
        found = _term_mask(trace, term)
        out &= ~found if term.negated else found
    return out


def texts_matching(trace: Trace, value: Text) -> Bools:
    """bool[strings + 1]: the distinct texts in which it occurs; the last entry serves -1 (no text) and is False."""
    import pyarrow.compute as pc

    find = pc.match_substring_regex if value.regex else pc.match_substring
    hit = find(trace.strings, value.text, ignore_case=True).to_numpy(zero_copy_only=False)
    return np.append(hit, False).astype(np.bool_)


def _lane_mask(query: Query, item: Input) -> Bools:
    trace = item.trace
    if not query.of_lanes:
        return np.ones(len(trace.slices), np.bool_)
    out = np.zeros(len(trace.slices), np.bool_)
    for lane in trace.lanes:
        if lane.row_end > lane.row_begin and lane_matches(query, item, lane):
            out[int(trace.rows.begin[lane.row_begin]) : int(trace.rows.end[lane.row_end - 1])] = True
    return out


def _term_mask(trace: Trace, term: Term) -> Bools:
    s = trace.slices
    if term.field == "class":
        flags = np.zeros(len(Paint), np.bool_)
        flags[[int(v) for v in term.values if isinstance(v, Paint)]] = True
        return cast(Bools, flags[s.paint])
    if term.field == "dur":
        return _any([_inside(s.dur_ns, v) for v in term.values if isinstance(v, Span)])
    texts = _any([texts_matching(trace, v) for v in term.values if isinstance(v, Text)])
    if term.field == "group":
        c = trace.collectives
        out = np.zeros(len(s), np.bool_)
        out[c.slice[texts[c.group] | texts[c.group_desc]]] = True
        return out
    return cast(Bools, texts[s.name if term.field == "name" else s.cat])


def _inside(values: Any, span: Span) -> Bools:
    out = np.ones(len(values), np.bool_)
    if span.low is not None:
        out &= values >= span.low
    if span.high is not None:
        out &= values <= span.high
    return out


def _any(masks: list[Bools]) -> Bools:
    out = masks[0]
    for other in masks[1:]:
        out = out | other
    return out


def _lane_has(field: str, value: Value, item: Input, lane: Lane) -> bool:
    on_gpu = lane.kind in (LaneKind.STREAM, LaneKind.STREAM_MARKS)
    if field == "rank":
        return within(item.rank, value)
    if field == "gpu":
        return on_gpu and within(lane.device, value)
    if field == "stream":
        return on_gpu and within(lane.stream, value)
    if field == "thread":
        return not on_gpu and _id_or_name(value, lane.tid, lane.thread_name)
    if field == "process":
        return not on_gpu and _id_or_name(value, lane.pid, lane.process_name)
    return isinstance(value, Text) and occurs(value, lane_text(item, lane))


def lane_text(item: Input, lane: Lane) -> str:
    """What ``lane:`` looks into: where the lane is, in words."""
    where = f"GPU {lane.device} stream {lane.stream}" if lane.device is not None else f"thread {lane.tid}"
    return f"{item.label} {where} {lane.thread_name} {lane.process_name}"


def within(number: int | None, value: Value) -> bool:
    """Whether a number is given and inside a span."""
    if number is None or not isinstance(value, Span):
        return False
    return (value.low is None or number >= value.low) and (value.high is None or number <= value.high)


def _id_or_name(value: Value, written: str, name: str) -> bool:
    if isinstance(value, Span):
        return written.lstrip("-").isdecimal() and len(written) < 30 and within(int(written), value)
    return isinstance(value, Text) and occurs(value, f"{written} {name}")


def occurs(value: Text, text: str) -> bool:
    """Whether a piece of text, or an expression, is found in a text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    find = pc.match_substring_regex if value.regex else pc.match_substring
    return bool(find(pa.array([text]), value.text, ignore_case=True)[0].as_py())
