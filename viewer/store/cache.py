"""Where imported tables are kept: one self-contained folder per source file, found again by the source's identity.

A folder is written under a temporary name and renamed when it is complete. Two processes may share a cache: the one
that finishes second uses what the first one wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from viewer.store.files import folder_bytes, read_meta
from viewer.store.meta import SourceStamp
from viewer.store.schema import FORMAT_VERSION
from viewer.store.sums import damaged_file, write_sums

DEFAULT_CAP: Final = 20 << 30
"""Bytes a cache may hold before the least recently used folders go."""
EDGE: Final = 64 << 10
"""Bytes of a source's head and tail that enter its digest."""
STALE_SECONDS: Final = 24 * 3600
"""A temporary folder older than this was left by a killed import."""
SHARE_UNCOUNTED: Final = 16
"""At most this part of the cap is added before the folders are counted again."""
_DRAFT: Final = ".draft-"
_NOTES: Final = "notes"
MAX_NOTES: Final = 1000


def stamp_of(path: Path) -> SourceStamp:
    """Identity of a source file. Raises OSError."""
    real = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle of links
    with real.open("rb") as file:
        state = os.fstat(file.fileno())
        digest = hashlib.sha256(file.read(EDGE))
        file.seek(max(0, state.st_size - EDGE))
        digest.update(file.read(EDGE))
        digest.update(str(state.st_size).encode())
    return SourceStamp(str(real), state.st_size, state.st_mtime_ns, digest.hexdigest())


def enclosing_file(path: Path) -> Path | None:
    """The file that a path leads through (``job.zip/rank0.json``), None when it leads through none."""
    for parent in path.parents:
        if os.path.isfile(parent):
            return parent
        if os.path.lexists(parent):
            return None
    return None


@dataclass(slots=True)
class Draft:
    """A trace folder in the making. Write into ``folder``; after the ``with`` block ``path`` is the complete one."""

    folder: Path
    path: Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One folder of the cache. ``used`` is seconds since 1970."""

    path: Path
    source: str
    bytes: int
    used: float
    events: int


class Cache:
    """Trace folders below one directory.

    Args:
        folder: the directory; the user's cache directory by default. It need not exist yet.
        cap_bytes: total size above which the least recently used folders are removed.
    """

    def __init__(self, folder: Path | None = None, cap_bytes: int = DEFAULT_CAP) -> None:
        self.folder = folder if folder is not None else default_folder()
        self.cap_bytes = cap_bytes
        self._lock = threading.Lock()
        self._room: int | None = None
        """Bytes that may be added before the folders are counted again; None before the first count."""

    def _place(self, stamp: SourceStamp) -> Path:
        identity = "\0".join([str(FORMAT_VERSION), stamp.path, str(stamp.size), str(stamp.mtime_ns), stamp.digest])
        return self.folder / hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def lookup(self, stamp: SourceStamp) -> Path | None:
        """The complete folder of a source, None when there is none for exactly this state of it, or a damaged one."""
        place = self._place(stamp)
        try:
            meta = read_meta(place)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if meta.version != FORMAT_VERSION or meta.source != stamp or damaged_file(place) is not None:
            return None
        with contextlib.suppress(OSError):
            os.utime(place / "meta.json")
        return place

    def is_damaged(self, stamp: SourceStamp) -> bool:
        """Whether a folder is there that is not what was written."""
        return self._place(stamp).exists() and self.lookup(stamp) is None

    def drop(self, stamp: SourceStamp) -> None:
        """Remove the folder of a source (it is damaged); never raises."""
        self._remove(self._place(stamp))

    def drop_damaged(self, stamp: SourceStamp) -> None:
        """Remove the folder of a source if it is damaged; never raises."""
        if self.is_damaged(stamp):
            self.drop(stamp)

    def _remove(self, place: Path) -> None:
        # Out of the way first, so that no other process finds half a folder.
        grave = self.folder / f"{_DRAFT}{uuid.uuid4().hex}"
        with contextlib.suppress(OSError):
            place.rename(grave)
            shutil.rmtree(grave, ignore_errors=True)

    @contextlib.contextmanager
    def create(self, stamp: SourceStamp) -> Iterator[Draft]:
        """Make the folder of a source: complete and renamed when the block ends well, gone when it raises.

        Raises:
            OSError: the cache cannot be written (read-only, full).
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._room is None:
            self._sweep()
        place = self._place(stamp)
        draft = Draft(self.folder / f"{_DRAFT}{uuid.uuid4().hex}", place)
        draft.folder.mkdir()
        try:
            yield draft
            write_sums(draft.folder)
            try:
                os.replace(draft.folder, place)
            except OSError:
                if self.lookup(stamp) is None:
                    self._remove(place)
                    os.replace(draft.folder, place)
                else:
                    shutil.rmtree(draft.folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(draft.folder, ignore_errors=True)
            raise
        self._make_room(place)

    def _make_room(self, added: Path) -> None:
        """Evict where that may be needed.

        Counting the folders takes the longer the more there are, so that a job of thousands of files does it once, and
        again when it added much: another process may have added as well.
        """
        size = folder_bytes(added) or 0
        with self._lock:
            if self._room is not None:
                self._room -= size
            due = self._room is None or self._room < 0
        if due:
            self.evict(keep=added)

    def _sweep(self) -> None:
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"{_DRAFT}*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > STALE_SECONDS:
                        shutil.rmtree(path, ignore_errors=True)

    def note(self, stamp: SourceStamp) -> bytes | None:
        """What was noted of a file that is no trace itself (the list of an archive's members); None without."""
        try:
            return (self.folder / _NOTES / self._place(stamp).name).read_bytes()
        except OSError:
            return None

    def keep_note(self, stamp: SourceStamp, data: bytes) -> None:
        """Note something of a file; never raises: it only saves work."""
        notes = self.folder / _NOTES
        with contextlib.suppress(OSError):
            notes.mkdir(parents=True, exist_ok=True)
            draft = notes / f"{_DRAFT}{uuid.uuid4().hex}"
            draft.write_bytes(data)
            draft.replace(notes / self._place(stamp).name)
            kept = sorted(notes.iterdir(), key=lambda p: p.stat().st_mtime)
            for path in kept[:-MAX_NOTES]:
                path.unlink(missing_ok=True)

    def entries(self) -> list[Entry]:
        """All complete folders, the most recently used first."""
        found = []
        try:
            places = [p for p in self.folder.iterdir() if not p.name.startswith(".")]
        except OSError:
            return []
        for place in places:
            try:
                meta = read_meta(place)
                size = sum(f.stat().st_size for f in place.iterdir())
                used = (place / "meta.json").stat().st_mtime
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                continue
            found.append(Entry(place, meta.source.path, size, used, meta.events))
        return sorted(found, key=lambda e: -e.used)

    @property
    def size(self) -> int:
        """Bytes of all complete folders."""
        return sum(e.bytes for e in self.entries())

    def evict(self, keep: Path | None = None) -> None:
        """Remove the least recently used folders until the cap holds; ``keep`` stays in any case."""
        entries = self.entries()
        total = sum(e.bytes for e in entries)
        for entry in reversed(entries):
            if total <= self.cap_bytes:
                break
            if entry.path != keep:
                self._remove(entry.path)
                total -= entry.bytes
        with self._lock:
            self._room = min(self.cap_bytes - total, self.cap_bytes // SHARE_UNCOUNTED)

    def clear(self) -> int:
        """Remove everything; how many bytes of complete folders that were."""
        freed = self.size
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                if path.is_dir():
                    self._remove(path)
        return freed


def default_folder() -> Path:
    """The user's cache directory; RANKSCOPE_CACHE_DIR overrides it."""
    given = os.environ.get("RANKSCOPE_CACHE_DIR")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("rankscope")) / "traces"


def default_cache() -> Cache:
    """The user's cache."""
    return Cache()
