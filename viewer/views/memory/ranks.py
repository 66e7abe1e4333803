"""Memory of the ranks beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.memory.figures import (
    HOW,
    memory_figures,
    rank_peaks,
)
from viewer.analyses.memory.parts import categories_at_peak
from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.frames import TableFrame
from viewer.base.heat import HeatFrame
from viewer.base.selection import GroupRef, Selection
from viewer.base.units import format_bytes
from viewer.store.session import Session
from viewer.views.figures import TableMaker, num, plural, share, shown, word
from viewer.views.memory.sections import size_cell

_UNITS: Final = (("GiB", float(1 << 30)), ("MiB", float(1 << 20)), ("KiB", 1024.0))


@dataclass(frozen=True, slots=True)
class RanksView:
    """The ranks beside each other: a table, a heat map of the same (None for a single rank), where rows lead."""

    sentence: str
    table: TableFrame | None
    heat: HeatFrame | None
    targets: tuple[Selection, ...]


def _unit_of(largest: int) -> tuple[str, float]:
    """The unit in which the largest of some sizes is at least one, and its bytes."""
    return next((unit for unit in _UNITS if largest >= unit[1]), _UNITS[-1])


def _signed(off: int, middle: int) -> str:
    text = share(abs(off), middle)
    return text if text == share(0, middle) else f"{'+' if off > 0 else '−'}{text}"


def ranks_view(session: Session) -> RanksView:
    """Peak and categories of every rank."""

    def build() -> RanksView:
        peaks = rank_peaks(session)
        if not peaks:
            return RanksView("No rank has a peak that is known.", None, None, ())
        parts = []
        for p in peaks:
            item = session.inputs[p.input]
            number = next(f.number for f in memory_figures(item.trace) if f.device == p.device)
            parts.append(categories_at_peak(session, item, number) or {})
        names = [n for n in CATEGORY_NAMES if any(x.get(n) for x in parts)]
        middle = int(np.median([p.peak_allocated for p in peaks]))
        table = TableMaker(
            (
                ("Rank", "A row leads to it."),
                ("Peak", HOW["peak_allocated"]),
                ("Against median", "Of the peaks of all ranks."),
                ("Reserved", HOW["peak_reserved"]),
                *((n.capitalize(), "At the rank's peak.") for n in names),
            )
        )
        targets, labels = [], []
        unit = _unit_of(max(p.peak_allocated for p in peaks))
        values = np.full((len(peaks), 1 + len(names)), np.nan)
        for k, (p, x) in enumerate(zip(peaks, parts, strict=True)):
            group = session.group_of(p.input).id
            label = session.inputs[p.input].label
            targets.append(Selection(group=group))
            labels.append(shown(label, 40))
            off = p.peak_allocated - middle
            table.add(
                num(p.rank) if p.rank is not None else word(shown(label, 60)),
                size_cell(p.peak_allocated),
                (_signed(off, middle), off) if middle else word("–"),
                size_cell(p.peak_reserved),
                *(size_cell(x.get(n)) for n in names),
                jump=GroupRef(group),
            )
            values[k, 0] = p.peak_allocated / unit[1]
            values[k, 1:] = [max(x[n], 0) / unit[1] if n in x else np.nan for n in names]
        levels = [p.peak_allocated for p in peaks]
        heat = None
        if len(peaks) > 1:
            top = float(np.nanmax(values))
            heat = HeatFrame(tuple(labels), ("peak", *names), values, unit[0], "memory", 0.0, top if top > 0 else 1.0)
        fullest = int(np.argmax(levels))
        sentence = (
            f"{labels[0]}: its peak is {format_bytes(levels[0])}."
            if len(peaks) == 1
            else (
                f"{plural(len(peaks), 'rank')}: peaks from {format_bytes(min(levels))} to {format_bytes(max(levels))} "
                f"({labels[fullest]})."
            )
        )
        return RanksView(sentence, table.frame(), heat, tuple(targets))

    return session.clocked_memo("memory ranks view", build)
