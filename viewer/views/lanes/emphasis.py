"""What is emphasised when an entry of the legend, or a row of a table, stands for slices: a query of the filter."""

from __future__ import annotations

import re
from typing import Final

from viewer.base.frames import Swatch
from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES
from viewer.store.session import Session
from viewer.views.lanes.looks import NO_GROUP, Coloring

_LONGEST: Final = 900
"""Characters of a name that are compared."""
_BY_NAME: Final = {text: paint for paint, text in PAINT_NAMES.items()}


def class_query(paint: Paint) -> str:
    """Slices of a class."""
    return f"class:{paint.name.lower()}"


def query_of_class_name(text: str) -> str:
    """Slices of a class by its shown name; "" for no class."""
    paint = _BY_NAME.get(text)
    return "" if paint is None else class_query(paint)


def query_of_swatch(swatch: Swatch, coloring: Coloring, session: Session) -> str:
    """Slices that a legend's entry stands for; "" where no query says it."""
    if coloring is Coloring.CLASS:
        return class_query(Paint(swatch.paint)) if swatch.paint >= 0 else ""
    if coloring is Coloring.RANK:
        rank = next((g.rank for g in session.groups if g.label == swatch.text), None)
        return "" if rank is None else f"rank:{rank}"
    if not swatch.text or "\n" in swatch.text or swatch.text == NO_GROUP:
        return ""
    field = "name" if coloring is Coloring.NAME else "group"
    exactly = re.escape(swatch.text).replace("/", "\\/")
    if len(exactly) <= _LONGEST:
        return f"{field}:/^{exactly}$/"
    return f'{field}:"' + swatch.text[:_LONGEST].replace('"', '\\"') + '"'
