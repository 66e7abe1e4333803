from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.jit.config import code_folder, prepare

ROOT = Path(__file__).resolve().parents[3]


def test_each_state_of_the_sources_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = code_folder()
    assert folder.parent == tmp_path
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for source in (ROOT / "viewer" / "jit").glob("*.py"):
        (kernels / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr("viewer.jit.config.__file__", str(kernels / "config.py"))
    assert code_folder() == folder
    (kernels / "layout.py").write_text("# changed\n")
    assert code_folder() != folder


def test_without_the_variable_the_users_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert code_folder().parent == tmp_path / "rankscope" / "compiled"


def test_old_folders_go_and_others_stay(tmp_path: Path) -> None:
    for age in range(6):
        old = tmp_path / f"rankscope-{age}"
        old.mkdir()
        os.utime(old, (1000 - age, 1000 - age))
    (tmp_path / "of-somebody-else").mkdir()
    assert prepare(tmp_path / "rankscope-new")
    assert {p.name for p in tmp_path.iterdir()} == {
        "of-somebody-else",
        "rankscope-new",
        "rankscope-0",
        "rankscope-1",
        "rankscope-2",
    }


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not prepare(tmp_path / "file" / "rankscope-x")


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


def test_each_loop_is_compiled_for_one_kind_of_arguments() -> None:
    """A second kind costs its time again, and two processes that fill one cache could mix the two up."""
    code = (
        "import gc\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "from viewer.app.warm_up import warm_engine, warm_lanes\n"
        "warm_engine()\n"
        "warm_lanes()\n"
        "loops = [o for o in gc.get_objects() if isinstance(o, Dispatcher) and o.__module__.startswith('viewer.jit')]\n"
        "print(len(loops), [o.__name__ for o in loops if len(o.signatures) > 1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    count, several = done.stdout.split(" ", 1)
    assert int(count) > 20
    assert several.strip() == "[]"
