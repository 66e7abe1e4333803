from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
