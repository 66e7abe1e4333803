"""What a window left behind that did not end by itself: looked for once, offered, restored or dropped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from viewer.app.message_bar import Message
from viewer.base.work import CancelToken
from viewer.panels.work import WorkRunner

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.unsaved import LeftBehind

log = logging.getLogger(__name__)


class Offers(QObject):
    """The offers of one window.

    Args:
        window: shows them.
        work: looks off the GUI thread.
        restore: opens one.
    """

    def __init__(self, window: MainWindow, work: WorkRunner, restore: Callable[[LeftBehind], None]) -> None:
        super().__init__(window)
        self._window, self._work, self._restore = window, work, restore
        self.open: list[LeftBehind] = []
        self.looked = False

    def look(self) -> None:
        """Offer what is there; once per window."""
        if self.looked:
            return
        self.looked = True

        def look(_: CancelToken) -> list[LeftBehind]:
            from viewer.app.unsaved import left_behind

            return left_behind()

        self._work.submit("left behind", look, self._found, lambda e: log.error("looking behind failed", exc_info=e))

    def _found(self, found: list[LeftBehind]) -> None:
        self.open += found
        for left in found:
            self.offer(left)

    def offer(self, left: LeftBehind) -> None:
        """Ask whether to restore it."""
        content = left.document.content
        counts = ((len(content.notes), "note"), (len(content.marks), "mark"), (len(content.bookmarks), "bookmark"))
        said = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n) or "changes"
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(left.when))
        title = "".join(c for c in content.title if c.isprintable())[:80] or "a job"
        text = f"Rankscope was closed unexpectedly. Restore {said} of {title}, changed {when}?"
        buttons = (("Restore", partial(self._restore, left)), ("Discard", partial(self.drop, left)))
        self._window.messages.show_message(Message("warning", text, buttons, stays=True))

    def drop(self, left: LeftBehind) -> None:
        """It is wanted no more."""
        if left in self.open:
            self.open.remove(left)
            left.drop()

    def let_go(self) -> None:
        """The window closes: another may offer them again."""
        for left in self.open:
            left.let_go()
