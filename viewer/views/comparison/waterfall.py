"""The picture of a comparison: from the base run's step to the test run's, cause by cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.analyses.comparison.compare import Comparison
from viewer.analyses.comparison.waterfall import PAINTS, Cause, Waterfall
from viewer.base.errors import UsageError
from viewer.base.ids import Paint
from viewer.base.scene import Measure, PictureScene, SceneLine, SceneRect, plain_measure
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.base.units import with_minus
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.surround import draw_heads
from viewer.views.text import Fitter, one_line

MOST_BARS: Final = 12
"""Causes with a bar of their own; the others are one bar."""
LEAST_SHARE: Final = 0.003
"""Of all that moved: smaller causes are among the others."""
ROW: Final = 30
NOTE: Final = (
    "The causes add up exactly. Green computes, orange communicates, violet copies, grey is idle; pale is within the "
    "runs' own noise. Waiting for other ranks comes last. The bars of whole steps are cut at //."
)
_PALE: Final = 0.4


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: from ``low_ns`` to ``high_ns`` on the axis, and what stands beside it."""

    label: str
    value: str
    low_ns: int
    high_ns: int
    paint: Paint | None
    pale: bool = False
    end_ns: int = 0
    """Where the sum stands after it."""


def bars(found: Comparison, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """The rows from base to test; () without a step. What the bars of causes add goes from one to the other exactly."""
    fall = found.waterfall
    if fall is None:
        return ()
    moved = [c for c in fall.causes if c.delta_ns]
    least = LEAST_SHARE * sum(abs(c.delta_ns) for c in moved)
    large = [c for c in moved if abs(c.delta_ns) >= least]
    shown = large if len(moved) <= most and len(large) + 1 >= len(moved) else large[: most - 1]
    others = [c for c in moved if c not in shown]
    out = [Bar("base", format_duration(fall.base_ns, 2), 0, fall.base_ns, None, end_ns=fall.base_ns)]
    at = fall.base_ns
    for cause in shown:
        pale = cause.significant is False
        note = "within noise" if pale else ""
        at = _add(out, at, cause.delta_ns, _label(found, cause), PAINTS[cause.kind], pale=pale, note=note)
    if others:
        label = "1 further cause" if len(others) == 1 else f"{len(others)} further causes"
        at = _add(out, at, sum(c.delta_ns for c in others), label, Paint.OTHER, pale=True)
    out.append(Bar("test", format_duration(fall.test_ns, 2), 0, fall.test_ns, None, end_ns=at))
    return tuple(out)


def _add(out: list[Bar], at: int, delta: int, label: str, paint: Paint, *, pale: bool, note: str = "") -> int:
    sign = "+" if delta > 0 else "−"
    value = f"{sign}{format_duration(abs(delta), 2)}" + (f"  {note}" if note else "")
    out.append(Bar(label, value, min(at, at + delta), max(at, at + delta), paint, pale, at + delta))
    return at + delta


def _label(found: Comparison, cause: Cause) -> str:
    text = one_line(cause.label)
    if cause.where is not None:
        text += f" ({one_line(found.pairing.pairs[cause.where].label)})"
    return text


def fitting_height(found: Comparison, width: int) -> int:
    """Logical px of height in which a picture of that width shows all its bars and its heads."""
    plain = 110 + ROW * (len(bars(found)) + 1)
    return max(round(width / 4), plain)


def waterfall_scene(
    found: Comparison,
    theme: Theme,
    size: tuple[int, int],
    scale: float = 1.0,
    title: str = "",
    measure: Measure = plain_measure,
) -> PictureScene:
    """Compose the picture.

    Args:
        found: a comparison of runs that can be compared.
        theme: colours.
        size: logical px.
        scale: output px per logical px.
        title: first line, "" for none.
        measure: widths of texts, from whoever will paint.

    Raises:
        UsageError: the runs cannot be compared.
    """
    fall = found.waterfall
    if fall is None:
        raise UsageError(f"there is no waterfall: {found.reason}.")
    canvas = Canvas(*size, TimeRange(0, 1), theme, Fitter(measure))
    top = draw_heads(canvas, title, sentence(found, fall)) if title else canvas.margin
    foot = canvas.px(16) if title else 0
    if title:
        canvas.text(
            canvas.margin,
            size[1] - canvas.margin - foot / 2,
            canvas.fit.elide(NOTE, canvas.font["footer"], size[0] - 2 * canvas.margin),
            canvas.font["footer"],
            theme["muted"],
            "footer",
        )
    room = size[1] - canvas.margin - top - foot
    line = canvas.px(22)
    rows = bars(found, max(1, min(MOST_BARS, room // line - 3)))
    _draw(canvas, rows, top, min(canvas.px(ROW), max(1, room // max(len(rows), 1))))
    return PictureScene(
        *size, scale, theme["base"], tuple(canvas.items), one_line(title) or "Rankscope", sentence(found, fall)
    )


def sentence(found: Comparison, fall: Waterfall) -> str:
    """The outcome in one line."""
    if found.identical:
        return "Both runs hold the same events."
    by = "step" if found.pairing.by_step else "trace"
    share = with_minus(f" ({100 * fall.delta_ns / fall.base_ns:+.1f} %)") if fall.base_ns else ""
    sign = "+" if fall.delta_ns > 0 else "−" if fall.delta_ns < 0 else "±"
    noise = {True: "beyond noise", False: "within noise", None: "noise unknown: too few steps"}[fall.significant]
    band = f" ± {format_duration(fall.band_ns, 2)}" if fall.band_ns is not None else ""
    return (
        f"Mean {by} and rank {format_duration(fall.base_ns, 2)} → {format_duration(fall.test_ns, 2)}, "
        f"{sign}{format_duration(abs(fall.delta_ns), 2)}{share}, {noise}{band}"
    )


def _draw(canvas: Canvas, rows: tuple[Bar, ...], top: int, height: int) -> None:
    font, theme, fit = canvas.font["lane"], canvas.theme, canvas.fit
    wide = canvas.width - 2 * canvas.margin
    labels = max((fit.width(r.label, font) for r in rows), default=0.0)
    values = max((fit.width(r.value, font) for r in rows), default=0.0)
    left = canvas.margin + min(labels, 0.42 * wide) + canvas.px(10)
    right = canvas.width - canvas.margin - values - canvas.px(10)
    sums = [r.end_ns for r in rows]
    low, high = float(min(sums, default=0)), float(max(sums, default=1))
    span = max(high - low, 1.0)
    # Bars of whole steps begin left of the axis' cut: the part that both have is not drawn to scale.
    cut, high = low - span * 0.25, high + span * 0.02
    cut = max(cut, 0.0)

    def x(ns: float) -> float:
        return left + max(0.0, (ns - cut) / max(high - cut, 1.0)) * max(right - left, 1.0)

    bar = max(3, round(height * 0.62))
    for i, row in enumerate(rows):
        y = top + i * height
        middle = y + height / 2
        room = left - canvas.margin - canvas.px(10)
        bold = row.paint is None
        used = canvas.font["header"] if bold else font
        canvas.text(canvas.margin, middle, fit.name(row.label, used, room), used, theme["text"], "lane")
        a, b = x(row.low_ns), x(row.high_ns)
        fill = theme["muted"] if row.paint is None else theme.paints[row.paint]
        canvas.items.append(
            SceneRect(
                a, middle - bar / 2, max(b - a, 1.0), bar, fill, opacity=_PALE if row.pale else 1.0, tip=row.label
            )
        )
        if row.paint is None and cut > 0:
            for shift in (0.0, canvas.px(4)):
                canvas.items.append(
                    SceneLine(
                        left + canvas.px(10) + shift,
                        middle + bar / 2 + 1,
                        left + canvas.px(16) + shift,
                        middle - bar / 2 - 1,
                        theme["base"],
                        canvas.px(2),
                    )
                )
        if i + 1 < len(rows):
            at = x(row.end_ns)
            canvas.items.append(SceneLine(at, middle + bar / 2, at, middle + height - bar / 2, theme["line"]))
        tone = theme["muted"] if row.pale else theme["text"]
        canvas.text(right + canvas.px(8), middle, row.value, used, tone, "lane")
