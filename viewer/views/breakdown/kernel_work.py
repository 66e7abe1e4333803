"""What a kernel computed and moved, at which rates, against what its device can do."""

from __future__ import annotations

import math

from viewer.analyses.contention import beside_communication, contention
from viewer.analyses.copies import copied_bytes
from viewer.analyses.flops.ledger import ledger
from viewer.analyses.flops.traffic import moved_bytes
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.peaks import Peaks, peaks_of
from viewer.base.frames import Figure, Section
from viewer.base.ids import Paint
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_rate
from viewer.views.figures import shown
from viewer.views.subject import Subject


def work_sections(subject: Subject) -> list[Section]:
    """FLOPs, bytes, rates and the roofline of a compute kernel; [] where nothing is to be said."""
    trace = subject.trace
    at = gpu_work(trace).position(subject.row)
    if at < 0 or subject.paint is not Paint.COMPUTE:
        return []
    found = ledger(trace)
    peaks = peaks_of(trace, subject.session.card)
    flops = float(found.flops[at])
    moved = next(
        (
            v
            for v in (float(found.bytes[at]), float(moved_bytes(trace)[at]), float(copied_bytes(trace)[at]))
            if not math.isnan(v)
        ),
        math.nan,
    )
    figures = [] if math.isnan(flops) else _computed(subject, at, flops, peaks)
    if not math.isnan(moved):
        figures += _moved(subject, moved, peaks)
    if not math.isnan(flops) and not math.isnan(moved):
        figures += _roofline(subject, at, flops, moved, peaks)
    figures += _contended(subject, at)
    note = ""
    if found.gap[at] >= 0:
        gap = found.gaps[int(found.gap[at])]
        note = f"FLOPs are not counted: {gap.why}{f' ({shown(gap.operator, 80)})' if gap.operator else ''}."
    return [Section("Work and rate", tuple(figures), note=note)] if figures or note else []


def _computed(subject: Subject, at: int, flops: float, peaks: Peaks | None) -> list[Figure]:
    found = ledger(subject.trace)
    cost = found.costs[int(found.cost[at])]
    split = " It is this kernel's part of its call, by time." if flops < 0.999 * cost.flops else ""
    how = f"{cost.family} in {cost.dtype or 'an unknown type'}: {shown(cost.shape, 200)}, by the recorded shapes."
    assumed = f" Assumed: {cost.how}." if cost.how else ""
    figures = [Figure("FLOPs", format_rate(flops, "FLOP"), how + split + assumed)]
    if subject.dur > 0:
        rate = flops / subject.dur * 1e9
        peak = peaks.of(cost.dtype) if peaks is not None else None
        value, how = format_rate(rate, "FLOP/s"), "FLOPs / duration."
        if peaks is not None and peak:
            value += f" · {100 * rate / peak:.1f} % of peak"
            how += f" The dense peak for {cost.dtype} is {format_rate(peak, 'FLOP/s')} ({peaks.source})."
        figures.append(Figure("rate", value, how))
    return figures


def _moved(subject: Subject, moved: float, peaks: Peaks | None) -> list[Figure]:
    least = "What must at least be read and written, each tensor once, by the recorded shapes."
    figures = [Figure("bytes, at least", format_bytes(round(moved)), least)]
    if subject.dur > 0:
        rate = moved / subject.dur * 1e9
        value, how = format_rate(rate), "These bytes / duration."
        if peaks is not None and peaks.bytes_per_second:
            value += f" · {100 * rate / peaks.bytes_per_second:.1f} % of the memory's rate"
            how += (
                f" The memory's rate is {format_rate(peaks.bytes_per_second)} ({peaks.source}). More: from the caches."
            )
        figures.append(Figure("memory rate", value, how))
    return figures


def _roofline(subject: Subject, at: int, flops: float, moved: float, peaks: Peaks | None) -> list[Figure]:
    """What the device could at best do it in, and by what it is bound."""
    found = ledger(subject.trace)
    peak = peaks.of(found.costs[int(found.cost[at])].dtype) if peaks is not None else None
    if peaks is None or not peak or not peaks.bytes_per_second or moved <= 0:
        return []
    computing, moving = flops / peak * 1e9, moved / peaks.bytes_per_second * 1e9
    best, by = max((computing, "its arithmetic"), (moving, "memory"))
    value = f"{format_duration(round(best), 1)}, bound by {by}"
    if best > 0:
        value += f" · it takes {subject.dur / best:.1f} times that"
    how = (
        f"The larger of FLOPs / peak ({format_duration(round(computing), 1)}) and bytes / rate of the memory "
        f"({format_duration(round(moving), 1)}): the roofline. {flops / moved:.0f} FLOPs per byte."
    )
    return [Figure("at best", value, how)]


def _contended(subject: Subject, at: int) -> list[Figure]:
    if not beside_communication(subject.trace)[at]:
        return []
    slower = float(contention(subject.trace).slowdown[at])
    if math.isnan(slower) or not slower:
        return []
    word = "longer" if slower > 0 else "shorter"
    return [
        Figure(
            "beside communication",
            f"{format_duration(round(abs(slower)), 1)} {word} than alone",
            "Duration - median duration of the same kernel, grid and shapes when no communication runs on the device.",
        )
    ]
