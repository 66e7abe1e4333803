from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from viewer.store import streamed
from viewer.store.streamed import StreamedColumns

TYPES = {"wide": np.int64, "small": np.uint8}


def add(columns: StreamedColumns, count: int) -> None:
    """Add rows that follow on from those before."""
    begin = columns.rows
    columns.reserve(begin + count)
    columns.rows += count
    columns.recent("wide", begin)[:] = np.arange(begin, begin + count)
    columns.recent("small", begin)[:] = np.arange(begin, begin + count) % 251


def check(columns: StreamedColumns, rows: int) -> None:
    assert columns.rows == rows
    np.testing.assert_array_equal(columns.column("wide"), np.arange(rows))
    np.testing.assert_array_equal(columns.column("small"), np.arange(rows) % 251)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "BLOCK_ROWS", 100)


@pytest.mark.parametrize("in_memory", [0, 5_000, 1 << 30])
def test_rows_are_what_was_added_wherever_they_lie(tmp_path: Path, small_blocks: None, in_memory: int) -> None:
    columns = StreamedColumns(TYPES, tmp_path, rows=10, in_memory=in_memory)
    for count in (0, 7, 3, 90, 1, 100, 101, 5_000, 2):
        add(columns, count)
    check(columns, 5_304)
    assert not list(tmp_path.iterdir()), "files have no names"
    add(columns, 250)  # it goes on after a look at all of them
    check(columns, 5_554)


def test_addresses_are_those_that_rows_would_have_in_one_piece(tmp_path: Path, small_blocks: None) -> None:
    columns = StreamedColumns(TYPES, tmp_path, rows=10, in_memory=0)
    for _ in range(20):
        add(columns, 90)
        begin = columns.rows - 90
        for address, (name, kind) in zip(columns.addresses.tolist(), TYPES.items(), strict=True):
            at = address + begin * np.dtype(kind).itemsize
            assert at == columns.recent(name, begin).ctypes.data
        assert columns.room - columns.rows <= 100, "what is in memory is bounded"


def test_what_is_changed_in_a_whole_column_stays_changed(tmp_path: Path, small_blocks: None) -> None:
    columns = StreamedColumns(TYPES, tmp_path, rows=10, in_memory=0)
    add(columns, 1_000)
    columns.column("wide")[5:990] += 1
    assert columns.column("wide")[[0, 5, 989, 990]].tolist() == [0, 6, 990, 990]


@pytest.mark.parametrize("first", [0, 50, 1_000])
@pytest.mark.parametrize("second", [0, 50, 1_000])
@pytest.mark.parametrize("in_memory", [0, 2_000, 1 << 30])
def test_columns_are_appended(tmp_path: Path, small_blocks: None, first: int, second: int, in_memory: int) -> None:
    one, two = (StreamedColumns(TYPES, tmp_path, rows=10, in_memory=in_memory) for _ in range(2))
    add(one, first)
    add(two, second)
    two.column("wide")[:] += first
    two.column("small")[:] = (np.arange(second) + first) % 251
    one.append(two)
    check(one, first + second)
    add(one, 77)
    check(one, first + second + 77)


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("appended", [False, True])
def test_a_full_disk_leaves_columns_in_memory(
    tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch, after: int, appended: bool
) -> None:
    real, calls = os.pwrite, []

    def full(file: int, data: memoryview, offset: int) -> int:
        calls.append(offset)
        if len(calls) > after:
            raise OSError(28, "No space left on device")
        return real(file, data, offset)

    other = StreamedColumns(TYPES, rows=10)
    add(other, 500)
    other.column("wide")[:] += 400
    other.column("small")[:] = (np.arange(500) + 400) % 251
    monkeypatch.setattr(os, "pwrite", full)
    columns = StreamedColumns(TYPES, tmp_path, rows=10, in_memory=0)
    for _ in range(4):
        add(columns, 100)
    if appended:
        columns.append(other)
    else:
        add(columns, 500)
    add(columns, 3)
    check(columns, 903)


def test_without_a_place_for_files_columns_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(_: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(streamed, "unnamed_file", no_file)
    columns = StreamedColumns(TYPES, tmp_path, rows=10, in_memory=0)
    add(columns, 1_000)
    check(columns, 1_000)
