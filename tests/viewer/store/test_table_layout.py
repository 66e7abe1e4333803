from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewer.store.files import columns_in_memory, open_table, write_tables
from viewer.store.lazy import PIECE, LazyColumn, taken
from viewer.store.schema import TABLES, Table


def values(table: Table, rows: int) -> dict[str, Any]:
    """Something in every column: numbers as arrays or made piece by piece, texts as lists."""
    columns: dict[str, Any] = {}
    for i, column in enumerate(table.columns):
        if pa.types.is_large_string(column.type):
            columns[column.name] = [f"{column.name} é {k}" for k in range(rows)]
            continue
        numbers = (np.arange(rows) * (i + 3) % 250).astype(column.type.to_pandas_dtype())
        backwards = np.arange(rows, dtype=np.int32)[::-1].copy()
        columns[column.name] = taken(numbers, backwards) if i % 2 else numbers
    return columns


@pytest.mark.parametrize(("rows", "workers"), [(0, 1), (1, 2), (1000, 1), (2 * PIECE + 7, 3)])
def test_files_are_those_that_arrow_writes_in_one_go(tmp_path: Path, rows: int, workers: int) -> None:
    tables = {t.name: values(t, rows if t.name in ("slices", "lanes", "marks") else min(rows, 9)) for t in TABLES}
    write_tables(tmp_path, tables, workers)
    for table in TABLES:
        whole = [
            pa.array(np.asarray(v) if isinstance(v, LazyColumn) else v, c.type)
            for c, v in zip(table.columns, tables[table.name].values(), strict=True)
        ]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_batch(pa.record_batch(whole, schema=table.schema))
        assert (tmp_path / f"{table.name}.arrow").read_bytes() == sink.getvalue().to_pybytes()
        assert len(open_table(tmp_path, table)) == len(columns_in_memory(table, tables[table.name]))


def test_a_table_that_is_missing_has_no_rows(tmp_path: Path) -> None:
    write_tables(tmp_path, {})
    assert [len(open_table(tmp_path, table)) for table in TABLES] == [0] * len(TABLES)
