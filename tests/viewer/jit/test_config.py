from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewer.jit
from viewer.app.kernel_table import callees, kernels
from viewer.jit.config import kernel

ROOT = Path(__file__).resolve().parents[3]


def test_compiled_code_never_lands_beside_the_sources(tmp_path: Path) -> None:
    """Also where numba is imported before any kernel."""
    code = (
        "import numba, numpy, viewer.jit.lanes as lanes\n"
        "lanes.number_keys(numpy.zeros((1, 1), numpy.int64), numpy.zeros(1, numpy.int32))\n"
        "print(lanes.number_keys.stats.cache_path)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


def test_each_loop_is_compiled_for_one_kind_of_arguments_and_the_table_knows_it() -> None:
    """A second kind costs its time again, and two processes that fill one cache could mix the two up.

    When the table is stale: python -m viewer.app.kernel_table --write
    """
    command = [sys.executable, "-m", "viewer.app.kernel_table"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.splitlines() == ["several: ", "stale: "], done.stdout + done.stderr


def test_what_is_compiled_is_loaded_without_the_tables_of_the_compiler(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np\nfrom viewer.jit.row_search import first_from\nfirst_from(np.arange(4), 0, 4, 0)\n"
        "print('numba.cpython.printimpl' in sys.modules, sum(first_from.stats.cache_hits.values()))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for told in ("True 0\n", "False 1\n"):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.stdout == told, done.stderr


def test_on_a_full_disk_what_is_compiled_runs_and_is_not_kept(tmp_path: Path) -> None:
    code = (
        "import resource, numpy as np\nfrom viewer.jit.row_search import first_from\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nprint(first_from(np.arange(4), 0, 4, 2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout == "2\n", done.stderr
    assert "compiled code is not kept" in done.stderr
    assert not [p for p in tmp_path.rglob("*.nbc") if p.stat().st_size]


def counts_references(loop: Any) -> bool:
    return bool(loop.targetoptions["_nrt"])


def _scalars(values: Any, top: int) -> Any:
    total = np.int64(0)
    for k in range(min(len(values), top)):
        total += abs(values[k])
    return total


def _makes(top: int) -> Any:
    return np.zeros(top)


def _copies(values: Any) -> Any:
    return values.copy()


def _encloses(values: Any) -> Any:
    return [v for v in values]  # noqa: C416


@pytest.mark.parametrize(
    ("function", "counted"), [(_scalars, False), (_makes, True), (_copies, True), (_encloses, True)]
)
def test_a_kernel_counts_references_to_arrays_only_where_it_makes_some(function: Any, counted: bool) -> None:
    assert counts_references(kernel(function)) is counted


def _adds(values: Any) -> Any:
    return (values + values)[0]


def test_arithmetic_on_whole_arrays_does_not_compile() -> None:
    """It would make an array that nothing frees."""
    with pytest.raises(Exception, match="NRT"):
        kernel(_adds)(np.zeros(3))


def test_a_kernel_that_does_not_count_calls_none_that_does() -> None:
    """It would never free what it gets from there."""
    for module in pkgutil.iter_modules(viewer.jit.__path__):
        importlib.import_module(f"viewer.jit.{module.name}")
    loops = kernels()
    assert any(counts_references(loop) for loop in loops.values())
    for name, loop in loops.items():
        if not counts_references(loop):
            assert not [c for c in callees(loop, loops) if counts_references(loops[c])], name


def test_a_kernel_that_was_loaded_inside_others_may_be_seen_later_than_the_table_says() -> None:
    from dataclasses import replace

    from viewer.app.kernel_table import _holds
    from viewer.jit.table import GROUPS, Entry

    told = Entry("scan.part", GROUPS[0], ("int64",), ())
    assert _holds(told, told)
    assert _holds(told, replace(told, group=GROUPS[2]))
    assert not _holds(replace(told, group=GROUPS[2]), told)
    assert not _holds(told, replace(told, types=("uint64",)))
