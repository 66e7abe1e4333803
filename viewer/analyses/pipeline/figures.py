"""The bubble of a pipeline per step: measured, in theory, and taken apart.

The pipelined phase of a step = from the first begin of a forward or backward pass to the last end of one, over the
stages of one pipeline. The bubble of a stage = the phase - the time in which a compute kernel of its passes runs.
Gradient reduction and optimizer are no passes, so their compute is in neither.

``taken_apart`` says what it is made of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.waits import doubt
from viewer.analyses.pipeline.layout import layout
from viewer.analyses.pipeline.model import Layout, NoPipelineError, Passes, PassKind
from viewer.analyses.pipeline.replay import Order
from viewer.analyses.pipeline.schedule import Schedule, infer, micro_batches, theory_ns, theory_share
from viewer.analyses.pipeline.taken_apart import PARTS, Parts, Replayed, in_order, replay_line
from viewer.analyses.pipeline.usual import Key, per_micro_batch, usual_lengths, usual_passes
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


MISSING: Final = "stages of this pipeline are not open"


@dataclass(frozen=True, slots=True)
class StageFigures:
    """One worker in one step, ns. ``share`` = bubble / phase.

    ``forward_ns``, ``backward_ns`` and ``weight_ns`` are means of the time with compute per pass (None without one);
    ``per_micro_ns`` the compute of all passes per micro-batch. ``parts`` is None where the pipeline cannot be replayed.
    """

    worker: int
    micro_batches: int
    compute_ns: int
    bubble_ns: int
    share: float
    forward_ns: int | None
    backward_ns: int | None
    weight_ns: int | None
    per_micro_ns: float
    parts: Parts | None


@dataclass(frozen=True, slots=True)
class LineFigures:
    """One pipeline in one step.

    The phase is [start_ns, end_ns) of session time. Micro-batches begin and end at the first stage, so that where the
    clocks share no time its own clock tells the phase's length. ``floor`` marks a lower bound: that stage is missing.

    ``theory_share`` is by counting (equal F, B per stage; None for schedules that need F, B and W), ``theory_ns`` by
    the measured F, B and W (None where the order is unknown and cannot be replayed), ``usual_ns`` what a worker usually
    computes, mean over the stages. ``slowest`` is the stage that usually computes longest, ``uneven_ns`` how much
    shorter the phase would be were all stages equal (None where it cannot be replayed, ``problem`` says why);
    ``slowdown`` per stage: the phase with only this stage as it is / the phase of equal stages.
    """

    line: int
    start_ns: int
    end_ns: int
    floor: bool
    micro_batches: int
    theory_share: float | None
    theory_ns: int | None
    usual_ns: int
    stages: tuple[StageFigures, ...]
    slowest: int | None
    uneven_ns: int | None
    slowdown: tuple[float, ...]
    problem: str

    @property
    def phase_ns(self) -> int:
        """Length of the phase."""
        return self.end_ns - self.start_ns

    @property
    def bubble_ns(self) -> int:
        """Mean over its stages, ns."""
        return round(sum(s.bubble_ns for s in self.stages) / len(self.stages))

    @property
    def share(self) -> float:
        """Bubble / phase, over its stages."""
        return sum(s.bubble_ns for s in self.stages) / (len(self.stages) * self.phase_ns) if self.phase_ns else 0.0

    @property
    def least_share(self) -> float | None:
        """The share that theory gives with the measured F, B and W of equal stages."""
        if self.theory_ns is None:
            return None
        whole = self.theory_ns + self.usual_ns
        return self.theory_ns / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class StepFigures:
    """All pipelines of a job in one step."""

    number: int
    lines: tuple[LineFigures, ...]

    def stages(self) -> list[StageFigures]:
        """All workers."""
        return [s for line in self.lines for s in line.stages]

    @property
    def bubble_ns(self) -> int:
        """Mean over the workers, ns."""
        every = self.stages()
        return round(sum(s.bubble_ns for s in every) / len(every))

    @property
    def phase_ns(self) -> int:
        """Mean over the workers, ns."""
        return round(sum(x.phase_ns * len(x.stages) for x in self.lines) / len(self.stages()))

    @property
    def share(self) -> float:
        """All bubbles / all phases."""
        phases = sum(x.phase_ns * len(x.stages) for x in self.lines)
        return sum(s.bubble_ns for s in self.stages()) / phases if phases else 0.0

    @property
    def theory_share(self) -> float | None:
        """By counting; None where the lines have none."""
        told = [x.theory_share for x in self.lines if x.theory_share is not None]
        return sum(told) / len(told) if len(told) == len(self.lines) else None

    @property
    def least_share(self) -> float | None:
        """With the measured F, B and W of equal stages; None where a line has none."""
        told = [(x.least_share, len(x.stages)) for x in self.lines]
        if any(share is None for share, _ in told):
            return None
        return sum(share * n for share, n in told if share is not None) / len(self.stages())

    @property
    def floor(self) -> bool:
        """Whether it is a lower bound."""
        return any(x.floor for x in self.lines)

    def parts(self) -> Parts | None:
        """Means over the workers, ns (their sum is the bubble); None where a pipeline cannot be replayed."""
        told = [s.parts for s in self.stages() if s.parts is not None]
        if not told or len(told) != len(self.stages()):
            return None
        means = {name: round(sum(getattr(p, name) for p in told) / len(told)) for name in PARTS[:-1]}
        return Parts(**means, rest_ns=self.bubble_ns - sum(means.values()))


@dataclass(frozen=True, eq=False)
class Pipeline:
    """The pipelines of a job.

    ``unsure_ns`` is how far a phase's borders may be wrong for the clocks' sake, None where the clocks were not aligned
    by collectives (one file has one clock: 0).
    """

    layout: Layout
    schedule: Schedule
    steps: tuple[StepFigures, ...]
    unsure_ns: int | None

    @property
    def stages(self) -> int:
        """How many stages."""
        return self.layout.stages

    def step(self, number: int) -> StepFigures | None:
        """The figures of a step by its number."""
        return next((s for s in self.steps if s.number == number), None)

    def usual(self) -> StepFigures:
        """The step whose bubble's share is the median (the lower of two)."""
        ordered = sorted(self.steps, key=lambda s: (s.share, s.number))
        return ordered[(len(ordered) - 1) // 2]


def pipeline(session: Session) -> Pipeline | str:
    """The pipelines of a job with their bubble per step, or one sentence (without a full stop) why there are none.

    Depends on clocks and the job card; built once.
    """

    def build() -> Pipeline | str:
        try:
            return _build(session)
        except NoPipelineError as error:
            return str(error)

    return session.card_memo("pipeline", build)


def _build(session: Session) -> Pipeline:
    found = layout(session)
    sequences = [(found.workers[w].stage, p) for (w, _), p in sorted(found.passes.items())]
    named = session.card.run.schedule
    schedule = infer(sequences, found.stages, found.chunks)
    if named is not None and not any(name == "run.schedule" for name, _ in session.card.filled):
        schedule = Schedule(named, "job card", 1.0)
    one_clock = len({w.group for w in found.workers if w.group is not None}) == 1
    used = {i for w in found.workers if w.group is not None for i in session.groups[w.group].inputs}
    unsure = 0 if one_clock else _unsure(session, found)
    clocks = _Clocks(unsure is not None, one_clock or all(session.inputs[i].clock.known for i in used))
    steps = []
    by_step: dict[int, list[tuple[int, Passes]]] = defaultdict(list)
    for (w, number), p in found.passes.items():
        by_step[number].append((found.workers[w].stage, p))
    for number in found.steps:
        lines = []
        usual = usual_passes(by_step[number])
        for line in found.lines:
            have = [(w, found.passes[w, number]) for w in line.workers if (w, number) in found.passes]
            if have:
                lines.append(_line(found, line.index, have, schedule, clocks, usual))
        steps.append(StepFigures(number, tuple(lines)))
    return Pipeline(found, schedule, tuple(steps), unsure)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """What is known of the clocks of a pipeline: aligned by collectives (or one clock), or at least of one time."""

    aligned: bool
    one_time: bool


def _unsure(session: Session, found: Layout) -> int | None:
    told = doubt(session)[[w.group for w in found.workers if w.group is not None]]
    return None if bool((told == ABSENT).any()) else int(told.max())


def _line(
    found: Layout,
    index: int,
    have: Sequence[tuple[int, Passes]],
    schedule: Schedule,
    clocks: _Clocks,
    usual: Mapping[Key, float],
) -> LineFigures:
    whole = len(have) == found.stages
    order, problem = _order([p for _, p in have], found.chunks, schedule) if whole else (None, MISSING)
    together = clocks.aligned
    if not together and clocks.one_time and order is not None:
        together = in_order(order, [p for _, p in have])  # clocks that nothing aligned may yet agree
    # Micro-batches begin and end at the first stage: its own clock is enough for the length of the phase.
    first = next((p for w, p in have if found.workers[w].stage == 0), None)
    inside = [p for _, p in have] if together else [have[0][1] if first is None else first]
    start, end = min(int(p.start.min()) for p in inside), max(int(p.end.max()) for p in inside)
    floor = first is None
    if whole and not together and not problem:
        problem = "the clocks of its ranks are not aligned"
    told = [(found.workers[w].stage, p, micro_batches(p, found.chunks)) for w, p in have]
    count = max(n for *_, n in told)
    lengths = [usual_lengths(s, p, usual) for s, p, _ in told]
    each = [float(x.sum()) for x in lengths]
    mean = sum(each) / len(each)
    per_micro = {kind: per_micro_batch(told, usual, kind) for kind in PassKind}
    least = theory_ns(
        schedule.key,
        found.stages,
        found.chunks,
        per_micro[PassKind.FORWARD],
        per_micro[PassKind.BACKWARD] + per_micro[PassKind.WEIGHT],
        per_micro[PassKind.WEIGHT],
    )
    replayed: Replayed | None = None
    if order is not None and together:
        replayed = replay_line(order, [p for _, p in have], np.concatenate(lengths))
    if least is None and replayed is not None:
        least = max(0.0, replayed.equal - mean)
    stages = []
    for i, (worker, p) in enumerate(have):
        own = (start, end) if together or first is not None else (int(p.start.min()), int(p.end.max()))
        bubble = own[1] - own[0] - p.compute_ns
        parts = None
        if replayed is not None and least is not None:
            parts = replayed.parts(least, mean, each[i], float(p.compute_ns), bubble)
        stages.append(
            StageFigures(
                worker,
                told[i][2],
                p.compute_ns,
                bubble,
                bubble / (own[1] - own[0]) if own[1] > own[0] else 0.0,
                p.mean_ns(PassKind.FORWARD),
                p.mean_ns(PassKind.BACKWARD),
                p.mean_ns(PassKind.WEIGHT),
                p.compute_ns / max(1, told[i][2]),
                parts,
            )
        )
    return LineFigures(
        index,
        start,
        end,
        floor,
        count,
        theory_share(schedule.key, found.stages, count, found.chunks),
        None if least is None else round(least),
        round(mean),
        tuple(stages),
        max(range(len(each)), key=lambda i: each[i]) if whole else None,
        None if replayed is None else round(replayed.usual - replayed.equal),
        () if replayed is None else replayed.slowdown,
        problem,
    )


def _order(stages: Sequence[Passes], chunks: int, schedule: Schedule) -> tuple[Order | None, str]:
    """The passes as they can be replayed, or why they cannot."""
    if schedule.key == "dualpipe":
        return None, "micro-batches enter at both ends: the order is not replayed"
    try:
        return Order(stages, chunks), ""
    except ValueError as error:
        return None, str(error)
