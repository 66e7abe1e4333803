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
"""Bytes must have flowed for so long before there is a rate: the first ones are noise."""
STALL_SECONDS: Final = 0.75
"""Readers report each block, far more often: a longer silence is the compiler at work, which happens once."""


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
    """All files at one instant.

    Rates are per second in which files were read, 0 while they are not known: compiling the engine, files that come
    from the cache and waiting say nothing about the rest. ``seconds_left`` is None while unknown. ``seconds`` is wall
    time since the job began.
    """

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
        self._flow = _Flow()

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
            self._flow.take(self._clock(), old, progress)
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
            rate, event_rate = self._flow.rates()
        seconds = max((self._clock() if now is None else now) - self._begin, 1e-9)
        counted = [f for f in files if f.state != "cancelled"]
        total = sum(f.total_bytes for f in counted)
        done = sum(
            f.total_bytes if f.state in ("open", "failed") else min(f.done_bytes, f.total_bytes) for f in counted
        )
        events = sum(f.events for f in files)
        left = (total - done) / rate if rate and total > done else None
        return Overview(files, done, total, events, event_rate, rate, left, seconds)


class _Flow:
    """What was read while files were being read, and how long that took."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._warm = False
        self.seconds = 0.0
        self.bytes = self.events = 0

    def take(self, now: float, old: FileState | None, new: Progress) -> None:
        """Count one report, given the last one of the same file."""
        begun = old is not None and old.state == "reading"
        if new.stage == "done" and not begun:
            return  # from the cache, at no cost
        silent = now - self._last if self._last is not None else None
        self._last = now
        known = old if begun else None
        read = new.done_bytes - (known.done_bytes if known is not None else 0)
        # Sorting and writing tell nothing on their way; only the first of them waits for the compiler.
        worked = known is not None and known.stage != new.stage and self._warm
        self._warm |= new.stage == "done"
        if silent is None or (silent > STALL_SECONDS and not worked):
            return
        self.seconds += silent
        self.bytes += max(0, read)
        self.events += max(0, new.events - (known.events if known is not None else 0))

    def rates(self) -> tuple[float, float]:
        """Bytes and events per second; zeros while they are not believable."""
        if self.seconds < SETTLE_SECONDS:
            return 0.0, 0.0
        return self.bytes / self.seconds, self.events / self.seconds
