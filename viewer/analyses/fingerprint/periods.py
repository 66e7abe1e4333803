"""Over what time the figures of a job are taken: the steady steps of each rank, else its whole trace."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analyses.attribution import attribute, device_span
from viewer.analyses.collective.rank_steps import RankStep
from viewer.analyses.findings.steady import steady_of, steady_steps
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import Step, step_table
from viewer.analyses.workload import SERVING
from viewer.base.selection import Selection, TimeRange
from viewer.store.session import Session

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
        found = [p for step in steady_of(session, group.id) if (p := _of_step(session, group.id, step)) is not None]
        if found:
            out[group.id] = tuple({p.number: p for p in found}.values())
    if out:
        return Periods(out, True, steady_steps(session).first)
    for group in session.groups:
        whole = [p for index in group.inputs if (p := _whole(session, group.id, index)) is not None]
        if whole:
            out[group.id] = (max(whole, key=lambda p: p.length_ns),)
    return Periods(out, False, 0)


def _of_step(session: Session, group: int, step: RankStep) -> Period | None:
    trace = session.inputs[step.input].trace
    of_rows = {id(s.rows): s for s in step_table(trace).steps}
    work = gpu_work(trace)
    used = sorted(set(work.device[work.positions(step.rows)].tolist()))
    return _period(
        session, group, step.number, step.input, (step.start_ns, step.end_ns), used, of_rows.get(id(step.rows))
    )


def _whole(session: Session, group: int, index: int) -> Period | None:
    trace = session.inputs[index].trace
    devices = [d for d in gpu_work(trace).devices if device_span(trace, d) is not None]
    spans = [span for d in devices if (span := device_span(trace, d)) is not None]
    if not spans:
        return None
    window = min(a for a, _ in spans), max(b for _, b in spans)
    return _period(session, group, WHOLE, index, window, devices, None)


def _period(
    session: Session,
    group: int,
    number: int,
    index: int,
    window: tuple[int, int],
    devices: list[int],
    step: Step | None,
) -> Period | None:
    trace = session.inputs[index].trace
    parts = [f for d in devices if (f := attribute(trace, d, window)) is not None]
    if not parts:
        return None
    return Period(
        group,
        number,
        index,
        *window,
        sum(f.span_ns for f in parts),
        sum(f.compute_ns for f in parts),
        sum(f.comm_exposed_ns for f in parts),
        sum(f.memory_exposed_ns for f in parts),
        sum(f.idle_ns for f in parts),
        step,
    )
