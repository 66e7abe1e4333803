"""What the data cannot say, where that limits the conclusions or forbids them; never a saving."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.groups import world_size
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.steady import SLOW, steady_steps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.names import flags_where
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.base.time import format_duration
from viewer.base.units import percent
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session

LOOKED_AT: Final = 200
"""Operators of a file whose arguments are looked at for shapes."""
NAMED: Final = 8
FIRST_CALL_NS: Final = 300_000_000
"""Making a context and loading libraries takes that long; no call in a running program does without a device that is
held up for as long."""
_FIRST_CALLS: Final = re.compile(
    r"(?:cuda|hip|cu)(?:Free|Malloc|Init|SetDevice|StreamCreate\w*|ModuleLoad\w*|LibraryLoad\w*|LaunchKernel\w*)(?:_v\d+)?$"
)


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """Several jobs in one, missing ranks, clocks, steps, shapes, cut files, and the steps that are set apart."""
    if not any(len(gpu_work(i.trace)) for i in session.inputs):
        return
    for part in (_jobs, _cut, _ranks, _clocks, _steps, _start_up, _shapes):
        cancel.check()
        yield from part(session)


def _info(kind: str, title: str, evidence: list[Evidence], next_step: str, how: str) -> JobFinding:
    return JobFinding(kind, kind, title, "info", None, "", tuple(evidence), next_step, how)


def _of_files(session: Session, count: int, one: str, many: str) -> str:
    """The subject of a sentence with its verb: "The file is", "All 8 files are", "2 of 8 files are"."""
    every = len(session.inputs)
    if every == 1:
        return f"The file {one}"
    return f"All {every} files {many}" if count == every else f"{count} of {every} files {one if count == 1 else many}"


def _jobs(session: Session) -> Iterator[JobFinding]:
    sizes: dict[int, list[Input]] = {}
    for item in session.inputs:
        if item.trace.meta.world_size is not None:
            sizes.setdefault(item.trace.meta.world_size, []).append(item)
    if len(sizes) < 2:
        return
    *first, last = (f"{size:,}" for size in sorted(sizes))
    yield replace(
        _info(
            "several-jobs",
            f"The files look like {len(sizes)} jobs, of {', '.join(first)} and {last} ranks: what is said of all of "
            "them together mixes these",
            [
                Evidence(f"{size:,} ranks: {len(items):,} {'file' if len(items) == 1 else 'files'}, for example "
                         f"{items[0].path.name}", items[0].extent())
                for size, items in sorted(sizes.items())[:NAMED]
            ],
            "Open the files of one job alone.",
            "The files of one job state one world size.",
        ),
        severity="error",
    )  # fmt: skip


def _cut(session: Session) -> Iterator[JobFinding]:
    cut = [i for i in session.inputs if not i.trace.meta.complete]
    if cut:
        yield _info(
            "cut-files",
            f"{_of_files(session, len(cut), 'is', 'are')} cut off: totals are floors",
            [Evidence(f"{i.label} ({i.path.name}) ends early", i.extent()) for i in cut[:NAMED]],
            "Write these traces again, or compare only steps that all files hold.",
            "The file ended inside its list of events; its readable beginning is kept exactly.",
        )


def _ranks(session: Session) -> Iterator[JobFinding]:
    size = world_size(session)
    ranks = {i.rank for i in session.inputs if i.rank is not None}
    if size is None or not ranks or len(ranks) >= size:
        return
    some = ", ".join(str(r) for r in sorted(ranks)[:NAMED]) + (", …" if len(ranks) > NAMED else "")
    yield _info(
        "missing-ranks",
        f"1 of {size:,} ranks is open: who waits for whom cannot be said"
        if len(ranks) == 1
        else f"{len(ranks)} of {size:,} ranks are open: waiting is a lower bound, late ranks among others are unseen",
        [Evidence(f"open: rank {some}; the files state a world size of {size:,}")],
        "Open the files of the other ranks as well, at least of one data-parallel replica or of one node.",
        "World size as the files state it, against the ranks whose files are open.",
    )


def _clocks(session: Session) -> Iterator[JobFinding]:
    if len(session.groups) < 2:
        return
    if session.clock_method != "collectives":
        yield _info(
            "clocks-not-aligned",
            "The clocks of the ranks are not aligned by their collectives: arrivals across ranks are not compared",
            [Evidence(f"clocks: {session.clock_method}; see the panel Clocks for the reason")],
            "Record collectives with their sequence numbers on all ranks (PyTorch from 2.2 on), or align in Clocks.",
            "Late ranks and arrivals need one clock; durations do not, and are shown.",
        )
        return
    apart = [c for c in align(session).clocks if not c.connected]
    if apart:
        names = [session.groups[c.group].label for c in apart]
        yield _info(
            "clocks-not-connected",
            f"The clocks of {len(apart)} of {len(session.groups)} ranks are not joined to the others: these are not "
            "compared",
            [Evidence(f"{n}: {c.why or 'no matched operation'}") for n, c in zip(names[:NAMED], apart, strict=False)],
            "Record the same steps on all ranks, so that each takes part in operations of the others.",
            "Clocks are joined by the ends of operations that several ranks share.",
        )


def _steps(session: Session) -> Iterator[JobFinding]:
    steady = steady_steps(session)
    if steady.step_ns is None:
        yield _info(
            "no-steps",
            "No steps are marked: figures are of the whole trace, and savings per step cannot be given",
            [Evidence("none of the marks that name steps, and no optimizer's step, is in the files")],
            "Call the profiler's step() once per iteration, or mark iterations with a range (record_function, NVTX).",
            "Steps come from ProfilerStep, iteration ranges, marks of serving engines, or optimizer steps.",
        )
    elif steady.count == 1:
        yield _info(
            "one-step",
            f"Only one step is recorded ({format_duration(steady.step_ns, 1)}): what recurs cannot be told from chance",
            [Evidence("one step per rank")],
            "Record some ten steps after the warm-up (schedule(wait=…, warmup=3, active=10)).",
            "A late rank, jitter and trends need at least two steps.",
        )
    if steady.first:
        yield _info(
            "warm-up",
            f"The first {steady.first} of {steady.count} steps are warm-up and set apart: "
            f"{format_duration(steady.warm_up_ns, 1)} against {format_duration(steady.step_ns, 1)}",
            [
                Evidence(
                    f"{steady.first} leading steps are more than {percent(SLOW - 1)} longer than the median of the rest"
                )
            ],
            "Nothing, unless the job never reaches its steady pace; record after the warm-up to keep files small.",
            f"Leading steps longer than {SLOW:g} times the median of the later ones, at most a third of all.",
        )


def _start_up(session: Session) -> Iterator[JobFinding]:
    """Where nothing marks steps: calls that are slow because the program calls the device for the first time."""
    if steady_steps(session).step_ns is not None:
        return
    slow: list[tuple[int, Input, int]] = []
    for item in session.inputs:
        s = item.trace.slices
        calls = np.flatnonzero((s.paint == Paint.RUNTIME) & (s.dur_ns >= FIRST_CALL_NS))
        calls = calls[flags_where(item.trace, s.name[calls], _FIRST_CALLS.match)[s.name[calls]]]
        if len(calls):
            longest = int(calls[int(np.argmax(s.dur_ns[calls]))])
            slow.append((int(s.dur_ns[longest]), item, longest))
    if slow:
        slow.sort(key=lambda x: -x[0])
        ns, first, row = slow[0]
        yield _info(
            "start-up",
            f"The program's start is recorded ({first.trace.name(row)} takes {format_duration(ns, 1)}): idle time and "
            "slow calls are those of the set-up",
            [
                Evidence(
                    f"{i.label}: {i.trace.name(r)} takes {format_duration(d, 1)}",
                    SliceRef(i.index, r),
                )
                for d, i, r in slow[:NAMED]
            ],
            "Profile steps after the warm-up (schedule(wait=…, warmup=3, active=10), or start_profile after some "
            "requests).",
            "Calls that make the context, load code or allocate for the first time and take at least "
            f"{format_duration(FIRST_CALL_NS, 0)}, in files without steps.",
        )


def _shapes(session: Session) -> Iterator[JobFinding]:
    without = [i for i in session.inputs if _has_operators(i) and not _has_shapes(i)]
    if without:
        yield _info(
            "no-shapes",
            f"{_of_files(session, len(without), 'holds', 'hold')} no operator shapes: FLOPs cannot be counted",
            [Evidence(f"{i.label}: its operators state no input shapes") for i in without[:NAMED]],
            "Profile one step with record_shapes=True; it costs host time, so not the steps that are timed.",
            f"Arguments of the first {LOOKED_AT} operators of each file.",
        )


def _operators(item: Input) -> list[int]:
    trace = item.trace
    return [
        int(r)
        for r in trace.memo("some_operators", lambda: np.flatnonzero(trace.slices.paint == Paint.OPERATOR)[:LOOKED_AT])
    ]


def _has_operators(item: Input) -> bool:
    return bool(_operators(item))


def _has_shapes(item: Input) -> bool:
    stated = item.trace.meta.facts.get("record_shapes")
    if stated in (1, True):
        return True
    return any(
        item.trace.args(row).get("Input Dims") or item.trace.args(row).get("Input dims") for row in _operators(item)
    )
