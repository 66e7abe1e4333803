"""What args record is numbered while they are read: the same as decoding every args object by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.texts import columns, open_one, write_json
from viewer.base.ids import NOTHING_RECORDED, UNREAD
from viewer.importers import recorded as numbering
from viewer.jit.scan_recorded import LONGEST_RECORDED, RECORDED_FIELDS
from viewer.store.recorded import numbered

ODD = ["", '"', '\\"grid": [9]', '{"grid": [9]}', ', "block": 7,', "}", "[", "é\u2028", "grid", "Input Dims"]
KEYS = st.sampled_from([*RECORDED_FIELDS, *RECORDED_FIELDS, "blocks per SM", "Input Strides", "stream", *ODD])
VALUES = st.recursive(
    st.none() | st.integers(-3, 2**40) | st.booleans() | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=8,
)
CATS = st.sampled_from(["cpu_op", "kernel", "Kernel", "gpu_memcpy", "cuda_runtime", ""])


def _event(cat: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": "n", "pid": 1, "tid": 2, "ts": 5, "dur": 1, "args": args, **more}


def _fields(args: dict[str, Any]) -> dict[str, Any]:
    return {key: args[key] for key in RECORDED_FIELDS if key in args}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(CATS, st.dictionaries(KEYS, VALUES, max_size=6)), max_size=8), st.data())
def test_numbers_stand_for_what_each_object_says(made: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    indent = data.draw(st.sampled_from([None, 1, 70]))
    separators = data.draw(st.sampled_from([None, (",", ":"), (" , ", " :  ")]))
    text = json.dumps(
        {"traceEvents": [_event(cat, args) for cat, args in made]},
        indent=indent,
        separators=separators,
        ensure_ascii=data.draw(st.booleans()),
    )
    raw = columns(text, piece=data.draw(st.integers(20, 400)), chunk=data.draw(st.sampled_from([256, 4096])))[0].raw
    assert len(raw.recorded) == len(set(raw.recorded))
    for number, (cat, args) in zip(raw.slices.recorded.tolist(), made, strict=True):
        if cat.lower().encode() not in numbering.CATEGORIES:
            assert number == UNREAD
        elif _fields(args):
            assert json.loads(raw.recorded[number]) == _fields(args)
        else:
            assert number == NOTHING_RECORDED


def test_the_last_of_equal_keys_counts() -> None:
    text = '{"traceEvents": [{"ph":"X","cat":"kernel","ts":1,"dur":1,"args":{"grid": [1], "block": 2, "grid": [3]}}]}'
    assert columns(text)[0].raw.recorded == ['{"grid":[3],"block":2}']


def test_what_is_no_plain_json_is_left_to_its_text(tmp_path: Path) -> None:
    events = [
        '{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1,"args":{"grid": [1, 1, 1], "block": [2, 1, 1]}}',
        '{"ph":"X","cat":"kernel","name":"a"b","ts":3,"dur":1,"args":{"grid": [1, 1, 1], "block": [4, 1, 1]}}',
    ]
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [' + ",".join(events) + "]}")
    trace = open_one(tmp_path, path)
    assert trace.slices.recorded.tolist() == [0, UNREAD]
    number, found = numbered(trace, np.array([1]), lambda t: json.loads(t)["block"][0])
    assert (number.tolist(), found) == ([0], [4])


def test_bytes_that_are_no_text_are_left_to_the_args() -> None:
    event = b'{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"args":{"Module Hierarchy": "a\xff"}}'
    plain = event.replace(b"\xff", b"")
    raw = columns(b'{"traceEvents": [' + event + b"," + plain + b"," + event + b"]}")[0].raw
    assert raw.slices.recorded.tolist() == [UNREAD, 0, UNREAD]
    assert raw.recorded == ['{"Module Hierarchy":"a"}']


def test_sizes_that_a_file_chooses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    long = _event("cpu_op", {"Concrete Inputs": ["x" * LONGEST_RECORDED]})
    text = json.dumps({"traceEvents": [long, *(_event("kernel", {"grid": [n]}) for n in range(9))]})
    assert columns(text)[0].raw.slices.recorded.tolist() == [UNREAD, *range(9)]
    monkeypatch.setattr(numbering, "MOST_RECORDED", -1)
    monkeypatch.setattr(numbering, "FIRST_ROOM", (2, 64))
    raw = columns(text)[0].raw
    kept = [n for n in raw.slices.recorded.tolist() if n >= 0]
    assert 0 < len(kept) < 9
    assert len(raw.recorded) == len(kept)


def test_entries_are_numbered_by_what_is_decoded(tmp_path: Path) -> None:
    events = [
        _event("kernel", {"grid": [n % 2], "block": [7], "correlation": n}, ts=10 * n, tid=7) for n in range(6)
    ] + [_event("cuda_runtime", {"grid": [1], "correlation": 1}, ts=90)]
    trace = open_one(tmp_path, write_json(tmp_path / "t.json", events))
    assert len(trace.tables["recorded"]) == 2
    order = trace.slices.start_ns.argsort()
    number, found = numbered(trace, order, lambda text: json.loads(text).get("grid", [None])[0])
    assert [found[n] for n in number] == [0, 1, 0, 1, 0, 1, 1]
    assert sorted(found) == [0, 1]
