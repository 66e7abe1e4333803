"""A plot of one watched series as SVG: its values, the drift line, the changes of level. Text alone, no Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from xml.sax.saxutils import escape

import numpy as np

from viewer.analyses.robust import F64, thin
from viewer.exporters.gate_data import value_text
from viewer.exporters.watch_data import Watched, sentence
from viewer.views.text import one_line

WIDTH: Final = 860
HEIGHT: Final = 300
LEFT, RIGHT, TOP, BOTTOM = 92, 16, 52, 34
Scale = Callable[[float], float]
MOST_POINTS: Final = 2_000


def watch_svg(series: Watched) -> str:
    """The plot as an SVG document (light and dark by the reader's scheme)."""
    times = np.array(series.times) - series.times[0]
    values = np.array(series.values)
    low, high = (float(q) for q in np.percentile(values, [2, 98] if len(values) > 20 else [0, 100]))
    pad = (high - low) * 0.4 or abs(high) * 0.01 or 1.0
    low, high = low - pad, high + pad
    span = float(times[-1]) or 1.0

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time / span

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - min(max(value, low), high)) / (high - low)

    t, v = thin(times, values, MOST_POINTS)
    dots = "".join(f"M{x(a):.1f} {y(b):.1f}h.01" for a, b in zip(t, v, strict=True))
    parts = [_head(series)]
    for value in np.linspace(low + pad, high - pad, 4):
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        label = _text(value_text(float(value), series.unit))
        parts.append(f'<text class="soft" x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for i in range(5):
        time = span * i / 4
        text = f"{time / 3600:.3g} h" if series.timed else f"{time / 3.6:,.0f}"
        anchor = "start" if i == 0 else "end" if i == 4 else "middle"
        parts.append(f'<text class="soft" x="{x(time):.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{text}</text>')
    parts.append(f'<path class="dots" d="{dots}"/>')
    parts += _line(series, times, values, x, y)
    return "\n".join(parts) + "\n</svg>\n"


def _line(series: Watched, times: F64, values: F64, x: Scale, y: Scale) -> list[str]:
    found = series.drift
    if found is None or found.kind not in ("drift", "level"):
        return []
    tone = "worse" if found.worse else "better"
    if found.kind == "drift" and found.per_hour is not None and found.median is not None:
        slope = found.per_hour * abs(found.median) / 3600.0
        t, v = times[found.warm_up :], values[found.warm_up :]
        at = float(np.median(v - slope * t))
        a, b = float(t[0]), float(t[-1])
        path = f"M{x(a):.1f} {y(at + slope * a):.1f}L{x(b):.1f} {y(at + slope * b):.1f}"
        return [f'<path class="{tone}" d="{path}"/>']
    start = float(times[found.warm_up])
    edges = [start, *(start + c.time for c in found.changes), float(times[-1])]
    levels = [found.changes[0].before, *(c.after for c in found.changes)]
    path = "".join(
        f"M{x(a):.1f} {y(level):.1f}H{x(b):.1f}" for a, b, level in zip(edges, edges[1:], levels, strict=False)
    )
    return [f'<path class="{tone}" d="{path}"/>']


def _head(series: Watched) -> str:
    title, said = _text(f"{series.source}: {series.name}"), _text(sentence(series))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"
 height="{HEIGHT}" font-family="sans-serif" font-size="12">
<style>
svg {{ background: #ffffff; color: #1c2330 }}
.soft {{ fill: #5a6578 }} .grid {{ stroke: #dfe3ea; fill: none }}
.dots {{ stroke: #3c78c8; stroke-width: 2.4; stroke-linecap: round; fill: none }}
.worse {{ stroke: #c0392b; stroke-width: 2; fill: none }} .better {{ stroke: #2e8b57; stroke-width: 2; fill: none }}
@media (prefers-color-scheme: dark) {{ svg {{ background: #1b1f27; color: #e6e9ef }} .soft {{ fill: #9aa5b8 }}
.grid {{ stroke: #323947 }} .dots {{ stroke: #6ea8f2 }} .worse {{ stroke: #ff7b6b }} .better {{ stroke: #5fd08f }} }}
</style>
<text x="{LEFT}" y="20" font-weight="bold" fill="currentColor">{title}</text>
<text class="soft" x="{LEFT}" y="38">{said}</text>"""


def _text(text: str) -> str:
    """Escaped, without what XML cannot hold."""
    return escape(one_line(text))
