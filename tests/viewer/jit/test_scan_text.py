from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.jit.scan_intern import StringTable
from viewer.jit.scan_load import PAD
from viewer.jit.scan_text import (
    BROKEN,
    CUT,
    MAX_DEPTH,
    VALID,
    skip_container,
    skip_space,
    skip_string,
    skip_value,
    walk_strictly,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def at(function: Callable[..., Any], text: bytes, begin: int = 0) -> Any:
    buffer = np.zeros(len(text) + PAD, np.uint8)
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    base = buffer.ctypes.data
    got = function(base + begin, base + len(text))
    return (got[0], got[1] - base) if isinstance(got, tuple) else got - base


@settings(deadline=None)  # the first call compiles
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_a_value_ends_where_json_says(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    behind = text + b', "tail": "}]"'
    assert at(skip_value, behind) == len(text)
    assert at(walk_strictly, behind) == (VALID, len(text))


@settings(deadline=None)  # the first call compiles
@given(st.lists(VALUES), st.data())
def test_a_cut_value_is_never_taken_as_whole(value: list[object], data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    cut = data.draw(st.integers(0, len(text) - 1))
    if cut:
        assert at(skip_container, text[:cut]) > cut
    assert at(walk_strictly, text[:cut]) == (CUT, cut)


@pytest.mark.parametrize("slashes", range(1, 140))
def test_runs_of_backslashes_over_block_borders(slashes: int) -> None:
    body = b"\\" * slashes + (b'"' if slashes % 2 else b"")
    text = b'["' + body + b'"]'
    assert at(skip_container, text) == len(text)
    assert at(skip_string, text, 2) == len(text) - 2


@pytest.mark.parametrize("spaces", [0, 1, 63, 64, 65, 200])
def test_space(spaces: int) -> None:
    text = (b" \n\r\t" * spaces)[:spaces]
    assert at(skip_space, text + b"x") == spaces
    assert at(skip_space, text) == spaces


@pytest.mark.parametrize(
    ("text", "where"),
    [(b'{"a" 1}', 5), (b'{"a": "x"y"}', 9), (b"{1: 2}", 1), (b"[1 2]", 3), (b"[}", 1), (b'{"a":1,}', 7), (b"[,]", 1)],
)
def test_broken_grammar(text: bytes, where: int) -> None:
    assert at(walk_strictly, text) == (BROKEN, where)


def test_bare_words_pass() -> None:
    text = b'{"a": nan, "b": -inf, "c": [NaN, Infinity], "d": true}'
    assert at(walk_strictly, text) == (VALID, len(text))


def test_depth_is_bounded() -> None:
    deep = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    assert at(walk_strictly, deep) == (BROKEN, MAX_DEPTH)
    assert at(skip_container, b"[" * 1_000_000 + b"]" * 1_000_000) == 2_000_000


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.binary(max_size=40)))
def test_texts_are_numbered_by_first_appearance(texts: list[bytes]) -> None:
    table = StringTable(capacity=2, arena=8)
    numbers = [table.add(t) for t in texts]
    distinct = list(dict.fromkeys(texts))
    assert list(table.texts()) == distinct
    assert numbers == [distinct.index(t) for t in texts]


def test_many_texts() -> None:
    table = StringTable()
    for i in range(20_000):
        assert table.add(b"name %d" % i) == i
    assert table.add(b"name 77") == 77
    assert list(table.texts())[19_999] == b"name 19999"
