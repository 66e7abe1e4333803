"""Why a rank is late: what its late steps took longer than those of the other ranks of its role.

Kernels are compared by name: those that both ran with their mean durations (slower kernels), those that only the late
rank ran, or ran more often or with a larger grid, as more work. Idle of the device whose launch had not begun is the
host's; data loading and garbage collection are parts of that. The largest difference is the cause. Names are compared,
not shapes, so a kernel that got other shapes without another grid counts as slower: an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from statistics import median
from typing import Any, Final

import numpy as np

from viewer.analyses.collective.lateness import Lateness, lateness
from viewer.analyses.collective.rank_steps import HostTime, KernelSums, RankStep, host_time, kernel_sums, rank_steps
from viewer.analyses.collective.roles import roles
from viewer.base.selection import SliceRef, TimeRange
from viewer.store.session import Session

SLOWER, ONE_KERNEL, MORE_WORK = "slower kernels", "one slow kernel", "more work"
HOST, LOADING, COLLECTION = "host late", "data loading", "garbage collection"
UNKNOWN, LINK = "unknown", "slow link"
EXPLAINS: Final = 0.3
"""A cause explains at least this share of the own lateness, else the cause is unknown."""
SLOWER_BY: Final = 1.02
"""Kernels whose mean duration is beyond the peers' by less are as fast as theirs."""
EVERYWHERE: Final = 0.6
"""So much of the kernel time must be slower for "slower kernels everywhere", unless no single kernel stands out."""
ALONE: Final = 0.9
"""A kernel with this share of what is slower is the one slow kernel, however large a part of the time it is."""
MOST_PEERS: Final = 8
MOST_STEPS: Final = 8
LOOKED_AT: Final = 6


@dataclass(frozen=True, slots=True)
class Evidence:
    """A difference to the peers that adds up to the lateness: what, how much per late step (ns), and where to look."""

    what: str
    extra_ns: int
    where: SliceRef | TimeRange | None


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a rank (RankGroup id) is late.

    ``code`` is one of the constants of this module. ``share`` of the own lateness is explained (0..1); ``words``
    continue "its …" or "it …" ("its kernels are 18 % slower everywhere"). ``ratio`` is the kernels' median slowdown
    weighed by time, ``slower_share`` the share of kernel time that is slower; None without kernels to compare.
    ``evidence`` has the largest differences first; ``peers`` are who it was compared with.
    """

    group: int
    code: str
    share: float
    words: str
    evidence: tuple[Evidence, ...]
    peers: tuple[int, ...]
    ratio: float | None = None
    slower_share: float | None = None


@dataclass(frozen=True, eq=False)
class _Side:
    """Means per step of one rank over the late steps."""

    count: dict[str, float]
    sum_ns: dict[str, float]
    host: float
    loading: float
    collection: float


def cause_of(session: Session, group: int) -> Cause | None:
    """Why a rank is late; None where it is not, or cannot be compared. Built once per rank."""
    return session.clocked_memo(("late_cause", group), lambda: _build(session, group))


def _build(session: Session, group: int) -> Cause | None:
    found = lateness(session)
    if found is None or group not in found.ranks:
        return None
    late = late_steps(found, group)
    mine = rank_steps(session, session.groups[group])
    late = [k for k in late if k < len(mine)]
    peers = _peers(session, found, group)
    if not late or not peers:
        return None
    own = found.by_itself[found.ranks.index(group)]
    late = sorted(sorted(late, key=lambda k: -own[k])[:MOST_STEPS])
    own_ns = float(np.mean(own[late]))
    kernels = {k: kernel_sums(session, mine[k]) for k in late}
    hosts = {k: host_time(session, mine[k]) for k in late}
    me = _side(list(kernels.values()), list(hosts.values()))
    others = [side for p in peers if (side := _side_of(session, p, late)) is not None]
    if not others:
        return None
    worst = max(late, key=lambda k: own[k])
    return _judge(session, group, own_ns, me, others, tuple(peers), mine[worst], kernels[worst], hosts[worst])


def late_steps(found: Lateness, group: int) -> list[int]:
    """The steps in which a rank's own lateness counts."""
    i = found.ranks.index(group)
    if np.isnan(found.least[i]):
        return []
    return [int(k) for k in np.flatnonzero(np.nan_to_num(found.by_itself[i]) >= found.least[i])]


def _peers(session: Session, found: Lateness, group: int) -> list[int]:
    """Other ranks of its role, the least late ones; without any, all others."""
    role = roles(session)
    others = [r for r in found.ranks if r != group and role[r] == role[group]] or [r for r in found.ranks if r != group]
    others.sort(key=lambda r: float(np.nan_to_num(found.own[found.ranks.index(r)]).mean()))
    return sorted(others[:MOST_PEERS])


def _side_of(session: Session, group: int, steps: list[int]) -> _Side | None:
    has = rank_steps(session, session.groups[group])
    chosen = [has[k] for k in steps if k < len(has)]
    if not chosen:
        return None
    return _side([kernel_sums(session, s) for s in chosen], [host_time(session, s) for s in chosen])


def _side(kernels: list[KernelSums], hosts: list[HostTime]) -> _Side:
    count: dict[str, float] = {}
    sums: dict[str, float] = {}
    for k in kernels:
        for name, n in k.count.items():
            count[name] = count.get(name, 0.0) + n / len(kernels)
            sums[name] = sums.get(name, 0.0) + k.sum_ns[name] / len(kernels)
    n = len(hosts)
    return _Side(
        count,
        sums,
        sum(h.late_ns for h in hosts) / n,
        sum(h.loading_ns for h in hosts) / n,
        sum(h.collection_ns for h in hosts) / n,
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """A kernel name against the peers: what it takes longer, what it does more, its slowdown and its time per step."""

    name: str
    slower: float
    more: float
    ratio: float
    time: float


def _named(name: str, me: _Side, others: list[_Side]) -> _Named:
    n, total = me.count.get(name, 0.0), me.sum_ns.get(name, 0.0)
    usual_n = median(o.count.get(name, 0.0) for o in others)
    means = [o.sum_ns[name] / o.count[name] for o in others if o.count.get(name)]
    if not means or not n:
        usual = median(means) if means else 0.0
        return _Named(name, 0.0, total - usual_n * usual, 1.0, total)
    usual, mean = median(means), total / n
    shared = min(n, usual_n)
    return _Named(name, shared * (mean - usual), total - shared * mean - (usual_n - shared) * usual,
                  mean / usual if usual > 0 else 1.0, usual * shared)  # fmt: skip


def _judge(
    session: Session,
    group: int,
    own_ns: float,
    me: _Side,
    others: list[_Side],
    peers: tuple[int, ...],
    step: RankStep,
    kernels: KernelSums,
    host: HostTime,
) -> Cause:
    every = set(me.count).union(*(o.count for o in others))
    names = [_named(name, me, others) for name in sorted(every)]
    names.sort(key=lambda n: -(n.slower + n.more))
    names = _larger_grids(session, names, step, kernels, peers)
    slower, more = sum(n.slower for n in names), sum(n.more for n in names)
    # Waiting fills the peers' idle time, so the host's part is only sure up to what kernels do not explain.
    left = max(own_ns - max(slower, 0.0) - max(more, 0.0), 0.0)
    loading = min(me.loading - median(o.loading for o in others), left)
    left -= max(loading, 0.0)
    collected = min(me.collection - median(o.collection for o in others), left)
    left -= max(collected, 0.0)
    hosted = min(me.host - median(o.host for o in others), left)
    ratio, share = _slowdown(names)
    parts = {SLOWER: slower, MORE_WORK: more, LOADING: loading, COLLECTION: collected, HOST: hosted}
    code = max(parts, key=lambda c: parts[c])
    explained = parts[code]
    if explained < EXPLAINS * own_ns:
        code, words = UNKNOWN, "its kernels and its host take no longer than its peers': the cause is unknown"
        explained = 0.0
        link = _slow_link(session, group)
        if link is not None:
            code, explained, words = LINK, *link
    elif code == SLOWER:
        top = max(names, key=lambda n: n.slower)
        gains = sum(max(n.slower, 0.0) for n in names)
        others_ran = sum(n.time > 0 for n in names) > 1
        if others_ran and top.slower > (0.5 if (share or 0.0) < EVERYWHERE else ALONE) * gains:
            code, explained = ONE_KERNEL, top.slower
            words = f"its kernel {_short(top.name)} is {_percent(top.ratio)} slower, {_ms(top.slower)} per step"
        else:
            words = f"its kernels are {_percent(ratio or 1.0)} slower" + (
                " everywhere" if (share or 0.0) >= EVERYWHERE else ""
            )
    elif code == MORE_WORK:
        here, usual = sum(me.count.values()), median(sum(o.count.values()) for o in others)
        count = (
            f" ({here:,.0f} kernels per step, its peers {usual:,.0f})" if here > 1.005 * usual else " (larger grids)"
        )
        words = f"it does {_ms(more)} more work per step{count}"
    elif code == LOADING:
        words = f"it waits {_ms(loading)} longer for its data per step"
    elif code == COLLECTION:
        words = f"it spends {_ms(collected)} more per step in garbage collection"
    else:
        words = f"its GPU waits {_ms(hosted)} longer per step for launches: the host is late"
    evidence = _evidence(session, step, kernels, host, names, parts)
    return Cause(group, code, min(explained / own_ns, 1.0), words, evidence, peers, ratio, share)


def _slow_link(session: Session, group: int) -> tuple[float, str] | None:
    """What the slowest link of a rank takes longer than others of its kind, ns per step, in words as well."""
    from viewer.analyses.collective.matching import everything
    from viewer.analyses.collective.rank_bandwidth import link_kernels, slow_links
    from viewer.analyses.collective.table import kernel_waits

    every, (_, _, transfer, _) = everything(session), kernel_waits(session)
    steps = len(rank_steps(session, session.groups[group]))
    for link in slow_links(session):
        mine = link_kernels(session, link) & (every.node == group) & (transfer > 0)
        if mine.any() and steps:
            extra = float(np.maximum(transfer[mine] - link.usual_ns, 0).sum()) / steps
            return extra, (
                f"its link in {link.label} is slow: {link.busbw_gbps:,.1f} GB/s, others {link.usual_gbps:,.1f} GB/s, "
                f"{_ms(extra)} more per step"
            )
    return None


def _slowdown(names: list[_Named]) -> tuple[float | None, float | None]:
    """The median ratio of durations weighed by time, and the share of time that is slower."""
    compared = [n for n in names if n.time > 0 and n.ratio > 0]
    total = sum(n.time for n in compared)
    if not total:
        return None, None
    half = 0.0
    ratio = 1.0
    for n in sorted(compared, key=lambda n: n.ratio):
        half += n.time
        ratio = n.ratio
        if half >= total / 2:
            break
    return ratio, sum(n.time for n in compared if n.ratio >= SLOWER_BY) / total


def _larger_grids(
    session: Session, names: list[_Named], step: RankStep, kernels: KernelSums, peers: tuple[int, ...]
) -> list[_Named]:
    """Kernels that take longer with a grid larger by as much do more work; only the costliest are looked at."""
    out = []
    looked = 0
    theirs = rank_steps(session, session.groups[peers[0]])[:1]
    other = kernel_sums(session, theirs[0]) if theirs else None
    for n in names:
        if other is not None and n.slower > 0 and n.ratio >= SLOWER_BY and looked < LOOKED_AT:
            looked += 1
            mine = _blocks(session, step.input, kernels.rows.get(n.name))
            usual = _blocks(session, theirs[0].input, other.rows.get(n.name))
            if mine and usual and mine / usual >= 1.0 + 0.5 * (n.ratio - 1.0):
                out.append(_Named(n.name, 0.0, n.more + n.slower, 1.0, n.time))
                continue
        out.append(n)
    return out


def _blocks(session: Session, index: int, row: int | None) -> int | None:
    if row is None:
        return None
    grid: Any = session.inputs[index].trace.args(row).get("grid")
    whole = isinstance(grid, list) and 1 <= len(grid) <= 3 and all(type(v) is int and v > 0 for v in grid)
    return prod(grid) if whole else None


def _evidence(
    session: Session, step: RankStep, kernels: KernelSums, host: HostTime, names: list[_Named], parts: dict[str, float]
) -> tuple[Evidence, ...]:
    to = session.inputs[step.input].clock.to_session
    out = []
    for n in names[:LOOKED_AT]:
        extra = n.slower + n.more
        row = kernels.rows.get(n.name)
        if extra > 0 and row is not None:
            what = (
                f"{_short(n.name)}, {_percent(n.ratio)} slower"
                if n.slower > n.more
                else f"{_short(n.name)}, more of it"
            )
            out.append(Evidence(what, round(extra), SliceRef(step.input, row)))
    for code, where in ((LOADING, host.loading), (COLLECTION, host.collection), (HOST, host.gap)):
        if parts[code] > 0:
            there = TimeRange(to(where[0]), to(where[1])) if where is not None else None
            out.append(Evidence(code, round(parts[code]), there))
    out.sort(key=lambda e: -e.extra_ns)
    return tuple(out[:LOOKED_AT])


def _short(name: str) -> str:
    text = "".join(c if c.isprintable() else "?" for c in name)
    return text if len(text) <= 60 else text[:40] + "…" + text[-18:]


def _percent(ratio: float) -> str:
    return f"{(ratio - 1.0) * 100:.0f} %"


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.1f} ms" if ns >= 1e5 else f"{ns / 1e3:.0f} us"
