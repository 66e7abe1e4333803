"""Allocator events read with the scan say what their text says, or are left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.viewer.importers.test_profiler_memory import memory
from tests.viewer.importers.texts import columns, open_one, write_json
from viewer.importers import profiler_memory
from viewer.importers.profiler_memory import _values
from viewer.jit.scan_load import PAD
from viewer.jit.scan_memory import KEY_SIZE, KEY_TEXT, MEMORY_COLUMNS, read_memory

KEYS = ["Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved", "Ev Idx", "bytes", "Byte", ""]
values = st.one_of(
    st.integers(-(1 << 64), 1 << 64),
    st.sampled_from([0, -1, (1 << 63) - 1, -(1 << 63), 1 << 63, 0.5, 16.0, None, True, "16", "0x1f", "", [1], {}]),
)
plain = st.dictionaries(st.sampled_from(KEYS), values).map(json.dumps)
ODD = [
    "01",
    "-0",
    "+1",
    "1.",
    "1e3",
    "1 2",
    "--1",
    "NaN",
    "tru",
    '"',
    '"a\\u0042"',
    "{",
    "]",
    ",",
    ": 1",
    '"Bytes": 3',
    "}",
]
pieces = st.one_of(st.sampled_from(ODD), st.sampled_from(KEYS).map(lambda k: f'"{k}": 7, '), st.just(", "))
broken = st.lists(pieces, max_size=6).map(lambda parts: "{" + "".join(parts) + "}")
joined = st.lists(
    st.tuples(st.sampled_from(KEYS), st.one_of(st.sampled_from(ODD), values.map(json.dumps))), max_size=6
).map(lambda pairs: "{" + ",".join(f'"{k}":{v}' for k, v in pairs) + "}")


def read(text: bytes) -> dict[str, list[int]] | None:
    """What the compiled loop reads of one object, None where it leaves it."""
    padded = np.zeros(len(text) + PAD, np.uint8)
    padded[: len(text)] = np.frombuffer(text, np.uint8)
    out = np.empty((len(MEMORY_COLUMNS), 1), np.int64)
    offsets, sizes, rows = np.zeros(1, np.int64), np.full(1, len(text), np.int32), np.zeros(1, np.int64)
    if not read_memory(padded.ctypes.data, offsets, sizes, rows, KEY_TEXT, KEY_SIZE, out):
        return None
    return {name: [int(v)] for name, v in zip(MEMORY_COLUMNS, out[:, 0], strict=True) if name != "row"}


@settings(deadline=None, max_examples=1_000)
@given(st.one_of(plain, broken, joined))
@example('{"Bytes": 1 "Addr": 2}')
@example('{"Bytes": 1,, "Addr": 2}')
@example('{"Bytes": 1, "Bytes": 2}')
@example('{ "Bytes" :\t-5 }')
@example('{"Bytes": 1}}')
@example('{"Bytes": 1, }')
@example('{"By\\u0074es": 1, "Addr": 2}')
def test_what_is_read_is_what_the_text_says(text: str) -> None:
    found = read(text.encode())
    assert found is None or found == {k: v.tolist() for k, v in _values(iter([text.encode()]), 1).items()}


def test_what_profilers_write_is_read_with_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: Any) -> Any:
        raise AssertionError("no text is read again")

    monkeypatch.setattr(profiler_memory, "_texts", no)
    for name in ("t.json", "t.json.gz"):
        events = [memory(i, 8 * (i + 1), 100 + i, i) for i in range(50)]
        trace = open_one(tmp_path, write_json(tmp_path / name, events, deviceProperties=[]))
        assert trace.tables["allocator_events"].size.tolist() == [8 * (i + 1) for i in range(50)]


def test_events_that_are_left_are_read_from_their_text(tmp_path: Path) -> None:
    sizes: list[Any] = [8, "16", 24, 32.0, 40]
    events = [memory(i, size, 100 + i, i) for i, size in enumerate(sizes)]
    events.insert(2, {"ph": "C", "name": "[memory]", "ts": 1, "pid": 1, "args": {"Bytes": 1}})  # no instant
    events.insert(0, {"ph": "M", "name": "[memory]", "pid": 1, "args": {"Bytes": 1}})
    built, scanned = columns(json.dumps(events))
    assert scanned.memory.rows == 5  # the three plain ones, and both that are none
    assert built.raw.allocations is not None
    assert built.raw.allocations.mark.tolist() == [0, 2, 4]
    trace = open_one(tmp_path, write_json(tmp_path / "t.json", events, deviceProperties=[]))
    assert trace.tables["allocator_events"].size.tolist() == [8, 16, 24, 32, 40]
