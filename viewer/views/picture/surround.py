"""What surrounds the lanes of a picture: title, time axis, remarks, legend and footer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from viewer.base.scene import Bounds, SceneLine, SceneRect
from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.store.session import Session
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.colors import LegendEntry
from viewer.views.picture.provenance import rank_words
from viewer.views.text import one_line
from viewer.views.timeline.ticks import Axis, ticks

MOST_HEAD_LINES = 2
LONGEST_LEGEND: Final = 240
"""Names of kernels and communicators in the legend are cut at so many plain px."""


def draw_heads(canvas: Canvas, title: str, subtitle: str) -> int:
    """Title and subtitle from the top margin on; returns where they end."""
    y: float = canvas.margin
    room = canvas.width - 2 * canvas.margin
    for text, role, color in ((title, "title", "text"), (subtitle, "subtitle", "muted")):
        font = canvas.font[role]
        for line in canvas.fit.wrap(one_line(text), font, room, MOST_HEAD_LINES):
            y += 1.32 * font.size
            canvas.text(
                canvas.margin,
                y - 0.66 * font.size,
                line,
                font,
                canvas.theme[color],
                "title" if role == "title" else "subtitle",
            )
    return round(y + (canvas.px(6) if y > canvas.margin else 0))


def job_subtitle(session: Session, window: TimeRange) -> str:
    """Ranks, GPU, host and window of a job in one line."""
    ranks = [g.rank for g in session.groups if g.rank is not None]
    parts = [f"{'ranks' if len(set(ranks)) > 1 else 'rank'} {rank_words(ranks)}"] if ranks else []
    gpus = sorted({g.gpu for g in session.groups if g.gpu})
    hosts = sorted({g.host for g in session.groups if g.host})
    parts += [one_line(gpus[0])] if len(gpus) == 1 else [f"{len(gpus)} kinds of GPU"] if gpus else []
    parts += [one_line(hosts[0])] if len(hosts) == 1 else [f"{len(hosts)} hosts"] if hosts else []
    parts.append(f"{format_duration(window.length_ns)} from {format_duration(window.start_ns - session.origin_ns())}")
    return "  ·  ".join(parts)


def axis_ticks(canvas: Canvas, origin_ns: int, width: float) -> Axis:
    """Ticks for an axis that wide; their x still count plain px."""
    return ticks(canvas.window, origin_ns, width / canvas.factor)


def axis_caption(axis: Axis) -> str:
    """What stands left of the axis: its unit, or the time that all labels are added to."""
    return f"{axis.base} +" if axis.base else f"time ({axis.unit})"


def draw_axis(canvas: Canvas, axis: Bounds, origin_ns: int) -> list[float]:
    """Draw the time axis; returns where its grid lines are, from the left edge of the lanes."""
    theme, font = canvas.theme, canvas.font["axis"]
    scale = axis_ticks(canvas, origin_ns, axis.width)
    middle = axis.y + axis.height / 2 - canvas.px(2)
    canvas.text(axis.x - canvas.px(8), middle, axis_caption(scale), font, theme["muted"], "axis", "end")
    taken, grid = axis.x - canvas.px(2), []
    for tick in scale.ticks:
        at = axis.x + tick.x * canvas.factor
        if at > axis.right:
            continue
        length = canvas.px(5 if tick.major else 3)
        canvas.items.append(SceneLine(at, axis.bottom - length, at, axis.bottom, theme["muted"]))
        if not tick.major:
            continue
        grid.append(at - axis.x)
        width = canvas.fit.width(tick.label, font)
        start = min(max(at - width / 2, axis.x), axis.right - width)
        if start >= taken:
            canvas.text(start, middle, tick.label, font, theme["text"], "axis")
            taken = start + width + canvas.px(10)
    canvas.items.append(SceneLine(axis.x, axis.bottom, axis.right, axis.bottom, theme["muted"]))
    return grid


def remarks_height(canvas: Canvas, remarks: Sequence[str]) -> int:
    """Height of the lines of :func:`draw_remarks`, px."""
    lines = _remark_lines(canvas, remarks)
    return round(len(lines) * 1.35 * canvas.font["footer"].size) + canvas.px(4) if lines else 0


def draw_remarks(canvas: Canvas, remarks: Sequence[str], top: float) -> None:
    """What the picture does not show, in words."""
    font = canvas.font["footer"]
    for n, line in enumerate(_remark_lines(canvas, remarks)):
        middle = top + canvas.px(2) + (n + 0.5) * 1.35 * font.size
        canvas.text(canvas.margin, middle, line, font, canvas.theme["muted"], "more")


def _remark_lines(canvas: Canvas, remarks: Sequence[str]) -> list[str]:
    return canvas.fit.flow(list(remarks), canvas.font["footer"], canvas.width - 2 * canvas.margin)


def legend_lines(canvas: Canvas, entries: Sequence[LegendEntry]) -> list[list[tuple[LegendEntry, float]]]:
    """The legend's lines: (entry with the text that fits, x from the left margin) each."""
    lines: list[list[tuple[LegendEntry, float]]] = []
    font, width = canvas.font["legend"], canvas.width - 2 * canvas.margin
    x = width + 1.0
    for entry in entries:
        words = canvas.fit.name(one_line(entry.text), font, min(canvas.px(LONGEST_LEGEND), width - canvas.px(16)))
        if not words:
            continue
        size = canvas.px(16) + canvas.fit.width(words, font)
        if x + size > width:
            lines.append([])
            x = 0.0
        lines[-1].append((replace(entry, text=words), x))
        x += size + canvas.px(18)
    return lines


def draw_legend(canvas: Canvas, entries: Sequence[LegendEntry], top: int) -> None:
    """A swatch and a name for each entry."""
    left, font = canvas.margin, canvas.font["legend"]
    for n, line in enumerate(legend_lines(canvas, entries)):
        middle = top + canvas.px(6) + (n + 0.5) * canvas.px(18)
        for entry, x in line:
            side = canvas.px(10)
            at = Bounds(left + x, middle - side / 2, side, side)
            canvas.items.append(SceneRect(at.x, at.y, side, side, entry.fill, radius=2, crisp=False))
            _draw_pattern(canvas, entry, at)
            canvas.text(left + x + canvas.px(16), middle, entry.text, font, canvas.theme["text"], "legend")


def _draw_pattern(canvas: Canvas, entry: LegendEntry, at: Bounds) -> None:
    """The pattern of a class upon its swatch: 1 stripes that rise, 2 that fall, 3 dots."""
    third, wide = at.width / 3, canvas.px(1.2)
    if entry.pattern in (1, 2):
        for a, b in ((0.0, 2 * third), (third, at.width)):
            # From the left border to the upper one and from the lower to the right one, so that none leaves it.
            start, end = (at.x + a, at.x + b), (at.bottom, at.y + third if a == 0.0 else at.y)
            x0, x1 = start if entry.pattern == 1 else (2 * at.x + at.width - start[0], 2 * at.x + at.width - start[1])
            canvas.items.append(SceneLine(x0, end[0], x1, end[1], entry.ink, wide))
    elif entry.pattern == 3:
        for dx, dy in ((0.7, 0.7), (1.9, 0.7), (0.7, 1.9), (1.9, 1.9)):
            canvas.items.append(SceneRect(at.x + dx * third, at.y + dy * third, wide, wide, entry.ink, crisp=False))


def footer_height(canvas: Canvas, parts: list[str]) -> int:
    """Height of the footer with its rule, px."""
    width = canvas.width - 2 * canvas.margin
    font = canvas.font["footer"]
    return round(len(canvas.fit.flow(parts, font, width)) * 1.4 * font.size) + canvas.px(9)


def draw_footer(canvas: Canvas, parts: list[str], top: int) -> None:
    """A rule and the parts below it, in as many lines as they need."""
    left, right = canvas.margin, canvas.width - canvas.margin
    font, line = canvas.font["footer"], canvas.theme["line"]
    y = top + canvas.px(5)
    canvas.items.append(SceneLine(left, y, right, y, line))
    for n, words in enumerate(canvas.fit.flow(parts, font, right - left)):
        middle = top + canvas.px(9) + (n + 0.5) * 1.4 * font.size
        canvas.text(left, middle, words, font, canvas.theme["muted"], "footer")
