"""Notes of the window's job, and all that is kept of it in one place: every change can be undone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from viewer.app.book_editing import BookEditor, BookmarkEditor, DismissedEditor, MarkEditor
from viewer.app.undo import UndoStack
from viewer.base.kept import SliceAnchor
from viewer.views.kept.notes import NoteBook


class NoteEditor(BookEditor[NoteBook]):
    """The note book of the open job.

    ``ask`` lets the user write a text, given the one there is; None when the user gives none.
    """

    def __init__(
        self, ask: Callable[[str], str | None], parent: QObject | None = None, undo: UndoStack | None = None
    ) -> None:
        super().__init__(NoteBook(), parent, undo)
        self._ask = ask

    def ask_and_add(self, time_ns: int, lane: str, anchor: SliceAnchor | None = None, depth: int = 0) -> None:
        """Ask for a text and put it there."""
        text = self._ask("")
        if text is not None:
            self.add(time_ns, lane, text, anchor, depth)

    def ask_and_edit(self, note_id: int) -> None:
        """Let the user change a note's text."""
        text = self._ask(self.book.get(note_id).text)
        if text is not None:
            self.edit(note_id, text)

    def add(self, time_ns: int, lane: str, text: str, anchor: SliceAnchor | None = None, depth: int = 0) -> None:
        """Put a note on a lane ("" for none) at a session time, or on a slice."""
        self.push("Add note", lambda book: book.add(time_ns, lane, text, anchor=anchor, depth=depth))

    def move(self, note_id: int, dx: float, dy: float) -> None:
        """Move a note's box to another offset from its anchor; moves in a row undo as one."""
        self.push("Move note", lambda book: book.move(note_id, dx, dy), ("note", note_id))

    def edit(self, note_id: int, text: str) -> None:
        """Give a note another text."""
        self.push("Edit note", lambda book: book.edit(note_id, text))

    def remove(self, note_id: int) -> None:
        """Take a note away."""
        self.push("Remove note", lambda book: book.remove(note_id))


class Keeper(QObject):
    """Notes, marks, bookmarks and dismissed findings of a window's job, on the window's undo stack.

    Signals:
        changed(): any of them.
        refused(str): a sentence why a change was not made.
    """

    changed = Signal()
    refused = Signal(str)

    def __init__(self, ask: Callable[[str], str | None], undo: UndoStack, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo = undo
        self.notes = NoteEditor(ask, self, undo)
        self.marks = MarkEditor(self, undo)
        self.bookmarks = BookmarkEditor(self, undo)
        self.dismissed = DismissedEditor(self, undo)
        for editor in (self.notes, self.marks, self.bookmarks, self.dismissed):
            editor.changed.connect(self._tell)
            editor.refused.connect(self.refused)

    def _tell(self, _: object) -> None:
        self.changed.emit()
