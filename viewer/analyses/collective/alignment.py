"""One clock for all ranks, from the ends of their shared operations.

Members of an all-reduce, all-gather, reduce-scatter or equal all-to-all end at about the same instant, so the
differences of their ends are differences of their clocks (``differences``). Least squares over all groups joins them,
also where two ranks meet only through others (``solving``). Causality gives hard bounds (``bounds``): no member ends
before the last one began, no receive ends before its send began.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.bounds import feasible
from viewer.analyses.collective.differences import FEWEST, Difference, differences
from viewer.analyses.collective.evidence import Evidence, evidence
from viewer.analyses.collective.held import hold, step_bursts
from viewer.analyses.collective.jumps import Jump, whose
from viewer.analyses.collective.lines import spread_of
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.point_to_point import Pairs, pair
from viewer.analyses.collective.solving import Solved, components, largest, solve
from viewer.base.clock import Clock
from viewer.base.ids import ABSENT
from viewer.store.session import Session

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

MOST_SHOWN: Final = 100_000
"""Members whose distance to their operation is kept for the spread and for pictures."""
TOGETHER_NS: Final = 5_000
"""Receives that waited end with their sends, all by the same difference of clocks to within this."""
UNUSUAL: Final = 20.0
"""Where causality is broken, differences that scatter so many times as much as others are of two runs, not of one."""
SYSTEMATIC_NS: Final = 3_000
"""Kernels of one operation end in the order in which the last data reach them: microseconds apart, always alike."""


@dataclass(frozen=True, slots=True)
class RankClock:
    """The clock of one rank against the reference, ns. file time = session time + offset + drift x (time - t0).

    ``low_ns`` and ``high_ns`` are the offsets at t0 that causality allows, None without a bound. ``error_ns`` is the
    standard error of the offset wherever it is used, ``spread_ns`` the scatter of one match. The drift may be wrong by
    ``drift_error_ppb``; None where the recording is too short to tell of it (then 0 is used). ``why`` says why a rank
    is not connected. ``held`` is empty, or (file time from which, offset) where the clock was set step by step.
    """

    group: int
    rank: int | None
    offset_ns: int
    drift_ppb: int
    matches: int
    spread_ns: int | None
    error_ns: int | None
    low_ns: int | None
    high_ns: int | None
    connected: bool
    why: str = ""
    held: tuple[tuple[int, int], ...] = ()
    drift_error_ppb: int | None = None
    jump: tuple[int, int] | None = None
    """(session time, ns) at which the clock was set, and by how much; None for never.

    It is not taken out: offset and drift are those before it, and the uncertainty holds it.
    """

    @property
    def uncertainty_ns(self) -> int | None:
        """No lateness below this is reported.

        Three times the scatter of a match or the standard error, whichever is more, and what no trace can tell from the
        clock: that one rank's kernels always end a little later.
        """
        if self.spread_ns is None or self.error_ns is None:
            return None
        jumped = 0 if self.jump is None else abs(self.jump[1])
        return 3 * max(self.spread_ns, self.error_ns) + SYSTEMATIC_NS + jumped


@dataclass(frozen=True, eq=False)
class Alignment:
    """The clocks of a job. ``reference`` is the RankGroup id whose clock is the job's, None when nothing was aligned.

    ``clocks`` has one entry per RankGroup of the session, by id. The residual arrays have one entry per member of an
    operation whose ends were used: RankGroup id, time (ns after ``zero_ns``), and how far its end lay from the median
    end of its operation before and after, ns.
    """

    method: str
    reference: int | None
    t0_ns: int | None
    match_rate: float | None
    pairs: Pairs
    clocks: tuple[RankClock, ...]
    zero_ns: int
    residual_group: NDArray[np.int32]
    residual_time: F64
    residual_before: F64
    residual_after: F64
    operations: int = 0
    """How many operations these are."""


def align(session: Session) -> Alignment:
    """The clocks that the job's operations tell, whatever the session's clocks are now. Built once."""
    return session.memo("alignment", lambda: _align(session))


def _align(session: Session) -> Alignment:
    found = evidence(session)
    column = {group: i for i, group in enumerate(found.ranks)}
    node = np.array([column.get(int(n), -1) for n in range(len(session.groups))] + [-1], np.int64)[found.matches.node]
    used = found.together[found.op] & (node >= 0)
    compared = differences(found, node, used)
    jumps = whose([(p.hub, p.member, p.jump) for p in compared if p.jump is not None], len(column))
    if jumps:  # as the clocks would be had they gone on as they were
        found = _without(found, node, jumps)
        compared = differences(found, node, used)
    told = _settle(session, found, compared, (column, node, used))
    usual = _usual(compared)
    if _contrary(told) and len(usual) < len(compared):
        apart = _settle(session, found, usual, (column, node, used))
        told = told if _contrary(apart) else apart
    return _jumped(told, {found.ranks[i]: jump for i, jump in jumps.items()}) if jumps else told


def _without(found: Evidence, node: I64, jumps: dict[int, Jump]) -> Evidence:
    start, end = found.start.copy(), found.end.copy()
    for i, jump in jumps.items():
        behind = (node == i) & (found.end > jump.at_ns)
        start[behind] -= round(jump.by_ns)
        end[behind] -= round(jump.by_ns)
    return replace(found, start=start, end=end)


def _jumped(told: Alignment, jumps: dict[int, Jump]) -> Alignment:
    """The clocks with what is known of those that jumped: causality bounds nothing there, and the jump is in doubt."""

    def known(clock: RankClock) -> RankClock:
        jump = jumps.get(clock.group)
        if jump is None or not clock.connected:
            return clock
        at = round(jump.at_ns) + told.zero_ns - clock.offset_ns
        return replace(clock, low_ns=None, high_ns=None, jump=(at, round(jump.by_ns)))

    return replace(told, clocks=tuple(known(c) for c in told.clocks))


def _contrary(told: Alignment) -> bool:
    """Whether some rank's clock has no offset at all that causality allows, beyond the uncertainty."""
    return any(
        c.low_ns is not None and c.high_ns is not None and c.low_ns - c.high_ns > 2 * (c.uncertainty_ns or 0)
        for c in told.clocks
    )


def _usual(compared: list[Difference]) -> list[Difference]:
    """Those that do not scatter far more than others do."""
    if not compared:
        return compared
    limit = max(float(TOGETHER_NS), UNUSUAL * float(np.quantile([p.line.spread for p in compared], 0.25)))
    return [p for p in compared if p.line.spread <= limit]


def _settle(
    session: Session, found: Evidence, compared: list[Difference], places: tuple[dict[int, int], I64, NDArray[np.bool_]]
) -> Alignment:
    column, node, used = places
    count = len(column)
    width = max([count, *(p.hub + 1 for p in compared)])
    part = components(width, [(p.hub, p.member) for p in compared])
    main = largest(part[:count])
    inside = [p for p in compared if part[p.hub] == main] if main >= 0 else []
    if not inside:
        return _unaligned(session, found)
    members = [i for i in range(count) if part[i] == main]
    reference = members[0]  # found.ranks ascend by rank
    t0 = _first_gpu(session, found.ranks[reference])
    shift = float(t0 - found.zero_ns)
    steps = (step_bursts(session, session.groups[found.ranks[reference]]) - found.zero_ns).astype(np.float64) - shift
    solved = solve(
        inside, count, width, reference, shift, steps, lambda *clocks: _witnesses(session, found, column, clocks, shift)
    )
    x = found.end.astype(np.float64) - shift
    time = x if solved.begins is None else hold(x, solved.begins) - solved.begins[0]
    drifted = np.where(node >= 0, solved.slopes[node], 0.0) * time
    pairs, sent = _sent(session, found, column, part, solved, shift)
    low, high, offsets = feasible(found, node, count, reference, solved.offsets, drifted, sent)
    before, after, which = _residuals(found, node, used & np.isin(node, members), offsets, drifted)
    clocks = []
    for group in session.groups:
        i = column.get(group.id, -1)
        if i < 0 or part[i] != main:
            clocks.append(_apart(group.id, group.rank, _why(session, found, group.id, i, compared)))
            continue
        mine = node[which] == i
        clocks.append(
            RankClock(
                group=group.id,
                rank=group.rank,
                offset_ns=round(offsets[i]),
                drift_ppb=round(solved.slopes[i] * 1e9),
                matches=int((used & (node == i)).sum()),
                spread_ns=round(spread_of(after[mine])),
                error_ns=round(solved.errors[i]),
                low_ns=None if np.isinf(low[i]) else math.ceil(low[i]),
                high_ns=None if np.isinf(high[i]) else math.floor(high[i]),
                connected=True,
                held=_held(solved, i, offsets[i], t0),
                drift_error_ppb=None if np.isnan(solved.slope_errors[i]) else math.ceil(solved.slope_errors[i] * 1e9),
            )
        )
    return Alignment(
        "collectives",
        found.ranks[reference],
        t0,
        _rate(found, pairs),
        pairs,
        tuple(clocks),
        found.zero_ns,
        np.array(found.ranks, np.int32)[node[which]],
        x[which] + shift,
        before,
        after,
        len(np.unique(found.op[which])),
    )


def clocks_of(session: Session, alignment: Alignment) -> list[Clock]:
    """The clock of each input under an alignment; ranks that are not connected keep their base time alone."""
    by_group = {c.group: c for c in alignment.clocks}
    out = []
    for item in session.inputs:
        told = by_group.get(session.group_of(item.index).id)
        if told is None or not told.connected or alignment.t0_ns is None:
            out.append(item.clock if not item.clock.known else Clock(item.base_ns))
        else:
            out.append(Clock(item.base_ns, told.offset_ns, told.drift_ppb, alignment.t0_ns, True, told.held))
    return out


def _sent(
    session: Session, found: Evidence, column: dict[int, int], part: I64, solved: Solved, shift: float
) -> tuple[Pairs, tuple[I64, F64, I64, F64]]:
    """Sends with their receives, and what they bound: (column, start) and (column, end) without the drift."""
    every = everything(session)
    columns = np.array([column.get(g.id, -1) for g in session.groups] + [-1], np.int64)[every.node]
    main = part == largest(part[: len(column)])
    columns = np.where((columns >= 0) & main[columns], columns, -1)
    slopes: F64 = np.append(solved.slopes, 0.0)[columns]

    def without_drift(times: I64, which: I64) -> F64:
        since_zero: F64 = (times[which] - found.zero_ns).astype(np.float64)
        x: F64 = since_zero - shift
        out: F64 = since_zero - slopes[which] * (
            x if solved.begins is None else hold(x, solved.begins) - solved.begins[0]
        )
        return out

    def aligned(which: I64) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        moved = np.append(solved.offsets, 0.0)[columns[which]]
        start = without_drift(every.start, which) - moved
        end = without_drift(every.end, which) - moved
        return start, end, columns[which] >= 0

    pairs = pair(session, aligned, 3.0 * float(solved.errors.max()) + SYSTEMATIC_NS)
    return pairs, (
        columns[pairs.send],
        without_drift(every.start, pairs.send),
        columns[pairs.receive],
        without_drift(every.end, pairs.receive),
    )


def _witnesses(
    session: Session, found: Evidence, column: dict[int, int], clocks: tuple[F64, F64], shift: float
) -> list[tuple[F64, F64, float]]:
    """What ends of receives say beside ends of their sends, by pair of ranks: only how it changes counts."""
    slopes = clocks[1]
    every = everything(session)
    part = np.zeros(len(column), np.int64)
    none = np.zeros(len(column))
    pairs, _ = _sent(session, found, column, part, Solved(*clocks, none, none, None), shift)
    columns = np.array([column.get(g.id, -1) for g in session.groups] + [-1], np.int64)[every.node]
    one, other = columns[pairs.send], columns[pairs.receive]
    x = (every.end[pairs.send] - found.zero_ns).astype(np.float64) - shift
    y = (every.end[pairs.receive] - every.end[pairs.send]).astype(np.float64)
    known = (one >= 0) & (other >= 0)
    out = []
    for a, b in np.unique(np.stack((one[known], other[known]), axis=1), axis=0).tolist():
        mine = np.flatnonzero(known & (one == a) & (other == b))
        slope = float(slopes[b] - slopes[a])
        late = y[mine] - slope * x[mine]
        # A receive that waited ends with its send; one that came late ends later, and is none.
        mine = mine[np.abs(late - np.quantile(late, 0.25)) <= TOGETHER_NS]
        out.append((x[mine], y[mine], slope))
    return out


def _rate(found: Evidence, pairs: Pairs) -> float | None:
    """Share of the kernels that another opened rank should share, and does."""
    there = found.matches.matchable + pairs.countable
    return (found.matches.matched + 2 * len(pairs)) / there if there else None


def _unaligned(session: Session, found: Evidence) -> Alignment:
    clocks = tuple(
        _apart(g.id, g.rank, "too few shared operations" if len(found.matches) else _unshared(session, g.id))
        for g in session.groups
    )
    none = np.empty(0, np.float64)
    pairs = pair(session, lambda which: (which * 0.0, which * 0.0, np.zeros(len(which), np.bool_)), 0.0)
    based = any(i.base_ns for i in session.inputs)
    return Alignment(
        "base" if based else "none", None, None, _rate(found, pairs), pairs, clocks, found.zero_ns,
        np.empty(0, np.int32), none, none, none,
    )  # fmt: skip


def _apart(group: int, rank: int | None, why: str) -> RankClock:
    return RankClock(group, rank, 0, 0, 0, None, None, None, None, connected=False, why=why)


def _why(session: Session, found: Evidence, group: int, column: int, pairs: Sequence[Difference]) -> str:
    if column < 0:
        if any(session.inputs[i].conflict for i in session.groups[group].inputs):
            return "another file states the same rank for the same time"
        return "its file counts time from another origin"
    if found.matches.run[group]:
        return "recorded at another time than the aligned ranks: of another run, or its clock is minutes off"
    if any(column in (p.hub, p.member) for p in pairs):
        return "its operations join it with none of the aligned ranks: others are missing, or it is of another run"
    if bool((found.matches.node == group).any()):
        return f"fewer than {FEWEST} shared operations whose ends agree"
    return _unshared(session, group)


def _unshared(session: Session, group: int) -> str:
    """Why nothing that a rank communicated is shared with another opened rank."""
    every = everything(session)
    mine = every.node == group
    if not mine.any():
        return "no communication kernel is in the file"
    if not ((every.group[mine] >= 0) | (every.comms_id[mine] != ABSENT)).any():
        return "no communication kernel in the file states its group: nothing tells what belongs together"
    return "no operation is shared with another opened rank"


def _first_gpu(session: Session, group: int) -> int:
    """t0: the first start of GPU work of a rank, on its own clock (raw + base)."""
    starts = [
        first + session.inputs[i].base_ns
        for i in session.groups[group].inputs
        if (first := session.inputs[i].trace.meta.gpu_first_ns) is not None
    ]
    return min(starts) if starts else 0


def _centres(found: Evidence, which: I64, node: I64, offsets: F64, drifted: F64) -> F64:
    """Per chosen member the median end of its operation on the aligned clock."""
    corrected = found.end[which] - offsets[node[which]] - drifted[which]
    op = found.op[which]
    order = np.lexsort((corrected, op))
    begin = np.flatnonzero(np.concatenate(([True], op[order][1:] != op[order][:-1]))) if len(op) else np.empty(0, int)
    size = np.diff(np.concatenate((begin, [len(op)])))
    low, high = corrected[order][begin + (size - 1) // 2], corrected[order][begin + size // 2]
    out = np.empty(len(which))
    out[order] = np.repeat((low + high) / 2, size)
    return out


def _residuals(found: Evidence, node: I64, used: NDArray[np.bool_], offsets: F64, drifted: F64) -> tuple[F64, F64, I64]:
    """How far each end lies from the median of its operation: before, after, and which members these are."""
    which = np.flatnonzero(used)
    if len(which) > MOST_SHOWN:  # whole operations, evenly spread
        which = which[found.op[which] % (len(which) // MOST_SHOWN + 1) == 0]
    none = np.zeros_like(drifted)
    before = found.end[which] - _centres(found, which, node, np.zeros_like(offsets), none)
    corrected = found.end[which] - offsets[node[which]] - drifted[which]
    return before, corrected - _centres(found, which, node, offsets, drifted), which


def _held(solved: Solved, column: int, offset: float, t0: int) -> tuple[tuple[int, int], ...]:
    """(file time from which, offset) of a clock that is set between the bursts; () for one that runs evenly."""
    if solved.begins is None or not solved.slopes[column]:
        return ()
    begins = solved.begins
    levels = offset + solved.slopes[column] * (begins - begins[0])
    # The clock is set somewhere between two bursts: their begins are the only instants that are known.
    return tuple((t0 + round(b), round(v)) for b, v in zip(begins, levels, strict=True))
