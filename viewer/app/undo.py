"""One undo stack per window: notes, marks, bookmarks, and how the lanes are arranged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack

T = TypeVar("T")
UNDO_LIMIT: Final = 500
_MERGING: Final = 1


class UndoStack(QObject):
    """Changes of immutable values, each of which can be taken back.

    Attributes:
        stack: Qt's stack, for the actions of the menu.

    Signals:
        changed(): a change was made, undone, redone, or the whole was declared saved.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stack = QUndoStack(self)
        self.stack.setUndoLimit(UNDO_LIMIT)
        self.stack.indexChanged.connect(self._tell)
        self.stack.cleanChanged.connect(self._tell)

    @Slot(int)
    @Slot(bool)
    def _tell(self, _: object) -> None:
        self.changed.emit()

    def push(self, text: str, before: T, after: T, apply: Callable[[T], None], merge: object = None) -> None:
        """Make a change, which ``Undo`` takes back.

        Args:
            text: what it is, for the menu ("Move note").
            before: the value as it is now.
            after: the value as it will be.
            apply: puts a value in force; called with ``after`` at once, and with either on undo and redo.
            merge: changes in a row with equal marks that are not None undo as one (the steps of a drag).
        """
        self.stack.push(_Change(text, before, after, apply, merge))

    @property
    def clean(self) -> bool:
        """Whether nothing changed since :meth:`set_clean`."""
        return self.stack.isClean()

    def set_clean(self) -> None:
        """All is saved as it is now."""
        self.stack.setClean()

    def clear(self) -> None:
        """Forget all changes: another job is shown."""
        self.stack.clear()


class _Change(QUndoCommand):
    """From one value to the next."""

    def __init__(self, text: str, before: T, after: T, apply: Callable[[T], None], merge: object) -> None:
        super().__init__(text)
        self._before: object = before
        self._after: object = after
        self._apply: Callable[..., None] = apply
        self._merge = merge

    def id(self) -> int:
        """Only changes with a mark may merge."""
        return _MERGING if self._merge is not None else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Join a further step of the same change."""
        if not isinstance(other, _Change) or other._merge != self._merge:
            return False
        self._after = other._after
        return True

    def redo(self) -> None:
        """Do it (again)."""
        self._apply(self._after)

    def undo(self) -> None:
        """Go back."""
        self._apply(self._before)
