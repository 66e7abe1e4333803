"""The pipeline: its bubble against theory in words, one step as a chart, and what the bubble is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from viewer.analyses.pipeline.figures import pipeline
from viewer.base.pipeline_frame import CELL_NAMES, CellKind, PipelineFrame
from viewer.base.time import format_duration
from viewer.exporters.html_parts import Markup, joined, legend, note, table, tag
from viewer.views.parallel import parallel
from viewer.views.parallel_words import PART_WORDS, SHARES, percent

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Pipeline"
MOST_ROWS: Final = 32
MOST_CELLS: Final = 4_000
LEFT, WIDE, RIGHT, ROW = 150, 640, 110, 16
_CLASSES: Final = ("forward", "backward", "weight")


def section(page: Page) -> Markup | str | None:
    """The usual step; None where nothing hints at a pipeline."""
    found = pipeline(page.session)
    if isinstance(found, str):
        return None
    view = parallel(page.session)
    step = found.usual()
    out: list[Markup] = [tag("p", view.sentence)]
    if view.frame is not None:
        out += [_chart(view.frame), _legend(view.frame)]
    parts = step.parts()
    if parts is not None:
        rows = [(word, getattr(parts, key)) for key, word in PART_WORDS.items()]
        cells = [(w, format_duration(ns, 1), percent(ns / step.phase_ns if step.phase_ns else None)) for w, ns in rows]
        cells.append(("bubble", format_duration(step.bubble_ns, 1), percent(step.share)))
        out.append(table(("of the bubble", "mean over the stages", "of the phase"), cells))
    out.append(note(f"Step {step.number}, the one with the median bubble. {SHARES} {view.note}."))
    return joined(out)


def _legend(frame: PipelineFrame) -> Markup:
    kinds = sorted({int(k) for k in frame.kind if k <= CellKind.WEIGHT})
    return legend([*((_CLASSES[k], CELL_NAMES[k]) for k in kinds), ("idle", "no compute")])


def _chart(frame: PipelineFrame) -> Markup:
    """Passes along time; of many rows and cells the first ones."""
    rows = frame.rows[:MOST_ROWS]
    shown = np.flatnonzero((frame.kind <= CellKind.WEIGHT) & (frame.row < len(rows)))[:MOST_CELLS]
    scale = WIDE / frame.span_ns if frame.span_ns else 0.0
    out: list[Markup] = []
    for y, row in enumerate(rows):
        top = y * ROW
        out.append(tag("text", f"{row.label} {row.detail}"[:26], x=LEFT - 6, y=top + 12, text_anchor="end"))
        if row.phase is not None:
            x, end = row.phase[0] * scale, row.phase[1] * scale
            out.append(tag("rect", tag("title", row.told), x=f"{LEFT + x:.1f}", y=top + 1, width=f"{end - x:.1f}",
                           height=ROW - 2, class_="bg"))  # fmt: skip
        said = "no trace" if row.missing else f"{row.bubble} / {row.theory}"
        out.append(tag("text", said, x=LEFT + WIDE + 8, y=top + 12))
    for cell in shown.tolist():
        top = int(frame.row[cell]) * ROW
        x, width = frame.start[cell] * scale, (frame.end[cell] - frame.start[cell]) * scale
        out.append(
            tag("rect", tag("title", frame.told[cell]), x=f"{LEFT + x:.1f}", y=top + 1,
                width=f"{max(width - 0.4, 0.4):.1f}", height=ROW - 2, class_=f"p-{_CLASSES[int(frame.kind[cell])]}")
        )  # fmt: skip
    height = len(rows) * ROW + 18
    out.append(tag("text", "bubble / theory", x=LEFT + WIDE + 8, y=height - 5))
    out.append(tag("text", f"{format_duration(round(frame.span_ns), 1)} wide", x=LEFT, y=height - 5))
    if len(frame.rows) > len(rows):
        more = f"{len(frame.rows) - len(rows):,} rows more"
        out.append(tag("text", more, x=LEFT + WIDE, y=height - 5, text_anchor="end"))
    wide = LEFT + WIDE + RIGHT
    return tag("svg", *out, viewBox=f"0 0 {wide} {height}", class_="pipe", role="img", width=wide, height=height)
