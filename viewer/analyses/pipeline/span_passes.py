"""Passes of files that hold spans of many workers, as a trainer timed them (ndtimeline, MegaScan): no kernels."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import lanes_of_rows
from viewer.analyses.names import distinct
from viewer.analyses.pipeline.marks import PassName, pass_name
from viewer.analyses.pipeline.model import (
    CommKind,
    Communication,
    Layout,
    Line,
    NoPipelineError,
    Passes,
    PassKind,
    Worker,
)
from viewer.base.ids import LaneKind, Paint
from viewer.jit.intervals import total, union
from viewer.store.loose_json import loads
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

MOST_SPANS: Final = 2_000_000
"""Spans whose args are read; files with more get a reason instead of figures."""
_PLAIN: Final = {
    "forward": PassName(PassKind.FORWARD),
    "backward": PassName(PassKind.BACKWARD),
    "wgrad": PassName(PassKind.WEIGHT),
}
_SEND: Final = re.compile(r"(?:^|[-_ ])send(?:$|[-_ ])", re.IGNORECASE)
_RECEIVE: Final = re.compile(r"(?:^|[-_ ])re(?:cv|ceive)(?:$|[-_ ])", re.IGNORECASE)
_COLLECTIVE: Final = re.compile(r"all[-_ ]?(?:reduce|gather|to[-_ ]?all)|reduce[-_ ]?scatter|broadcast", re.IGNORECASE)
_PLACE: Final = re.compile(r"\b([DPT])P rank\s*\[?(\d{1,6})\]?", re.IGNORECASE)
_STEP: Final = ("step", "iteration", "iter")
_MICRO: Final = ("mb_id", "microbatch", "micro_batch", "microbatch_id")
_CHUNK: Final = ("model_chunk", "mc", "chunk")
_STAGE: Final = ("pp_rank", "stage", "pipeline_rank")
_REPLICA: Final = ("dp_rank", "data_parallel_rank")
_TENSOR: Final = ("tp_rank",)
_ORDER: Final = ("seq_id",)


@dataclass(slots=True)
class _Gathered:
    """Spans of one worker in one step: (start, end, row, kind, micro, chunk, order) and (start, end, row, CommKind)."""

    passes: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    comm: list[tuple[int, int, int, int]] = field(default_factory=list)


Place = tuple[int, int, int, str]
"""(data-parallel rank, tensor-parallel rank, pipeline rank, thread): -1 for a rank that nothing states."""


def has_pass_spans(trace: Trace) -> bool:
    """Whether a file without GPU work holds spans of forward and backward passes."""
    return trace.memo("pass_spans", lambda: trace.meta.gpu_first_ns is None and len(_names(trace)[0]) > 1)


def _names(trace: Trace) -> tuple[set[PassKind], dict[int, PassName], dict[int, CommKind]]:
    s = trace.slices
    passes: dict[int, PassName] = {}
    comm: dict[int, CommKind] = {}
    for code in distinct(s.name[s.paint == Paint.ANNOTATION]):
        text = trace.text(code)
        found = _PLAIN.get(text.lower()) or pass_name(text)
        if found is not None:
            passes[code] = found
        elif _SEND.search(text[:200]):
            comm[code] = CommKind.SEND
        elif _RECEIVE.search(text[:200]):
            comm[code] = CommKind.RECEIVE
        elif _COLLECTIVE.search(text[:200]):
            comm[code] = CommKind.OTHER
    return {p.kind for p in passes.values()}, passes, comm


def span_layout(session: Session) -> Layout:
    """The pipelines of the one file of spans of a job.

    Raises:
        NoPipelineError: its spans do not say which stage or step they belong to, or there is one stage only.
    """
    chosen = [i for i in session.inputs if has_pass_spans(i.trace)]
    if len(chosen) > 1:
        raise NoPipelineError(
            f"{len(chosen)} files hold passes of many workers each: open one of them for figures of its pipeline"
        )
    item = chosen[0]
    gathered = _gather(item.trace)
    places = sorted({place for place, _ in gathered})
    replicas = _replicas(places)
    stages = sorted({p[2] for p in places})
    if len(stages) < 2:
        raise NoPipelineError("the file holds the passes of one pipeline stage only")
    group = session.group_of(item.index).id
    workers: list[Worker] = []
    lines: list[Line] = []
    where: dict[Place, int] = {}
    for number, (label, members) in enumerate(replicas):
        indexes = []
        for stage, wanted in enumerate(stages):
            found = next((p for p in members if p[2] == wanted), None)
            indexes.append(len(workers))
            if found is not None:
                where[found] = len(workers)
            name = f"PP {wanted}" + (f", {label}" if label else "")
            workers.append(Worker(len(workers), name, stage, number, None, None if found is None else group))
        lines.append(Line(number, label or "the pipeline", tuple(indexes)))
    passes = {
        (where[place], step): _passes(session, item.index, g)
        for (place, step), g in gathered.items()
        if place in where and g.passes
    }
    chunks = max((int(p.chunk.max(initial=0)) for p in passes.values()), default=0) + 1
    return Layout(
        len(stages),
        tuple(workers),
        tuple(lines),
        tuple(sorted({s for _, s in passes})),
        passes,
        "the file's pipeline ranks",
        "spans that the trainer timed",
        "spans",
        chunks,
        "" if all(w.group is not None for w in workers) else "the file lacks workers of some pipelines",
    )


def _replicas(places: list[Place]) -> list[tuple[str, list[Place]]]:
    """Places by replica: data and tensor rank, else the thread where several of one stage have passes."""
    several = any(a[:3] == b[:3] for a, b in itertools.pairwise(places))
    by: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for place in places:
        by[(*place[:2], place[3] if several else "")].append(place)
    out = []
    many_tensor = len({p[1] for p in places}) > 1
    for number, (key, members) in enumerate(sorted(by.items(), key=lambda kv: tuple(map(str, kv[0])))):
        parts = [f"DP {key[0]}"] if key[0] != -1 else []
        if many_tensor:
            parts.append(f"TP {key[1]}")
        if not parts and len(by) > 1:
            parts.append(f"replica {number}")
        out.append((", ".join(parts), members))
    return out


def _gather(trace: Trace) -> dict[tuple[Place, int], _Gathered]:
    s = trace.slices
    _, passes, comm = _names(trace)
    wanted = np.zeros(len(trace.strings) + 1, np.bool_)
    wanted[[*passes, *comm]] = True
    rows = np.flatnonzero((s.paint == Paint.ANNOTATION) & wanted[s.name])
    if len(rows) > MOST_SPANS:
        raise NoPipelineError(f"the file holds {len(rows):,} spans of passes: more than {MOST_SPANS:,} are not read")
    lane = lanes_of_rows(trace, rows)
    stated = [_stated(f"{x.process_name[:200]} {x.thread_name[:200]}") for x in trace.lanes]
    out: dict[tuple[Place, int], _Gathered] = defaultdict(_Gathered)
    start, name = s.start_ns[rows].tolist(), s.name[rows].tolist()
    end = (s.start_ns[rows] + s.dur_ns[rows]).tolist()
    told_args = _args(trace, rows)
    on_thread = [x.kind is LaneKind.THREAD for x in trace.lanes]
    for i, (row, number) in enumerate(zip(rows.tolist(), lane.tolist(), strict=True)):
        if not on_thread[number]:
            continue
        args = told_args[i]
        step, named = _number(args, _STEP), stated[number]
        stage = _number(args, _STAGE, named.get("P"))
        if step is None or stage is None:
            continue
        # Without data-parallel ranks, the thread tells replicas apart; with them it is only a kind of work.
        replica = _number(args, _REPLICA, named.get("D"))
        thread = "" if replica is not None else trace.lanes[number].tid
        place = (_or(replica), _or(_number(args, _TENSOR, named.get("T"))), stage, thread)
        told = passes.get(name[i])
        if told is not None:
            micro = _or(_number(args, _MICRO)) if told.micro < 0 else told.micro
            chunk, order = _number(args, _CHUNK), _number(args, _ORDER)
            out[place, step].passes.append(
                (start[i], end[i], row, int(told.kind), micro, max(_or(chunk), 0), _or(order))
            )
        else:
            out[place, step].comm.append((start[i], end[i], row, int(comm[name[i]])))
    if not any(g.passes for g in out.values()):
        raise NoPipelineError("the passes in the file do not say their step and their pipeline rank")
    return {key: g for key, g in out.items() if g.passes}


def _args(trace: Trace, rows: I64) -> list[dict[str, Any]]:
    """The args of many slices, read in the order in which they are stored."""
    offset, length = trace.slices.args_off[rows], trace.slices.args_len[rows]
    order = np.argsort(offset, kind="stable")
    texts = trace.args_text.read_many(offset[order].tolist(), length[order].tolist())
    out: list[dict[str, Any]] = [{} for _ in range(len(rows))]
    for i, text in zip(order.tolist(), texts, strict=True):
        if text:
            with contextlib.suppress(ValueError):
                value = loads(text)
                if isinstance(value, dict):
                    out[i] = value
    return out


def _or(value: int | None) -> int:
    return -1 if value is None else value


def _stated(text: str) -> dict[str, int]:
    return {kind.upper(): int(number) for kind, number in _PLACE.findall(text)}


def _number(args: Mapping[str, Any], keys: tuple[str, ...], otherwise: int | None = None) -> int | None:
    for key in keys:
        value = args.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40:
            return value
    return otherwise


def _passes(session: Session, number: int, g: _Gathered) -> Passes:
    clock = session.inputs[number].clock
    start, end, row, kind, micro, chunk, order = np.array(sorted(g.passes), np.int64).T
    if (micro < 0).any():
        micro = np.empty(len(kind), np.int64)
        for k in np.unique(kind).tolist():
            for c in np.unique(chunk).tolist():
                mine = np.flatnonzero((kind == k) & (chunk == c))
                micro[mine] = np.argsort(np.argsort(order[mine], kind="stable"), kind="stable")
    found = np.array(sorted(g.comm), np.int64).reshape(-1, 4).T
    return Passes(
        number,
        kind.astype(np.uint8),
        micro,
        chunk,
        clock.many_to_session(start),
        clock.many_to_session(end),
        end - start,
        end - start,
        row,
        int(total(*union(start, end))),
        Communication(
            clock.many_to_session(found[0]), clock.many_to_session(found[1]), found[3].astype(np.uint8), found[2]
        ),
    )
