"""Where the peak goes: from what the GPUs could do in the time of the steps down to what the model needs (MFU)."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analyses.attribution import attribute
from viewer.analyses.collective.exposed_parts import Part
from viewer.analyses.fingerprint.bubble import steady
from viewer.analyses.fingerprint.compute_parts import compute_parts
from viewer.analyses.fingerprint.exposed_comm import split_of
from viewer.analyses.fingerprint.mfu import card_of, mfu_applies, ns_at_peak
from viewer.analyses.fingerprint.periods import Period, periods
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pipeline.figures import pipeline
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class Loss:
    """One part: name, device-ns over all ranks and steady steps, its share of all, and what it is."""

    key: str
    title: str
    ns: int
    share: float
    how: str


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The parts sum to ``total_ns`` exactly; ``useful`` is what the model needs at the peak, after the losses.

    Without an MFU ``useful`` is None and the last loss is all compute. ``problem`` where the card contradicts the
    traces.
    """

    total_ns: int
    losses: tuple[Loss, ...]
    useful: Loss | None
    problem: str = ""

    def __post_init__(self) -> None:
        parts = sum(x.ns for x in self.losses) + (self.useful.ns if self.useful is not None else 0)
        if parts != self.total_ns or any(x.ns < 0 for x in self.losses):
            raise AssertionError(f"the parts of the waterfall add up to {parts}, not to {self.total_ns} ns")


def waterfall(session: Session) -> Waterfall | None:
    """The waterfall of a job; None without GPU work."""
    every = periods(session).every()
    whole = sum(p.span_ns for p in every)
    if not whole:
        return None
    idle, compute, exposed = (sum(getattr(p, n) for p in every) for n in ("idle_ns", "compute_ns", "comm_exposed_ns"))
    fill_idle = _idle_in_phases(session, every)
    waits = _waits(session)
    receive, waiting = waits if waits is not None else (0, 0)
    rows: list[tuple[str, str, int, str]] = []
    if fill_idle is not None:
        rows.append(
            (
                "bubble",
                "Pipeline bubble",
                fill_idle + receive,
                "a stage is idle within the pipelined phase, or receives and waits for the stage before",
            )
        )
    else:
        waiting += receive
    outside = "" if fill_idle is None else ", outside the pipelined phase"
    rows.append(("idle", "Idle", idle - (fill_idle or 0), f"nothing runs on the GPU{outside}"))
    communicating = exposed - waiting - (receive if fill_idle is not None else 0)
    if waits is not None:
        rows.append(("wait", "Waiting for ranks", waiting, "a collective runs, and not all of its members are there"))
        rows.append(("exposed_communication", "Exposed communication", communicating, "data moves, nothing computes"))
    else:
        rows.append(
            (
                "exposed_communication",
                "Exposed communication",
                communicating,
                "communication runs and no compute does; how much of it is waiting is not known",
            )
        )
    copies = sum(p.memory_exposed_ns for p in every)
    rows.append(("exposed_memory", "Copies and fills", copies, "a copy or fill runs, and nothing else does"))
    return _with_compute(session, every, whole, rows, compute)


def _with_compute(
    session: Session, every: list[Period], whole: int, rows: list[tuple[str, str, int, str]], compute: int
) -> Waterfall:
    losses = tuple(_loss(*row, whole) for row in rows)
    at_peak = ns_at_peak(card_of(session)) if mfu_applies(session) else None
    if at_peak is None:
        last = ("compute", "Compute", compute, "compute runs; how much of it the model needs is not known without MFU")
        return Waterfall(whole, (*losses, _loss(*last, whole)), None)
    needed = round(sum(at_peak * p.span_ns / p.length_ns for p in every))
    if needed > compute:
        problem = "the model needs more than the GPUs could do in the time in which they compute: check the job card"
        last = ("compute", "Compute", compute, "compute runs")
        return Waterfall(whole, (*losses, _loss(*last, whole)), None, problem)
    useful = ("model", "MFU", needed, "what the model needs, at the peak: MFU over the time of all steps")
    below = [_loss(*row, whole) for row in _below_the_peak(session, every, compute, needed)]
    return Waterfall(whole, (*losses, *below), _loss(*useful, whole))


def _below_the_peak(
    session: Session, every: list[Period], compute: int, needed: int
) -> list[tuple[str, str, int, str]]:
    """Compute that is not what the model needs at the peak: rows of the waterfall."""
    parts = compute_parts(session, every)
    assert parts.recomputed_ns + parts.other_ns + parts.products_ns == compute
    rows = []
    if parts.recomputed_ns:
        how = "forward kernels run again inside a checkpointed backward pass, and nothing else computes"
        rows.append(("recompute", "Recomputation", parts.recomputed_ns, how))
    if parts.products_ns < needed:  # fused kernels whose names do not tell that they multiply, or a wrong card
        how = "compute runs below the peak, or does what the model does not need"
        left = compute - parts.recomputed_ns - needed
        if left < 0:
            return [("kernel_efficiency", "Kernels below the peak", compute - needed, how)]
        return [*rows, ("kernel_efficiency", "Kernels below the peak", left, how)]
    return [
        *rows,
        (
            "other_kernels",
            "Other kernels",
            parts.other_ns,
            "kernels that are no matrix product, convolution or attention: element-wise work, norms, optimizer",
        ),
        (
            "kernel_efficiency",
            "Products below the peak",
            parts.products_ns - needed,
            "matrix products, convolutions and attention run below the peak, or do what the model does not need",
        ),
    ]


def _idle_in_phases(session: Session, every: list[Period]) -> int | None:
    """Idle device-ns of the ranks within the pipelined phases; None without a pipeline."""
    if session.card.plan.pp == 1:
        return None
    found = pipeline(session)
    if isinstance(found, str) or found.layout.timed != "kernels":
        return None
    by_place = {(p.group, p.number): p for p in every}
    idle = 0
    for step in steady(session, found):
        for line in step.lines:
            for stage in line.stages:
                period = by_place.get((found.layout.workers[stage.worker].group or 0, step.number))
                if found.layout.workers[stage.worker].group is None or period is None:
                    continue
                item = session.inputs[period.input]
                low = max(item.clock.to_raw(line.start_ns), period.start_ns)
                high = min(item.clock.to_raw(line.end_ns), period.end_ns)
                for device in gpu_work(item.trace).devices:
                    figures = attribute(item.trace, device, (low, high))
                    idle += figures.idle_ns if figures is not None and period.step is not None else 0
    return idle


def _waits(session: Session) -> tuple[int, int] | None:
    """(receives that wait along the pipeline, waiting of collectives) of the exposed device-ns; None where unknown."""
    figures = split_of(session)
    if figures is None or not figures.has_wait:
        return None
    return figures.parts[Part.PIPELINE_WAIT], figures.parts[Part.WAIT]


def _loss(key: str, title: str, ns: int, how: str, whole: int) -> Loss:
    return Loss(key, title, ns, ns / whole, how)
