"""The session file of a window: saved, opened, asked about when the job goes, and kept over a crash."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, QTimer

from viewer.app import dialogs
from viewer.app.features.base import Feature
from viewer.app.left_behind import Offers
from viewer.app.opened_job import OpenedJob
from viewer.app.session_opening import SessionOpener
from viewer.base.errors import RankscopeError
from viewer.base.session_file import SUFFIX, SavedSource
from viewer.panels.work import WorkRunner
from viewer.store.session_file import Document, encode_session, is_session_file, spelled, write_session
from viewer.views.kept.marks import BookmarkBook, MarkBook
from viewer.views.kept.notes import NoteBook

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.session_input import SessionInput
    from viewer.app.unsaved import LeftBehind
    from viewer.app.workspace import Workspace
    from viewer.base.session_file import SessionFile

log = logging.getLogger(__name__)

LOOK_BEHIND_MS: Final = 100
AUTOSAVE_MS: Final = 1500
"""A moment after a change it is kept over a crash."""


@dataclass(slots=True)
class _Coming:
    """A session that is being opened: its job, what it says, and the file left behind that it came from, if any."""

    job: OpenedJob
    found: SessionInput
    file: Path | None
    left: LeftBehind | None = None
    shown: bool = False


class SessionFeature(Feature):
    """Save, Save As, opening of session files, the question about unsaved changes, and what is kept over a crash."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.work = WorkRunner(self)
        self.opener = SessionOpener(window, self.work)
        self.opener.found.connect(self._open)
        self.opener.found_more.connect(self._add_found)
        self._file: Path | None = None
        self._stamp: tuple[int, int] | None = None
        self._document: Document | None = None
        self._listed: tuple[SavedSource, ...] = ()
        self._paths: frozenset[Path] = frozenset()
        self._saved: Any = self._state()
        self._coming: _Coming | None = None
        self._unsaved: Any = None
        self._number = 0
        self._discarded = False
        self.offers = Offers(window, self.work, self._restore)
        self._restored: LeftBehind | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(AUTOSAVE_MS)
        self._timer.timeout.connect(self.autosave)
        # After the first frame, and before the engine is there, which may take long after an installation.
        QTimer.singleShot(LOOK_BEHIND_MS, self, self.offers.look)
        window.kept.changed.connect(self._changed)
        window.undo.changed.connect(self._changed)
        window.controller.ended.connect(self._ended, Qt.ConnectionType.QueuedConnection)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"save": lambda: void(self.save()), "save_as": lambda: void(self.save_as())}

    def attach(self, workspace: Workspace) -> None:
        """Colours are part of what is saved."""
        workspace.colors_changed.connect(self._changed)

    # what is not saved

    def _state(self) -> Any:
        """What would be lost: notes (wherever clocks put them), marks, bookmarks; the lanes where there is a file."""
        kept, workspace = self.window.kept, self.window.workspace
        notes = tuple(n if n.slice is None else replace(n, time_ns=0, depth=0) for n in kept.notes.book)
        lanes = None
        if workspace is not None and self._file is not None:
            lanes = workspace.timeline.kept.arrangement, workspace.colors
        options = self.window.job.options
        told = options.align, options.given_clocks, options.card
        return notes, kept.marks.book.marks, kept.bookmarks.book.bookmarks, kept.dismissed.book, lanes, told

    @property
    def dirty(self) -> bool:
        """Whether there is something that is not saved."""
        return self.window.has_job and self._coming is None and self._state() != self._saved

    def _changed(self, _: object = None) -> None:
        self._discarded = False
        if frozenset(self.window.job.paths) == self._paths:  # else another job is about to be shown
            self.window.setWindowModified(self.dirty)
        if not self._timer.isActive():
            self._timer.start()

    def _unsaved_text(self) -> str:
        kept = self.window.kept
        counts = (
            (len(kept.notes.book), "note"),
            (len(kept.marks.book), "mark"),
            (len(kept.bookmarks.book), "bookmark"),
            (len(kept.dismissed.book), "dismissed finding"),
        )
        said = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n]
        return ", ".join(said) if said else "what was changed or removed"

    def may_leave(self) -> bool:
        """Ask about what is not saved."""
        if not self.dirty or self._discarded:
            return True
        answer = dialogs.ask_save(self.window, self.window.job.title, self._unsaved_text())
        if answer == "save":
            return self.save()
        self._discarded = answer == "discard"
        return self._discarded

    # saving

    def save(self) -> bool:
        """Save to the session's file, else ask for one; whether all is saved."""
        if not self.window.has_job:
            return False
        if self._file is None:
            return self.save_as()
        changed = self._stamp is not None and _stamp_of(self._file) not in (self._stamp, None)
        if changed and not dialogs.ask_overwrite(self.window, self._file.name):
            return False
        return self._write(self._file)

    def save_as(self) -> bool:
        """Ask for a file and save there; whether that was done."""
        if not self.window.has_job:
            return False
        suggested = self._file or self._suggestion()
        path = dialogs.ask_save_as(self.window, suggested)
        if path is None:
            return False
        if not is_session_file(path):
            path = path.with_name(path.name + SUFFIX)
            if path.exists() and not dialogs.ask_overwrite(self.window, path.name):
                return False
        return self._write(path.absolute())

    def _suggestion(self) -> Path:
        first = self.window.job.paths[0].absolute()
        folder = first if first.is_dir() else first.parent
        beside = folder.parent if first.is_dir() else folder
        for place in (beside, folder):
            if os.access(place, os.W_OK):
                return place / f"{_file_name(self.window.job.title)}{SUFFIX}"
        return Path(self.window.settings.last_folder or Path.home()) / f"{_file_name(self.window.job.title)}{SUFFIX}"

    def _write(self, path: Path) -> bool:
        if self.window.controller.running:
            self.window.say("warning", "The session can be saved when all of its files are open.")
            return False
        content = self._content(lambda p: spelled(p, path))
        raw = self._document.raw if self._document is not None else None
        try:
            write_session(path, content, raw)
        except RankscopeError as error:
            self.window.say("error", str(error))
            return False
        self._document = Document(content, raw)
        self._file, self._stamp = path, _stamp_of(path)
        self._saved, self._discarded = self._state(), False
        self.window.job = replace(self.window.job, session=path)
        self.window.recent.remember([path])
        self.window.show_title()
        self.window.setWindowModified(False)
        self.autosave()
        self.window.status.tell(f"Saved {path}")
        return True

    def _content(self, spell: Callable[[Path], str], saved_as: str | None = None) -> SessionFile:
        from viewer.panels.timeline.look import look_of
        from viewer.views.kept.keeping import Kept, saved_session
        from viewer.views.lanes.arrangement import plain_arrangement
        from viewer.views.lanes.tree import build_tree

        workspace, kept = self.window.workspace, self.window.kept
        assert workspace is not None
        session = workspace.session
        content = saved_session(
            session,
            build_tree(session),
            Kept(kept.notes.book, kept.marks.book, kept.bookmarks.book, kept.dismissed.book),
            look_of(workspace.timeline),
            workspace.context.selection,
            plain=plain_arrangement,
            title=self.window.job.title,
            align=self.window.job.options.align,
            spell=spell,
            old=self._document.content if self._document is not None else None,
            missing=self._listed,
            given=self.window.job.options.given_clocks,
            colors=workspace.colors,
            card=self.window.job.options.card,
        )
        import msgspec

        return msgspec.structs.replace(content, saved_as=saved_as)

    # kept over a crash

    def autosave(self) -> None:
        """Keep what is not saved, off the GUI thread; nothing when all is saved."""
        self._timer.stop()
        if self.window.controller.running or self._coming is not None:
            self._timer.start()  # the list of files is not whole yet
            return
        self._number += 1
        number, dirty = self._number, self.dirty
        if not dirty and self._unsaved is None:
            return
        unsaved = self._file_of_unsaved()
        if not dirty:
            self.work.submit("autosave", lambda _: unsaved.remove(number), void)
            return
        content = self._content(str, str(self._file) if self._file is not None else "")
        raw = self._document.raw if self._document is not None else None
        self.work.submit("autosave", lambda _: unsaved.write(encode_session(content, raw), number), self._autosaved)

    def _autosaved(self, done: bool) -> None:
        if done and self._restored is not None:
            restored, self._restored = self._restored, None
            self.offers.drop(restored)
        if not done:
            self.window.status.tell("Unsaved changes cannot be kept over a crash; the log says why")

    def _file_of_unsaved(self) -> Any:
        if self._unsaved is None:
            from viewer.app.unsaved import UnsavedFile

            self._unsaved = UnsavedFile()
        return self._unsaved

    def _restore(self, left: LeftBehind) -> None:
        """Open what was left behind; offered again where the job at hand may not go."""
        if not self.window.may_leave():
            self.offers.offer(left)
            return
        said = left.document.content.saved_as
        self.opener.look_at(left.path, Path(said) if said else None, left)

    # opening

    def opens(self, paths: list[Path]) -> bool:
        """Open a session file; further ones in windows of their own."""
        sessions = [p for p in paths if is_session_file(p)]
        if not sessions:
            return False
        if self.window.may_leave():
            path = sessions[0].absolute()
            self.opener.look_at(path, path, None, [p for p in paths if p not in sessions])
            for further in sessions[1:]:
                self.window.new_window.emit([further])
        return True

    def _open(self, found: SessionInput, file: Path | None, left: LeftBehind | None, more: list[Path]) -> None:
        paths = tuple(dict.fromkeys((*found.paths, *more)))
        job = OpenedJob(paths, found.options(self.window.options), file)
        self._coming = _Coming(job, found, file, left)
        self.window.load(job)

    def _add_found(self, again: SessionInput) -> None:
        """Traces that were found go beside those that are open."""
        job = self._coming.job if self._coming is not None and not self._coming.shown else self.window.job
        self._listed = again.listed
        grown = replace(job.with_more(again.paths), options=again.options(self.window.options))
        if self._coming is not None:
            self._coming.job, self._coming.found = grown, again
        self.window.load(grown)

    # showing

    def job_shown(self, paths: list[Path]) -> None:
        """Show what a session says of its job; more files of a job change nothing; another job begins empty."""
        coming, now = self._coming, frozenset(paths)
        more = bool(self._paths) and self._paths <= now
        job = self.window.job
        if coming is not None and not coming.shown and coming.file == job.session and set(coming.job.paths) <= now:
            self._show(coming)
        elif not paths or not more:
            self._coming = None
            self._forget()
        self._paths = now
        if self._coming is not None and not self.window.controller.running:
            QTimer.singleShot(0, self, self._complete)

    def _forget(self) -> None:
        """Another job, or none: nothing is kept of it yet."""
        self._file = self._stamp = self._document = None
        self._listed = ()
        self._use(NoteBook(), MarkBook(), BookmarkBook(), frozenset())
        self._saved = self._state()
        self._changed()
        self.window.setWindowModified(False)

    def _show(self, coming: _Coming) -> None:
        """Notes, marks and bookmarks at once; the view when all files are open."""
        from viewer.views.kept.keeping import kept_from
        from viewer.views.lanes.arrangement import arrangement_from

        coming.shown = True
        self._document, self._file = coming.found.document, coming.file
        self._stamp = _stamp_of(coming.file) if coming.file is not None else None
        self._listed = coming.found.listed
        kept = kept_from(coming.found.document.content, arrangement_from)
        self._use(kept.notes, kept.marks, kept.bookmarks, kept.dismissed)

    def _use(self, notes: NoteBook, marks: MarkBook, bookmarks: BookmarkBook, dismissed: frozenset[str]) -> None:
        kept = self.window.kept
        kept.notes.show(notes)
        kept.marks.show(marks)
        kept.bookmarks.show(bookmarks)
        kept.dismissed.show(dismissed)
        self.window.undo.clear()

    def _ended(self, _: object) -> None:
        if self._coming is not None and not self.window.controller.running:
            if self._coming.shown:
                self._complete()
            elif self.window.workspace is not None:
                self._coming = None  # nothing of it opened

    def _complete(self) -> None:
        """All files are open: show the view, and from now on look for changes."""
        coming, workspace = self._coming, self.window.workspace
        if coming is None or not coming.shown or workspace is None or self.window.controller.running:
            return
        from viewer.panels.timeline.look import show_look
        from viewer.views.kept.keeping import look_from, selection_from
        from viewer.views.lanes.arrangement import arrangement_from
        from viewer.views.lanes.tree import build_tree

        content, session = coming.found.document.content, workspace.session
        look = look_from(content, arrangement_from)
        if look is not None:
            show_look(workspace.timeline, look)
        if content.colors is not None:
            workspace.set_colors(content.colors)
        workspace.context.select(selection_from(content, session, build_tree(session)))
        self._coming = None
        self._saved = self._state() if coming.left is None else None
        self._changed()
        if coming.left is not None:
            self._restored = coming.left
            self.autosave()

    def shutdown(self) -> None:
        """Keep what is not saved unless the person said that it may go."""
        self.offers.looked = True
        self._timer.stop()
        self._looked = True
        keep = self.dirty and not self._discarded
        if keep:
            self._number += 1
            content = self._content(str, str(self._file) if self._file is not None else "")
            raw = self._document.raw if self._document is not None else None
            keep = self._file_of_unsaved().write(encode_session(content, raw), self._number)
        self.work.shutdown()
        if self._unsaved is not None:
            self._unsaved.close(keep=keep)
        self.offers.let_go()


def void(_: object = None) -> None:
    """Nothing."""


def _stamp_of(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _file_name(title: str) -> str:
    return "".join("-" if c in '/\\:*?"<>|' else c for c in title).strip(" .")[:100] or "job"
