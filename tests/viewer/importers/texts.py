"""Texts for the importer's tests: scanned from memory, written to files."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from viewer.base.errors import InputError
from viewer.importers.columns import Built, build
from viewer.importers.event_scan import EventScan, Scanned
from viewer.importers.opening import JobOpener, OpenResult
from viewer.importers.window import TextWindow
from viewer.store.cache import Cache
from viewer.store.rules import shipped_rules
from viewer.store.trace import Trace


class BytesStream:
    """A text from memory in pieces of a size."""

    def __init__(self, text: bytes, piece: int) -> None:
        self._text, self._piece = text, piece
        self.position = 0
        self.damage = ""
        self.behind = False

    def read_into(self, room: memoryview) -> int:
        part = self._text[self.position : self.position + min(self._piece, len(room))]
        room[: len(part)] = part
        self.position += len(part)
        return len(part)

    def close(self) -> None:
        pass


def scan(text: bytes | str, piece: int = 1 << 20, chunk: int = 1 << 20) -> Scanned:
    """Scan a text; ``chunk`` is the size of the window."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return EventScan(TextWindow(BytesStream(raw, piece), chunk)).run()


def columns(text: bytes | str, piece: int = 1 << 20, chunk: int = 1 << 20) -> tuple[Built, Scanned]:
    """Scan a text and build its raw columns."""
    scanned = scan(text, piece, chunk)
    return build(scanned, shipped_rules()), scanned


def kernel(name: str = "k", ts: object = 1, dur: object = 1, **args: Any) -> dict[str, Any]:
    """A kernel event."""
    given = {"device": 0, "stream": 7, **args}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": given}


def write_json(path: Path, events: list[Any], **top: Any) -> Path:
    """A trace file; compressed when the name ends in .gz."""
    text = json.dumps({**top, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def open_job(tmp_path: Path, *paths: Path | str, **options: Any) -> OpenResult:
    """Open with a cache below ``tmp_path``."""
    return JobOpener([Path(p) for p in paths], cache=Cache(tmp_path / "cache"), **options).open()


def open_one(tmp_path: Path, path: Path) -> Trace:
    """The trace of a file that must open."""
    result = open_job(tmp_path, path)
    assert not result.failures
    return result.session.inputs[0].trace


def problem(tmp_path: Path, path: Path) -> InputError:
    """The error of a file that must not open."""
    result = open_job(tmp_path, path)
    assert not result.session.inputs
    (error,) = result.failures
    return error


def exact_ns(value: Any) -> int:
    """Microseconds as json gives them (Decimal or int) to ns; fails when it is no whole number of them."""
    ns = Decimal(value) * 1000
    assert ns == int(ns)
    return int(ns)


def loads_exactly(text: bytes) -> Any:
    """The whole file by Python's json with exact numbers."""
    return json.loads(text, parse_float=Decimal)
