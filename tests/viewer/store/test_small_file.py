"""Small files that a person names: whatever they are, one sentence and an end."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from viewer.base.errors import InputError
from viewer.store.small_file import read_small, write_whole
from viewer.store.toml_text import read_toml


def test_a_regular_file_of_the_bound_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_small(tmp_path / "a", 10, "a note") == b"x" * 10
    with pytest.raises(InputError, match=r"too large for a note \(10 bytes, at most 9\)"):
        read_small(tmp_path / "a", 9, "a note")


@pytest.mark.parametrize("name", ["fifo", "folder", "loop", "absent", "/dev/zero", "nul\0"])
def test_anything_else_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError) as caught:
        read_small(tmp_path / name, 10, "a note")
    assert "\n" not in caught.value.sentence()


def test_toml_is_read_and_keys_within_the_bound_are() -> None:
    assert read_toml("[a.b]\nc = '" + "." * 1_000 + "'")["a"]["b"]["c"] == "." * 1_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# " + "." * 9_000 + "\na" + ".a" * 100_000 + " = 1", "too many parts (at line 2)"),
        ("\n".join(f"k{i}" + ".a" * 900 + " = 1" for i in range(600)), "too many parts"),
        ("x = {a" + ".a" * 100_000 + " = 1}", "too many parts"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "9" * 10_000, "limit"),
        ("a = \n", "line 1"),
    ],
)
def test_toml_that_costs_too_much_or_is_none_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_toml(text)
    assert "\n" not in str(caught.value)


def test_a_result_is_whole_or_the_old_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, linked = tmp_path / "report.json", tmp_path / "link.json"
    write_whole(path, b"old")
    path.chmod(0o640)
    linked.symlink_to(path)
    write_whole(linked, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, linked.is_symlink()) == (b"new", 0o640, True)

    def full(self: Path, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"newer")
    assert path.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "report.json"]


def test_a_device_is_written_to_as_it_is() -> None:
    write_whole(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No space"):
        write_whole(Path("/dev/full"), b"x")
