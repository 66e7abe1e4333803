"""What the args of allocator events say, read while a trace's text is in memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.importers.scanned import Scanned
from viewer.importers.window import TextWindow
from viewer.jit.scan_memory import KEY_SIZE, KEY_TEXT, MEMORY_COLUMNS, read_memory

MEMORY: Final = "[memory]"
OUT_OF_MEMORY: Final = "[OutOfMemory]"
NAMES: Final = (MEMORY, OUT_OF_MEMORY)


class MemoryArgs:
    """Collects the numbers in the args of allocator events; those that are no plain JSON are left to a later look."""

    def __init__(self, out: Scanned) -> None:
        self._out = out
        self._numbers = dict.fromkeys(NAMES, -1)

    def read(self, window: TextWindow, begin: int) -> None:
        """Read those among the marks from ``begin`` on, whose ``args_off`` count from the source's first byte."""
        marks, strings, found = self._out.marks, self._out.strings, self._out.memory
        for name, number in self._numbers.items():
            if number < 0:
                self._numbers[name] = strings.find(name.encode())
        wanted = [number for number in self._numbers.values() if number >= 0]
        if not wanted:
            return
        names = marks.recent("name", begin)
        rows = np.flatnonzero((names == wanted[0]) | (names == wanted[-1]))
        if not len(rows):
            return
        read = np.empty((len(MEMORY_COLUMNS), len(rows)), np.int64)
        offsets, sizes = marks.recent("args_off", begin), marks.recent("args_len", begin)
        count = read_memory(window.address - window.origin, offsets, sizes, rows, KEY_TEXT, KEY_SIZE, read)
        if count:
            read[0] += begin
            first = found.rows
            found.reserve(first + count)
            found.rows += count
            for values, name in zip(read, MEMORY_COLUMNS, strict=True):
                found.recent(name, first)[:] = values[:count]
