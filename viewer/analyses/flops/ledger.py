"""Which FLOPs a file's GPU work did by its recorded shapes, and which work they do not explain."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import graph_calls, nearest, operator_of_work
from viewer.analyses.flops.call import Call, Cost
from viewer.analyses.flops.formulas import cost_of, formula_of
from viewer.analyses.flops.launchers import recorded_launchers
from viewer.analyses.flops.main_kernels import FAMILY_NAMES, NONE, family_of, full_fp32
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import named_where, names_of
from viewer.analyses.numbering import numbered_rows, numbered_values
from viewer.base.ids import Paint
from viewer.jit.grouping import sum_by_group
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
        for code in names_of(trace, Paint.COMPUTE):
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
    rows, _, place = numbered_values(owner[owned])
    named = np.bincount(place, by_name[owned] != NONE, len(rows)) > 0
    main = owned[np.where(named[place], by_name[owned] != NONE, True)]
    rows, _, place = numbered_values(owner[main])
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
    return Ledger(
        flops,
        moved,
        family,
        cost,
        tuple(costs),
        np.bincount(numbers[known], minlength=len(costs)).astype(np.int64),
        rows[known],
        numbers[known],
        *_gaps(trace, without, _reasons(trace, without, owner, rows, why), family),
        int(length[matters & (cost >= 0)].sum()),
        int(length[without].sum()),
    )


def _nearest_listed(trace: Trace) -> NDArray[np.int32]:
    """For every slice the nearest operator of the table at or around it; -1 without one."""
    s = trace.slices
    listed = named_where(trace, (Paint.OPERATOR,), formula_of)
    return nearest(trace, np.asarray((s.paint == Paint.OPERATOR) & listed[s.name]))


def _innermost(around: NDArray[np.int32], parent: I64, rows: I64, place: I64, main: I64) -> tuple[I64, I64, I64]:
    """Leaves out calls around other calls that count: what they launched themselves is preparation (a copy).

    ``around`` and ``parent`` have one entry per slice; ``place`` says to which of ``rows`` each of ``main`` belongs.
    """
    outside = np.zeros(len(parent), np.bool_)
    current = rows
    while len(current):
        above = parent[current]
        above = above[above >= 0]
        listed = around[above]
        current = np.unique(listed[(listed >= 0) & ~outside[listed]]).astype(np.int64)
        outside[current] = True
    outer = outside[rows]
    if not outer.any():
        return rows, place.astype(np.int64), main
    keep = ~outer[place]
    number = np.cumsum(~outer) - 1
    return rows[~outer], number[place[keep]].astype(np.int64), main[keep]


class Why(NamedTuple):
    """Why costs are unknown: the reasons, and for each call which of them, -1 where its cost is known."""

    texts: list[str]
    of_call: I64


def _costs(trace: Trace, rows: I64, place: I64, main: I64) -> tuple[I64, list[Cost], Why]:
    """Per call the number of its cost (-1: unknown), the distinct costs, and why others are unknown."""
    s, work = trace.slices, gpu_work(trace)
    number, entries = recorded_launchers(trace).of(trace, rows)
    order = np.argsort(place, kind="stable")
    begin = np.searchsorted(place[order], np.arange(len(rows) + 1))
    kernels = s.name[work.index[main]][order]
    ran, sets = _kernel_sets(kernels, begin)
    names = s.name[rows].astype(np.int64)
    _, first, kind = numbered_rows(np.stack((names, number, ran), axis=1))
    costs: dict[Cost, int] = {}
    reasons: dict[str, int] = {}
    known, reason = np.full(len(first), -1, np.int64), np.full(len(first), -1, np.int64)
    for k in np.argsort(first).tolist():  # in the order in which they were first called
        i = int(first[k])
        r = entries[int(number[i])]
        call = Call(trace.text(names[i]), r.dims, r.types, r.values, tuple(map(trace.text, sets[ran[i]])))
        cost = _on_matrix_units(cost_of(call), call.kernels)
        if isinstance(cost, str):
            text = trace.args_problem if not call.dims and trace.args_problem else cost
            reason[k] = reasons.setdefault(text, len(reasons))
        else:
            known[k] = costs.setdefault(cost, len(costs))
    return known[kind], list(costs), Why(list(reasons), reason[kind])


def _kernel_sets(kernels: NDArray[np.int32], begin: I64) -> tuple[I64, list[tuple[int, ...]]]:
    """Per call the number of the names of its kernels, each once in order, and these.

    ``kernels`` holds the names of call i at [begin[i], begin[i + 1]).
    """
    out, count = np.empty(len(begin) - 1, np.int64), np.diff(begin)
    numbers: dict[tuple[int, ...], int] = {}
    for size in np.flatnonzero(np.bincount(count)).tolist():
        calls = np.flatnonzero(count == size)
        found = numbered_rows(kernels[begin[calls][:, None] + np.arange(size)].astype(np.int64))
        names = (tuple(dict.fromkeys(kernels[begin[i] : begin[i] + size].tolist())) for i in calls[found.first])
        out[calls] = np.array([numbers.setdefault(n, len(numbers)) for n in names], np.int64)[found.number]
    return out, list(numbers)


def _on_matrix_units(cost: Cost | str, kernels: tuple[str, ...]) -> Cost | str:
    """Products of 32-bit operands that kernels with TF32 in their names did are "tf32": another peak holds for them."""
    if isinstance(cost, Cost) and cost.dtype == "fp32" and any(full_fp32(k) is False for k in kernels):
        return replace(cost, dtype="tf32")
    return cost


def _family_numbers(costs: list[Cost]) -> NDArray[np.uint8]:
    return np.array([FAMILY_NAMES.index(c.family) for c in costs], np.uint8)


def _reasons(trace: Trace, without: I64, owner: I64, rows: I64, why: Why) -> tuple[list[str], I64, I64]:
    """Why work has no FLOPs: the reasons, and per piece of work which of them and its operator's name (-1: none)."""
    s, inner = trace.slices, operator_of_work(trace)
    texts = [IN_GRAPH, NO_LAUNCH, UNKNOWN_OPERATOR, *why.texts]
    reason, name = np.ones(len(without), np.int64), np.full(len(without), -1, np.int64)
    call, row, op = links(trace).call_of[without], owner[without], inner[without]
    known = op >= 0
    reason[known], name[known] = 2, s.name[op[known]]
    if len(rows):
        at = np.minimum(np.searchsorted(rows, row), len(rows) - 1)
        told = (row >= 0) & (rows[at] == row) & (why.of_call[at] >= 0)
        reason[told], name[told] = 3 + why.of_call[at[told]], s.name[row[told]]
    graph = (call >= 0) & graph_calls(trace)[s.name[np.maximum(call, 0)]]
    reason[graph], name[graph] = 0, -1
    return texts, reason, name


def _gaps(
    trace: Trace, without: I64, reasons: tuple[list[str], I64, I64], family: NDArray[np.uint8]
) -> tuple[tuple[Gap, ...], I64]:
    """What does not count, the longest first, and per position of ``gpu_work`` which of these it is in."""
    work = gpu_work(trace)
    texts, reason, name = reasons
    places = np.full(len(work), -1, np.int64)
    if not len(without):
        return (), places
    found = numbered_rows(np.stack((reason, name, family[without].astype(np.int64)), axis=1))
    length = work.end_ns[without] - work.start_ns[without]
    count = len(found.keys)
    sums, most, longest = (np.zeros(count, np.int64) for _ in range(3))
    sum_by_group(found.number, length, sums)
    np.maximum.at(most, found.number, length)
    top = np.flatnonzero(length == most[found.number])[::-1]
    longest[found.number[top]] = top  # the first of the longest: the last one written
    kernels = np.bincount(found.number, minlength=count)
    rows = work.index[without[longest]]
    gaps = [
        Gap(texts[why], trace.text(code), FAMILY_NAMES[kind], int(kernels[k]), int(sums[k]), int(rows[k]))
        for k, (why, code, kind) in enumerate(found.keys.tolist())
    ]
    ranking = sorted(range(count), key=lambda k: (-gaps[k].sum_ns, gaps[k].why, gaps[k].operator, found.first[k]))
    rank = np.empty(count, np.int64)
    rank[ranking] = np.arange(count)
    places[without] = rank[found.number]
    return tuple(gaps[k] for k in ranking), places
