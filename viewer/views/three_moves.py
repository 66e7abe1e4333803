"""The three fixed moves of reading a timeline, each in one line: the largest block, the gaps, the long tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.ahead import FIRST, looking_ahead
from viewer.analyses.attribution import DeviceFigures, attribute, largest_gaps
from viewer.analyses.collective.causes import late_steps
from viewer.analyses.collective.communication import communication, total
from viewer.analyses.collective.lateness import lateness
from viewer.analyses.collective.rank_steps import step_selection
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idle import idle
from viewer.analyses.kernels import kernel_rows, runs_with_text
from viewer.base.frames import Jump
from viewer.base.ids import Paint
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.views.figures import plural, shown
from viewer.views.idle_words import words_of
from viewer.views.stragglers.words import verdict
from viewer.views.text import bare_name

EXPOSED: Final = "exposed communication"
PARETO: Final = 0.8
"""The share of all kernel time that the largest kernels are counted up to."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move.

    ``text`` is one line with its figure, ``detail`` what else there is to say ("" for nothing), ``how`` how both were
    computed; ``jump`` is where to look, None for nowhere.
    """

    title: str
    text: str
    detail: str
    how: str
    jump: Jump = None

    @property
    def full(self) -> str:
        """The line and its detail."""
        if not self.detail:
            return self.text
        return f"{self.text}{'.' if self.detail[0].isupper() else ';'} {self.detail}"


@dataclass(frozen=True, slots=True)
class Totals:
    """The time identity over all devices of all ranks, ns: the parts sum to ``span_ns``. ``devices`` have GPU work."""

    devices: int
    span_ns: int
    compute_ns: int
    comm_exposed_ns: int
    memory_exposed_ns: int
    idle_ns: int
    comm_ns: int

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """The parts by name, in the usual order."""
        return (
            ("compute", self.compute_ns),
            (EXPOSED, self.comm_exposed_ns),
            ("exposed memory", self.memory_exposed_ns),
            ("idle", self.idle_ns),
        )


def job_totals(session: Session) -> Totals | None:
    """The time identity of a job; None without GPU work. Built once."""
    return session.memo("job_totals", lambda: _totals(session))


def three_moves(session: Session, cancel: CancelToken | None = None) -> tuple[Move, ...]:
    """The three moves of a job; () without GPU work. Built once per session."""
    token = cancel or CancelToken()
    if job_totals(session) is None:
        return ()
    return session.clocked_memo("three_moves", lambda: _build(session, token))


def _build(session: Session, cancel: CancelToken) -> tuple[Move, ...]:
    out = []
    with looking_ahead(session, cancel, FIRST):
        for make in (_block, _gaps, _tail):
            cancel.check()
            out.append(make(session))
    return tuple(out)


def _devices(session: Session) -> list[tuple[Input, int, DeviceFigures]]:
    out = []
    for item in session.inputs:
        for device in gpu_work(item.trace).devices:
            figures = attribute(item.trace, device)
            if figures is not None:
                out.append((item, device, figures))
    return out


def _totals(session: Session) -> Totals | None:
    every = [f for _, _, f in _devices(session)]
    if not every:
        return None

    def add(name: str) -> int:
        return sum(int(getattr(f, name)) for f in every)

    names = ("span_ns", "compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns", "comm_ns")
    return Totals(len(every), *(add(n) for n in names))


def _block(session: Session) -> Move:
    rows, _ = kernel_rows(session)
    total = sum(r.sum_ns for r in rows)
    top = max(rows, key=lambda r: r.sum_ns)
    running, many = 0, 0
    for row in sorted(rows, key=lambda r: -r.sum_ns):
        if running >= PARETO * total:
            break
        running, many = running + row.sum_ns, many + 1
    totals = job_totals(session)
    assert totals is not None
    part, ns = max(totals.parts, key=lambda p: p[1])
    kernels = "kernel makes" if many == 1 else "kernels make"
    waits = "; waiting is in it" if top.paint is Paint.COMM else ""
    of_it = _waiting(session) if part == EXPOSED else ""
    return Move(
        "Largest block",
        f"{part}, {format_share(ns, totals.span_ns)} of the time{of_it}; kernel {shown(bare_name(top.name), 60)}, "
        f"{format_share(top.sum_ns, total)} of kernel time",
        f"{many} of {len(rows)} {kernels} {percent(PARETO)} of the kernel time{waits}",
        "The parts of the time are unions over the streams of each device, added over devices; kernel time adds the "
        "durations of all runs.",
        _longest_run(session, top.name),
    )


def _waiting(session: Session) -> str:
    """How much of the exposed communication is waiting for other ranks, in words; "" where it is not most of it."""
    found = total(communication(session))
    if found is None or not found.has_wait or 2 * found.wait_ns < found.exposed_ns:
        return ""
    return f", {format_share(found.wait_ns, found.exposed_ns)} of it waiting for other ranks"


def _longest_run(session: Session, name: str) -> Jump:
    best, found = -1, None
    for item in session.inputs:
        rows = runs_with_text(item.trace, name)
        if len(rows):
            lengths = item.trace.slices.dur_ns[rows]
            at = int(np.argmax(lengths))
            if int(lengths[at]) > best:
                best, found = int(lengths[at]), SliceRef(item.index, int(rows[at]))
    return found


def _gaps(session: Session) -> Move:
    totals = job_totals(session)
    assert totals is not None
    causes: dict[str, int] = {}
    longest: tuple[int, Jump, str] = 0, None, ""
    for item, device, _ in _devices(session):
        split = idle(item.trace, device)
        if split is not None:
            parts = {
                **split.host_causes,
                **split.dependency_causes,
                **split.launch_causes,
                "unknown": split.unknown_ns,
            }
            for cause, ns in parts.items():
                causes[cause] = causes.get(cause, 0) + ns
        for gap in largest_gaps(item.trace, device, top=1):
            if gap.length_ns > longest[0]:
                to = item.clock.to_session
                group = session.group_of(item.index)
                span = TimeRange(to(gap.start_ns), to(gap.end_ns))
                longest = gap.length_ns, Selection(range=span, group=group.id), group.label
    top = max(causes.items(), key=lambda c: c[1], default=("", 0))
    why = words_of(top[0]).label if top[1] else ""
    text = f"idle {format_share(totals.idle_ns, totals.span_ns)}" + (f", most of it {why}" if why else "")
    detail = []
    if totals.comm_ns:
        text += f"; exposed communication {format_share(totals.comm_exposed_ns, totals.span_ns)}"
        hidden = format_share(totals.comm_ns - totals.comm_exposed_ns, totals.comm_ns)
        detail.append(f"compute hides {hidden} of the communication")
    if top[1]:
        detail.append(f"{format_share(top[1], totals.span_ns)} of the time is idle by that cause ({why})")
    if longest[1] is not None:
        where = f" on {shown(longest[2], 40)}" if len(session.groups) > 1 else ""
        text += f"; longest gap {format_duration(longest[0], 1)}{where}"
    return Move(
        "Gaps and serial parts",
        text,
        "; ".join(detail),
        "Idle: a device runs nothing; its cause is what the launching thread did, or what queued work waited for. "
        "Exposed communication: nothing computes beside it. Both as shares of the devices' spans.",
        longest[1],
    )


def _tail(session: Session) -> Move:
    told = verdict(session)
    jump: Jump = None
    found = lateness(session)
    if told.group is not None and found is not None:
        own = found.own[found.ranks.index(told.group)]
        late = late_steps(found, told.group)
        if late:
            jump = step_selection(session, told.group, max(late, key=lambda k: float(own[k])))
    text, _, rest = told.text.partition(". ")
    if told.kind != "straggler" and len(session.groups) > 1:
        rest = "; ".join(p for p in (rest.rstrip("."), _spread(session)) if p)
    return Move(
        "Long tail across ranks",
        text.rstrip("."),
        rest.rstrip("."),
        "Late ranks: each step is replayed with one rank as fast as its peers; what the others gain is what it cost "
        "them.",
        jump,
    )


def _spread(session: Session) -> str:
    """How far the ranks' compute is apart, in words; "" where it cannot be compared."""
    shares: dict[str, int] = {}
    for item, _, figures in _devices(session):
        label = session.group_of(item.index).label
        shares.setdefault(label, 0)
        shares[label] += figures.compute_ns
    if len(shares) < 2 or not max(shares.values()):
        return ""
    most, least = max(shares, key=lambda k: shares[k]), min(shares, key=lambda k: shares[k])
    apart = format_share(shares[most] - shares[least], shares[most])
    return (
        f"{plural(len(shares), 'rank')}: compute is at most {apart} apart ({shown(least, 30)} least, "
        f"{shown(most, 30)} most)"
    )
