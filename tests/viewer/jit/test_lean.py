from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from viewer.jit import machine
from viewer.jit.lean import Lean, lean, lean_apart
from viewer.jit.lean_module import emit_module

SEVEN = 7
TABLE = np.array([3, -1, 4, 1, -5], np.int32)
WORD = np.uint64(5)


@lean
def arithmetic(a: int, b: int) -> Any:
    return a + b, a - b, a * b, a // b, a % b, -a, ~a, a & b, a | b, a ^ b, a << (b & 7), a >> (b & 7), SEVEN * 2 - 1


@lean
def comparing(a: int, b: int) -> Any:
    return a < b, a <= b, a == b, a != b, a > b, a >= b, not a, min(a, b), max(a, b), a if a > b else b


@lean_apart
def digits(a: int) -> Any:
    count = 0
    even = True
    while a > 0:
        if a % 10 == 7:
            a //= 10
            continue
        even = even and (a % 2 == 0 or a % 10 == 9)
        a //= 10
        count += 1
        if count > 12:
            break
    return count, even


@lean
def loops(a: int, b: int) -> Any:
    total = 0
    for i in range(a, b):
        if i == 5 or (i > 20 and i % 3 == 0):
            continue
        for k in range(i):
            if k > 4:
                break
            total += k * TABLE[k]
        count, even = digits(i)
        total += count if even else -count
        if total > 5000:
            break
    return total


@settings(deadline=None)  # the first call compiles
@given(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31))
def test_numbers_are_those_of_python(a: int, b: int) -> None:
    assert arithmetic(a, b or 1) == arithmetic.py_func(a, b or 1)  # type: ignore[attr-defined]
    assert comparing(a, b) == comparing.py_func(a, b)  # type: ignore[attr-defined]
    assert digits(abs(a)) == digits.py_func(abs(a))  # type: ignore[attr-defined]


@settings(deadline=None)
@given(st.integers(-5, 60), st.integers(-5, 60))
def test_loops_are_those_of_python(a: int, b: int) -> None:
    assert loops(a, b) == loops.py_func(a, b)  # type: ignore[attr-defined]


@lean
def unsigned(a: int) -> Any:
    word = np.uint64(a) - WORD
    return word, word > WORD, word >> np.uint64(60), word // WORD, np.int64(word)


def test_words_have_no_sign() -> None:
    assert unsigned(3) == (2**64 - 2, True, 15, (2**64 - 2) // 5, -2)


@lean
def real(a: float, b: int) -> Any:
    c = np.float64(b) * 0.5
    if a > c and c != 0.0:
        c = -a / c
    return a + c - 2, np.int64(a), min(a, 1.5), max(a, c), a <= c


@settings(deadline=None)
@given(st.floats(-1e9, 1e9), st.integers(-100, 100))
def test_floats_are_those_of_python(a: float, b: int) -> None:
    assert real(a, b) == real.py_func(a, b)  # type: ignore[attr-defined]


@lean
def running(values: NDArray[np.int64], small: NDArray[np.uint8], flags: NDArray[np.bool_]) -> Any:
    seen = np.zeros(4, np.uint8)
    for i in range(1, len(values)):
        values[i] += values[i - 1]
        small[i] = values[i]
        seen[i % 4] = 1
        flags[i] = values[i] > 3
    return seen[0] + seen[1] + seen[2] + seen[3]


def test_arrays_are_changed_in_place() -> None:
    values, small, flags = np.arange(400), np.zeros(400, np.uint8), np.zeros(400, np.bool_)
    assert running(values, small, flags) == 4
    expected = np.cumsum(np.arange(400))
    assert values.tolist() == expected.tolist()
    assert small.tolist() == (expected % 256).tolist()
    assert flags.tolist() == (expected > 3).tolist()


@pytest.mark.parametrize("values", [np.arange(8)[::2], np.arange(4, dtype=np.int32)])
def test_other_arrays_are_refused(values: np.ndarray) -> None:
    with pytest.raises(TypeError, match="values must be contiguous int64"):
        running(values, np.zeros(4, np.uint8), np.zeros(4, np.bool_))


@lean
def mixes(a: int) -> Any:
    return a + WORD


@lean
def changes_type(a: int) -> Any:
    found = a == 1
    if found:
        found = a
    return found


@lean
def uses_text(a: int) -> Any:
    return f"{a}"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (mixes, "int64 meets uint64"),
        (changes_type, "found is bool, not int64"),
        (uses_text, "uses_text, line 3: cannot compile JoinedStr"),
    ],
)
def test_what_is_not_understood_is_refused(function: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        emit_module(function)


def fresh(function: Callable[..., Any]) -> Lean:
    return Lean(function.py_func, False)  # type: ignore[attr-defined]


def test_machine_code_is_kept_and_rebuilt_when_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_ = machine._compile

    def counted(function: Lean) -> bytes:
        compiled.append(function.__name__)
        return compile_(function)

    monkeypatch.setattr(machine, "_compile", counted)
    monkeypatch.setattr(machine, "compiled_folder", lambda: tmp_path)
    assert fresh(loops)(0, 30) == fresh(loops)(0, 30)
    assert compiled == ["loops"]
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    for damage in (b"", content[:-100], content.replace(b"\n", b"\n\0", 1)):
        file.write_bytes(damage)
        fresh(loops)(0, 30)
        assert file.read_bytes() == content
    assert compiled == ["loops"] * 4


def test_without_a_folder_it_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "compiled_folder", lambda: None)
    assert fresh(loops)(0, 30) == loops.py_func(0, 30)  # type: ignore[attr-defined]
