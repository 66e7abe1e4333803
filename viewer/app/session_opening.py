"""Opens session files: reads them and looks for their traces off the GUI thread, and helps to find the missing ones."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.app import dialogs
from viewer.app.message_bar import Message
from viewer.base.errors import RankscopeError
from viewer.base.work import CancelToken
from viewer.panels.work import WorkRunner

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.session_input import SessionInput
    from viewer.app.unsaved import LeftBehind

log = logging.getLogger(__name__)


class SessionOpener(QObject):
    """Turns a path into a session with its traces.

    Signals:
        found(SessionInput, object file, object left, list[Path] more): some of its traces are there. ``file`` is where
            it is saved, or None; ``left`` the file left behind that it came from, or None; ``more`` further traces.
        found_more(SessionInput): traces that were missing are there.
    """

    found = Signal(object, object, object, object)
    found_more = Signal(object)

    def __init__(self, window: MainWindow, work: WorkRunner) -> None:
        super().__init__(window)
        self._window, self._work = window, work

    def look_at(self, path: Path, file: Path | None, left: LeftBehind | None, more: list[Path] | None = None) -> None:
        """Read a session and look for its traces."""

        def look(_: CancelToken) -> SessionInput:
            from viewer.app.session_input import read_input, with_sources

            return read_input(path) if left is None else with_sources(path, left.document)

        self._work.submit("session", look, lambda found: self._take(found, file, left, more or []), self._failed)

    def _failed(self, error: Exception) -> None:
        if not isinstance(error, RankscopeError):
            log.error("opening a session failed", exc_info=error)
        self._window.say("error", str(error))

    def _take(self, found: SessionInput, file: Path | None, left: LeftBehind | None, more: list[Path]) -> None:
        if not found.paths and not more:
            text = found.missing_text() or f"{found.path.name}: lists no trace. Open traces instead."
            self._say_missing(text, found, partial(self._retry, found, file, left))
            return
        self.found.emit(found, file, left, more)
        if found.missing_text():
            self._say_missing(found.missing_text(), found, partial(self._add_found, found))
        if found.changed_text():
            self._window.say("warning", found.changed_text())

    def _say_missing(self, text: str, found: SessionInput, then: Callable[[dict[str, Path]], None]) -> None:
        locate = (("Locate…", partial(self._locate, found, then)),) if found.sources.missing else ()
        self._window.messages.show_message(Message("error" if not found.paths else "warning", text, locate))

    def _locate(self, found: SessionInput, then: Callable[[dict[str, Path]], None]) -> None:
        folder = dialogs.ask_search_folder(self._window, str(found.path.parent))
        if folder is None:
            self._say_missing(found.missing_text(), found, then)
            return

        def look(cancel: CancelToken) -> dict[str, Path]:
            from viewer.store.session_sources import search

            return search(folder, [s for s, _ in found.sources.missing], cancel)

        def done(where: dict[str, Path]) -> None:
            if where:
                then(where)
            else:
                self._window.say("warning", f"None of the missing traces is below {folder}.")
                self._say_missing(found.missing_text(), found, then)

        self._work.submit("locate", look, done, self._failed)

    def _retry(self, found: SessionInput, file: Path | None, left: LeftBehind | None, where: dict[str, Path]) -> None:
        from viewer.app.session_input import with_sources

        self._take(with_sources(found.path, found.document, where), file, left, [])

    def _add_found(self, found: SessionInput, where: dict[str, Path]) -> None:
        from viewer.app.session_input import with_sources

        again = with_sources(found.path, found.document, where)
        self.found_more.emit(again)
        if again.missing_text():
            self._say_missing(again.missing_text(), again, partial(self._add_found, again))
