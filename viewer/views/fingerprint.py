"""The Fingerprint panel: a tile for each figure, and the waterfall from the peak to MFU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.waterfall import Waterfall
from viewer.analyses.fingerprint.whole import Fingerprint, fingerprint
from viewer.base.card_fields import BY_PATH
from viewer.base.figure_tiles import FigureTile, WaterfallRow
from viewer.base.ids import Paint
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Session

_WORDS: Final = {
    "ok": "",
    "outside": "outside",
    "bad": "",
    "grey": "range does not apply",
    "unknown": "",
}
_PAINTS: Final = {
    "bubble": Paint.SYNC,
    "idle": Paint.OTHER,
    "wait": Paint.RUNTIME,
    "exposed_communication": Paint.COMM,
    "exposed_memory": Paint.MEMORY,
    "recompute": Paint.PYTHON,
    "other_kernels": Paint.ANNOTATION,
    "kernel_efficiency": Paint.OPERATOR,
    "compute": Paint.COMPUTE,
    "model": Paint.COMPUTE,
}
_NEARLY: Final = 0.0005
"""A part of less than this share is not shown as the largest."""


@dataclass(frozen=True, eq=False)
class FingerprintFrame:
    """What the panel shows; ``figures`` in the order of the tiles."""

    sentence: str
    tiles: tuple[FigureTile, ...]
    figures: tuple[Figure, ...]
    hfu: str
    hfu_how: str
    rows: tuple[WaterfallRow, ...]
    problem: str


def fingerprint_frame(session: Session, cancel: CancelToken | None = None) -> FingerprintFrame:
    """The panel's content for a job. Raises Cancelled on request."""
    found = fingerprint(session, cancel)
    tiles = tuple(tile(f) for f in found.figures)
    hfu = "–" if found.hfu is None else percent(found.hfu)
    rows = () if found.waterfall is None else waterfall_rows(found.waterfall)
    problem = f"This cannot be: {found.problem}." if found.problem else ""
    return FingerprintFrame(_sentence(found), tiles, found.figures, hfu, found.hfu_how, rows, problem)


def tile(figure: Figure) -> FigureTile:
    """One figure as a tile."""
    value, status = figure.value, figure.status
    return FigureTile(
        figure.title,
        "–" if value is None else percent(value),
        status,
        _WORDS[status] if status != "bad" else "too high" if figure.lower_is_better else "too low",
        value,
        figure.theory,
        figure.low,
        figure.high,
        _full(figure),
        figure.spread,
        tuple(s.value for s in figure.steps),
        _line(figure),
        bool(figure.needs),
        _tip(figure),
    )


def percent(share: float) -> str:
    """A share in percent: one decimal, two below one percent."""
    return f"{100 * share:.2f} %" if 0 < abs(share) < 0.01 else f"{100 * share:.1f} %"


def _full(figure: Figure) -> float:
    """The bar's right end: the next round share above all that is shown on it."""
    shown = [v for v in (figure.value, figure.theory, figure.low, figure.high) if v is not None]
    most = max([*shown, *(figure.spread or ())], default=1.0) * 1.15
    return next((r for r in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0) if r >= most), max(1.0, most))


def _range(figure: Figure) -> str:
    low, high = figure.low, figure.high
    if low is not None and high is not None:
        return f"usual {_short(low)}–{_short(high)} %"
    if high is not None:
        return f"usual up to {_short(high)} %"
    return ""


def _short(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0")


def _line(figure: Figure) -> str:
    if figure.value is None:
        if figure.needs:
            field = BY_PATH.get(figure.needs)
            label = f" ({field.label})" if field is not None else ""
            return f"Not computable: needs {figure.needs}{label} on the job card"
        return figure.why[:1].upper() + figure.why[1:]
    parts = [_range(figure)]
    if figure.theory is not None and figure.theory > 0:
        parts.append(f"theory {percent(figure.theory)}")
    if figure.spread is not None and percent(figure.spread[0]) != percent(figure.spread[1]):
        parts.append(f"ranks {_short(figure.spread[0])}–{_short(figure.spread[1])} %")
    if figure.status == "grey" and figure.why:
        parts.append(figure.why)
    return ", ".join(p for p in parts if p)


def _tip(figure: Figure) -> str:
    lines = [figure.title, "", f"How: {figure.how}."]
    if figure.condition:
        lines.append(f"The range holds for: {figure.condition}.")
    if figure.theory is not None and figure.theory_how:
        lines.append(f"Theory: {figure.theory_how}.")
    if figure.note:
        lines.append(f"Note: {figure.note}.")
    lines += [f"Evidence: {e.text}. A click jumps there." for e in figure.evidence[:1]]
    if figure.needs:
        lines.append("A click opens the job card at that field.")
    return "\n".join(lines)


def _sentence(found: Fingerprint) -> str:
    fall = found.waterfall
    if fall is None:
        bubble = found["pipeline_bubble"].value
        if bubble is not None:
            return f"Of the pipelined phase {percent(bubble)} is bubble; the traces hold no GPU work."
        return "There is no GPU work to speak of."
    losses = sorted(fall.losses, key=lambda x: -x.share)
    losses = [x for x in losses if x.key != "compute" and x.share > _NEARLY]
    largest = f"the largest loss is {losses[0].title.lower()}, {percent(losses[0].share)} of the time" if losses else ""
    mfu = found["mfu"]
    if mfu.value is None:
        return f"{largest[:1].upper()}{largest[1:]}." if largest else "The GPUs compute all the time."
    return f"MFU is {percent(mfu.value)}" + (f"; {largest}." if largest else ".")


def waterfall_rows(found: Waterfall) -> tuple[WaterfallRow, ...]:
    """The rows from the peak down; each begins where the one before it ends, from the right."""
    rows = [WaterfallRow("Peak", "100 %", 1.0, 0.0, Paint.OTHER, True, _whole(found))]
    right = 1.0
    for x in found.losses:
        last = x.key == "compute"
        right -= x.share
        rows.append(
            WaterfallRow(
                x.title,
                percent(x.share),
                x.share,
                0.0 if last else max(0.0, right),
                _PAINTS.get(x.key, Paint.OTHER),
                last,
                f"{x.title}: {format_duration(x.ns)} of {format_duration(found.total_ns)} of all ranks: {x.how}.",
            )
        )
    if found.useful is not None:
        x = found.useful
        tip = f"{x.title}: {x.how}."
        rows.append(WaterfallRow(x.title, percent(x.share), x.share, 0.0, _PAINTS[x.key], True, tip))
    return tuple(rows)


def _whole(found: Waterfall) -> str:
    return (
        f"What the GPUs could do in the time of all steps and ranks, {format_duration(found.total_ns)}. The parts "
        "below sum to it exactly."
    )
