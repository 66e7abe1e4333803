"""Columns that grow by rows while a file is read; large ones live in unnamed files instead of anonymous memory."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FIRST_ROWS: Final = 1 << 16
IN_MEMORY: Final = 96 << 20
"""Bytes of all columns together up to which they stay in anonymous memory."""
LEAST_IN_FILE: Final = 2 << 20
"""Smaller arrays stay where they are."""


class GrowingColumns:
    """Columns of one length, whose addresses compiled code gets.

    Growing moves page tables, not bytes. Views of :meth:`column` must be gone by the time the columns grow, or the
    bytes are copied after all.

    Args:
        types: numpy type by column name.
        folder: where the files of large columns go; None keeps everything in memory.
        rows: for how many rows there is room at first.
        in_memory: see IN_MEMORY.
    """

    def __init__(
        self,
        types: dict[str, Any],
        folder: Path | None = None,
        rows: int = FIRST_ROWS,
        in_memory: int = IN_MEMORY,
    ) -> None:
        self.types: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in types.items()}
        self.rows = 0
        """Rows in use; the owner counts them."""
        self.room = 0
        self.addresses = np.zeros(len(types), np.int64)
        self._folder, self._in_memory = folder, in_memory
        self._files: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self.reserve(rows)

    @property
    def names(self) -> list[str]:
        """Column names, in the order of ``addresses``."""
        return list(self.types)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return sum(t.itemsize for t in self.types.values())

    def reserve(self, rows: int) -> None:
        """Make room for at least ``rows`` rows, twice as many as before or more."""
        if rows <= self.room:
            return
        rows = max(rows, 2 * self.room)
        if not self._files and self._folder is not None and rows * self.row_bytes > self._in_memory:
            self._to_files(rows)
        for name, kind in self.types.items():
            self._resize(name, rows * kind.itemsize)
        for i, name in enumerate(self.types):
            self.addresses[i] = np.frombuffer(self._maps[name], np.uint8, 1).ctypes.data
        self.room = rows

    def _resize(self, name: str, size: int) -> None:
        file = self._files.get(name)
        if file is not None and name in self._maps:
            # Room that is promised is there: a full disk is an error here, not a signal on the first touch.
            try:
                os.posix_fallocate(file, 0, size)
            except OSError:
                self._back_to_memory()
        old = self._maps.get(name)
        if old is None:
            self._maps[name] = self._mapped(name, size)
            return
        try:
            old.resize(size)
        except (BufferError, ValueError, SystemError, OSError):
            fresh = self._mapped(name, size)
            used = self.rows * self.types[name].itemsize
            if name not in self._files:
                fresh[:used] = old[:used]
            self._maps[name] = fresh

    def _mapped(self, name: str, size: int) -> mmap.mmap:
        if name in self._files:
            return mmap.mmap(self._files[name], size)
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def _to_files(self, rows: int) -> None:
        """Move what is there into files that vanish with this process; stay in memory where that cannot be."""
        if not hasattr(os, "posix_fallocate"):
            return
        files: dict[str, int] = {}
        try:
            for name, kind in self.types.items():
                files[name] = unnamed_file(self._folder)
                os.posix_fallocate(files[name], 0, rows * kind.itemsize)
                if name in self._maps:
                    view = memoryview(self._maps[name])[: self.rows * kind.itemsize]
                    done = 0
                    while done < len(view):
                        done += os.pwrite(files[name], view[done:], done)
                    view.release()
        except OSError:
            for file in files.values():
                os.close(file)
            self._folder = None
            return
        self._files = files
        self._maps.clear()

    def _back_to_memory(self) -> None:
        for name in list(self._files):
            old = self._maps[name]
            fresh = mmap.mmap(-1, len(old), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            used = self.rows * self.types[name].itemsize
            fresh[:used] = old[:used]
            self._maps[name] = fresh
        self._close_files()
        self._folder = None

    def _close_files(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files = {}

    def column(self, name: str) -> NDArray[Any]:
        """The rows in use of one column: a view that can be written to."""
        return np.frombuffer(self._maps[name], self.types[name], self.rows)

    def recent(self, name: str, begin: int) -> NDArray[Any]:
        """The rows from ``begin`` on of one column: a view that can be written to."""
        return self.column(name)[begin:]

    def append(self, other: GrowingColumns) -> None:
        """Add the rows of columns of the same names."""
        begin = self.rows
        self.reserve(begin + other.rows)
        self.rows += other.rows
        for name in self.types:
            self.column(name)[begin:] = other.column(name)

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self._close_files()


def unnamed_file(folder: Path | None) -> int:
    """A file without a name: the system takes it back whatever happens to this process. Raises OSError."""
    if folder is not None:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(prefix=".draft-", dir=folder)
    os.unlink(path)
    return handle


def in_file(values: NDArray[Any], folder: Path | None) -> NDArray[Any]:
    """A large array as one that is mapped from a file without a name; as it is where it is small or the disk is full.

    What is only written to another file later need not stay in memory until then. The result is read-only.
    """
    if values.nbytes < LEAST_IN_FILE or values.dtype.hasobject or not hasattr(os, "posix_fallocate"):
        return values
    try:
        handle = unnamed_file(folder)
        with os.fdopen(handle, "w+b") as file:
            np.ascontiguousarray(values).tofile(file)
            file.flush()
            held = mmap.mmap(file.fileno(), values.nbytes, access=mmap.ACCESS_READ)
    except OSError:
        return values
    return np.frombuffer(held, values.dtype).reshape(values.shape)
