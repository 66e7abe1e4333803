"""A table as comma-separated values (RFC 4180, UTF-8)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from viewer.base.units import plain_signs
from viewer.store.small_file import write_whole

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*(e[+-]?[0-9]+)?( ?%| [A-Za-z]{1,6}(/s)?)?")
"""With a unit or without one; never anything that a spreadsheet would look up or call."""


def csv_bytes(records: Iterable[Sequence[str]]) -> bytes:
    """Records as bytes. Texts that a spreadsheet would run as a formula get an apostrophe before them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for record in records:
        writer.writerow([_harmless(plain_signs(cell)) for cell in record])
    return out.getvalue().encode("utf-8", "replace")


def _harmless(cell: str) -> str:
    if not cell.startswith(_FORMULA):
        return cell
    return cell if _NUMBER.fullmatch(cell) else f"'{cell}"


def write_csv(path: Path, records: Iterable[Sequence[str]]) -> None:
    """Write a table in one piece; raises OSError and leaves an older file as it was."""
    write_whole(path, csv_bytes(records))
