"""Arrow IPC files whose columns are filled in place, so that a table is never in memory as a whole."""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.store.lazy import PIECE, LazyColumn
from viewer.store.schema import Table

_PIECES = 16 * PIECE
"""Rows of a column that one job writes."""


def laid_out(file: BinaryIO, table: Table, columns: dict[str, Any]) -> list[Callable[[], None]]:
    """Write a table's file except for its columns of numbers; what is returned writes those, in any order.

    Arrow lays the file out itself: for a column of numbers it gets a stretch of memory that nobody touches, and where
    it would write that stretch is where the numbers belong. Raises OSError.
    """
    numbers = {c.name: _numbers(columns.get(c.name), c.type) for c in table.columns if not _is_text(c.type)}
    sizes = [len(v) * v.dtype.itemsize for v in numbers.values()]
    with _Stretch(sum(sizes)) as stretch:
        arrays: dict[str, Any] = {}
        begins: dict[int, str] = {}
        used = 0
        for (name, values), size in zip(numbers.items(), sizes, strict=True):
            buffer = stretch.buffer.slice(used, size)
            kind = table.schema.field(name).type
            arrays[name] = pa.Array.from_buffers(kind, len(values), [None, buffer])
            if size:
                begins[buffer.address] = name
            used += size
        for column in table.columns:
            if _is_text(column.type):
                given = columns.get(column.name)
                arrays[column.name] = pa.array([] if given is None else given, column.type)
        batch = pa.record_batch([arrays[c.name] for c in table.columns], schema=table.schema)
        sink = _Sink(file, begins)
        with pa.PythonFile(sink, "w") as output, pa.ipc.new_file(output, table.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        del arrays, batch
    return [
        functools.partial(_fill, file.fileno(), numbers[name], offset, begin)
        for name, offset in sink.found.items()
        for begin in range(0, len(numbers[name]), _PIECES)
    ]


def _fill(file: int, values: NDArray[Any] | LazyColumn, offset: int, begin: int) -> None:
    for a in range(begin, min(begin + _PIECES, len(values)), PIECE):
        b = min(a + PIECE, len(values))
        part = values.part(a, b) if isinstance(values, LazyColumn) else values[a:b]
        data = np.ascontiguousarray(part).data.cast("B")
        at = offset + a * values.dtype.itemsize
        while data:
            done = os.pwrite(file, data, at)
            data = data[done:]
            at += done


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind))


def _numbers(values: Any, kind: pa.DataType) -> NDArray[Any] | LazyColumn:
    if isinstance(values, LazyColumn):
        assert values.dtype == kind.to_pandas_dtype()
        return values
    return np.asarray([] if values is None else values, kind.to_pandas_dtype())


class _Stretch:
    """Memory that is promised but never touched."""

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.buffer = pa.py_buffer(self._memory)

    def __enter__(self) -> _Stretch:
        return self

    def __exit__(self, *_: object) -> None:
        del self.buffer  # the last buffer of Arrow's that goes unmaps it


class _Sink:
    """A file for Arrow that leaves holes where the columns in ``begins`` (by address) belong; ``found`` says where."""

    closed = False

    def __init__(self, file: BinaryIO, begins: dict[int, str]) -> None:
        self._file, self._begins = file, begins
        self.found: dict[str, int] = {}

    def write(self, data: Any) -> None:
        name = self._begins.get(data.address) if isinstance(data, pa.Buffer) else None
        if name is None:
            self._file.write(data)
        else:
            self.found[name] = self._file.tell()
            self._file.seek(data.size, os.SEEK_CUR)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        pass

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
