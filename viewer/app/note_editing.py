"""Notes of the window's job: every change can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from viewer.base.errors import UsageError
from viewer.views.notes import NoteBook

_MOVE_ID: Final = 1
UNDO_LIMIT: Final = 500


class NoteEditor(QObject):
    """The note book of the open job and its undo stack.

    ``ask`` lets the user write a text, given the one there is; None when the user gives none.

    Signals:
        changed(NoteBook)
        refused(str): a sentence why a change was not made.
    """

    changed = Signal(object)
    refused = Signal(str)

    def __init__(self, ask: Callable[[str], str | None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ask = ask
        self.stack = QUndoStack(self)
        self.stack.setUndoLimit(UNDO_LIMIT)
        self._book = NoteBook()
        self._job: tuple[str, ...] = ()
        self._kept: dict[tuple[str, ...], NoteBook] = {}

    @property
    def book(self) -> NoteBook:
        """The notes as they are now."""
        return self._book

    def use_job(self, job: tuple[str, ...]) -> None:
        """Show the notes of another job (its paths); those of the last one come back when it is opened again."""
        if job == self._job:
            return
        if len(self._book):
            self._kept[self._job] = self._book
        self._job = job
        self.stack.clear()
        self._set(self._kept.pop(job, NoteBook()))

    def ask_and_add(self, time_ns: int, lane: str) -> None:
        """Ask for a text and put it there."""
        text = self._ask("")
        if text is not None:
            self.add(time_ns, lane, text)

    def ask_and_edit(self, note_id: int) -> None:
        """Let the user change a note's text."""
        text = self._ask(self._book.get(note_id).text)
        if text is not None:
            self.edit(note_id, text)

    def add(self, time_ns: int, lane: str, text: str) -> None:
        """Put a note on a lane ("" for none) at a session time."""
        self._push("Add note", lambda book: book.add(time_ns, lane, text))

    def move(self, note_id: int, dx: float, dy: float) -> None:
        """Move a note's box to another offset from its anchor; moves in a row undo as one."""
        self._push("Move note", lambda book: book.move(note_id, dx, dy), note_id)

    def edit(self, note_id: int, text: str) -> None:
        """Give a note another text."""
        if self._book.get(note_id).text != text:
            self._push("Edit note", lambda book: book.edit(note_id, text))

    def remove(self, note_id: int) -> None:
        """Take a note away."""
        self._push("Remove note", lambda book: book.remove(note_id))

    def _push(self, text: str, change: Callable[[NoteBook], NoteBook], moved: int | None = None) -> None:
        try:
            after = change(self._book)
        except UsageError as error:
            self.refused.emit(str(error))
            return
        self.stack.push(_Change(self, text, self._book, after, moved))

    def _set(self, book: NoteBook) -> None:
        if book is not self._book:
            self._book = book
            self.changed.emit(book)


class _Change(QUndoCommand):
    """From one book to the next."""

    def __init__(self, editor: NoteEditor, text: str, before: NoteBook, after: NoteBook, moved: int | None) -> None:
        super().__init__(text)
        self._editor, self._before, self._after, self._moved = editor, before, after, moved

    def id(self) -> int:
        """Only moves merge."""
        return _MOVE_ID if self._moved is not None else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Join a further move of the same note."""
        if not isinstance(other, _Change) or other._moved != self._moved:
            return False
        self._after = other._after
        return True

    def redo(self) -> None:
        """Do it (again)."""
        self._editor._set(self._after)

    def undo(self) -> None:
        """Go back."""
        self._editor._set(self._before)
