from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from viewer.store import growing
from viewer.store.growing import GrowingColumns, in_file

TYPES = {"wide": np.int64, "small": np.uint8}


def fill(columns: GrowingColumns, begin: int, end: int) -> None:
    columns.reserve(end)
    columns.rows = end
    columns.column("wide")[begin:end] = np.arange(begin, end)
    columns.column("small")[begin:end] = np.arange(begin, end) % 251


def check(columns: GrowingColumns, rows: int) -> None:
    assert columns.rows == rows
    np.testing.assert_array_equal(columns.column("wide"), np.arange(rows))
    np.testing.assert_array_equal(columns.column("small"), np.arange(rows) % 251)
    for address, name in zip(columns.addresses, TYPES, strict=True):
        assert address == columns.column(name).ctypes.data


@pytest.mark.parametrize("in_memory", [0, 40_000, 1 << 30])
def test_columns_keep_what_they_hold_when_they_grow_and_move_to_files(tmp_path: Path, in_memory: int) -> None:
    columns = GrowingColumns(TYPES, tmp_path, rows=1000, in_memory=in_memory)
    fill(columns, 0, 900)
    fill(columns, 900, 3000)
    fill(columns, 3000, 50_000)
    check(columns, 50_000)
    assert not list(tmp_path.iterdir())  # the files have no names


def test_a_view_that_is_still_held_is_no_obstacle() -> None:
    columns = GrowingColumns(TYPES, rows=10)
    fill(columns, 0, 10)
    held = columns.column("wide")
    fill(columns, 10, 5000)
    check(columns, 5000)
    assert held.tolist() == list(range(10))


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_full_disk_leaves_columns_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    real, calls = os.posix_fallocate, []

    def full(file: int, offset: int, size: int) -> None:
        calls.append(size)
        if len(calls) > after:
            raise OSError(28, "No space left on device")
        real(file, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    columns = GrowingColumns(TYPES, tmp_path, rows=100, in_memory=0)
    fill(columns, 0, 100)
    fill(columns, 100, 7000)
    check(columns, 7000)
    fill(columns, 7000, 70_000)
    check(columns, 70_000)


def test_columns_are_appended() -> None:
    first, second = GrowingColumns(TYPES, rows=10), GrowingColumns(TYPES, rows=10)
    fill(first, 0, 7)
    fill(second, 0, 5)
    second.column("wide")[:] += 7
    second.column("small")[:] += 7
    first.append(second)
    check(first, 12)


def test_large_arrays_wait_in_files_and_small_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = np.arange(600_000, dtype=np.int64).reshape(2, -1)[:, ::2]
    held = in_file(large, tmp_path)
    np.testing.assert_array_equal(held, large)
    assert held.dtype == large.dtype
    assert not held.flags.writeable, "mapped from a file"
    assert list(tmp_path.iterdir()) == [], "which has no name"
    small = np.arange(10)
    assert in_file(small, tmp_path) is small

    def full(_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(growing, "unnamed_file", full)
    assert in_file(large, tmp_path) is large
