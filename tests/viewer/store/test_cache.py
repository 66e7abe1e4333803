from __future__ import annotations

import os
from pathlib import Path

import pytest

from viewer.store.cache import Cache, default_cache, stamp_of
from viewer.store.files import write_meta
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.schema import FORMAT_VERSION


def fill(cache: Cache, source: Path, size: int = 10) -> Path:
    stamp = stamp_of(source)
    with cache.create(stamp) as draft:
        (draft.folder / "table").write_bytes(b"x" * size)
        write_meta(draft.folder, TraceMeta(FORMAT_VERSION, "kineto", stamp, "rules", events=3))
    return draft.path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_bytes(b"a" * 200_000)
    return path


def test_a_folder_is_found_again_until_the_source_changes(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.lookup(stamp_of(source)) is None
    place = fill(cache, source)
    assert cache.lookup(stamp_of(source)) == place
    state = source.stat()
    source.write_bytes(b"b" + source.read_bytes()[1:])
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert cache.lookup(stamp_of(source)) is None


def test_stamp_sees_head_tail_size_and_time(source: Path) -> None:
    first = stamp_of(source)
    os.utime(source, ns=(1, 1))
    assert stamp_of(source).mtime_ns == 1
    assert stamp_of(source).digest == first.digest
    source.write_bytes(source.read_bytes()[:-1] + b"b")
    assert stamp_of(source).digest != first.digest


def test_a_failed_import_leaves_nothing(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")

    def fail() -> None:
        with cache.create(stamp_of(source)) as draft:
            (draft.folder / "half").touch()
            raise RuntimeError("the import failed")

    with pytest.raises(RuntimeError, match="the import failed"):
        fail()
    assert list(cache.folder.iterdir()) == []


def test_the_second_of_two_imports_uses_the_first(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    stamp = stamp_of(source)
    with cache.create(stamp) as late:
        (late.folder / "table").write_bytes(b"late")
        winner = fill(cache, source)
    assert late.path == winner
    assert (winner / "table").read_bytes() == b"x" * 10
    assert [e.path for e in cache.entries()] == [winner]


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", cap_bytes=25_000)
    sources = []
    for i in range(3):
        path = tmp_path / f"{i}.json"
        path.write_bytes(b"%d" % i)
        sources.append(path)
    first, second = fill(cache, sources[0], 10_000), fill(cache, sources[1], 10_000)
    os.utime(first / "meta.json", (2_000_000_000, 2_000_000_000))
    os.utime(second / "meta.json", (1_000_000_000, 1_000_000_000))
    third = fill(cache, sources[2], 10_000)
    assert {e.path for e in cache.entries()} == {first, third}
    assert cache.size < 25_000


def test_many_folders_are_counted_once_and_again_when_much_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    count = Cache.entries
    monkeypatch.setattr(Cache, "entries", lambda self: counts.append(1) or count(self))
    cache = Cache(tmp_path / "cache", cap_bytes=1_000_000)
    for i in range(30):
        path = tmp_path / f"{i}.json"
        path.write_bytes(b"%d" % i)
        fill(cache, path, 1_000)
    assert len(counts) == 1
    other = Cache(tmp_path / "cache", cap_bytes=1_000_000)  # another process
    for i in range(30, 60):
        path = tmp_path / f"{i}.json"
        path.write_bytes(b"%d" % i)
        fill(other if i < 50 else cache, path, 60_000)
    assert cache.size <= 1_000_000


def test_looking_up_counts_as_use(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    place = fill(cache, source)
    os.utime(place / "meta.json", (1, 1))
    cache.lookup(stamp_of(source))
    assert (place / "meta.json").stat().st_mtime > 1


def test_what_is_just_made_stays_though_it_is_too_large(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache", cap_bytes=1)
    assert fill(cache, source, 100).exists()


def test_entries_and_clear(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.entries() == []
    assert cache.clear() == 0
    place = fill(cache, source)
    (entry,) = cache.entries()
    assert (entry.path, entry.source, entry.events) == (place, str(source), 3)
    assert cache.clear() == entry.bytes > 0
    assert cache.entries() == []
    assert not place.exists()


def test_damage_is_told_from_absence(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    stamp = stamp_of(source)
    assert not cache.is_damaged(stamp)
    place = fill(cache, source)
    (place / "meta.json").write_text("{")
    assert cache.lookup(stamp) is None
    assert cache.is_damaged(stamp)
    assert cache.lookup(stamp_of(source)) is None
    again = fill(cache, source)
    assert cache.lookup(stamp) == again


def test_drafts_of_killed_imports_are_swept(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    old, new = cache.folder / ".draft-old", cache.folder / ".draft-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    fill(cache, source)
    assert not old.exists()
    assert new.exists()


def test_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKSCOPE_CACHE_DIR", raising=False)
    assert default_cache().folder.parts[-2:] == ("rankscope", "traces")
    monkeypatch.setenv("RANKSCOPE_CACHE_DIR", str(tmp_path))
    assert default_cache().folder == tmp_path


def test_a_missing_source_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        stamp_of(tmp_path / "gone")


def test_another_format_version_is_not_used(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    place = fill(cache, source)
    stamp = stamp_of(source)
    write_meta(place, TraceMeta(FORMAT_VERSION + 1, "kineto", stamp, "rules"))
    assert cache.lookup(stamp) is None
    write_meta(place, TraceMeta(FORMAT_VERSION, "kineto", SourceStamp("x", 1, 2, "y"), "rules"))
    assert cache.lookup(stamp) is None


def test_a_circle_of_links_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    with pytest.raises(OSError, match="symbolic links"):
        stamp_of(tmp_path / "a.json")


def test_a_path_that_is_no_utf8_is_kept_as_it_is(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff\xfe \n.json"))
    path.write_bytes(b"a")
    cache = Cache(tmp_path / "cache")
    place = fill(cache, path)
    assert cache.lookup(stamp_of(path)) == place
    (entry,) = cache.entries()
    assert entry.source == str(path)
    (place / "meta.json").write_bytes((place / "meta.json").read_bytes()[:-9])
    assert cache.lookup(stamp_of(path)) is None


def test_noise_in_any_file_is_noticed(tmp_path: Path, source: Path) -> None:
    cache = Cache(tmp_path / "cache")
    stamp = stamp_of(source)
    place = fill(cache, source)
    for name in ("table", "meta.json", "sums.json"):
        whole = (place / name).read_bytes()
        for damaged in (bytes([whole[0] ^ 1]) + whole[1:], whole[:-1], whole + b"x", b""):
            (place / name).write_bytes(damaged)
            assert cache.lookup(stamp) is None, name
            assert cache.is_damaged(stamp)
        (place / name).write_bytes(whole)
        assert cache.lookup(stamp) == place
    (place / "table").unlink()
    assert cache.lookup(stamp) is None
    cache.drop_damaged(stamp)
    assert not place.exists()


def test_notes_are_kept_for_one_state_of_a_file_and_bounded(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.store.cache.MAX_NOTES", 2)
    cache = Cache(tmp_path / "cache")
    stamp = stamp_of(source)
    assert cache.note(stamp) is None
    cache.keep_note(stamp, b"members")
    assert cache.note(stamp) == b"members"
    for i in range(3):
        os.utime(source, ns=(i, i))
        cache.keep_note(stamp_of(source), b"%d" % i)
    assert cache.note(stamp) is None
    assert len(list((cache.folder / "notes").iterdir())) == 2
    assert cache.entries() == []
    cache.clear()
    assert cache.note(stamp_of(source)) is None
    Cache(source / "no folder").keep_note(stamp, b"")  # nowhere to write: no error
