"""What a transfer should take: measured with nccl-tests (named on the job card), else at the link's rate.

A measured time is read off at the size (between two sizes by a power law, beyond the largest at its bus bandwidth,
below the smallest at its time), from the run of that kind and number of members; of several, that over as many hosts.
Without a run of that number of members, one of another number on equally many hosts stands in: bus bandwidth is defined
so that it does not depend on that number (PERFORMANCE.md of nccl-tests).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from viewer.analyses.collective.groups import JobGroup, world_size
from viewer.analyses.collective.hosts import hosts_of_group
from viewer.analyses.collective.kinds import Kind, kind_of
from viewer.analyses.collective.table import bus_factor
from viewer.base.errors import InputError
from viewer.store.nccl_tests import NcclTest, read_nccl_tests
from viewer.store.session import Session

SEPARATOR: Final = ";"
"""Between several files or folders of a baseline on the card."""
USUAL_GPUS: Final = 8
"""Most machines hold up to so many devices on one link."""
IN_PLACE: Final = frozenset({Kind.ALL_REDUCE, Kind.BROADCAST, Kind.REDUCE})
"""Kinds that frameworks run in place."""


@dataclass(frozen=True, slots=True)
class Ideal:
    """What one transfer should take. ``source`` says from what: a phrase ("all_reduce.log, 8 ranks on 1 host")."""

    ns: int
    busbw_gbps: float
    source: str
    measured: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """A measured run as the baseline uses it: ascending (bytes, ns, bus bandwidth)."""

    kind: Kind
    members: int
    hosts: int | None
    source: str
    points: tuple[tuple[int, float, float], ...]

    def time(self, size: int, members: int | None = None) -> float:
        """Ns that ``size`` bytes take, among another number of members at the same bus bandwidth."""
        count = members or self.members
        points = self.points
        factor = (bus_factor(self.kind, count) or 1.0) / (bus_factor(self.kind, self.members) or 1.0)
        if size <= points[0][0]:
            return points[0][1] * (factor if count != self.members else 1.0)
        if size >= points[-1][0]:
            return points[-1][1] * size / points[-1][0] * factor
        at = next(i for i in range(1, len(points)) if size <= points[i][0])
        (s0, t0, _), (s1, t1, _) = points[at - 1], points[at]
        share = math.log(size / s0) / math.log(s1 / s0)
        return math.exp(math.log(t0) + share * math.log(t1 / t0)) * factor


@dataclass(frozen=True, slots=True)
class Baseline:
    """The baseline of a job. ``sentence`` says what it is or what is missing, ``problem`` why a named one is unused."""

    curves: tuple[Curve, ...]
    link_bytes_per_second: int | None
    network_bytes_per_second: int | None
    sentence: str
    problem: str = ""

    @property
    def known(self) -> bool:
        """Whether there is any."""
        return bool(self.curves) or self.link_bytes_per_second is not None


def baseline(session: Session) -> Baseline:
    """The baseline of a job. Built once per card."""
    return session.card_memo("baseline", lambda: _build(session))


def ideal(session: Session, kind: Kind, group: JobGroup | None, size: int | None) -> Ideal | None:
    """What an operation should take; None without a size, a group or a baseline for it."""
    point = kind in (Kind.SEND, Kind.RECV)
    members = 2 if point else (group.size if group is not None else None)
    if size is None or size <= 0 or members is None or members < 2:
        return None
    factor = 1.0 if point else bus_factor(kind, members)
    if factor is None:
        return None
    found = baseline(session)
    reach = hosts_of_group(session, group)
    chosen = _choose(found.curves, Kind.SEND_RECV if point else kind, members, None if point else reach)
    if chosen is not None:
        curve, source = chosen
        ns = max(1, round(curve.time(size, members)))
        return Ideal(ns, size * factor / ns, source, measured=True)
    across = reach is not None and reach > 1
    rate = found.network_bytes_per_second if across else found.link_bytes_per_second
    if rate is None or (reach is None and not _one_machine(session)):
        return None
    ns = max(1, round(size * factor * 1e9 / rate))
    return Ideal(ns, size * factor / ns, "network of the host" if across else "link of the device", measured=False)


def curve_of(session: Session, kind: Kind, group: JobGroup | None) -> Curve | None:
    """The measured curve that holds for a kind and a group (None: any number of members); None without one."""
    curves = baseline(session).curves
    members = group.size if group is not None and group.size else None
    if members is None:
        return next((c for c in curves if c.kind is kind), None)
    chosen = _choose(curves, kind, members, hosts_of_group(session, group))
    return None if chosen is None else chosen[0]


def _one_machine(session: Session) -> bool:
    """Whether a job whose hosts nobody states fits one machine: then all of its groups have the link's rate."""
    card = session.card
    world = card.plan.world_size or world_size(session)
    return world is not None and world <= (card.hardware.gpus_per_host or USUAL_GPUS)


def _choose(curves: tuple[Curve, ...], kind: Kind, members: int, reach: int | None) -> tuple[Curve, str] | None:
    fits = [c for c in curves if c.kind is kind and (reach is None or c.hosts is None or c.hosts == reach)]
    if not fits:
        return None
    best = min(fits, key=lambda c: (c.members != members, abs(math.log(c.members / members)), c.hosts or 1))
    where = "" if best.hosts is None else f" on {best.hosts} host{'' if best.hosts == 1 else 's'}"
    source = f"{best.source}, {best.members} ranks{where}"
    if best.members != members:
        source += f", read at its bus bandwidth for {members} ranks"
    return best, source


def _build(session: Session) -> Baseline:
    card = session.card
    link, network = card.hardware.link_bytes_per_second, card.hardware.network_bytes_per_second
    filled = dict(card.filled).get("hardware.link_bytes_per_second")
    stated = f"a table of devices ({filled})" if filled else "the job card"
    runs: list[NcclTest] = []
    problems: list[str] = []
    for name in (card.baseline.nccl_tests or "").split(SEPARATOR):
        if name.strip():
            try:
                runs += read_nccl_tests(Path(name.strip()).expanduser())
            except InputError as error:
                problems.append(error.sentence())
    curves = tuple(c for run in runs if (c := _curve(run)) is not None)
    if runs and not curves:
        problems.append(
            "the baseline's runs state neither the operation nor the number of ranks: keep the head of the output, or "
            "name the file after the operation (all_reduce.log)"
        )
    if curves:
        kinds = sorted({c.kind.text for c in curves})
        sentence = f"Measured with nccl-tests ({', '.join(kinds)}; {', '.join(sorted({c.source for c in curves}))})."
        if link is not None:
            sentence += f" Other kinds against the link's rate of {stated}, {link / 1e9:,.0f} GB/s, a table figure."
    elif link is not None:
        sentence = (
            f"The link's rate of {stated}, {link / 1e9:,.0f} GB/s each way: a table figure without latency, so small "
            "messages look slow against it. An output of nccl-tests on the job card tells more."
        )
    else:
        sentence = (
            "No baseline: rate and ideal transfer cannot be told apart. Name an output of nccl-tests on the job card "
            "(baseline.nccl_tests)."
        )
    return Baseline(curves, link, network, sentence, " ".join(problems))


def _curve(run: NcclTest) -> Curve | None:
    kind = kind_of(run.kind) if run.kind else Kind.UNKNOWN
    if kind is Kind.UNKNOWN or run.members is None or run.members < 2:
        return None
    points = []
    for row in run.rows:
        sides = [(row.in_ns, row.in_busbw), (row.out_ns, row.out_busbw)]
        if kind not in IN_PLACE:
            sides.reverse()
        ns = next((t for t, _ in sides if t is not None), None)
        if ns is not None:
            factor = bus_factor(kind, run.members) or 1.0
            points.append((row.bytes, ns, row.bytes * factor / ns))
    return Curve(kind, run.members, run.hosts, run.source, tuple(points)) if points else None
