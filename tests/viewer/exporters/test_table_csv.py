from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from viewer.exporters.table_csv import csv_bytes, write_csv


def test_cells_come_back_as_they_were() -> None:
    records = [["Name", "Sum (ns)"], ['void f<"x", 1>(\né)', "-12"], ["a,b", "1e-05"]]
    assert list(csv.reader(io.StringIO(csv_bytes(records).decode(), newline=""))) == records


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1"])
def test_nothing_from_a_trace_is_a_formula(cell: str) -> None:
    assert list(csv.reader(io.StringIO(csv_bytes([[cell]]).decode(), newline=""))) == [[f"'{cell}"]]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_csv(path, [["a"]])
    assert path.read_bytes() == b"a\r\n"
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        write_csv(folder, [["a"]])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "t.csv"]


def test_numbers_keep_their_hyphen_and_their_unit_and_formulas_are_still_made_harmless() -> None:
    cells = ["\u22121.5 %", "-3 ms", "+2.5 GB/s", "-1e-3", "-cmd", "-1+cmd|' /C calc'!A0", "+A1", "-1 %x"]
    assert csv_bytes([cells]).decode().strip() == ",".join(
        ["-1.5 %", "-3 ms", "+2.5 GB/s", "-1e-3", "'-cmd", "'-1+cmd|' /C calc'!A0", "'+A1", "'-1 %x"]
    )
