from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.test_text_parts import _content, _event, texts
from tests.viewer.importers.texts import BytesStream
from viewer.base.errors import Cancelled
from viewer.importers.event_scan import EventScan
from viewer.importers.opening import JobOpener
from viewer.importers.scanned import Scanned
from viewer.importers.stream_parts import StreamParts
from viewer.importers.window import TextWindow
from viewer.store.cache import Cache


class _Args:
    """Args text that was handed on."""

    def __init__(self) -> None:
        self.text = bytearray()

    def __call__(self, text: memoryview) -> None:
        self.text += text


def _args_of(scanned: Scanned, sunk: _Args) -> list[list[bytes]]:
    """The args text of every row; offsets are made 0, as they depend on how the text was cut."""
    found = []
    for columns in (scanned.slices, scanned.marks):
        offsets, sizes = columns.column("args_off"), columns.column("args_len")
        found.append([bytes(sunk.text[o : o + n]) for o, n in zip(offsets.tolist(), sizes.tolist(), strict=True)])
        offsets[sizes > 0] = 0
    return found


def _all_of(scanned: Scanned, sunk: _Args) -> dict[str, Any]:
    args = _args_of(scanned, sunk)
    return _content(scanned) | {"args": args}


def _alone(text: bytes, chunk: int = 1 << 16) -> dict[str, Any]:
    sunk = _Args()
    return _all_of(EventScan(TextWindow(BytesStream(text, 1 << 20), chunk), sunk).run(), sunk)


def _parts(text: bytes, threads: int, stretch: int, piece: int = 100, tell: Any = lambda _: None) -> Any:
    sunk = _Args()
    return StreamParts(BytesStream(text, piece), threads, sunk, tell, stretch=stretch), sunk


@settings(deadline=None, max_examples=300)
@given(texts, st.integers(1, 3), st.sampled_from([64, 300, 1000, 1 << 16]), st.sampled_from([7, 100, 1 << 16]))
def test_several_threads_read_what_one_reads(text: bytes, threads: int, stretch: int, piece: int) -> None:
    parts, sunk = _parts(text, threads, stretch, piece)
    assert _all_of(parts.run(), sunk) == _alone(text)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_stretches_are_joined_where_they_meet(threads: int) -> None:
    events = [_event(i, f"n{i % 7}") | {"args": {"i": i, "correlation": i, "s": f"t{i}"}} for i in range(2000)]
    text = json.dumps({"a": 1, "traceEvents": events, "z": 1}).encode()
    parts, sunk = _parts(text, threads, 5000)
    scanned = parts.run()
    assert parts.joined > 10
    assert scanned.slices.column("start_ns").tolist() == [1000 * i for i in range(2000)]
    assert _all_of(scanned, sunk) == _alone(text)


def test_a_border_inside_a_string_is_no_border() -> None:
    inner = b'{"x": 1}, {"ph": 1},' * 300 + b'{"x": 1}]}}'
    text = b'[{"ph": "X", "ts": 0, "dur": 1, "args": {"a": [' + inner + b"]"
    parts, sunk = _parts(text, 2, 1000)
    scanned = parts.run()
    assert scanned.slices.rows == 1
    assert parts.joined == 0
    assert _all_of(scanned, sunk) == _alone(text)


def test_what_lies_behind_a_wrong_border_is_read_ahead_again() -> None:
    plain = [json.dumps(_event(i)).encode() for i in range(300)]
    nested = b'{"ph": "X", "ts": 0, "dur": 1, "args": {"a": [' + b'{"x": 1}, {"ph": 1},' * 300 + b'{"x": 1}]}}'
    text = b"[" + b", ".join([*plain, nested, *plain]) + b"]"
    parts, sunk = _parts(text, 2, 2000)
    scanned = parts.run()
    assert scanned.slices.rows == 601
    assert parts.joined > 12  # of both halves
    assert _all_of(scanned, sunk) == _alone(text)


def test_a_last_stretch_that_was_read_too_early_is_read_again_as_it_was() -> None:
    """The one before it ends inside an event, while the last one has long come to the end of the text."""
    first = b'["ph": "X", "cat": "fo "f", "ts": 0, "dur".. 2, "args": {"a": 0, "b": 1}}, '
    rest = b'{"ph": "X", "cat": "ba"d", "ts": 0, "dur": 2, "args": {"a": 0}}, {"ph": "X", "name": "forwa'
    alone = _alone(first + rest)
    for _ in range(30):
        parts, sunk = _parts(first + rest, 3, 140)
        assert _all_of(parts.run(), sunk) == alone


@pytest.mark.parametrize("space", [0, 200, 900, 1500, 5000])
@pytest.mark.parametrize("array", [True, False])
def test_white_space_longer_than_a_stretch_hides_no_bracket(space: int, array: bool) -> None:
    events = json.dumps([_event(i) for i in range(40)]).encode()
    text = b" " * space + (events if array else b'{"traceEvents": ' + events + b"}")
    parts, sunk = _parts(text, 3, 300)
    scanned = parts.run()
    assert parts.joined > 1
    assert (scanned.complete, scanned.is_array) == (True, array)
    assert _all_of(scanned, sunk) == _alone(text)


def test_a_text_without_borders_is_read_by_one() -> None:
    text = b"[" + b", ".join(b'{"odd": 1, "ph": "X", "ts": %d, "dur": 1}' % i for i in range(1000)) + b"]"
    parts, sunk = _parts(text, 2, 1000)
    scanned = parts.run()
    assert scanned.slices.rows == 1000
    assert parts.joined == 0
    assert _all_of(scanned, sunk) == _alone(text)


def test_an_event_longer_than_many_stretches() -> None:
    long = _event(0) | {"args": {"text": "x" * 50_000}}
    text = json.dumps([_event(1), long, *[_event(i) for i in range(200)]]).encode()
    parts, sunk = _parts(text, 2, 1000)
    assert _all_of(parts.run(), sunk) == _alone(text)


@pytest.mark.parametrize("text", [b"", b"7", b"[", b"[]", b"{}", b'{"traceEvents": [', b"\xef\xbb\xbf[{}]"])
def test_hardly_any_text(text: bytes) -> None:
    parts, sunk = _parts(text, 2, 64)
    assert _all_of(parts.run(), sunk) == _alone(text)


def test_broken_events_are_mended_as_by_one() -> None:
    """How hard is tried depends on how many were given up before."""
    odd = [b'{"ph": "X", "name": "a"b", "ts": 1, "dur": 1}', b'{"ph": "X" "ts": 1}', b'{]"']
    events = [odd[i // 10 % 3] if i % 10 == 9 else json.dumps(_event(i)).encode() for i in range(400)]
    text = b"[" + b", ".join(events) + b"]"
    parts, sunk = _parts(text, 2, 1500)
    assert _all_of(parts.run(), sunk) == _alone(text)
    assert parts.joined > 5


def test_a_stop_ends_all_threads() -> None:
    text = json.dumps([_event(i) for i in range(1000)]).encode()

    def stop(events: int) -> None:
        raise Cancelled

    before = threading.active_count()
    with pytest.raises(Cancelled):
        _parts(text, 3, 500, tell=stop)[0].run()
    assert threading.active_count() == before


def test_progress_counts_every_event_once() -> None:
    text = json.dumps([_event(i) for i in range(1000)]).encode()
    told: list[int] = []
    _parts(text, 1, 500, tell=told.append)[0].run()
    assert told[-1] == 1000
    assert max(told) == 1000


def test_a_compressed_file_opened_alone_is_read_by_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.importers.stream_parts.STRETCH", 2000)
    path = tmp_path / "rank0.json.gz"
    events = [_event(i, f"n{i % 7}") | {"args": {"i": i}} for i in range(500)]
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    alone, together = (
        JobOpener([path], cache=Cache(tmp_path / f"cache{n}"), workers=n).open().session.inputs[0].trace for n in (1, 3)
    )
    for name in ("start_ns", "name", "args_len"):
        np.testing.assert_array_equal(getattr(alone.slices, name), getattr(together.slices, name))
    assert alone.meta.ledger == together.meta.ledger
    assert [together.args(i) for i in (0, 250, 499)] == [{"i": i} for i in (0, 250, 499)]


def test_a_value_that_ends_with_the_text_is_told_as_by_one() -> None:
    text = b'{"a": 1, "distributedInfo": {"rank": 0}'
    parts, sunk = _parts(text, 2, 300)
    scanned = parts.run()
    assert "before its closing bracket" in scanned.stopped
    assert _all_of(scanned, sunk) == _alone(text)
