"""A table that may have very many rows: columns of values that are formatted when they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count

TEXT, NS, COUNT, SHARE, NUMBER, BYTES = "text", "ns", "count", "share", "number", "bytes"
"""Kinds of columns: texts; whole ns; whole numbers; parts of 1 (None where there is no whole); numbers of any size;
sizes in bytes."""
_NONE: Final = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, how its figures were computed, its kind, and a value per row."""

    head: str
    how: str
    kind: str
    values: Sequence[Any] | NDArray[Any]

    def shown(self, row: int) -> str:
        """The value of a row as people read it."""
        return show(self.kind, self.values[row])

    def exact(self, row: int) -> str:
        """The value of a row as programs read it: whole ns, plain digits."""
        value = self.values[row]
        if value is None:
            return ""
        return " ".join(str(value).split()) if self.kind == TEXT else str(value)

    @property
    def exact_head(self) -> str:
        """The head, with the unit of :meth:`exact`."""
        return f"{self.head} (ns)" if self.kind == NS else self.head


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFrame:
    """Columns of one length; ``paints`` is the class of each row, None where it has none, or empty."""

    columns: tuple[Column, ...]
    paints: Sequence[Paint | None] = ()

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns."""
        return tuple(c.head for c in self.columns)

    def class_name(self, row: int) -> str:
        """Name of the class of a row, "" without one."""
        paint = self.paints[row] if self.paints else None
        return PAINT_NAMES[paint] if paint is not None else ""

    def records(self, rows: Sequence[int]) -> list[list[str]]:
        """Heads, then the exact values of these rows; the class is the last column where rows have one."""
        more = ["Class"] if self.paints else []
        out = [[c.exact_head for c in self.columns] + more]
        out += [[c.exact(r) for c in self.columns] + ([self.class_name(r)] if more else []) for r in rows]
        return out


def show(kind: str, value: Any) -> str:
    """A value of a kind of column as people read it."""
    if value is None:
        return _NONE
    if kind == NS:
        return format_duration(int(value))
    if kind == COUNT:
        return format_count(int(value))
    if kind == BYTES:
        return format_bytes(int(value))
    if kind == NUMBER:
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{100 * value:.1f} %" if kind == SHARE else str(value)
