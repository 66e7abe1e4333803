"""The baseline store: plain files, several writers, damage."""

import multiprocessing
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from viewer.base.errors import InputError, UsageError
from viewer.base.run_record import RUN_SCHEMA, RunFigure, RunRecord
from viewer.store.baseline import BaselineStore, folder_name, new_id, time_text


def a_record(load="train", value=1.0):
    now = datetime.now(UTC)
    return RunRecord(RUN_SCHEMA, new_id(now), time_text(now), load, {"step_ns": RunFigure(value, "ns")})


def write_some(folder, count):
    store = BaselineStore(Path(folder))
    for number in range(count):
        store.add(a_record(value=float(number)))


def test_what_is_written_is_read_in_the_order_of_time(tmp_path):
    store = BaselineStore(tmp_path / "new" / "store")
    records = [a_record(value=float(i)) for i in range(5)]
    for record in reversed(records):
        store.add(record)
    assert list(store.read("train").runs) == records
    assert store.read("other").runs == ()
    assert store.loads() == ["train"]


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_some, args=(str(tmp_path), 25)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    stored = BaselineStore(tmp_path).read("train")
    assert len(stored.runs) == 50
    assert stored.findings == ()


def test_a_record_is_never_written_over(tmp_path):
    store, record = BaselineStore(tmp_path), a_record()
    store.add(record)
    with pytest.raises(UsageError, match="cannot be written"):
        store.add(record)
    assert list(store.read("train").runs) == [record]
    assert not list(tmp_path.rglob("*.tmp"))


_FIGURES = b'{"a": {"value": %s, "unit": ""}}'
_RECORD = b'{"schema": "rankscope.run/1", "id": "x", "time": "%s", "load": "train", "figures": ' + _FIGURES + b"}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"schema": "rankscope.run/1", "id": "x"', "half written"),
        (b"", "half written"),
        (b"[]", "no record"),
        (b'{"schema": "rankscope.run/1"}', "wrong value"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema": "rankscope.run/1", "figures": {"a": {"value": "x"}}}', "wrong value"),
        (_RECORD % (b"2026-01-01T00:00:00Z", b"1e308"), "wrong value"),
        (_RECORD % (b"2026-01-01T00:00:00Z", b"NaN"), "wrong value"),
        (_RECORD % (b"tomorrow", b"1.0"), "damaged"),
    ],
)
def test_a_damaged_record_is_left_out_with_a_sentence(tmp_path, data, why):
    store = BaselineStore(tmp_path)
    path = store.add(a_record())
    (path.parent / "20200101T000000000000Z-00000000.json").write_bytes(data)
    (path.parent / ".killed.1234.tmp").write_bytes(b'{"schema"')
    stored = store.read("train")
    assert len(stored.runs) == 1
    (finding,) = stored.findings
    assert "1 of 2 records" in finding.message
    assert why in finding.message


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"No space left on device\. Nothing was recorded"):
        BaselineStore(tmp_path).add(a_record())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    path = tmp_path / "store"
    path.write_text("x")
    with pytest.raises(InputError, match="is no folder"):
        BaselineStore(path).read("train")


def test_what_killed_writers_left_is_cleared_after_a_day(tmp_path):
    store = BaselineStore(tmp_path)
    folder = store.add(a_record()).parent
    old, young = folder / ".killed.1.tmp", folder / ".at-work.2.tmp"
    for path in (old, young):
        path.write_bytes(b"{")
    os.utime(old, (0, 0))
    store.add(a_record())
    assert not old.exists()
    assert young.exists()


def test_a_name_without_letters_names_no_load():
    with pytest.raises(UsageError, match="no name for a load"):
        folder_name("ü")


@pytest.mark.parametrize("load", ["../../etc", "a/b", "a b", "x" * 300, ".hidden", "a\nb"])
def test_a_load_never_names_a_path(load, tmp_path):
    name = folder_name(load)
    assert "/" not in name
    assert not name.startswith(".")
    path = BaselineStore(tmp_path).add(a_record(load))
    assert path.parent.parent == tmp_path / "runs"
    assert [r.load for r in BaselineStore(tmp_path).read(load).runs] == [load]


def test_a_record_names_no_file_outside_the_store(tmp_path):
    import msgspec

    store, record = BaselineStore(tmp_path), a_record()
    path = store.trace_path("train", record.id)
    path.write_bytes(b"pack")
    kept = msgspec.structs.replace(record, trace="x")
    assert store.kept_trace(kept) == path
    assert store.kept_trace(record) is None
    assert store.kept_trace(msgspec.structs.replace(kept, id="../../../etc/passwd")) is None


def test_only_packs_of_other_runs_are_forgotten(tmp_path):
    store = BaselineStore(tmp_path)
    ids = [a_record().id for _ in range(3)]
    for name in ids:
        store.trace_path("train", name).write_bytes(b"pack")
    stranger = store.trace_path("train", ids[0]).with_name("mine.rankpack")
    stranger.write_bytes(b"x")
    assert store.forget_traces("train", ids[:1]) == 2
    assert {p.name for p in stranger.parent.iterdir()} == {f"{ids[0]}.rankpack", "mine.rankpack"}
