"""What the Stragglers panel shows beside its heat map."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.base.frames import TableFrame
from viewer.base.selection import Selection


@dataclass(frozen=True, eq=False)
class StragglersFrame:
    """What the panel shows beside the heat map.

    ``tone`` is "warning" for a straggler. ``targets`` has one selection per row of ``table``, None for none.
    """

    sentence: str
    tone: str
    note: str
    table: TableFrame | None
    targets: tuple[Selection | None, ...]
    links: TableFrame | None
