from __future__ import annotations

import gzip
import io
import json
import random
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.texts import kernel, open_job
from viewer.base.work import Progress
from viewer.base.zstd import zstd
from viewer.importers import zip_directory
from viewer.importers.archive import archive_kind, inner_name, unique_names
from viewer.importers.discover import discover
from viewer.importers.opening import JobOpener, OpenResult
from viewer.importers.zip_directory import open_entry, read_directory
from viewer.store.cache import Cache


def trace(rank: int, count: int = 3) -> bytes:
    events: list[Any] = [kernel(f"k{i}", 10 * i, 5, note=f"n{i}") for i in range(count)]
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}).encode()


MEMBERS = {
    "job/rank0.json": trace(0),
    "job/rank1.json.gz": gzip.compress(trace(1)),
    "job/config.json": b'{"model": "x"}',
    "job/notes.txt": b"hello",
    "job/.hidden.json": trace(7),
}


def make_zip(path: Path, members: dict[str, bytes] = MEMBERS, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tar_bytes(members: dict[str, bytes] = MEMBERS, form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        folder = tarfile.TarInfo("job")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("job/link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        device = tarfile.TarInfo("job/zero.json")
        device.type = tarfile.CHRTYPE
        archive.addfile(device)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def make(path: Path) -> Path:
    if path.suffix == ".zip":
        return make_zip(path)
    data = tar_bytes()
    path.write_bytes({".tar": bytes, ".gz": gzip.compress, ".zst": zstd.compress}[path.suffix](data))
    return path


def shown(result: OpenResult, folder: Path) -> list[tuple[str, int | None]]:
    return [(str(i.path.relative_to(folder)), i.rank) for i in result.session.inputs]


@pytest.mark.parametrize("name", ["j.zip", "j.tar", "j.tar.gz", "j.tar.zst"])
def test_an_archive_is_a_folder(tmp_path: Path, name: str) -> None:
    path = make(tmp_path / name)
    for again in range(2):
        progress: list[Progress] = []
        result = JobOpener([path], cache=Cache(tmp_path / "cache")).open(progress.append)
        assert shown(result, tmp_path) == [(f"{name}/job/rank0.json", 0), (f"{name}/job/rank1.json.gz", 1)]
        assert not result.failures
        assert [f.where for f in result.skipped] == [str(path / "job/config.json")]
        for item in result.session.inputs:
            assert item.trace.args(2)["note"] == "n2"
            assert item.trace.args_problem == ""
        assert again == 0 or {p.stage for p in progress} == {"done"}
        assert result.jobs == [[0, 1]]


@pytest.mark.parametrize("name", ["j.zip", "j.tar", "j.tar.gz"])
def test_a_member_may_be_named(tmp_path: Path, name: str) -> None:
    path = make(tmp_path / name)
    assert shown(open_job(tmp_path, path / "job/rank1.json.gz"), tmp_path) == [(f"{name}/job/rank1.json.gz", 1)]
    assert len(open_job(tmp_path, path / "job").session.inputs) == 2
    (error,) = open_job(tmp_path, path / "job/rank9.json").failures
    assert "is not in the archive" in error.sentence()
    (error,) = open_job(tmp_path, path / "job/config.json").failures
    assert 'no "traceEvents"' in error.sentence()


def test_archives_of_a_folder_open_only_where_no_trace_lies_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    make_zip(folder / "a.zip", {"rank0.json": trace(0)})
    make(folder / "b.tar.gz")
    assert len(open_job(tmp_path, folder).session.inputs) == 3
    (folder / "rank0.json").write_bytes(trace(0))
    assert [c.path for c in discover([folder])] == [folder / "rank0.json"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_members_are_what_the_standard_reader_says(tmp_path: Path, method: int) -> None:
    data = {f"m{i}": random.Random(i).randbytes(i * 7919) * 3 for i in range(6)}
    path = make_zip(tmp_path / "a.zip", data, method)
    path.write_bytes(b"#!/bin/sh in front\n" + path.read_bytes())
    for entry in read_directory(path):
        file = open_entry(path, entry)
        assert b"".join(iter(lambda f=file: f.read(100_000), b"")) == data[entry.name]  # type: ignore[misc]
        file.close()


def test_a_zip64_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    path = make_zip(tmp_path / "a.zip", {"a.json": trace(0), "b.json": trace(1)})
    assert len(open_job(tmp_path, path).session.inputs) == 2


def sentence(tmp_path: Path, path: Path) -> str:
    result = open_job(tmp_path, path)
    assert not result.session.inputs
    (error,) = result.failures
    assert "\n" not in error.sentence()
    return error.sentence()


def test_bad_zips_get_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_zip(tmp_path / "a.zip")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "ends before its directory" in sentence(tmp_path, path)
    path.write_bytes(b"PK\x05\x06" + bytes(18))
    assert "holds no trace" in sentence(tmp_path, path)
    at = whole.rfind(b"PK\x05\x06")
    path.write_bytes(whole[: at + 12] + struct.pack("<2L", 99, 0x7FFFFFFF) + whole[at + 20 :])
    assert "points outside" in sentence(tmp_path, path)
    path.write_bytes(whole)
    monkeypatch.setattr(zip_directory, "MAX_MEMBERS", 2)
    assert "more than 2 files" in sentence(tmp_path, path)
    monkeypatch.setattr(zip_directory, "MAX_DIRECTORY", 20)
    assert "too large" in sentence(tmp_path, path)


def directory_entries(data: bytes) -> list[int]:
    found, at = [], data.find(b"PK\x01\x02")
    while at >= 0:
        found.append(at)
        at = data.find(b"PK\x01\x02", at + 4)
    return found


def test_encrypted_unknown_and_overlapping_members(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"rank0.json": trace(0), "rank1.json": trace(1)})
    whole = bytearray(path.read_bytes())
    first, second = directory_entries(whole)
    whole[first + 8] |= 1
    whole[second + 10] = 77
    path.write_bytes(whole)
    result = open_job(tmp_path, path)
    messages = sorted(f.message for f in result.skipped)
    assert "encrypted" in messages[0]
    assert "a method that is not read here (77)" in messages[1]
    assert "2 files were looked at; rank0.json" in result.failures[0].sentence()
    path = make_zip(tmp_path / "b.zip", {"rank0.json": trace(0), "rank1.json": trace(1)})
    whole = bytearray(path.read_bytes())
    first, second = directory_entries(whole)
    whole[second + 42 : second + 46] = whole[first + 42 : first + 46]
    path.write_bytes(whole)
    assert "overlap" in sentence(tmp_path, path)


def test_a_damaged_member_keeps_its_prefix_and_the_others_open(tmp_path: Path) -> None:
    big = trace(0, 3000)
    path = make_zip(tmp_path / "a.zip", {"rank0.json": big, "rank1.json": trace(1)}, zipfile.ZIP_STORED)
    whole = bytearray(path.read_bytes())
    at = whole.find(b"k2000")
    whole[at + 1] = ord("9")
    path.write_bytes(whole)
    zero, one = open_job(tmp_path, path).session.inputs
    assert not zero.trace.meta.complete
    assert "checksum" in zero.trace.meta.findings[0].message
    assert one.trace.meta.complete


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_cut_tar_keeps_what_came_before(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "a.tar"
    noise = {f"noise{i}.txt": random.Random(i).randbytes(3000) for i in range(3)}
    data = tar_bytes({"rank0.json": trace(0), **noise, "rank1.json": trace(1, 9000)})
    packed = pack(data)
    path.write_bytes(packed[: len(packed) - (30_000 if pack is bytes else 3000)])
    result = open_job(tmp_path, path)
    assert shown(result, tmp_path) == [("a.tar/rank0.json", 0), ("a.tar/rank1.json", 1)] or pack is bytes
    assert result.session.inputs[0].trace.meta.complete
    assert not result.session.inputs[-1].trace.meta.complete
    (error,) = result.failures
    assert "cut off" in error.sentence()


def test_long_names_of_each_tar_format(tmp_path: Path) -> None:
    name = "/".join(["d" * 60] * 4) + "/rank3.json"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT):
        path = tmp_path / f"{form}.tar"
        path.write_bytes(
            tar_bytes({name if form != tarfile.USTAR_FORMAT else "a/" * 60 + "rank3.json": trace(3)}, form)
        )
        (item,) = open_job(tmp_path, path).session.inputs
        assert item.path.name == "rank3.json"
        assert item.path.parent.name in ("d" * 60, "a")


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("/etc/passwd.json", "etc/passwd.json"),
        ("../../x.json", "x.json"),
        ("a/../../b/./c.json", "a/b/c.json"),
        ("C:\\Users\\x.json", "Users/x.json"),
        ("a\\..\\b.json", "a/b.json"),
        ("a\0b\x1b[31m.json", "a�b�[31m.json"),
        ("..", "unnamed"),
        ("\ud800.json", "�.json"),
    ],
)
def test_names_lead_nowhere(name: str, inside: str) -> None:
    assert inner_name(name) == inside


def test_hostile_names_open_below_the_archive(tmp_path: Path) -> None:
    members = {"../../rank0.json": trace(0), "/rank1.json": trace(1), "x\x1b[2J\n.json": trace(2)}
    for path in (make_zip(tmp_path / "a.zip", members), tmp_path / "b.tar"):
        if path.suffix == ".tar":
            path.write_bytes(tar_bytes(members))
        result = open_job(tmp_path, path)
        assert len(result.session.inputs) == 3
        assert all(i.path.parent == path for i in result.session.inputs)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip", "b.tar", "cache"]


def test_one_name_twice_is_two_inputs(tmp_path: Path) -> None:
    assert unique_names(["a", "a", "b", "a"]) == ["a", "a (2)", "b", "a (3)"]
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rank0.json", trace(0))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("rank0.json", trace(0, 5))
    result = open_job(tmp_path, path)
    assert [len(i.trace) for i in result.session.inputs] == [3, 5]
    assert all(i.conflict for i in result.session.inputs)


def test_an_archive_inside_an_archive_is_told(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner.zip").read_bytes()
    path = make_zip(tmp_path / "a.zip", {"inner.json": inner, "tar.json": tar_bytes()})
    result = open_job(tmp_path, path)
    assert len([f for f in result.skipped if "archive inside an archive" in f.message]) == 2


def test_given_ranks_reach_members(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"x.json": trace(0)})
    (item,) = open_job(tmp_path, path, given_ranks={"x.json": 5}).session.inputs
    assert (item.rank, item.rank_source) == (5, "given")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_archives_never_crash(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    kind = data.draw(st.sampled_from(["zip", "tar", "gz"]))
    small = {"rank0.json": trace(0), "b.json.gz": gzip.compress(trace(1))}
    path = folder / "a"
    whole = bytearray(make_zip(path, small).read_bytes() if kind == "zip" else tar_bytes(small))
    if kind == "gz":
        whole = bytearray(gzip.compress(whole))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        if kind == "zip" and data.draw(st.booleans()):
            at = len(whole) - 1 - at % 200  # the directory
        whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    archive_kind(path)
    result = open_job(folder, path)
    assert result.session.inputs or result.failures
    for failure in result.failures:
        assert "\n" not in failure.sentence()
        assert "error of Rankscope" not in failure.sentence()
    assert not [f for f in result.skipped if "could not be imported" in f.message]
