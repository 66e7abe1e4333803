"""Over what time the figures of a job are taken: the steady steps of each rank, else its whole trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.attribution import attribute_many, device_span
from viewer.analyses.collective.rank_steps import RankStep
from viewer.analyses.findings.steady import steady_of, steady_steps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import Step, step_table
from viewer.analyses.workload import SERVING
from viewer.base.selection import Selection, TimeRange
from viewer.store.session import Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
WHOLE = -1
"""The number of the one period of a trace without steps."""


@dataclass(frozen=True, slots=True)
class Period:
    """[start_ns, end_ns) of raw time of an input: a step from the end of the one before to its own end.

    The parts are sums over its devices, device-ns: compute + exposed communication + exposed memory + idle = span.
    """

    group: int
    number: int
    input: int
    start_ns: int
    end_ns: int
    span_ns: int
    compute_ns: int
    comm_exposed_ns: int
    memory_exposed_ns: int
    idle_ns: int
    step: Step | None

    @property
    def length_ns(self) -> int:
        """Length."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, eq=False)
class Periods:
    """All periods by RankGroup id, in time order. ``by_step`` is False where no step is marked in any file."""

    of_group: dict[int, tuple[Period, ...]]
    by_step: bool
    warm_up: int

    def every(self) -> list[Period]:
        """Of all ranks."""
        return [p for periods in self.of_group.values() for p in periods]

    def find(self, group: int, number: int) -> Period:
        """One of them."""
        return next(p for p in self.of_group[group] if p.number == number)

    @property
    def serving(self) -> bool:
        """Whether the steps are those of a serving engine."""
        return any(p.step is not None and p.step.source == SERVING for p in self.every())

    @property
    def words(self) -> str:
        """What they are, as a part of a sentence."""
        if not self.by_step:
            return "over the whole trace, as no step is marked"
        skipped = f" without the first {self.warm_up} (warm-up)" if self.warm_up else ""
        return f"median over the steps{skipped} of the mean over the ranks"


def periods(session: Session) -> Periods:
    """The periods of a job. Built once."""
    return session.clocked_memo("fingerprint periods", lambda: _build(session))


def selection_of(session: Session, period: Period) -> Selection:
    """A period of a rank as what is selected."""
    to = session.inputs[period.input].clock.to_session
    return Selection(range=TimeRange(to(period.start_ns), to(period.end_ns)), group=period.group)


def _build(session: Session) -> Periods:
    out: dict[int, tuple[Period, ...]] = {}
    for group in session.groups:
        found = [p for p in _of_steps(session, group.id, steady_of(session, group.id)) if p is not None]
        if found:
            out[group.id] = tuple({p.number: p for p in found}.values())
    if out:
        return Periods(out, True, steady_steps(session).first)
    for group in session.groups:
        whole = [p for index in group.inputs if (p := _whole(session, group.id, index)) is not None]
        if whole:
            out[group.id] = (max(whole, key=lambda p: p.length_ns),)
    return Periods(out, False, 0)


def _of_steps(session: Session, group: int, steps: list[RankStep]) -> list[Period | None]:
    """The period of each step of a rank."""
    out: list[Period | None] = [None] * len(steps)
    of_input: dict[int, list[int]] = {}
    for k, step in enumerate(steps):
        of_input.setdefault(step.input, []).append(k)
    for index, places in of_input.items():
        trace = session.inputs[index].trace
        of_rows = {id(s.rows): s for s in step_table(trace).steps}
        marks = [of_rows.get(id(steps[k].rows)) for k in places]
        windows = np.array([(steps[k].start_ns, steps[k].end_ns) for k in places], np.int64)
        used: dict[int, list[int]] = {}
        for i, (k, mark) in enumerate(zip(places, marks, strict=True)):
            for device in _devices(trace, steps[k], mark):
                used.setdefault(device, []).append(i)
        for i, parts in _sums(trace, windows, used).items():
            step = steps[places[i]]
            out[places[i]] = Period(group, step.number, index, step.start_ns, step.end_ns, *parts, marks[i])
    return out


def _devices(trace: Trace, step: RankStep, mark: Step | None) -> list[int]:
    if mark is not None:
        return [device for device, _ in mark.devices]
    work = gpu_work(trace)
    return sorted(set(work.device[work.positions(step.rows)].tolist()))


def _sums(trace: Trace, windows: I64, used: dict[int, list[int]]) -> dict[int, tuple[int, int, int, int, int]]:
    """Span, compute, exposed communication and memory, idle: of each window the sums over the devices it uses.

    Args:
        trace: the file.
        windows: int64[n, 2], raw ns.
        used: per device the windows in which it is used.
    """
    sums, seen = np.zeros((len(windows), 5), np.int64), np.zeros(len(windows), np.bool_)
    some = windows[:, 1] > windows[:, 0]
    for device, which in used.items():
        at = np.array(which, np.int64)
        at = at[some[at]]
        found = attribute_many(trace, device, windows[at, 0], windows[at, 1])
        if found is not None:
            seen[at] = True
            columns = found.span_ns, found.compute_ns, found.comm_exposed_ns, found.memory_exposed_ns, found.idle_ns
            sums[at] += np.stack(columns, axis=1)
    out = {}
    for i in np.flatnonzero(seen).tolist():
        span, compute, comm, memory, idle = sums[i].tolist()
        out[i] = span, compute, comm, memory, idle
    return out


def _whole(session: Session, group: int, index: int) -> Period | None:
    trace = session.inputs[index].trace
    spans = {d: span for d in gpu_work(trace).devices if (span := device_span(trace, d)) is not None}
    if not spans:
        return None
    window = min(a for a, _ in spans.values()), max(b for _, b in spans.values())
    parts = _sums(trace, np.array([window], np.int64), {d: [0] for d in spans}).get(0)
    return None if parts is None else Period(group, WHOLE, index, *window, *parts, None)
