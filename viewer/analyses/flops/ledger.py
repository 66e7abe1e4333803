"""Which FLOPs a file's GPU work did by its recorded shapes, and which work they do not explain."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import graph_calls, nearest, operator_of_work
from viewer.analyses.flops.call import Call, Cost
from viewer.analyses.flops.formulas import cost_of, formula_of
from viewer.analyses.flops.launchers import recorded_launchers
from viewer.analyses.flops.main_kernels import FAMILY_NAMES, NONE, family_of, full_fp32
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import distinct, flags_where
from viewer.base.ids import Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

ENOUGH: Final = 0.95
"""Share of the time of matrix products, convolutions and attention that shapes must explain for an HFU."""
IN_GRAPH: Final = "inside a CUDA graph, where no operator runs"
NO_LAUNCH: Final = "the file holds no operator that launched it"
UNKNOWN_OPERATOR: Final = "launched by an operator that this table does not know"


@dataclass(frozen=True, slots=True)
class Gap:
    """Work that counts nowhere: why, by which operator ("" without one), how many kernels, ns, and the longest."""

    why: str
    operator: str
    family: str
    kernels: int
    sum_ns: int
    row: int


@dataclass(frozen=True, eq=False)
class Ledger:
    """FLOPs of a file.

    Arrays have one entry per position of ``gpu_work``: ``flops`` and ``bytes`` (float64) of each kernel, nan where they
    are unknown or it does none; ``family`` as in ``main_kernels``; ``cost`` the number of its call's cost, -1 without.
    A call that launched several kernels of products has its FLOPs split over them by their time.

    ``calls`` counts the calls of each of ``costs``; ``operator_rows`` are the operators that count, ``cost_of_row`` the
    numbers of their costs.
    """

    flops: F64
    bytes: F64
    family: NDArray[np.uint8]
    cost: I64
    costs: tuple[Cost, ...]
    calls: I64
    operator_rows: I64
    cost_of_row: I64
    gaps: tuple[Gap, ...]
    gap: I64
    """Per position of ``gpu_work`` the place among ``gaps``, -1 for what counts or is no such work."""
    known_ns: int
    """Sum of the durations of the products, convolutions and attention whose FLOPs are known."""
    unknown_ns: int
    """That of the others."""

    @property
    def total(self) -> int:
        """All FLOPs, exact."""
        return sum(c.flops * n for c, n in zip(self.costs, self.calls.tolist(), strict=True))

    @property
    def coverage(self) -> float | None:
        """Share of the time of products, convolutions and attention that shapes explain; None without any."""
        whole = self.known_ns + self.unknown_ns
        return self.known_ns / whole if whole else None

    def by_family(self) -> dict[str, int]:
        """FLOPs by family."""
        out: dict[str, int] = defaultdict(int)
        for cost, n in zip(self.costs, self.calls.tolist(), strict=True):
            out[cost.family] += cost.flops * n
        return dict(out)

    def by_dtype(self) -> dict[str, int]:
        """FLOPs by type of the operands."""
        out: dict[str, int] = defaultdict(int)
        for cost, n in zip(self.costs, self.calls.tolist(), strict=True):
            out[cost.dtype or "unknown"] += cost.flops * n
        return dict(out)


def ledger(trace: Trace) -> Ledger:
    """The FLOPs of a file. Built once."""
    return trace.memo("flops", lambda: _build(trace))


def families(trace: Trace) -> NDArray[np.uint8]:
    """The family of each position of ``gpu_work`` by its kernel's name; NONE for what is no compute."""

    def build() -> NDArray[np.uint8]:
        work = gpu_work(trace)
        names = trace.slices.name[work.index]
        of_name = np.zeros(len(trace.strings) + 1, np.uint8)
        for code in distinct(names[work.paint == Paint.COMPUTE]):
            of_name[code] = family_of(trace.text(code))
        return np.where(work.paint == Paint.COMPUTE, of_name[names], np.uint8(NONE)).astype(np.uint8)

    return trace.memo("kernel_families", build)


def _build(trace: Trace) -> Ledger:
    s, work = trace.slices, gpu_work(trace)
    n = len(work)
    by_name = families(trace)
    around, inner = _nearest_listed(trace), operator_of_work(trace)
    owner = np.where(inner >= 0, around[np.maximum(inner, 0)], -1).astype(np.int64)
    length = work.end_ns - work.start_ns
    compute = work.paint == Paint.COMPUTE

    # The kernels of a call that do its products: those that are known as such by name, else all it launched itself.
    owned = np.flatnonzero((owner >= 0) & compute)
    rows, place = np.unique(owner[owned], return_inverse=True)
    named = np.bincount(place, by_name[owned] != NONE, len(rows)) > 0
    main = owned[np.where(named[place], by_name[owned] != NONE, True)]
    rows, place = np.unique(owner[main], return_inverse=True)
    rows, place, main = _innermost(around, s.parent, rows, place, main)

    numbers, costs, why = _costs(trace, rows, place, main)
    family, flops = by_name.copy(), np.full(n, np.nan)
    moved = np.full(n, np.nan)
    cost = np.full(n, -1, np.int64)
    known = numbers >= 0
    here = known[place]
    at, call = main[here], place[here]
    cost[at] = numbers[call]
    family[at] = _family_numbers(costs)[cost[at]] if len(costs) else 0
    spent = np.bincount(call, length[at], len(rows))
    count = np.bincount(call, minlength=len(rows))
    share = np.where(spent[call] > 0, length[at] / np.maximum(spent[call], 1), 1 / np.maximum(count[call], 1))
    if len(costs):
        flops[at] = np.array([c.flops for c in costs], np.float64)[cost[at]] * share
        moved[at] = np.array([np.nan if c.bytes is None else c.bytes for c in costs], np.float64)[cost[at]] * share

    matters = family != NONE
    without = np.flatnonzero(matters & (cost < 0))
    reasons = _reasons(trace, without, owner, rows, why)
    return Ledger(
        flops,
        moved,
        family,
        cost,
        tuple(costs),
        np.bincount(numbers[known], minlength=len(costs)).astype(np.int64),
        rows[known],
        numbers[known],
        *_gaps(trace, without, reasons, family),
        int(length[matters & (cost >= 0)].sum()),
        int(length[without].sum()),
    )


def _nearest_listed(trace: Trace) -> NDArray[np.int32]:
    """For every slice the nearest operator of the table at or around it; -1 without one."""
    s = trace.slices
    listed = flags_where(trace, s.name[s.paint == Paint.OPERATOR], formula_of)
    return nearest(trace, np.asarray((s.paint == Paint.OPERATOR) & listed[s.name]))


def _innermost(around: NDArray[np.int32], parent: I64, rows: I64, place: I64, main: I64) -> tuple[I64, I64, I64]:
    """Leaves out calls around other calls that count: what they launched themselves is preparation (a copy).

    ``around`` and ``parent`` have one entry per slice; ``place`` says to which of ``rows`` each of ``main`` belongs.
    """
    outer = np.zeros(len(rows), np.bool_)
    current = rows
    while len(current):
        above = parent[current]
        above = np.where(above >= 0, around[np.maximum(above, 0)], -1)
        current = np.unique(above[above >= 0]).astype(np.int64)
        outer |= np.isin(rows, current)
    if not outer.any():
        return rows, place.astype(np.int64), main
    keep = ~outer[place]
    number = np.cumsum(~outer) - 1
    return rows[~outer], number[place[keep]].astype(np.int64), main[keep]


def _costs(trace: Trace, rows: I64, place: I64, main: I64) -> tuple[I64, list[Cost], list[str]]:
    """Per call the number of its cost (-1: unknown), the distinct costs, and per call why it is unknown ("")."""
    s, work = trace.slices, gpu_work(trace)
    number, entries = recorded_launchers(trace).of(trace, rows)
    order = np.argsort(place, kind="stable")
    begin = np.searchsorted(place[order], np.arange(len(rows) + 1))
    kernels = s.name[work.index[main]][order]
    ran, sets = _kernel_sets(kernels, begin)
    names = s.name[rows].astype(np.int64)
    kind = np.zeros(len(rows), np.int64)
    for column in (names, number, ran):  # numbered again with each, so numbers stay small
        low = int(column.min(initial=0))
        spread = int(column.max(initial=0)) - low + 1
        _, first, kind = np.unique(kind * spread + column - low, return_index=True, return_inverse=True)
    costs: dict[Cost, int] = {}
    known, reason = np.full(len(first), -1, np.int64), [""] * len(first)
    for k in np.argsort(first).tolist():  # in the order in which they were first called
        i = int(first[k])
        r = entries[int(number[i])]
        call = Call(trace.text(names[i]), r.dims, r.types, r.values, tuple(map(trace.text, sets[ran[i]])))
        cost = _on_matrix_units(cost_of(call), call.kernels)
        if isinstance(cost, str):
            reason[k] = trace.args_problem if not call.dims and trace.args_problem else cost
        else:
            known[k] = costs.setdefault(cost, len(costs))
    return known[kind], list(costs), [reason[k] for k in kind.tolist()]


def _kernel_sets(kernels: NDArray[np.int32], begin: I64) -> tuple[I64, list[tuple[int, ...]]]:
    """Per call the number of the names of its kernels, each once in order, and these.

    ``kernels`` holds the names of call i at [begin[i], begin[i + 1]).
    """
    out, single = np.empty(len(begin) - 1, np.int64), np.diff(begin) == 1
    numbers: dict[tuple[int, ...], int] = {}
    distinct_names, place = np.unique(kernels[begin[:-1][single]], return_inverse=True)
    for name in distinct_names.tolist():
        numbers[name,] = len(numbers)
    out[single] = place
    for i in np.flatnonzero(~single).tolist():
        names = tuple(dict.fromkeys(kernels[begin[i] : begin[i + 1]].tolist()))
        out[i] = numbers.setdefault(names, len(numbers))
    return out, list(numbers)


def _on_matrix_units(cost: Cost | str, kernels: tuple[str, ...]) -> Cost | str:
    """Products of 32-bit operands that kernels with TF32 in their names did are "tf32": another peak holds for them."""
    if isinstance(cost, Cost) and cost.dtype == "fp32" and any(full_fp32(k) is False for k in kernels):
        return replace(cost, dtype="tf32")
    return cost


def _family_numbers(costs: list[Cost]) -> NDArray[np.uint8]:
    return np.array([FAMILY_NAMES.index(c.family) for c in costs], np.uint8)


def _reasons(trace: Trace, without: I64, owner: I64, rows: I64, why: list[str]) -> list[tuple[str, int]]:
    """Per piece of work without FLOPs the reason and the name of its operator (index into strings, -1)."""
    s, inner = trace.slices, operator_of_work(trace)
    call = links(trace).call_of
    graph = graph_calls(trace)
    out = []
    for at in without.tolist():
        row, op = int(owner[at]), int(inner[at])
        i = int(np.searchsorted(rows, row)) if row >= 0 else len(rows)
        if call[at] >= 0 and graph[s.name[call[at]]]:
            out.append((IN_GRAPH, -1))
        elif i < len(rows) and rows[i] == row and why[i]:
            out.append((why[i], int(s.name[row])))
        elif op >= 0:
            out.append((UNKNOWN_OPERATOR, int(s.name[op])))
        else:
            out.append((NO_LAUNCH, -1))
    return out


def _gaps(
    trace: Trace, without: I64, reasons: list[tuple[str, int]], family: NDArray[np.uint8]
) -> tuple[tuple[Gap, ...], I64]:
    """What does not count, the longest first, and per position of ``gpu_work`` which of these it is in."""
    work = gpu_work(trace)
    groups: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for at, (why, name) in zip(without.tolist(), reasons, strict=True):
        groups[why, name, int(family[at])].append(at)
    out, places = [], np.full(len(work), -1, np.int64)
    for (why, name, kind), members in groups.items():
        at = np.array(members, np.int64)
        length = work.end_ns[at] - work.start_ns[at]
        longest = int(work.index[at[int(np.argmax(length))]])
        out.append((Gap(why, trace.text(name), FAMILY_NAMES[kind], len(at), int(length.sum()), longest), at))
    out.sort(key=lambda pair: (-pair[0].sum_ns, pair[0].why, pair[0].operator))
    for number, (_, at) in enumerate(out):
        places[at] = number
    return tuple(gap for gap, _ in out), places
