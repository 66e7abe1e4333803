from __future__ import annotations

import os
from pathlib import Path

import pytest

from viewer.jit.folder import code_folder, prepare

ROOT = Path(__file__).resolve().parents[3]


def test_each_state_of_the_sources_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = code_folder()
    assert folder.parent == tmp_path
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for source in (ROOT / "viewer" / "jit").glob("*.py"):
        (kernels / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr("viewer.jit.folder.__file__", str(kernels / "folder.py"))
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


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights are told otherwise there")
def test_no_one_else_may_write_there_however_open_new_folders_are(tmp_path: Path) -> None:
    """Compiled code of a folder that others may write is not run; many systems let a group write what one makes."""
    before = os.umask(0o002)
    try:
        assert prepare(tmp_path / "compiled" / "rankscope-a")
    finally:
        os.umask(before)
    assert (tmp_path / "compiled" / "rankscope-a").stat().st_mode & 0o022 == 0
