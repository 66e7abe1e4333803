"""Late ranks: the verdict, and a heat map of own lateness, ranks by steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from viewer.base.time import format_duration
from viewer.exporters.html_parts import Markup, joined, note, table, tag
from viewer.views.stragglers.heat import heat

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page
    from viewer.views.stragglers.heat import HeatView

TITLE: Final = "Late ranks"
MOST_ROWS: Final = 128
MOST_COLUMNS: Final = 100
CELL: Final = (8, 14)
LEFT: Final = 84


def section(page: Page) -> Markup | str | None:
    """The verdict in words, the heat map, and the ranks by the waiting that they cause."""
    told = page.data["late_rank"]
    if told is None:
        return None
    out: list[Markup] = [tag("p", told["text"])]
    view = heat(page.session, "own", relative=False, most_columns=MOST_COLUMNS)
    if view is not None and not np.isnan(view.frame.values).all():
        out += [_map(view), note(view.note + f" Full colour: {format_duration(round(view.frame.high), 1)}.")]
    rows = [(page.rank_name(r), r["straggler"]) for r in page.data["ranks"] if r["straggler"]]
    rows.sort(key=lambda r: -(r[1]["wait_caused_ns"] or 0))
    if rows:
        cells = [
            (
                name,
                "yes" if s["is_straggler"] else "no",
                s["cause"] or "–",
                s["pattern"] or "–",
                *(format_duration(s[key], 1) for key in ("own_late_ns", "inherited_late_ns", "wait_caused_ns")),
            )
            for name, s in rows[:32]
        ]
        headers = ("rank", "late", "cause", "pattern", "own lateness", "inherited", "waiting it causes")
        out.append(table(headers, cells, 4))
    return joined(out)


def _map(view: HeatView) -> Markup:
    """Rows by rank, columns by step; the darker, the later. Of many ranks those with the largest values."""
    values, frame = view.frame.values, view.frame
    order = list(range(len(values)))
    if len(order) > MOST_ROWS:
        most = np.nan_to_num(np.where(np.isnan(values), -np.inf, values).max(axis=1), neginf=-1.0)
        order = sorted(np.argsort(-most, kind="stable")[:MOST_ROWS].tolist())
    columns = values.shape[1]
    wide = max(CELL[0], min(72, 720 // max(columns, 1)))
    width, height = LEFT + columns * wide + 2, len(order) * CELL[1] + 20
    high = frame.high if frame.high > 0 else 1.0
    out = [tag("rect", x=LEFT, y=0, width=columns * wide, height=len(order) * CELL[1], class_="bg")]
    for y, row in enumerate(order):
        out.append(tag("text", frame.rows[row][:14], x=LEFT - 6, y=y * CELL[1] + 11, text_anchor="end"))
        for x in range(columns):
            value = float(values[row, x])
            share = 0.0 if np.isnan(value) else min(max(value / high, 0.0), 1.0)
            if share < 0.01:
                continue
            tip = tag("title", f"{frame.rows[row]}, {frame.columns[x]}: {format_duration(round(value), 1)}")
            out.append(
                tag("rect", tip, x=LEFT + x * wide, y=y * CELL[1], width=wide - 1, height=CELL[1] - 1,
                    fill_opacity=f"{share:.2f}")
            )  # fmt: skip
    first, last = frame.columns[0], frame.columns[-1]
    base = len(order) * CELL[1] + 14
    out.append(tag("text", first, x=LEFT, y=base))
    if columns > 3:
        out.append(tag("text", last, x=LEFT + columns * wide, y=base, text_anchor="end"))
    return tag("svg", *out, viewBox=f"0 0 {width} {height}", class_="heat", role="img", width=width, height=height)
