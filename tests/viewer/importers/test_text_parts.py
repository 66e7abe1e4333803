from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewer.base.errors import Cancelled
from viewer.importers.columns import build
from viewer.importers.event_scan import EventScan
from viewer.importers.opening import JobOpener
from viewer.importers.scanned import Scanned
from viewer.importers.source import open_text
from viewer.importers.text_parts import TextParts
from viewer.importers.window import TextWindow
from viewer.store.assemble import assemble
from viewer.store.cache import Cache
from viewer.store.rules import shipped_rules

# Strings in which a border between events seems to stand.
DECOYS = ['}, {"ph": "X"', '\\"}, {\\"name\\":', '"}, {"ts": 1}, {"ph":', "plain", "é\u2028", "}]}"]
names = st.sampled_from([*DECOYS, "a", "b"])
ids = st.one_of(st.integers(0, 3), st.sampled_from(["t", "u", str(2**63)]))
event = st.fixed_dictionaries(
    {"ph": st.sampled_from("XXXXXiBEsfCM"), "name": names, "ts": st.integers(0, 50), "pid": ids, "tid": ids},
    optional={
        "dur": st.integers(-1, 30),
        "cat": st.sampled_from(["kernel", "cpu_op", "}, {"]),
        "id": ids,
        "args": st.fixed_dictionaries(
            {},
            optional={
                "note": names,
                "correlation": ids,
                "stream": st.integers(0, 2),
                "Collective name": names,
                "Process Group Name": names,
                "value": st.integers(0, 9),
            },
        ),
    },
)
ODD = [b"{}", b"7", b'{"ph": "X"}', b'{"ph": "X", "name": "a"b", "ts": 1, "dur": 1}', b'{"ph": "X" "ts": 1}', b"{]"]


def _text(events: list[Any], odd: list[tuple[int, bytes]], array: bool, cut: int, comma: bytes) -> bytes:
    parts = [json.dumps(e, ensure_ascii=False).encode() for e in events]
    for place, text in odd:
        parts.insert(place, text)
    text = b"[" + comma.join(parts) + b"]"
    if not array:
        text = b'{"displayTimeUnit": "ns", "traceEvents": ' + text + b', "end": {"traceEvents": 1}}'
    return text[: len(text) - cut] if cut > 20 else text


texts = st.builds(
    _text,
    st.lists(event, min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(ODD)), max_size=2),
    st.booleans(),
    st.integers(0, 40),
    st.sampled_from([b",", b" ,\n  "]),
)


def _alone(path: Path, chunk: int) -> Scanned:
    stream, _ = open_text(path)
    try:
        return EventScan(TextWindow(stream, chunk)).run()
    finally:
        stream.close()


def _content(scanned: Scanned) -> dict[str, Any]:
    """Everything that comes out of a scan, and the tables."""
    what: dict[str, Any] = {k: getattr(scanned, k) for k in ("top", "complete", "stopped", "stopped_at", "notes")}
    what |= {k: getattr(scanned, k) for k in ("has_events", "is_array", "text_bytes")}
    built = build(scanned, shipped_rules())
    tables = assemble(built.raw, shipped_rules())
    what["tables"] = {
        (table, name): values if isinstance(values, list) else np.asarray(values).tolist()
        for table, columns in tables.items()
        for name, values in columns.items()
    }
    return what | {"ledger": scanned.ledger, "mended": scanned.mended_at, "findings": built.findings}


def _parts(path: Path, parts: int, chunk: int) -> TextParts:
    return TextParts(path, path.stat().st_size, parts, lambda *_: None, chunk=chunk, least=1)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, st.integers(2, 5), st.sampled_from([256, 1 << 16]))
def test_several_threads_read_what_one_reads(tmp_path: Path, text: bytes, count: int, chunk: int) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(text)
    parts = _parts(path, count, chunk)
    if parts.worth_it:
        scanned, damage = parts.run()
        assert not damage
        assert _content(scanned) == _content(_alone(path, chunk))


def _event(i: int, name: str = "k") -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": i, "dur": 1, "pid": 1, "tid": 1}


def test_a_border_inside_a_string_is_no_border(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    text = b'[{"ph": "X", "ts": 0, "dur": 1, "args": {"a": [' + b'{"x": 1}, {"ph": 1},' * 300 + b'{"x": 1}]}}]'
    path.write_bytes(text)
    parts = _parts(path, 2, 1 << 16)
    assert parts.worth_it
    scanned, _ = parts.run()
    assert scanned.slices.rows == 1
    assert _content(scanned) == _content(_alone(path, 1 << 16))


def test_parts_are_joined_where_they_meet(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [_event(i, f"n{i % 7}") for i in range(1000)], "z": 1}))
    parts = _parts(path, 4, 1 << 16)
    scanned, _ = parts.run()
    assert parts.joined == 3
    assert scanned.slices.column("start_ns").tolist() == [1000 * i for i in range(1000)]
    assert _content(scanned) == _content(_alone(path, 1 << 16))


def test_a_stop_ends_all_parts(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([_event(i) for i in range(1000)]))

    def stop(done: int, events: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        TextParts(path, path.stat().st_size, 3, stop, chunk=256, least=1).run()


def test_a_large_file_opened_alone_is_read_by_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.importers.text_parts.LEAST", 1000)
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps({"traceEvents": [_event(i) for i in range(500)]}))
    opened = [
        JobOpener([path], cache=Cache(tmp_path / f"cache{n}"), workers=n).open().session.inputs[0].trace for n in (1, 3)
    ]
    for name in ("start_ns", "name", "args_off"):
        assert getattr(opened[0].slices, name).tolist() == getattr(opened[1].slices, name).tolist()


def test_of_equally_frequent_reasons_the_first_in_the_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many threads read it."""
    from viewer.base.errors import InputError
    from viewer.importers import text_parts

    monkeypatch.setattr(text_parts, "LEAST", 300)
    path = tmp_path / "rank0.json"
    first = b'  {"tid": 1, "ph": "' + b"n" * 420 + b'", "pid": 0, "name": "alpha", "ts": 0, "dur": 10},\n'
    path.write_bytes(b"[\n" + first + b'  {"tid": 1"FEE" "ph": "B", "name": "beta"-nan(ind) "ts": 1},\n  {"tid": 1, "p')
    told = []
    for workers in (1, 2):
        monkeypatch.setattr("os.cpu_count", lambda n=workers: n)
        result = JobOpener([path], cache=Cache(tmp_path / str(workers)), workers=workers).open(lambda _: None)
        told.append([f.sentence() for f in result.failures])
    assert told[0] == told[1]
    assert "at byte 4" in told[0][0]
    assert isinstance(result.failures[0], InputError)
