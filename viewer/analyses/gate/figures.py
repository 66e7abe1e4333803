"""The figures of a run that a check keeps: what a trace says of step time, communication, idle time, MFU and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from viewer.analyses.attribution import attribute
from viewer.analyses.fingerprint.memory_peak import rank_peaks
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import Step, step_table
from viewer.base.run_record import Better, RunFigure
from viewer.store.session import Session

MOST_SAMPLES: Final = 1_000
FROM_FINGERPRINT: Final[tuple[tuple[str, Better], ...]] = (("mfu", "higher"), ("pipeline_bubble", "lower"))
STEP_HOW: Final = (
    "Median over the steps; of each step the longest CPU mark of all ranks. The first (warm-up) is in it: "
    "one step does not move the median."
)


def run_figures(session: Session) -> dict[str, RunFigure]:
    """What the traces of a run say; {} where they hold no GPU work and no steps.

    Times in ns, shares of a rank's step (or of the trace without steps), medians over ranks and steps.
    """
    out: dict[str, RunFigure] = {}
    by_step: dict[int, list[Step]] = {}
    for item in session.inputs:
        for step in step_table(item.trace).steps:
            by_step.setdefault(step.index, []).append(step)
    if by_step:
        longest = [float(max(s.cpu_ns for s in steps)) for _, steps in sorted(by_step.items())]
        out["step_ns"] = _median(longest, "ns", STEP_HOW, gate=True)
        _shares(by_step, out)
        gaps = [float(s.gap_before_ns) for steps in by_step.values() for s in steps if s.gap_before_ns is not None]
        if gaps:
            how = "Median over steps and ranks of the time between the compute of two steps."
            out["step_gap_ns"] = _median(gaps, "ns", how, least=0.05)
    else:
        _whole(session, out)
    _fingerprint(session, out)
    return out


def _fingerprint(session: Session, out: dict[str, RunFigure]) -> None:
    """MFU and bubble, where they can be had, and the peak of memory, which repeats itself closely: it gates."""
    peaks = rank_peaks(session)
    if peaks:
        fullest = max(float(p.peak.allocated_bytes) for p in peaks)
        out["memory_peak"] = RunFigure(fullest, "bytes", gate=True, least=0.01, how="Allocated, of the fullest rank.")
    found = fingerprint(session)
    for key, better in FROM_FINGERPRINT:
        figure = found[key]
        if figure.value is not None:
            samples = [step.value for step in figure.steps][:MOST_SAMPLES]
            out[key] = RunFigure(figure.value, "share", better, least=0.02, samples=samples, how=figure.how)


def _shares(by_step: dict[int, list[Step]], out: dict[str, RunFigure]) -> None:
    shares: dict[str, tuple[Callable[[Step], int], str]] = {
        "exposed_comm_share": (_sum("comm_exposed_ns"), "communication that no compute hides"),
        "exposed_memory_share": (_sum("memory_exposed_ns"), "copies and fills that nothing hides"),
        "idle_share": (_sum("idle_ns"), "idle time"),
    }
    for name, (part, what) in shares.items():
        values = []
        for _, steps in sorted(by_step.items()):
            of_step = [part(s) / span for s in steps if (span := _sum("span_ns")(s))]
            if of_step:
                values.append(float(np.median(of_step)))
        if values:
            how = f"Median over steps and ranks of {what} as a share of the step's GPU span."
            out[name] = _median(values, "share", how, least=0.05)
    busy = [float(sum(_sum("busy_ns")(s) for s in steps) / len(steps)) for _, steps in sorted(by_step.items())]
    out["gpu_busy_ns"] = _median(busy, "ns", "Median over the steps of the mean over ranks of the time the GPU works.")


def _whole(session: Session, out: dict[str, RunFigure]) -> None:
    spans, busy, exposed = [], [], []
    for item in session.inputs:
        for device in gpu_work(item.trace).devices:
            found = attribute(item.trace, device)
            if found is not None:
                spans.append(float(found.span_ns))
                busy.append(float(found.busy_ns))
                exposed.append(found.comm_exposed_ns / found.span_ns if found.span_ns else 0.0)
    if spans:
        how = "First start to last end of GPU work, the longest of all ranks: nothing marks steps."
        out["gpu_span_ns"] = RunFigure(max(spans), "ns", "lower", True, how=how)
        out["gpu_busy_ns"] = RunFigure(float(np.mean(busy)), "ns", how="Mean over ranks of the time the GPU works.")
        how = "Median over ranks of communication that no compute hides, as a share of the GPU span."
        out["exposed_comm_share"] = RunFigure(float(np.median(exposed)), "share", least=0.05, how=how)


def _sum(name: str) -> Callable[[Step], int]:
    """A figure of a step, added over its devices; ns."""
    return lambda step: sum(getattr(figures, name) for _, figures in step.devices if figures is not None)


def _median(samples: list[float], unit: str, how: str, *, gate: bool = False, least: float = 0.01) -> RunFigure:
    return RunFigure(float(np.median(samples)), unit, "lower", gate, least, samples[:MOST_SAMPLES], how)
