"""Marks and bookmarks of a job as immutable books: a change makes a new one, so an undo stack keeps the old one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from viewer.base.errors import UsageError
from viewer.base.kept import MARK_COLORS, Bookmark, Mark

MAX_MARKS: Final = 1_000
MAX_TEXT: Final = 200
SLOTS: Final = range(1, 10)


@dataclass(frozen=True, slots=True)
class MarkBook:
    """All marks of a job, in order of making. Ids are never used twice, not even after a removal."""

    marks: tuple[Mark, ...] = ()
    next_id: int = 1

    def __iter__(self) -> Iterator[Mark]:
        return iter(self.marks)

    def __len__(self) -> int:
        return len(self.marks)

    def get(self, mark_id: int) -> Mark:
        """The mark of that id. Raises KeyError when there is none (any more)."""
        for mark in self.marks:
            if mark.id == mark_id:
                return mark
        raise KeyError(mark_id)

    def add(self, start_ns: int, end_ns: int, lane: str = "", text: str = "", color: str = "") -> MarkBook:
        """A book with one more mark at the end; raises UsageError when it is full.

        Args:
            start_ns: session time.
            end_ns: session time, not before ``start_ns``; equal to it for an instant.
            lane: LaneRow key, "" for all lanes.
            text: cleaned as :func:`clean_label` does.
            color: one of MARK_COLORS; "" for the first.
        """
        if len(self.marks) >= MAX_MARKS:
            raise UsageError(f"there are {MAX_MARKS:,} marks already: remove one first.")
        mark = Mark(
            self.next_id, start_ns, max(start_ns, end_ns), clean_label(text), _known(color or MARK_COLORS[0]), lane
        )
        return MarkBook((*self.marks, mark), self.next_id + 1)

    def move(self, mark_id: int, start_ns: int, end_ns: int) -> MarkBook:
        """A book in which the mark lies elsewhere; borders that crossed change places. Raises KeyError."""
        a, b = sorted((start_ns, end_ns))
        return self._replace(replace(self.get(mark_id), start_ns=a, end_ns=b))

    def edit(self, mark_id: int, text: str) -> MarkBook:
        """A book in which the mark says something else; "" is fine. Raises KeyError, and UsageError when too long."""
        return self._replace(replace(self.get(mark_id), text=clean_label(text)))

    def recolor(self, mark_id: int, color: str) -> MarkBook:
        """A book in which the mark has another colour. Raises KeyError, and UsageError for an unknown colour."""
        return self._replace(replace(self.get(mark_id), color=_known(color)))

    def remove(self, mark_id: int) -> MarkBook:
        """A book without the mark. Raises KeyError."""
        gone = self.get(mark_id)
        return MarkBook(tuple(m for m in self.marks if m is not gone), self.next_id)

    def _replace(self, changed: Mark) -> MarkBook:
        return MarkBook(tuple(changed if m.id == changed.id else m for m in self.marks), self.next_id)


@dataclass(frozen=True, slots=True)
class BookmarkBook:
    """At most one bookmark per slot 1 to 9, in order of slots."""

    bookmarks: tuple[Bookmark, ...] = ()

    def __iter__(self) -> Iterator[Bookmark]:
        return iter(self.bookmarks)

    def __len__(self) -> int:
        return len(self.bookmarks)

    def get(self, slot: int) -> Bookmark | None:
        """The bookmark of a slot."""
        return next((b for b in self.bookmarks if b.slot == slot), None)

    def put(self, bookmark: Bookmark) -> BookmarkBook:
        """A book with this bookmark in its slot; the slot's old text stays when the new one has none."""
        if bookmark.slot not in SLOTS:
            raise UsageError(f"there is no bookmark {bookmark.slot}: they go from 1 to 9.")
        old = self.get(bookmark.slot)
        text = clean_label(bookmark.text) or (old.text if old is not None else "")
        others = [b for b in self.bookmarks if b.slot != bookmark.slot]
        return BookmarkBook(tuple(sorted([*others, replace(bookmark, text=text)], key=lambda b: b.slot)))

    def edit(self, slot: int, text: str) -> BookmarkBook:
        """A book in which the bookmark has another name. Raises KeyError, and UsageError when it is too long."""
        if self.get(slot) is None:
            raise KeyError(slot)
        name = clean_label(text)
        return BookmarkBook(tuple(replace(b, text=name) if b.slot == slot else b for b in self.bookmarks))

    def remove(self, slot: int) -> BookmarkBook:
        """A book with the slot empty. Raises KeyError."""
        if self.get(slot) is None:
            raise KeyError(slot)
        return BookmarkBook(tuple(b for b in self.bookmarks if b.slot != slot))


def clean_label(text: str) -> str:
    """A label in one line without control characters. Raises UsageError when it is longer than MAX_TEXT."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(cleaned) > MAX_TEXT:
        raise UsageError(f"a label has at most {MAX_TEXT} characters; this one has {len(cleaned)}.")
    return cleaned


def color_token(color: str) -> str:
    """The theme's token of a mark's colour; a colour that this version does not know is shown as the first."""
    return f"mark_{color if color in MARK_COLORS else MARK_COLORS[0]}"


def _known(color: str) -> str:
    if color not in MARK_COLORS:
        raise UsageError(f"{color!r} is no colour of a mark: choose one of {', '.join(MARK_COLORS)}.")
    return color
