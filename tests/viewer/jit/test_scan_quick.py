"""What is read at a glance is what the careful reader makes of it, or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from viewer.jit.scan_decimal import EXACT, parse_decimal
from viewer.jit.scan_intern import StringTable, known_text
from viewer.jit.scan_load import PAD
from viewer.jit.scan_quick import plain_time, small_integer

NUMBERS = st.one_of(
    st.integers(0, 10**20).map(str),
    st.from_regex(r"-?[0-9]{0,18}(\.[0-9]{0,9})?([eE][+-]?[0-9]{0,3})?", fullmatch=True),
    st.text("0123456789.eE-+ x\x7f\xff/:", max_size=24),
)
BEHIND = st.sampled_from([",", "}", " ", "\n", "]", '"', ":", "x", ".", "e5", "\0", ""])


def padded(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    data = text.encode("latin-1")
    buffer = np.zeros(len(data) + PAD, np.uint8)
    buffer[: len(data)] = np.frombuffer(data, np.uint8)
    return buffer


@settings(deadline=None)  # the first call compiles
@given(NUMBERS, BEHIND)
@example("9223372036854774.999", ",")
@example("9223372036854775.807", ",")
@example("9999999999999999.999", ",")
@example("12.5", ",")
@example("0.005", "}")
@example("1234567", ",")
@example("12345678", ",")
def test_numbers_at_a_glance(number: str, behind: str) -> None:
    text = padded(number + behind)
    at = text.ctypes.data
    value, address, state, form = parse_decimal(at, 3)
    quick, size, quick_form = plain_time(at)
    if size:
        assert (quick, size, quick_form) == (value, address - at, form)
        assert state == EXACT
    value, address, state, _ = parse_decimal(at, 0)
    quick, size = small_integer(at)
    if size:
        assert (quick, size, EXACT) == (value, address - at, state)


@pytest.mark.parametrize("number", ["0", "7", "19.5", "4.011", "1712195495519689.047", "5000000000", "12345678.25"])
def test_usual_times_are_read_at_a_glance(number: str) -> None:
    assert plain_time(padded(number + ",").ctypes.data)[1] == len(number)


@pytest.mark.parametrize("number", ["0", "42", "1234567"])
@pytest.mark.parametrize("behind", [",", "}", "\n", " "])
def test_usual_integers_are_read_at_a_glance(number: str, behind: str) -> None:
    assert small_integer(padded(number + behind).ctypes.data) == (int(number), len(number))


def numbers_at_once(texts: list[bytes], table: StringTable) -> list[int]:
    out = []
    for text in texts:
        buffer = np.zeros(len(text) + PAD, np.uint8)
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        out.append(known_text(buffer.ctypes.data, len(text), table.address))
    return out


@given(st.lists(st.binary(max_size=200), max_size=60))
def test_texts_that_are_found_at_once_have_the_number_that_they_got(texts: list[bytes]) -> None:
    table = StringTable(2, 64)
    numbers = {text: table.add(text) for text in texts}
    for text, told in zip(texts, numbers_at_once(texts, table), strict=True):
        assert told in (-1, numbers[text])
    longer = [text + b"\0" for text in texts]
    for text, told in zip(longer, numbers_at_once(longer, table), strict=True):
        assert told in (-1, numbers.get(text))


def test_most_names_are_found_at_once() -> None:
    names = [b"void gemm_%d<float, %d>(float const*)" % (i % 40, i) + b"x" * (i % 90) for i in range(300)]
    table = StringTable()
    numbers = [table.add(name) for name in names]
    told = numbers_at_once(names, table)
    assert sum(a == b for a, b in zip(told, numbers, strict=True)) > 250
