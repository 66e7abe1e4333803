"""A person's marks in a picture: lines and bands over the lanes, with their texts in a strip below the axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.base.kept import Mark
from viewer.base.scene import Bounds, SceneLine, ScenePolygon, SceneRect
from viewer.base.selection import TimeRange
from viewer.views.kept.marks import color_token
from viewer.views.picture.canvas import Canvas
from viewer.views.picture.rows import Chosen

STRIP: Final = 18
_LEAST_TEXT: Final = 14


def marks_inside(marks: Sequence[Mark], window: TimeRange) -> list[Mark]:
    """The marks of which something shows, in order of time."""
    inside = [m for m in marks if m.start_ns <= window.end_ns and window.start_ns <= m.end_ns]
    return sorted(inside, key=lambda m: (m.start_ns, m.id))


def draw_marks(canvas: Canvas, marks: Sequence[Mark], area: Bounds, strip_y: float, chosen: Chosen) -> None:
    """Add marks to a canvas.

    Args:
        canvas: what is drawn on.
        marks: from :func:`marks_inside`.
        area: of the lanes.
        strip_y: top of the strip of texts, ``canvas.px(STRIP)`` high.
        chosen: the rows, for marks of one lane; where that is not shown its line spans all lanes.
    """
    if area.height <= 0:
        return
    font, low = canvas.sized(11), strip_y + canvas.px(STRIP)
    starts = [max(area.x, canvas.x(area, m.start_ns)) for m in marks]
    for number, (mark, x0) in enumerate(zip(marks, starts, strict=True)):
        ink = canvas.theme[color_token(mark.color)]
        x1 = min(area.right, canvas.x(area, mark.end_ns))
        row = chosen.placement.find(mark.lane) if mark.lane else None
        top, bottom = area.y, area.bottom
        if row is not None:
            top, bottom = chosen.span(row, area) or (top, bottom)
        if mark.is_range:
            canvas.items.append(SceneRect(x0, strip_y + 2, max(1.0, x1 - x0), low - strip_y - 4, ink, opacity=0.25))
            canvas.items.append(SceneRect(x0, top, max(1.0, x1 - x0), bottom - top, ink, opacity=0.1))
        else:
            tip = canvas.px(8)
            points = ((x0, strip_y + 2), (x0 + tip, strip_y + 2 + tip / 2), (x0, strip_y + 2 + tip))
            canvas.items.append(ScenePolygon(points, fill=ink))
        for x, at in {(x0, mark.start_ns), (x1, mark.end_ns)}:
            if area.x <= canvas.x(area, at) <= area.right:
                canvas.items.append(SceneLine(x, strip_y + 2, x, low, ink))
                canvas.items.append(SceneLine(x, top, x, bottom, ink, opacity=0.9))
        if mark.text:
            left = x0 + canvas.px(4 if mark.is_range else 11)
            following = next((x for x in starts[number + 1 :] if x > x0), area.right)
            room = min(following, x1 if x1 - x0 > canvas.px(24) else area.right, area.right) - left - canvas.px(3)
            if room >= canvas.px(_LEAST_TEXT):
                words = canvas.fit.name(mark.text, font, room)
                canvas.text(left, (strip_y + low) / 2, words, font, canvas.theme["text"], "note")
