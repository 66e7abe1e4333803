from __future__ import annotations

import errno
import gzip
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.texts import kernel, open_job, write_json
from viewer.base.errors import Cancelled, UsageError
from viewer.base.work import CancelToken
from viewer.exporters import pack as pack_module
from viewer.exporters.pack import input_names, pack_name, write_pack
from viewer.exporters.report import report
from viewer.importers.opening import JobOpener, OpenResult
from viewer.store.cache import Cache
from viewer.store.pack import MANIFEST


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Two ranks, one compressed (args in the cache) and one plain (args in the source)."""
    folder = tmp_path / "here" / "job"
    (folder / "node1").mkdir(parents=True)
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 1}
    mark = {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 3, "s": "t", "args": {"say": "hello"}}
    for rank, name in ((0, "rank0.json"), (1, "node1/rank1.json.gz")):
        events: list[Any] = [launch | {"args": {"correlation": 1}}, mark]
        events += [kernel(f"k{i % 3}", 10 + 10 * i, 5, correlation=i, note=f"n{i}") for i in range(20)]
        events.append({"ph": "X", "name": "no args", "pid": 1, "tid": 1, "ts": 500, "dur": 1})
        write_json(folder / name, events, distributedInfo={"rank": rank, "world_size": 2}, schemaVersion=1)
    return folder


def packed(tmp_path: Path, *paths: Path, name: str = "out.rankpack", **options: Any) -> Path:
    out = tmp_path / name
    write_pack(out, open_job(tmp_path, *paths, **options).session, paths)
    return out


def elsewhere(tmp_path: Path, *paths: Path) -> OpenResult:
    """Open with a cache that has never seen anything."""
    return JobOpener(paths, cache=Cache(tmp_path / "other cache")).open()


def without_paths(data: dict[str, Any]) -> dict[str, Any]:
    for item in data["inputs"]:
        item["path"] = Path(item["path"]).name
    return data


def test_a_pack_gives_the_report_of_its_sources_and_every_argument(tmp_path: Path, job: Path) -> None:
    source = open_job(tmp_path, job)
    path = packed(tmp_path, job)
    for item in job.rglob("*.json*"):
        item.unlink()
    result = elsewhere(tmp_path, path)
    assert not result.failures
    shown = [str(i.path.relative_to(tmp_path)) for i in result.session.inputs]
    assert shown == ["out.rankpack/rank0.json", "out.rankpack/node1/rank1.json.gz"]
    assert without_paths(report(result.session)) == without_paths(report(source.session))
    for old, new in zip(source.session.inputs, result.session.inputs, strict=True):
        assert not new.trace.meta.args_in_source
        notes = [new.trace.args(i) for i in range(len(new.trace))]
        assert sum("note" in n for n in notes) == 20
        assert new.trace.mark_args(0) == {"say": "hello"}
        if not old.trace.meta.args_in_source:  # the plain source is gone
            assert notes == [old.trace.args(i) for i in range(len(old.trace))]
    again = elsewhere(tmp_path, path)
    assert [i.trace.meta for i in again.session.inputs] == [i.trace.meta for i in result.session.inputs]


def test_the_same_job_gives_the_same_bytes_and_a_pack_of_a_pack_too(tmp_path: Path, job: Path) -> None:
    first = packed(tmp_path, job).read_bytes()
    fresh = elsewhere(tmp_path, job)
    write_pack(tmp_path / "b.rankpack", fresh.session, [job])
    assert (tmp_path / "b.rankpack").read_bytes() == first
    write_pack(tmp_path / "c.rankpack", elsewhere(tmp_path, tmp_path / "b.rankpack").session, [tmp_path / "b.rankpack"])
    assert (tmp_path / "c.rankpack").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "c.rankpack") as archive:  # any reader of zip archives can look into it
        assert archive.testzip() is None


def test_nothing_of_this_machine_is_told(tmp_path: Path, job: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path, job)) as archive:
        for name in archive.namelist():
            assert str(tmp_path).encode() not in archive.read(name)


def test_given_ranks_stay(tmp_path: Path, job: Path) -> None:
    path = packed(tmp_path, job / "rank0.json", given_ranks={"rank0.json": 6})
    (item,) = elsewhere(tmp_path, path).session.inputs
    assert (item.rank, item.rank_source) == (6, "given")


def test_two_packs_and_a_file_are_one_job(tmp_path: Path, job: Path) -> None:
    one = packed(tmp_path, job / "rank0.json", name="a.rankpack")
    two = packed(tmp_path, job / "node1", name="b.rankpack")
    third = write_json(tmp_path / "rank_2.json", [kernel()], distributedInfo={"rank": 2, "world_size": 2})
    result = elsewhere(tmp_path, two, third, one)
    assert [i.rank for i in result.session.inputs] == [0, 1, 2]
    folder = tmp_path / "packs"
    folder.mkdir()
    one.rename(folder / one.name)
    two.rename(folder / two.name)
    assert [i.rank for i in elsewhere(tmp_path, folder).session.inputs] == [0, 1]
    assert [i.rank for i in elsewhere(tmp_path, folder / "b.rankpack" / "rank1.json.gz").session.inputs] == [1]


@pytest.mark.parametrize(
    ("given_paths", "names"),
    [
        (["/x/job"], ["a.json", "n/b.json"]),
        (["/x/job/a.json", "/x/job/n/b.json"], ["a.json", "b.json"]),
        (["/x/job", "/y"], ["job/a.json", "job/n/b.json"]),
    ],
)
def test_names_tell_nothing_above_what_was_given(given_paths: list[str], names: list[str]) -> None:
    paths = [Path("/x/job/a.json"), Path("/x/job/n/b.json")]
    assert input_names(paths, [Path(g) for g in given_paths]) == names
    assert pack_name("8 files in a/b") == "8 files in a-b.rankpack"
    assert pack_name("..") == "job.rankpack"


def test_a_source_that_changed_is_packed_without_its_args_and_said(tmp_path: Path, job: Path) -> None:
    result = open_job(tmp_path, job)
    source = job / "rank0.json"
    source.write_bytes(source.read_bytes() + b" ")
    out = write_pack(tmp_path / "out.rankpack", result.session, [job])
    assert out.without_args == ["rank0.json"]
    zero = elsewhere(tmp_path, out.path).session.inputs[0].trace
    assert zero.args(0) == {}
    assert "packed-without-args" in {f.code for f in zero.meta.findings}


def test_cancelling_and_a_full_disk_leave_no_file(tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_job(tmp_path, job).session
    out = tmp_path / "to" / "out.rankpack"
    out.parent.mkdir()
    token = CancelToken()
    seen: list[tuple[int, int, str]] = []

    def tell(*state: Any) -> None:
        seen.append(state)
        token.cancel()

    with pytest.raises(Cancelled):
        write_pack(out, session, [job], tell, token)
    assert seen
    assert seen[0][2] == "rank0.json"
    assert list(out.parent.iterdir()) == []
    out.write_bytes(b"what was there")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pack_module.os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_pack(out, session, [job])
    assert [p.name for p in out.parent.iterdir()] == ["out.rankpack"]
    assert out.read_bytes() == b"what was there"


def test_a_pack_goes_through_a_link_and_never_over_a_device(tmp_path: Path, job: Path) -> None:
    session = open_job(tmp_path, job).session
    real = tmp_path / "real.rankpack"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link.rankpack").symlink_to(real)
    write_pack(tmp_path / "link.rankpack", session, [job])
    assert (tmp_path / "link.rankpack").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert zipfile.is_zipfile(real)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is no regular file"):
        write_pack(tmp_path / "pipe", session, [job])
    assert (tmp_path / "pipe").is_fifo()


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def sentence_of(tmp_path: Path, path: Path) -> str:
    result = elsewhere(tmp_path, path)
    assert len(result.session.inputs) < 2
    texts = [e.sentence() for e in result.failures] + [f.message for f in result.skipped]
    assert texts
    return " ".join(texts)


def test_packs_of_other_versions_and_foreign_ones_get_a_sentence(tmp_path: Path, job: Path) -> None:
    path = packed(tmp_path, job)
    whole = path.read_bytes()

    def manifest(members: dict[str, bytes], **values: Any) -> None:
        members[MANIFEST] = json.dumps(json.loads(members[MANIFEST]) | values).encode()

    for change, words in (
        (lambda m: manifest(m, tables=999), "another version of Rankscope"),
        (lambda m: manifest(m, format="rankscope.pack/2"), "another version"),
        (lambda m: m.update({"rankscope-pack": b"rankscope.pack/9\n"}), "another version"),
        (lambda m: m.update({MANIFEST: b"{"}), "manifest makes no sense"),
        (lambda m: m.update({MANIFEST: b"[" * 100_000}), "manifest makes no sense"),
        (lambda m: m.pop("0/meta.json"), "it lacks 0/meta.json"),
        (lambda m: m.pop(MANIFEST), "it lacks manifest.json"),
        (lambda m: manifest(m, inputs=[{"name": "x", "events": 1, "files": {}}]), "does not list the files"),
        (lambda m: m.update({"0/slices.arrow.zst": m["1/slices.arrow.zst"] + b"x"}), "is damaged in the pack"),
    ):
        path.write_bytes(whole)
        rewritten(path, change)  # type: ignore[arg-type]
        assert words in sentence_of(tmp_path, path)
    path.write_bytes(whole[:-100])
    assert "ends before its directory" in sentence_of(tmp_path, path)


def test_a_damaged_rank_of_a_pack_is_missing_and_that_is_said_as_a_failure(tmp_path: Path, job: Path) -> None:
    path = packed(tmp_path, job)
    rewritten(path, lambda m: m.update({"0/slices.arrow.zst": m["1/slices.arrow.zst"] + b"x"}))
    result = elsewhere(tmp_path, path)
    assert result.session.inputs
    assert not result.skipped
    (failure,) = result.failures
    assert failure.sentence().endswith("Copy the pack again, or write it again with rankscope pack.")


def test_hostile_tables_are_refused(tmp_path: Path, job: Path) -> None:
    """Checksums fit: only what the tables say is wrong."""
    from viewer.store.pack import check_values

    trace = open_job(tmp_path, job).session.inputs[0].trace
    check_values(trace)
    for column, value in (("name", 1 << 20), ("cat", -2), ("paint", 200), ("parent", 5), ("dur_ns", -1)):
        trace = open_job(tmp_path, job).session.inputs[0].trace
        values = getattr(trace.slices, column).copy()
        values[0] = value
        trace.slices.replace(column, values)
        with pytest.raises(ValueError, match="its tables"):
            check_values(trace)
    trace = open_job(tmp_path, job).session.inputs[0].trace
    starts = trace.slices.start_ns.copy()
    starts[:] = starts[::-1]
    trace.slices.replace("start_ns", starts)
    with pytest.raises(ValueError, match="contradict"):
        check_values(trace)
    trace = open_job(tmp_path, job).session.inputs[0].trace
    trace.meta.rank = -3
    with pytest.raises(ValueError, match="absurd rank"):
        check_values(trace)


def test_without_a_place_for_tables_a_pack_opens_in_memory(
    tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path, job)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("viewer.importers.packed.write_meta", full)
    result = elsewhere(tmp_path, path)
    assert [len(i.trace) for i in result.session.inputs] == [22, 22]
    assert all(any(f.code == "cache-unwritable" for f in i.trace.meta.findings) for i in result.session.inputs)
    assert "note" in result.session.inputs[1].trace.args(0)


@pytest.fixture(scope="module")
def small_pack(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("small")
    events = [kernel(f"k{i}", 10 * i, 5, note=f"n{i}") for i in range(30)]
    path = folder / "rank0.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))
    session = open_job(folder, path).session
    write_pack(folder / "a.rankpack", session, [path])
    return (folder / "a.rankpack").read_bytes(), without_paths(report(session))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_damaged_pack_is_told_or_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, small_pack: tuple[bytes, dict[str, Any]], data: st.DataObject
) -> None:
    whole, truth = small_pack
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(damaged)))]
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / "a.rankpack"
    path.write_bytes(damaged)
    result = JobOpener([path], cache=Cache(folder / "cache")).open()
    if result.session.inputs:
        assert without_paths(report(result.session))["ranks"] == truth["ranks"]
    else:
        assert result.failures
    for text in [f.sentence() for f in result.failures] + [f.message for f in result.skipped]:
        assert "\n" not in text
        assert "could not be imported" not in text


def test_a_manifest_that_claims_too_little_is_noticed(tmp_path: Path, job: Path) -> None:
    path = packed(tmp_path, job)

    def shrink(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[MANIFEST])
        for item in manifest["inputs"]:
            item["files"]["slices.arrow"]["size"] = 8
        members[MANIFEST] = json.dumps(manifest).encode()

    rewritten(path, shrink)
    assert "longer than the manifest states" in sentence_of(tmp_path, path)
