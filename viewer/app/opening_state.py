"""How far an opening job is: per file and overall. Fed from many threads, read by one; knows no Qt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from viewer.base.work import Progress

SETTLE_SECONDS: Final = 0.5
"""No time left is estimated before this: the first rates are noise."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of the job that opens. ``state`` is "waiting", "reading", "open", "failed" or "cancelled"."""

    path: str
    stage: str
    done_bytes: int
    total_bytes: int
    events: int
    state: str

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name

    @property
    def share(self) -> float:
        """What is done, 0 to 1."""
        if self.state in ("open", "failed", "cancelled"):
            return 1.0
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Overview:
    """All files at one instant. Rates are per second of wall time; ``seconds_left`` is None while unknown."""

    files: tuple[FileState, ...] = ()
    done_bytes: int = 0
    total_bytes: int = 0
    events: int = 0
    events_per_second: float = 0.0
    bytes_per_second: float = 0.0
    seconds_left: float | None = None
    seconds: float = 0.0

    @property
    def finished(self) -> int:
        """Files that need no more work."""
        return sum(f.state not in ("waiting", "reading") for f in self.files)

    @property
    def share(self) -> float:
        """What is done overall, 0 to 1, by bytes."""
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 0.0


class ProgressBoard:
    """Collects :class:`Progress` of many files; cheap enough to be called for every block read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._files: dict[str, FileState] = {}
        self._begin = clock()

    def expect(self, files: Iterable[tuple[str, int]]) -> None:
        """Announce files (path, bytes on disk) before they are read, so that totals are right from the start."""
        with self._lock:
            for path, size in files:
                self._files.setdefault(path, FileState(path, "", 0, size, 0, "waiting"))

    def update(self, progress: Progress) -> None:
        """Take the state of one file. Safe from any thread."""
        with self._lock:
            old = self._files.get(progress.path)
            if old is not None and old.state in ("open", "failed", "cancelled"):
                return
            done = 0 < progress.total_bytes <= progress.done_bytes and progress.stage == "done"
            self._files[progress.path] = FileState(
                progress.path,
                progress.stage,
                progress.done_bytes,
                progress.total_bytes,
                progress.events,
                "open" if done else "reading",
            )

    def settle(self, path: str, state: str) -> None:
        """Say how a file ended: "open", "failed" or "cancelled"."""
        with self._lock:
            old = self._files.get(path)
            if old is not None:
                self._files[path] = replace(old, state=state)

    def view(self, now: float | None = None) -> Overview:
        """The state of all files."""
        with self._lock:
            files = tuple(self._files.values())
        seconds = max((self._clock() if now is None else now) - self._begin, 1e-9)
        counted = [f for f in files if f.state != "cancelled"]
        total = sum(f.total_bytes for f in counted)
        done = sum(
            f.total_bytes if f.state in ("open", "failed") else min(f.done_bytes, f.total_bytes) for f in counted
        )
        events = sum(f.events for f in files)
        rate = done / seconds
        left = (total - done) / rate if rate and seconds >= SETTLE_SECONDS else None
        return Overview(files, done, total, events, events / seconds, rate, left, seconds)
