"""Notes of the window's job: every change can be undone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from viewer.app.undo import UndoStack
from viewer.base.errors import UsageError
from viewer.views.notes import NoteBook


class NoteEditor(QObject):
    """The note book of the open job.

    ``ask`` lets the user write a text, given the one there is; None when the user gives none.

    Signals:
        changed(NoteBook)
        refused(str): a sentence why a change was not made.
    """

    changed = Signal(object)
    refused = Signal(str)

    def __init__(
        self, ask: Callable[[str], str | None], parent: QObject | None = None, undo: UndoStack | None = None
    ) -> None:
        super().__init__(parent)
        self._ask = ask
        self.undo = undo or UndoStack(self)
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
        self.undo.clear()
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
        merge = None if moved is None else ("note", moved)
        self.undo.push(text, self._book, after, self._set, merge)

    def _set(self, book: NoteBook) -> None:
        if book is not self._book:
            self._book = book
            self.changed.emit(book)
