"""Logs of figures over time: CSV and TSV with a header, JSON lines, and text lines of "name: value" pairs.

No trace: what comes out is series of numbers by name. Nothing of a file is executed; lines and names are bounded.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from viewer.base.errors import InputError
from viewer.base.run_record import LARGEST

MOST_LINE: Final = 1 << 16
MOST_LINES: Final = 20_000_000
MOST_SERIES: Final = 500
MOST_NAME: Final = 120
_TIME_NAMES: Final = re.compile(r"^(?:wall[ _-]?)?(?:time[ _-]?stamp|time|date(?:[ _-]?time)?|ts|when|epoch_s)$", re.I)
_STAMP: Final = re.compile(r"(\d{4}[-/]\d{2}[-/]\d{2}[ T]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)")
_PAIR: Final = re.compile(
    r"(?:^|[|,;\[\]{}]|\s{2,}|\s-\s|(?<=\s))\s*([A-Za-z_][\w ()/%.\-]{0,80}?)\s*[:=]\s*"
    r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w:/-])"
)


@dataclass(slots=True)
class Series:
    """Numbers of one name in the order of the file.

    ``times`` are seconds since 1970 (or of the file's own clock), one per value; None when the file has none.
    """

    name: str
    values: list[float] = field(default_factory=list)
    times: list[float] | None = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MetricLog:
    """The series of a log by name.

    ``lines`` were read, of which ``used`` held figures; ``unordered`` went back in time and are left out.
    """

    kind: str
    series: dict[str, Series]
    lines: int
    used: int
    unordered: int = 0


def read_metric_log(path: Path) -> MetricLog:
    """Read a log. Raises InputError when it cannot be read or holds no figures."""
    try:
        if path.exists() and not path.is_file():  # a pipe without an end, a device
            raise InputError(str(path), "is no regular file", "", "Copy its content into a file first.")
        with path.open("r", encoding="utf-8-sig", errors="replace", newline="") as file:
            head = file.read(1 << 16)
            file.seek(0)
            kind, delimiter = _kind(head)
            reader = _Reader(kind)
            if kind == "JSON lines":
                reader.json(_lines(file))
            elif kind == "text":
                reader.text(_lines(file))
            else:
                reader.table(csv.reader(_lines(file), delimiter=delimiter))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from None
    except csv.Error as error:
        raise InputError(str(path), f"is no table: {error}") from None
    if not any(series.values for series in reader.series.values()):
        step = "Give CSV with a header, JSON lines, or lines of name: value."
        raise InputError(str(path), "holds no figures over time", "", step)
    return reader.done()


def _lines(file: Any) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE), "")):
        if number >= MOST_LINES:
            return
        yield line


def _kind(head: str) -> tuple[str, str]:
    first = next((line for line in head.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "JSON lines", ""
    for delimiter in ("\t", ",", ";"):
        cells = first.split(delimiter)
        named = [c for c in cells if c.strip() and not _number_text(c) and ":" not in c and "=" not in c]
        if len(cells) > 1 and len(named) == len(cells) and len(head.splitlines()) > 1:
            return "table", delimiter
    return "text", ""


def _number_text(text: str) -> bool:
    return _number(text) is not None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None


def time_of(value: object) -> float | None:
    """A time as seconds: ISO 8601 text, or a number of s, ms, us or ns since 1970 by its size; None for neither."""
    number = _number(value)
    if number is not None:
        size = abs(number)
        for limit, scale in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
            if size >= limit:
                return number / scale
        return number
    match = _STAMP.search(value) if isinstance(value, str) else None
    if match is None:
        return None
    text = match[1].replace("/", "-").replace(",", ".").replace("Z", "+00:00")
    if "." in text:  # the parser takes 3 or 6 digits
        text = re.sub(r"\.(\d+)", lambda m: "." + m[1][:6].ljust(6, "0"), text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()


class _Reader:
    """Collects values line by line."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.series: dict[str, Series] = {}
        self._lines = self._used = self._unordered = 0
        self._latest = -math.inf

    def done(self) -> MetricLog:
        found = {}
        for name, series in self.series.items():
            if series.times is not None and len(series.times) != len(series.values):
                series.times = None
            if series.values:
                found[name] = series
        return MetricLog(self._kind, found, self._lines, self._used, self._unordered)

    def table(self, rows: Iterator[list[str]]) -> None:
        header = [cell.strip()[:MOST_NAME] for cell in next(rows, [])][: MOST_SERIES + 8]
        clock = next((i for i, name in enumerate(header) if _TIME_NAMES.match(name)), None)
        for row in rows:
            self._lines += 1
            time = time_of(row[clock]) if clock is not None and clock < len(row) else None
            pairs = [
                (name, number)
                for i, (name, cell) in enumerate(zip(header, row, strict=False))
                if i != clock and (number := _number(cell)) is not None
            ]
            self._take(pairs, time)

    def json(self, lines: Iterator[str]) -> None:
        for line in lines:
            self._lines += 1
            try:
                raw = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(raw, dict):
                continue
            clock = next((k for k in raw if _TIME_NAMES.match(k)), None)
            pairs = [(k[:MOST_NAME], n) for k, v in raw.items() if k != clock and (n := _json_number(v)) is not None]
            self._take(pairs, time_of(raw[clock]) if clock is not None else None)

    def text(self, lines: Iterator[str]) -> None:
        for line in lines:
            self._lines += 1
            stamp = _STAMP.search(line)
            rest = line if stamp is None else line[: stamp.start()] + " | " + line[stamp.end() :]
            pairs = []
            for match in _PAIR.finditer(rest):
                number = _number(match[2])
                if number is not None:
                    pairs.append((" ".join(match[1].split())[:MOST_NAME], number))
            self._take(pairs, None if stamp is None else time_of(stamp[1]))

    def _take(self, pairs: list[tuple[str, float]], time: float | None) -> None:
        if not pairs:
            return
        if time is not None:
            if time < self._latest:
                self._unordered += 1
                return
            self._latest = time
        self._used += 1
        seen = set()
        for name, number in pairs:
            if name in seen or (name not in self.series and len(self.series) >= MOST_SERIES):
                continue
            seen.add(name)
            series = self.series.setdefault(name, Series(name))
            series.values.append(number)
            if time is not None and series.times is not None:
                series.times.append(time)


def _json_number(value: object) -> float | None:
    return None if isinstance(value, str) else _number(value)
