"""Columns to which rows are only added at the end; large ones are written to files a block at a time.

Pages of a mapped file cost several times as much to fill as a write of the same bytes, which is what makes this worth
more than :class:`GrowingColumns` where no earlier row is looked at again.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.store.growing import GrowingColumns, unnamed_file

BLOCK_ROWS: Final = 1 << 16
"""Rows in memory at a time once the columns are in files."""


class StreamedColumns(GrowingColumns):
    """See GrowingColumns. While rows are added only :meth:`recent` ones are to be looked at."""

    _first = 0
    """Row of the first one in memory; those before it are in the files."""

    def reserve(self, rows: int) -> None:
        """Make room for at least ``rows`` rows; what is there may be written away."""
        if rows <= self.room:
            return
        if not self._files:
            large = max(rows, 2 * self.room) * self.row_bytes > self._in_memory
            if self._folder is None or not large or not self._open_files():
                super().reserve(rows)
                return
        if not self._write_away():
            super().reserve(rows)
            return
        block = max(BLOCK_ROWS, rows - self._first)
        for name, kind in self.types.items():
            if name not in self._maps or len(self._maps[name]) != block * kind.itemsize:
                self._maps[name] = self._anonymous(block * kind.itemsize)
        self._place(block)

    def _place(self, block: int) -> None:
        for i, (name, kind) in enumerate(self.types.items()):
            address = np.frombuffer(self._maps[name], np.uint8, 1).ctypes.data
            self.addresses[i] = address - self._first * kind.itemsize
        self.room = self._first + block

    @staticmethod
    def _anonymous(size: int) -> mmap.mmap:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def _open_files(self) -> bool:
        if not hasattr(os, "pwrite"):
            return False
        try:
            for name in self.types:
                self._files[name] = unnamed_file(self._folder)
        except OSError:
            self._close_files()
            self._folder = None
        return bool(self._files)

    def _write_away(self) -> bool:
        """Write the rows in memory to the files; False when the disk is full and everything is in memory again."""
        rows = self.rows - self._first
        if not rows:
            return True
        try:
            for name, kind in self.types.items():
                view = memoryview(self._maps[name])[: rows * kind.itemsize]
                self._write(name, view, self._first)
                view.release()
        except OSError:
            self._back_to_memory()
            return False
        self._first = self.rows
        return True

    def _write(self, name: str, data: memoryview, row: int) -> None:
        at = row * self.types[name].itemsize
        while data:
            done = os.pwrite(self._files[name], data, at)
            data, at = data[done:], at + done

    def _back_to_memory(self) -> None:
        for name, kind in self.types.items():
            fresh = self._anonymous(max(self.rows, 1) * kind.itemsize)
            used = self._first * kind.itemsize
            if used:
                with mmap.mmap(self._files[name], used) as old:
                    fresh[:used] = old[:used]
            rest = (self.rows - self._first) * kind.itemsize
            fresh[used : used + rest] = self._maps[name][:rest]
            self._maps[name] = fresh
        self._close_files()
        self._folder, self._first = None, 0
        self._place(max(self.rows, 1))

    def recent(self, name: str, begin: int) -> NDArray[Any]:
        """The rows from ``begin`` on of one column, which must be among those since rows were last reserved."""
        assert begin >= self._first
        kind = self.types[name]
        return np.frombuffer(self._maps[name], kind, self.rows - begin, (begin - self._first) * kind.itemsize)

    def column(self, name: str) -> NDArray[Any]:
        """All rows of one column: a view that can be written to, good until rows are added."""
        if not self._files or not self.rows:
            return super().column(name)
        if self._first < self.rows:
            if not self._write_away():
                return super().column(name)
            self._place(len(self._maps[name]) // self.types[name].itemsize)
        return np.frombuffer(mmap.mmap(self._files[name], self.rows * self.types[name].itemsize), self.types[name])

    def append(self, other: GrowingColumns) -> None:
        """Add the rows of columns of the same names."""
        begin, more = self.rows, other.rows
        if not more:
            return
        if not self._files:
            self.reserve(begin + more)
        if self._files and self._write_away():
            try:
                for name in self.types:
                    self._write(name, other.column(name).data.cast("B"), begin)
                self.rows = self._first = begin + more
                self._place(len(self._maps[name]) // self.types[name].itemsize)
                return
            except OSError:
                self._back_to_memory()
        self.reserve(begin + more)
        self.rows += more
        for name in self.types:
            self.recent(name, begin)[:] = other.column(name)
