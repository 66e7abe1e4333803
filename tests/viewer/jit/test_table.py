from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import typeof

from viewer.jit import helper
from viewer.jit.table import GROUPS, dispatcher_of, load_table, type_of, word_of

ROOT = Path(__file__).resolve().parents[3]


def test_every_entry_names_a_kernel_types_and_callees_that_are_there() -> None:
    names = [e.name for e in load_table()]
    assert len(set(names)) == len(names) > 40
    for entry in load_table():
        assert dispatcher_of(entry.name).py_func.__code__.co_argcount == len(entry.types), entry.name
        assert [word_of(type_of(w)) for w in entry.types] == list(entry.types)
        assert set(entry.needs) <= set(names)
        assert entry.group in GROUPS


def test_what_a_group_needs_is_needed_as_early() -> None:
    group = {e.name: GROUPS.index(e.group) for e in load_table()}
    for entry in load_table():
        assert all(group[name] <= group[entry.name] for name in entry.needs), entry.name


def test_types_are_written_as_the_compiler_sees_them() -> None:
    fixed = np.zeros((2, 3), np.uint8)
    fixed.flags.writeable = False
    for value, word in (
        (5, "int64"),
        (1.5, "float64"),
        (np.zeros(3, np.bool_), "bool[1C]"),
        (np.zeros((4, 2), np.int32)[:, 0], "int32[1A]"),
        (fixed, "uint8[2Cr]"),
    ):
        assert word_of(typeof(value)) == word
        assert type_of(word) == typeof(value)


@pytest.mark.parametrize("word", ["int64[x]", "nothing", "int64[1C"])
def test_a_word_that_is_no_type_is_refused(word: str) -> None:
    with pytest.raises((ValueError, AttributeError)):
        type_of(word)


def test_a_helper_compiles_what_it_is_asked_for_and_says_what_it_cannot(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "viewer.jit.helper"],
        input="scan_text.inside_strings\nscan_text.nothing\n",
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.splitlines() == ["ok scan_text.inside_strings", "failed scan_text.nothing KeyError"]
    assert [p.name.split("-")[0] for p in tmp_path.rglob("*.nbi")] == ["scan_text.inside_strings"]


def test_a_kernel_that_does_not_compile_is_reported_and_the_next_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = load_table()[:2]

    def compile_entry(entry: object) -> None:
        if entry is first:
            raise TypeError("no")

    monkeypatch.setattr(helper, "compile_entry", compile_entry)
    answers = io.StringIO()
    helper.serve(io.StringIO(f"{first.name}\n{second.name}\n"), answers)
    assert answers.getvalue() == f"failed {first.name} TypeError\nok {second.name}\n"
