"""What is not saved yet, kept over a crash: one file per window in the user's state folder, offered at the next start.

Each file has a lock that its process holds as long as it lives, however it ends; a file whose lock is free was left
behind. So two windows, and two processes, never take each other's.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import threading
from pathlib import Path
from typing import IO, Final

from viewer.base.errors import InputError
from viewer.store.session_file import Document, read_session

log = logging.getLogger(__name__)

MOST: Final = 20
"""Files left behind that are offered; older ones wait for their turn."""


def unsaved_folder() -> Path:
    """Where the files are."""
    import platformdirs

    return Path(platformdirs.user_state_dir("rankscope", appauthor=False)) / "unsaved"


class UnsavedFile:
    """The file of one window. Written from any thread; of two writes the one that was asked for later stays."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}.rankscope"
        self._lock: IO[bytes] | None = None
        self._guard = threading.Lock()
        self._newest = 0
        self.path: Path | None = None

    def write(self, data: bytes, number: int) -> bool:
        """Keep this; ``number`` grows with every request. False (and a log line) when it cannot be kept."""
        with self._guard:
            if number <= self._newest:
                return True
            self._newest = number
            try:
                path = self._place()
                temporary = path.with_suffix(".tmp")
                with temporary.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            except OSError as error:
                log.warning("unsaved changes cannot be kept: %s", error)
                return False
            self.path = path
            return True

    def remove(self, number: int) -> None:
        """All is saved: nothing is to be kept."""
        with self._guard:
            if number > self._newest:
                self._newest = number
                self._drop()

    def close(self, *, keep: bool) -> None:
        """The window goes; what is kept is offered at the next start."""
        with self._guard:
            self._newest = 2**62
            if not keep:
                self._drop()
            if self._lock is not None:
                if not keep:
                    _unlink(Path(self._lock.name))
                self._lock.close()
                self._lock = None

    def _place(self) -> Path:
        folder = self._folder or unsaved_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / self._name
        if self._lock is None:
            self._lock = _locked(path)
        return path

    def _drop(self) -> None:
        if self.path is not None:
            _unlink(self.path)
            self.path = None


class LeftBehind:
    """A file of a window that did not end by itself, locked for us until it is let go or dropped."""

    def __init__(self, path: Path, document: Document, when: float, lock: IO[bytes]) -> None:
        self.path, self.document, self.when, self._lock = path, document, when, lock

    def drop(self) -> None:
        """It is not needed any more."""
        _unlink(self.path)
        _unlink(Path(self._lock.name))
        self._lock.close()

    def let_go(self) -> None:
        """Leave it for the next start."""
        self._lock.close()


def left_behind(folder: Path | None = None) -> list[LeftBehind]:
    """Files whose window is gone, newest first; what cannot be read is set aside."""
    place = folder or unsaved_folder()
    try:
        names = sorted(n for n in os.listdir(place) if n.endswith(".rankscope"))
    except OSError:
        return []
    found: list[LeftBehind] = []
    for name in names:
        path = place / name
        lock = _locked(path)
        if lock is None:
            continue
        try:
            when = path.stat().st_mtime
            found.append(LeftBehind(path, read_session(path), when, lock))
        except FileNotFoundError:  # another window took it a moment ago
            _unlink(Path(lock.name))
            lock.close()
        except (OSError, InputError) as error:
            log.warning("%s, left behind, cannot be read: %s", path, error)
            lock.close()
            with contextlib.suppress(OSError):
                path.replace(path.with_suffix(".damaged"))
    found.sort(key=lambda f: f.when, reverse=True)
    for late in found[MOST:]:
        late.let_go()
    return found[:MOST]


def _locked(path: Path) -> IO[bytes] | None:
    """A handle that holds the lock of a file; None while another has it."""
    try:
        handle = path.with_suffix(".lock").open("ab")
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
