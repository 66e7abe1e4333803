"""Tables as memory-mapped Arrow IPC files in one folder, and back to numpy without a copy."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from viewer.store.assemble import Tables
from viewer.store.lazy import LazyColumn
from viewer.store.meta import TraceMeta
from viewer.store.schema import TABLES, Table
from viewer.store.table_layout import laid_out


def write_tables(folder: Path, tables: Tables, workers: int = 1) -> None:
    """Write every table of the schema into ``folder``; a table that is missing or empty gets no rows.

    Columns are written piece by piece, several at a time with several ``workers``. Raises OSError.
    """
    jobs: list[Callable[[], None]] = []
    with contextlib.ExitStack() as files:
        for table in TABLES:
            file = files.enter_context((folder / f"{table.name}.arrow").open("wb"))
            jobs += laid_out(file, table, tables.get(table.name) or {})
        if workers == 1:
            for job in jobs:
                job()
            return
        with ThreadPoolExecutor(workers, "write") as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()


def _batch(table: Table, columns: dict[str, Any]) -> pa.RecordBatch:
    arrays = []
    for column in table.columns:
        values = columns.get(column.name)
        if isinstance(values, LazyColumn):
            values = np.asarray(values)
        arrays.append(pa.array([] if values is None else values, column.type))
    return pa.record_batch(arrays, schema=table.schema)


def folder_bytes(folder: Path | None) -> int | None:
    """Bytes of the files of a trace folder; None when there is no folder."""
    try:
        return None if folder is None else sum(f.stat().st_size for f in folder.iterdir())
    except OSError:
        return None


def write_meta(folder: Path, meta: TraceMeta) -> None:
    """Write meta.json; written last, its presence marks the folder as complete."""
    (folder / "meta.json").write_bytes(encode_meta(meta))


def read_meta(folder: Path) -> TraceMeta:
    """Read meta.json; raises OSError or msgspec.DecodeError on a damaged folder."""
    return decode_meta((folder / "meta.json").read_bytes())


def decode_meta(data: bytes) -> TraceMeta:
    """The content of a meta.json. Raises msgspec.DecodeError, UnicodeDecodeError."""
    if b"\\ud" in data:  # lone surrogates, see write_meta
        try:
            return msgspec.convert(json.loads(data), TraceMeta)
        except (ValueError, RecursionError) as error:
            raise msgspec.DecodeError(str(error)) from None
    return msgspec.json.decode(data, type=TraceMeta)


def encode_meta(meta: TraceMeta) -> bytes:
    """What :func:`decode_meta` reads."""
    try:
        return msgspec.json.format(msgspec.json.encode(meta), indent=1)
    except UnicodeEncodeError:  # a path whose bytes are no UTF-8
        return json.dumps(msgspec.to_builtins(meta), indent=1).encode()


class Columns:
    """Columns of one mapped table as attributes: numpy views on the file (read-only), or Arrow arrays for text."""

    def __init__(self, table: Table, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.length: int = batch.num_rows
        for i, column in enumerate(table.columns):
            array = batch.column(i)
            if pa.types.is_large_string(column.type):
                setattr(self, column.name, array)
            else:
                setattr(self, column.name, array.to_numpy(zero_copy_only=True))

    def __len__(self) -> int:
        return self.length

    def replace(self, name: str, values: Any) -> None:
        """Put other values in a column's place, in memory only."""
        setattr(self, name, values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def open_table(folder: Path, table: Table) -> Columns:
    """Map one table. Raises OSError or pa.ArrowInvalid when the file is missing, damaged or of another schema."""
    return read_table(pa.memory_map(str(folder / f"{table.name}.arrow"), "r"), table)


def read_table(source: Any, table: Table) -> Columns:
    """One table from a mapped file or a buffer. Raises pa.ArrowInvalid when it is damaged or of another schema."""
    reader = pa.ipc.open_file(source)
    if not reader.schema.equals(table.schema):
        raise pa.ArrowInvalid(f"{table.name}.arrow has another schema")
    return Columns(table, reader.get_batch(0))


def columns_in_memory(table: Table, columns: dict[str, Any]) -> Columns:
    """The same as :func:`open_table` for columns that were never written (tests, read-only homes)."""
    return Columns(
        table,
        _batch(table, {k: np.ascontiguousarray(v) if isinstance(v, np.ndarray) else v for k, v in columns.items()}),
    )
