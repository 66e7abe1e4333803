"""Steps as bands over the lanes of their rank, and which step is where."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viewer.analyses.steps import step_table
from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.store.session import RankGroup, Session


@dataclass(frozen=True, slots=True)
class StepBand:
    """One step of a rank in session time.

    ``span`` is first start to last end of the GPU work that the step launched; of a step without any, and where
    ``on_gpu`` is False, its CPU mark. ``index`` is the step's number as it is shown, ``place`` counts the rank's steps
    from 0 in time order.
    """

    group: int
    place: int
    index: int
    name: str
    span: TimeRange
    mark: TimeRange
    on_gpu: bool
    kernels: int
    gap_before_ns: int | None

    @property
    def title(self) -> str:
        """``"step 12"``."""
        return f"step {self.index}"

    def lines(self) -> tuple[str, ...]:
        """What a tooltip says of it."""
        first = f"GPU {format_duration(self.span.length_ns)}  ·  " if self.on_gpu else ""
        out = [f"{first}CPU mark {format_duration(self.mark.length_ns)}  ·  {self.kernels:,} kernels", self.name]
        if self.gap_before_ns is not None:
            out.insert(1, f"{format_duration(self.gap_before_ns)} without compute since the step before")
        return tuple(out)


Bands = tuple[StepBand, ...]


def step_bands(session: Session, group: RankGroup) -> Bands:
    """The steps of a rank over all its segments, by start. Links calls to GPU work at first: for a worker."""
    found = []
    for source in group.inputs:
        item = session.inputs[source]
        s, to = item.trace.slices, item.clock.to_session
        for step in step_table(item.trace).steps:
            mark = TimeRange(to(step.start_ns), to(step.end_ns))
            span = mark
            if len(step.rows):
                start = s.start_ns[step.rows]
                span = TimeRange(to(int(start.min())), to(int((start + s.dur_ns[step.rows]).max())))
            found.append((span, mark, step))
    found.sort(key=lambda entry: (entry[0].start_ns, entry[1].start_ns))
    return tuple(
        StepBand(group.id, k, step.index, step.name, span, mark, bool(len(step.rows)), step.kernels, step.gap_before_ns)
        for k, (span, mark, step) in enumerate(found)
    )


def within(bands: Bands, window: TimeRange) -> Sequence[StepBand]:
    """The bands that touch a window. Spans may overlap a little, but never by more than a step."""
    first = max(bisect_right(bands, window.start_ns, key=lambda b: b.span.start_ns) - 2, 0)
    last = bisect_left(bands, window.end_ns, key=lambda b: b.span.start_ns)
    return [b for b in bands[first:last] if b.span.end_ns > window.start_ns]


def step_at(bands: Bands, time_ns: int) -> StepBand | None:
    """The step at an instant; of two that overlap the later one."""
    found = within(bands, TimeRange(time_ns, time_ns + 1))
    return found[-1] if found else None


def neighbour(bands: Bands, chosen: TimeRange | None, window: TimeRange, forward: bool) -> StepBand | None:
    """The step after (or before) the selected one; where none is selected the first (last) that begins in sight.

    None at the end of the steps.
    """
    if not bands:
        return None
    here = next((b.place for b in bands if b.span == chosen), None)
    if here is not None:
        to = here + (1 if forward else -1)
        return bands[to] if 0 <= to < len(bands) else None
    seen = [b for b in bands if window.start_ns <= b.span.start_ns < window.end_ns]
    if not seen:
        seen = [b] if (b := step_at(bands, window.start_ns + window.length_ns // 2)) is not None else list(bands)
    return seen[0 if forward else -1]


def stack_shifts(bands: Mapping[int, Bands], chosen: StepBand) -> dict[int, int]:
    """What to add to the session time of each rank so that its step of the same number starts with the chosen one.

    Ranks without such a step are missing. A number that a rank has several times is taken at the same repeat.
    """
    repeat = [b for b in bands[chosen.group] if b.index == chosen.index].index(chosen)
    out = {}
    for group, steps in bands.items():
        same = [b for b in steps if b.index == chosen.index]
        if len(same) > repeat:
            out[group] = chosen.span.start_ns - same[repeat].span.start_ns
    return out
