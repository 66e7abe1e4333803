"""Notes, marks and bookmarks as one list, in order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from viewer.base.kept import Bookmark, Mark, Note
from viewer.base.time import format_duration
from viewer.views.timeline.ticks import exact

HEADERS: Final = ("Kind", "Time", "Length", "Where", "Text")


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One entry.

    Attributes:
        kind: "note", "mark" or "bookmark".
        id: of the note or mark; the slot of a bookmark.
        start_ns, end_ns: session time.
        where: lane or view, "" for all lanes.
        text: as written.
        token: the theme's token of its colour, "" without one.
        cells: what the columns of HEADERS show.
        keys: what they sort by.
    """

    kind: str
    id: int
    start_ns: int
    end_ns: int
    where: str
    text: str
    token: str
    cells: tuple[str, ...]
    keys: tuple[str | int, ...]


def kept_rows(
    notes: Iterable[Note], marks: Iterable[Mark], bookmarks: Iterable[Bookmark], origin_ns: int
) -> list[KeptRow]:
    """The list; times count from the job's origin."""
    from viewer.views.kept.marks import color_token

    out = [_row("note", n.id, n.time_ns, n.time_ns, n.lane, n.text, "warning", origin_ns) for n in notes]
    out += [_row("mark", m.id, m.start_ns, m.end_ns, m.lane, m.text, color_token(m.color), origin_ns) for m in marks]
    out += [_row("bookmark", b.slot, b.start_ns, b.end_ns, "", b.text, "", origin_ns) for b in bookmarks]
    return sorted(out, key=lambda r: (r.start_ns, r.kind, r.id))


def kept_text(rows: Iterable[KeptRow]) -> str:
    """Rows as tab-separated text with headers, for the clipboard; times and lengths as whole ns."""
    lines = [["Kind", "Time (ns)", "Length (ns)", "Where", "Text"]]
    lines += [[r.cells[0], str(r.keys[1]), str(r.end_ns - r.start_ns), r.where, r.text] for r in rows]
    return "\n".join("\t".join(" ".join(cell.split()) for cell in line) for line in lines) + "\n"


def _row(kind: str, number: int, start: int, end: int, where: str, text: str, token: str, origin: int) -> KeptRow:
    name = f"Bookmark {number}" if kind == "bookmark" else kind.capitalize()
    length = end - start
    cells = (name, exact(start - origin), format_duration(length) if length else "", where, " ".join(text.split()))
    keys = (name.lower(), start - origin, length, where.lower(), text.lower())
    return KeptRow(kind, number, start, end, where, text, token, cells, keys)
