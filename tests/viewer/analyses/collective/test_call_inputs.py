"""Inputs of calls, read for all calls of a file together: the same as reading each call's args by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.texts import open_one, write_json
from viewer.analyses.collective.call_inputs import read_call, read_calls
from viewer.base.ids import UNREAD
from viewer.store.trace import Trace

ODD = ["", "7", "007", " 12", "12 ", "1.5", "x", '"Concrete Inputs":["","3', "[]", "\\", "99999999999999999999"]
INPUTS = st.lists(st.sampled_from(ODD) | st.integers(0, 2**62).map(str) | st.integers(-3, 300) | st.none(), max_size=12)
USUAL = st.tuples(st.integers(0, 2**61), st.integers(1, 9), st.sampled_from([8, 64])).map(
    lambda t: ["", str(t[0]), str(93_000_000 + t[1]), "3", "", "[]", "[]", str(t[2])]
)


def _event(inputs: Any, number: int) -> dict[str, Any]:
    args = {"External id": number, "Concrete Inputs": inputs, "Input type": ["c10::Half"], "Input Dims": [[4, 2048]]}
    name = "record_param_comms"
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 2, "ts": 10 * number, "dur": 5, "args": args}


def _check(trace: Trace, count: int) -> None:
    rows = np.arange(len(trace), dtype=np.int64)
    assert len(rows) == count
    told = read_calls(trace, rows, trace.slices.name[rows])
    for row in rows.tolist():
        single = read_call(trace.args(row), trace.name(row))
        if single is None:
            assert told.entry[row] == -1
        else:
            entry = told.entries[told.entry[row]]
            assert (int(told.number[row]), entry.members, entry.mark, entry.size_bytes) == single


@settings(deadline=None, max_examples=150)
@given(st.lists(INPUTS | USUAL, min_size=1, max_size=9), st.sampled_from([None, (",", ":"), (" , ", " :  ")]))
def test_all_calls_as_each_by_itself(tmp_path_factory: Any, made: list[Any], separators: Any) -> None:
    folder = tmp_path_factory.mktemp("calls")
    text = {"traceEvents": [_event(inputs, i) for i, inputs in enumerate(made)]}
    path = folder / "rank0.json"
    path.write_text(json.dumps(text, separators=separators))
    _check(open_one(folder, path), len(made))


@pytest.mark.parametrize("unread", [False, True])
def test_usual_calls_are_read(tmp_path: Path, unread: bool) -> None:
    inputs = [["", str(n), str(7_000 + n % 2), "0", "", "[]", "[]", "8"] for n in range(40)]
    trace = open_one(tmp_path, write_json(tmp_path / "rank0.json", [_event(one, i) for i, one in enumerate(inputs)]))
    if unread:
        trace.slices.replace("recorded", np.full(len(trace), UNREAD, np.int32))
    rows = np.arange(40)
    told = read_calls(trace, rows, trace.slices.name[rows])
    assert told.number.tolist() == list(range(40))
    assert [(e.members, e.mark, e.size_bytes) for e in told.entries] == [(8, "7000", 16_384), (8, "7001", 16_384)]
    assert told.entry.tolist() == [0, 1] * 20
