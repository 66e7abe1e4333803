from __future__ import annotations

import os
from pathlib import Path

import pytest

from viewer.base.errors import Cancelled
from viewer.base.session_file import SavedSource
from viewer.base.work import CancelToken
from viewer.store.cache import stamp_of
from viewer.store.session_sources import look_for, search


def saved(path: Path, spelling: str) -> SavedSource:
    stamp = stamp_of(path)
    return SavedSource(spelling, stamp.size, stamp.mtime_ns, stamp.digest)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_is_there_what_is_missing_and_what_changed(tmp_path: Path) -> None:
    session = tmp_path / "x.rankscope"
    same, other = write(tmp_path / "same.json", "1"), write(tmp_path / "other.json", "1")
    os.mkfifo(tmp_path / "pipe.json")
    sources = [saved(same, "same.json"), saved(other, "other.json")]
    sources += [SavedSource(p) for p in ("gone.json", "/dev/zero", "../../", "pipe.json", "nul\0", "a" * 4000)]
    other.write_text("2")
    os.utime(same, ns=(0, 0))  # copied, perhaps: the content counts
    found = look_for(sources, session)
    assert [p for _, p in found.present] == [same, other]
    assert found.changed == (other,)
    assert [s.path for s, _ in found.missing] == ["gone.json", "/dev/zero", "../../", "pipe.json", "nul\0", "a" * 4000]


def test_moved_sources_are_where_they_were_found(tmp_path: Path) -> None:
    there = write(tmp_path / "b" / "a.json", "1")
    found = look_for([SavedSource("a.json")], tmp_path / "x.rankscope", {"a.json": there})
    assert found.present == ((SavedSource("a.json"), there),)
    assert not found.missing


def test_a_search_takes_the_same_content_then_the_folders_that_are_named_alike(tmp_path: Path) -> None:
    r0 = write(tmp_path / "new" / "r0" / "trace.json", "zero")
    r1 = write(tmp_path / "new" / "r1" / "trace.json", "one")
    again = write(tmp_path / "new" / "z" / "trace.json", "two")
    wanted = [
        SavedSource("/old/r1/trace.json"),
        SavedSource("/old/r0/trace.json"),
        saved(again, "/old/other/trace.json"),
        SavedSource("/old/gone.json"),
    ]
    assert search(tmp_path / "new", wanted) == {
        "/old/r1/trace.json": r1,
        "/old/r0/trace.json": r0,
        "/old/other/trace.json": again,
    }


def test_one_file_is_not_two_sources_and_a_search_can_be_stopped(tmp_path: Path) -> None:
    only = write(tmp_path / "trace.json", "x")
    found = search(tmp_path, [SavedSource("/a/trace.json"), SavedSource("/b/trace.json")])
    assert list(found.values()) == [only]
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        search(tmp_path, [SavedSource("/a/trace.json")], token)
