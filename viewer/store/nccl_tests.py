"""Output of nccl-tests and rccl-tests: how fast each size went. Text as printed, or their JSON.

The text is read as ``all_reduce_perf`` and its siblings print it, old and new (with or without the columns of the
reduction and the root), also with lines of NCCL_DEBUG between and inside the rows. JSON is that of nccl-tests (``-J``)
and of rccl-tests (``-Z json``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from viewer.base.errors import InputError

MOST_BYTES: Final = 64 << 20
MOST_FILES: Final = 64
MOST_LINE: Final = 4_000
"""Characters of a line that are looked at; rows and heads are shorter."""
MOST_ROWS: Final = 100_000
_FORM: Final = "an output of nccl-tests (all_reduce_perf and its siblings), as text or JSON"

_PROGRAM: Final = re.compile(
    r"(?<![a-z])(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all_?v?2?|broadcast|sendrecv|reduce|gather|scatter)"
    r"(?![a-z])"
)
_NAMED: Final = re.compile(r"(?:Collective test starting:|[/\s\"'])\s*([a-z_0-9]+_perf)\b")
_RANK: Final = re.compile(
    r"#?\s*Rank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)"
)
_THREADS: Final = re.compile(r"#\s*nThread\s+(\d{1,9})\s+nGpus\s+(\d{1,9})")
_PREAMBLE: Final = re.compile(r"^\s*(\d{1,18})\s+(\d{1,18})\s+([a-z][a-z0-9_]*)\b(.*)$")
_LOGGED: Final = re.compile(r"[A-Za-z][\w.\-]*:\d+:\d+ \[\d+\] NCCL .*$")
"""What NCCL_DEBUG prints, also right behind a number of a row."""
_NUMBER: Final = re.compile(r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Measured:
    """One size: bytes, and per placement time in ns and bus bandwidth in decimal GB/s (None where not measured)."""

    bytes: int
    out_ns: float | None
    out_busbw: float | None
    in_ns: float | None
    in_busbw: float | None


@dataclass(frozen=True, slots=True)
class NcclTest:
    """One run: its members, hosts, the GPU's name, and the sizes in ascending order.

    ``kind`` is what the program is called ("all_reduce"; "" when nothing says it); ``members`` and ``hosts`` are None
    when the output does not state them.
    """

    source: str
    kind: str
    members: int | None
    hosts: int | None
    gpu: str
    rows: tuple[Measured, ...]


def read_nccl_tests(path: Path) -> list[NcclTest]:
    """The runs in a file, or in the files of a folder that hold any. Raises InputError."""
    try:
        if path.is_dir():
            return _folder(path)
        if path.exists() and not path.is_file():
            raise InputError(str(path), "the baseline is no regular file", next_step=f"Name {_FORM}.")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                str(path), f"the baseline is larger than {MOST_BYTES >> 20} MiB", next_step=f"Name {_FORM}."
            )
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            str(path),
            f"the baseline cannot be read: {error.strerror or error}",
            next_step="Correct its path on the job card.",
        ) from None
    found = parse_nccl_tests(data.decode("utf-8", "replace"), path.name)
    if not found:
        raise InputError(str(path), "the baseline holds no measured sizes", next_step=f"Name {_FORM}.")
    return found


def _folder(path: Path) -> list[NcclTest]:
    out: list[NcclTest] = []
    files = sorted(p for p in path.iterdir() if p.is_file() and p.stat().st_size <= MOST_BYTES)[:MOST_FILES]
    for file in files:
        out += parse_nccl_tests(file.read_bytes().decode("utf-8", "replace"), file.name)
    if not out:
        raise InputError(str(path), "no file of the baseline's folder holds measured sizes", next_step=f"Name {_FORM}.")
    return out


def parse_nccl_tests(text: str, source: str) -> list[NcclTest]:
    """The runs that a text holds; [] when it holds none.

    Args:
        text: what the program printed or wrote.
        source: the file's name; says the kind where the text does not.
    """
    if text.lstrip()[:1] in ("{", "["):
        return _json(text, source)
    runs: list[NcclTest] = []
    lines: list[str] = []
    for line in (whole[:MOST_LINE] for whole in text.splitlines()):
        head = ("nThread" in line and _THREADS.search(line)) or "Collective test starting" in line
        if head and any(_PREAMBLE.match(known) for known in lines):  # it begins with one of them, or with both
            runs += _run(lines, source)
            lines = []
        lines.append(line)
    return runs + _run(lines, source)


def _run(lines: list[str], source: str) -> list[NcclTest]:
    program, threads = "", None
    groups: dict[int, int] = {}
    hosts: set[str] = set()
    gpu = ""
    for line in lines:
        if not program and "_perf" in line and (named := _NAMED.search(line)):
            program = named[1].removesuffix("_perf")
        if "Pid" in line and (rank := _RANK.search(line)):
            groups[int(rank[2] or 0)] = groups.get(int(rank[2] or 0), 0) + 1
            hosts.add(rank[3])
            gpu = gpu or rank[4].strip()
        if threads is None and "nThread" in line and (found := _THREADS.search(line)):
            threads = int(found[1]) * int(found[2])
    rows: dict[int, Measured] = {}
    redop = ""
    for size, word, numbers in _rows(lines):
        row = _measured(size, numbers)
        if row is not None and size not in rows and len(rows) < MOST_ROWS:
            rows[size] = row
            redop = word
    if not rows:
        return []
    members = max(groups.values()) if groups else threads
    kind = program or _kind_of_file(source)
    ordered = tuple(rows[size] for size in sorted(rows))
    kind = kind or _kind_of_figures(ordered, redop, members)
    return [NcclTest(source, kind, members, len(hosts) or None, gpu, ordered)]


def _rows(lines: list[str]) -> Iterator[tuple[int, str, list[float | None]]]:
    """(bytes, reduction, the numbers behind the type) of each row, its pieces joined over lines of other programs."""
    waiting: tuple[int, str, list[float | None]] | None = None
    for raw in lines:
        line = _LOGGED.sub("", raw) if "NCCL" in raw else raw
        found = _PREAMBLE.match(line)
        if found:
            word, numbers = _words(found[4])
            if len(numbers) >= 8:
                yield int(found[1]), word, numbers
                waiting = None
            else:
                waiting = (int(found[1]), word, numbers)
        elif waiting is not None and line.strip() and all(_NUMBER.match(w) or w == "N/A" for w in line.split()):
            waiting[2].extend(_words(line)[1])
            if len(waiting[2]) >= 8:
                yield waiting
                waiting = None


def _words(text: str) -> tuple[str, list[float | None]]:
    """The reduction's name, and the numbers of a row's rest (None for N/A) up to the first word behind them."""
    word = ""
    numbers: list[float | None] = []
    for w in text.split():
        if _NUMBER.match(w):
            numbers.append(float(w))
        elif w == "N/A":
            numbers.append(None)
        elif not numbers:
            word = word or w
        else:
            break
    return word, numbers


def _measured(size: int, numbers: list[float | None]) -> Measured | None:
    """The last eight numbers are (time, algbw, busbw, errors) out of place and in place; a root may stand before."""
    numbers = numbers[-8:]
    if size <= 0 or len(numbers) < 8:
        return None
    return _sound(Measured(size, _us(numbers[0]), numbers[2], _us(numbers[4]), numbers[6]))


def _us(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(value) * 1000 if good else None


def _sound(row: Measured) -> Measured | None:
    return row if (row.out_ns is not None or row.in_ns is not None) else None


def _kind_of_file(name: str) -> str:
    found = _PROGRAM.search(re.sub(r"_perf|[.\s]", " ", name.lower().replace("-", "_")))
    return found[1] if found else ""


def _kind_of_figures(rows: tuple[Measured, ...], redop: str, members: int | None) -> str:
    """Which program it was, by what busbw is to algbw; "" where several fit."""
    largest = rows[-1]
    if members is None or members < 3 or not largest.out_ns or not largest.out_busbw:
        return ""
    factor = largest.out_busbw / (largest.bytes / largest.out_ns)
    reduces = redop not in ("", "none")
    if reduces and abs(factor - 2 * (members - 1) / members) < 0.05:
        return "all_reduce"
    return "reduce_scatter" if reduces and abs(factor - (members - 1) / members) < 0.02 else ""


# --- JSON


def _json(text: str, source: str) -> list[NcclTest]:
    try:
        data = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError):
        return []
    if isinstance(data, dict) and isinstance(data.get("results"), list):
        return _nccl_json(data, source)
    listed = data if isinstance(data, list) else data.get("data") if isinstance(data, dict) else None
    return _rccl_json(listed, source) if isinstance(listed, list) else []


def _nccl_json(data: dict[str, Any], source: str) -> list[NcclTest]:
    """What one file holds.

    {"args": [...], "config": {"devices": [{"rank", "group", "hostname", "device_info"}]}, "results": [{"size",
    "out_of_place": {"time", "bus_bw"}, "in_place": {..}}]}; times in us.
    """
    rows: dict[int, Measured] = {}
    for item in data["results"][:MOST_ROWS]:
        size = item.get("size") if isinstance(item, dict) else None
        if type(size) is int and size > 0:
            out, own = (item.get(k) if isinstance(item.get(k), dict) else {} for k in ("out_of_place", "in_place"))
            row = _sound(Measured(size, _us(out.get("time")), _bw(out), _us(own.get("time")), _bw(own)))
            if row is not None:
                rows.setdefault(size, row)
    if not rows:
        return []
    config = data.get("config")
    listed = config.get("devices") if isinstance(config, dict) else None
    devices = [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    groups: dict[Any, int] = {}
    for d in devices:
        groups[str(d.get("group", 0))] = groups.get(str(d.get("group", 0)), 0) + 1
    hosts = {str(d["hostname"]) for d in devices if d.get("hostname")}
    gpu = next((str(d["device_info"]).strip() for d in devices if d.get("device_info")), "")
    args = data.get("args")
    named = _NAMED.search(" " + str(args[0])) if isinstance(args, list) and args else None
    kind = named[1].removesuffix("_perf") if named else _kind_of_file(source)
    return [
        NcclTest(
            source,
            kind,
            max(groups.values()) if groups else None,
            len(hosts) or None,
            gpu,
            tuple(rows[s] for s in sorted(rows)),
        )
    ]


def _bw(part: dict[str, Any]) -> float | None:
    value = part.get("bus_bw")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _rccl_json(listed: list[Any], source: str) -> list[NcclTest]:
    """[{"name", "nodes", "ranks", "size", "inPlace": 0 or 1, "time": us, "busBw"}]: one entry per size, placement."""
    runs: dict[tuple[str, int | None, int | None], dict[int, dict[bool, tuple[float, float | None]]]] = {}
    for item in listed[:MOST_ROWS]:
        if not isinstance(item, dict):
            continue
        size, time = _whole(item.get("size")), _us(_real(item.get("time")))
        if not size or time is None:
            continue
        name = str(item.get("name") or "")
        kind = (_kind_of_file(name) if name else "") or _kind_of_file(source)
        key = (kind, _whole(item.get("ranks")), _whole(item.get("nodes")))
        inside = str(item.get("inPlace", 0)).lower() in ("1", "true")
        runs.setdefault(key, {}).setdefault(size, {}).setdefault(inside, (time, _real(item.get("busBw"))))
    out = []
    for (kind, members, hosts), sizes in runs.items():
        rows = []
        for size in sorted(sizes):
            apart, own = sizes[size].get(False, (None, None)), sizes[size].get(True, (None, None))
            rows.append(Measured(size, apart[0], apart[1], own[0], own[1]))
        out.append(NcclTest(source, kind, members, hosts, "", tuple(rows)))
    return out


def _real(value: Any) -> float | None:
    if isinstance(value, str) and _NUMBER.match(value.strip()):
        return float(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    number = _real(value)
    return int(number) if number is not None and math.isfinite(number) and number >= 1 else None
