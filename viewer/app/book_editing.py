"""Immutable books that a person changes step by step: every change goes on the window's undo stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, Signal

from viewer.app.undo import UndoStack
from viewer.base.errors import UsageError
from viewer.base.kept import Bookmark
from viewer.views.kept.marks import BookmarkBook, MarkBook

Book = TypeVar("Book")


class BookEditor(QObject, Generic[Book]):
    """A book and its undo stack.

    Signals:
        changed(book)
        refused(str): a sentence why a change was not made.
    """

    changed = Signal(object)
    refused = Signal(str)

    def __init__(self, book: Book, parent: QObject | None = None, undo: UndoStack | None = None) -> None:
        super().__init__(parent)
        self.undo = undo or UndoStack(self)
        self._book = book

    @property
    def book(self) -> Book:
        """The book as it is now."""
        return self._book

    def show(self, book: Book) -> None:
        """Use another book, without a step on the stack: another job, or slices found again."""
        if book is not self._book:
            self._book = book
            self.changed.emit(book)

    def push(self, text: str, change: Callable[[Book], Book], merge: object = None) -> bool:
        """Make a change; False when it is refused. Changes in a row with equal ``merge`` undo as one."""
        try:
            after = change(self._book)
        except UsageError as error:
            self.refused.emit(str(error))
            return False
        if after != self._book:
            self.undo.push(text, self._book, after, self.show, merge)
        return True


class MarkEditor(BookEditor[MarkBook]):
    """The marks of the open job."""

    def __init__(self, parent: QObject | None = None, undo: UndoStack | None = None) -> None:
        super().__init__(MarkBook(), parent, undo)

    def add(self, start_ns: int, end_ns: int, lane: str = "", color: str = "") -> None:
        """Mark an instant (``end_ns == start_ns``) or a range of session time."""
        self.push("Add mark", lambda book: book.add(start_ns, end_ns, lane, color=color))

    def move(self, mark_id: int, start_ns: int, end_ns: int) -> None:
        """Put a mark elsewhere; moves in a row undo as one."""
        self.push("Move mark", lambda book: book.move(mark_id, start_ns, end_ns), ("mark", mark_id))

    def edit(self, mark_id: int, text: str) -> None:
        """Give a mark another text."""
        self.push("Edit mark", lambda book: book.edit(mark_id, text))

    def recolor(self, mark_id: int, color: str) -> None:
        """Give a mark another colour."""
        self.push("Colour mark", lambda book: book.recolor(mark_id, color))

    def remove(self, mark_id: int) -> None:
        """Take a mark away."""
        self.push("Remove mark", lambda book: book.remove(mark_id))


class DismissedEditor(BookEditor[frozenset[str]]):
    """Ids of the findings of the open job that were put aside."""

    def __init__(self, parent: QObject | None = None, undo: UndoStack | None = None) -> None:
        super().__init__(frozenset(), parent, undo)

    def toggle(self, finding_id: str) -> None:
        """Put a finding aside, or take it back."""
        text = "Restore finding" if finding_id in self.book else "Dismiss finding"
        self.push(text, lambda book: book ^ {finding_id})


class BookmarkEditor(BookEditor[BookmarkBook]):
    """The bookmarks of the open job."""

    def __init__(self, parent: QObject | None = None, undo: UndoStack | None = None) -> None:
        super().__init__(BookmarkBook(), parent, undo)

    def put(self, bookmark: Bookmark) -> None:
        """Keep a view in its slot."""
        self.push(f"Set bookmark {bookmark.slot}", lambda book: book.put(bookmark))

    def edit(self, slot: int, text: str) -> None:
        """Name a bookmark."""
        self.push("Edit bookmark", lambda book: book.edit(slot, text))

    def remove(self, slot: int) -> None:
        """Empty a slot."""
        self.push("Remove bookmark", lambda book: book.remove(slot))
