from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.viewer.importers.texts import kernel, open_job, open_one, problem, write_json
from viewer.base.errors import Cancelled
from viewer.base.work import CancelToken, Progress
from viewer.exporters.report import report
from viewer.exporters.summary import summary
from viewer.importers import opening, source
from viewer.importers.discover import discover
from viewer.importers.json_trace import rank_in_name
from viewer.importers.opening import JobOpener
from viewer.importers.registry import importer_of
from viewer.importers.source import Source
from viewer.importers.special import made_by_system
from viewer.store.cache import Cache
from viewer.store.meta import SourceStamp
from viewer.store.session import Opened, Session, build_session


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_2.json", 2),
        ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 0),
        ("sampled_rank-1.json.gz", 1),
        ("xdit_sd35_rank0.json.gz", 0),
        ("RANK12.json", 12),
        ("node-b_4242.169.pt.trace.json", None),
        ("megatron_kineto_3.json", None),
        ("frank_3.json", None),
        ("local_rank_1.json", None),
        ("tp_rank_1_pp_rank_2.json", None),
        ("rank_1_of_rank_2.json", None),
        ("rank_1690000000003.json", None),
        ("ranks.json", None),
    ],
)
def test_rank_in_a_name(name: str, rank: int | None) -> None:
    assert rank_in_name(Path(name)) == rank


def test_head_and_tail_keys_make_the_meta(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100", "numSms": 132}], "traceEvents": ['
        + json.dumps(kernel())
        + '], "distributedInfo": {"rank": 5, "world_size": 8, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg",'
        '"pg_size": 2, "ranks": [4, 5]}], "nccl_version": "2.21"}, "with_stack": 1, "baseTimeNanoseconds": 1700}'
    )
    meta = open_one(tmp_path, path).meta
    assert (meta.format, meta.rank, meta.rank_source, meta.world_size, meta.base_ns) == (
        "kineto",
        5,
        "distributedInfo",
        8,
        1700,
    )
    assert meta.devices[0].name == "H100"
    assert meta.devices[0].properties["numSms"] == 132
    assert meta.groups[0].ranks == [4, 5]
    assert meta.groups[0].ranks_complete
    assert meta.facts["with_stack"] == 1
    assert meta.facts["nccl_version"] == "2.21"
    assert (meta.first_ns, meta.last_ns, meta.gpu_first_ns, meta.events) == (1000, 2000, 1000, 1)


def test_a_job_is_ordered_by_rank_and_told_in_steps(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in (2, 0, 1):
        write_json(folder / f"x{rank}.json", [kernel()] * (3 - rank), distributedInfo={"rank": rank})
    seen: list[list[int | None]] = []
    progress: list[Progress] = []
    opener = JobOpener([folder], cache=Cache(tmp_path / "cache"), workers=1)
    result = opener.open(progress.append, opened=lambda s: seen.append([i.rank for i in s.inputs]))
    assert seen == [[2], [1, 2], [0, 1, 2]]
    assert [i.rank for i in result.session.inputs] == [0, 1, 2]
    done = {p.path: p for p in progress if p.stage == "done"}
    assert len(done) == 3
    assert all(p.done_bytes == p.total_bytes > 0 for p in done.values())


def test_sessions_of_many_files_are_not_made_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(12):
        write_json(tmp_path / f"rank_{rank}.json", [kernel()], distributedInfo={"rank": rank})
    now = [0.0]
    made: list[int] = []
    seen: list[int] = []
    monkeypatch.setattr(opening, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def build(done: list[Opened], *rest: Any) -> Session:
        made.append(len(done))
        now[0] += 1.0  # no file takes any time on this clock, each session a second
        return build_session(done, *rest)

    monkeypatch.setattr(opening, "build_session", build)
    opener = JobOpener([tmp_path], cache=Cache(tmp_path / "cache"), workers=1)
    opener.open(opened=lambda s: seen.append(len(s.inputs)))
    assert made == seen == [1, 12]
    made.clear()
    assert len(JobOpener([tmp_path], cache=Cache(tmp_path / "cache")).open().session.inputs) == 12
    assert made == [12]


def test_given_ranks_win(tmp_path: Path) -> None:
    path = write_json(tmp_path / "rank_1.json", [kernel()])
    result = open_job(tmp_path, path, given_ranks={"rank_1.json": 7})
    assert (result.session.inputs[0].rank, result.session.inputs[0].rank_source) == (7, "given")


def test_a_rank_for_a_name_that_no_file_has_is_told(tmp_path: Path) -> None:
    path = write_json(tmp_path / "rank_1.json", [kernel()])
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    given = {"rank_1.json": 7, str(path): 7, "bad.json": 1, "rank_one.json": 2}
    told = open_job(tmp_path, path, bad, given_ranks=given).session.findings
    assert [(f.code, f.severity) for f in told] == [("unused-rank", "warning")]
    assert "Rank 2 was given for rank_one.json" in told[0].message


def test_reopening_reads_no_source(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [kernel("n", 1, 2, note="x")], schemaVersion=1)
    first = open_one(tmp_path, path)
    stages: list[str] = []
    opener = JobOpener([path], cache=Cache(tmp_path / "cache"))
    again = opener.open(lambda p: stages.append(p.stage)).session.inputs[0].trace
    assert stages == ["done"]
    assert again.meta == first.meta
    assert again.args(0)["note"] == "x"


def test_folders_with_links_in_circles_and_files_given_twice(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    (folder / "sub").mkdir(parents=True)
    path = write_json(folder / "sub" / "rank_0.json", [kernel()])
    (folder / "sub" / "up").symlink_to(folder)
    (folder / "copy.json").symlink_to(path)
    (folder / ".hidden.json").write_text("{}")
    assert len(discover([folder, path, path, folder / "sub"])) == 1
    (named,) = discover([folder, path])
    assert named.named


def test_smallest_first(tmp_path: Path) -> None:
    big = write_json(tmp_path / "a.json", [kernel()] * 50)
    small = write_json(tmp_path / "b.json", [kernel()])
    assert [c.path for c in discover([big, small])] == [small, big]


def test_what_is_no_trace_in_a_folder_is_skipped_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    write_json(folder / "rank_0.json", [kernel()])
    (folder / "config.json").write_text('{"model": "x"}')
    (folder / "notes.txt").write_text("hello")
    (folder / "empty.json").touch()
    result = open_job(tmp_path, folder)
    assert len(result.session.inputs) == 1
    assert not result.failures
    assert [Path(f.where).name for f in result.skipped] == ["config.json", "empty.json"]


def test_bad_files_fail_with_one_sentence_and_the_rest_opens(tmp_path: Path) -> None:
    good = write_json(tmp_path / "rank_0.json", [kernel()])
    bad = {
        "empty.json": b"",
        "space.json": b" \n",
        "script.py": b"import os\n",
        "config.json": b'{"model": {"traceEvents": []}}',
        "list.json": b"[1, 2, 3]",
        "binary.json": b"\x00\x01\x02\x03" * 40,
        "report.nsys-rep": b"\x00QDSTRM",
        "host.xplane.pb": b"\x0a\x80\x04/host:CPU",
        "t.pftrace": b"\x0a\x80\x02\xffdata",
        "text.pftrace": b"hello",
        "twice.json.gz": gzip.compress(gzip.compress(b'{"traceEvents": []}')),
        "pointer.json": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "page.json": b"\n<!DOCTYPE html><title>Not found</title>",
        "db.sqlite": b"SQLite format 3\0abc",
        "broken.json.gz": b"\x1f\x8b\x08\x00garbage",
        "half.json": b'{"schemaVersion": 1, "deviceProperties": [',
        "image.zip": b"PK\x03\x04rest",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    result = open_job(tmp_path, good, tmp_path / "gone.json", tmp_path / "folder", *(tmp_path / n for n in bad))
    assert len(result.session.inputs) == 1
    sentences = {Path(e.path).name: e.sentence() for e in result.failures}
    assert set(sentences) == {*bad, "gone.json", "folder"}
    parts = {
        "empty.json": "is empty",
        "space.json": "nothing but space",
        "script.py": 'begins with "i"',
        "config.json": 'no "traceEvents"',
        "list.json": "none of its 3 list entries is a trace event",
        "binary.json": "binary",
        "report.nsys-rep": "Nsight",
        "host.xplane.pb": "XPlane",
        "t.pftrace": "traceconv",
        "text.pftrace": 'begins with "h"',
        "twice.json.gz": "compressed twice",
        "pointer.json": "git lfs pull",
        "page.json": "web page",
        "db.sqlite": "SQLite",
        "broken.json.gz": "nothing of it can be unpacked",
        "half.json": "byte 42",
        "image.zip": "archive that cannot be read",
        "gone.json": "no such file",
        "folder": "holds no JSON file",
    }
    for name, part in parts.items():
        assert part in sentences[name]
        assert "\n" not in sentences[name]
        assert sentences[name].startswith(str(tmp_path / name))
        assert sentences[name].endswith(".")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    path = write_json(tmp_path / "a.json", [kernel()])
    monkeypatch.setattr("viewer.importers.source.stamp_of", refuse)  # root may read everything, also in a test
    assert "no permission" in problem(tmp_path, path).sentence()


def test_a_file_of_a_folder_that_cannot_be_read_fails_and_is_not_called_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank whose file belongs to somebody else is missing, and that is said."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(2):
        write_json(folder / f"rank_{rank}.json", [kernel()])
    (folder / "config.json").write_text("{}")
    (folder / "gone.json").symlink_to("nowhere")
    stamp = source.stamp_of

    def refuse(path: Path) -> SourceStamp:
        if path.name == "rank_1.json":
            raise PermissionError(13, "Permission denied", str(path))
        return stamp(path)

    monkeypatch.setattr(source, "stamp_of", refuse)
    result = open_job(tmp_path, folder)
    assert [Path(e.path).name for e in result.failures] == ["rank_1.json"]
    assert [Path(f.where).name for f in result.skipped] == ["config.json", "gone.json"]
    told = summary(report(result.session, result.failures, result.skipped))
    assert "info: config.json: no trace, left out" in told


def test_a_folder_whose_traces_cannot_be_read_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> SourceStamp:
        raise PermissionError(13, "Permission denied", str(path))

    folder = tmp_path / "job"
    folder.mkdir()
    write_json(folder / "rank_0.json", [kernel()])
    monkeypatch.setattr(source, "stamp_of", refuse)
    assert [Path(e.path).name for e in open_job(tmp_path, folder).failures] == ["rank_0.json"]


def test_an_error_of_our_own_fails_one_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = (write_json(tmp_path / f"rank_{r}.json", [kernel()]) for r in range(2))
    sure = importer_of(good)

    def broken(source: Source) -> object:
        if source.path == bad:
            raise KeyError("surprise")
        return sure

    monkeypatch.setattr("viewer.importers.single.importer_of", broken)
    result = open_job(tmp_path, good, bad)
    assert [i.rank for i in result.session.inputs] == [0]
    assert "KeyError" in result.failures[0].sentence()


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert "no regular file" in problem(tmp_path, tmp_path / "pipe.json").sentence()


def test_what_the_system_makes_as_it_is_read_is_never_read(tmp_path: Path) -> None:
    linux = os.path.exists("/proc/self/mountinfo")
    assert made_by_system("/proc/self/environ") == linux
    assert not made_by_system(tmp_path)
    link = tmp_path / "link.json"
    link.symlink_to("/proc/self/environ" if linux else tmp_path / "pipe")
    if not linux:
        os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in problem(tmp_path, link).sentence()
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "system").symlink_to("/proc")  # from which links lead everywhere
    assert discover([tmp_path / "job"]) == []


@pytest.mark.parametrize(("bound", "told"), [("MAX_FOLDERS", "folders"), ("MAX_FILES", "files with the name")])
def test_a_folder_of_too_much_is_read_in_part_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, told: str
) -> None:
    for rank in range(3):
        (tmp_path / "job" / str(rank)).mkdir(parents=True)
        write_json(tmp_path / "job" / str(rank) / f"rank_{rank}.json", [kernel()])
    assert not open_job(tmp_path, tmp_path / "job").failures
    monkeypatch.setattr(f"viewer.importers.discover.{bound}", 2)
    result = open_job(tmp_path, tmp_path / "job")
    assert 1 <= len(result.session.inputs) < 3
    (failure,) = result.failures
    assert f"more than 2 {told}" in failure.sentence()
    monkeypatch.setattr("viewer.importers.discover.MAX_FOLDERS", 1)
    (failure,) = open_job(tmp_path, tmp_path / "job").failures
    assert "more than 1 folders" in failure.sentence()


@pytest.mark.parametrize("events", [[], [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]])
def test_a_trace_without_events_opens_and_says_so(tmp_path: Path, events: list[object]) -> None:
    trace = open_one(tmp_path, write_json(tmp_path / "a.json", events, schemaVersion=1))
    assert [f.code for f in trace.meta.findings] == ["no-events"]
    assert trace.meta.first_ns is None
    assert len(trace) == 0


def test_a_trace_without_gpu_work_opens_and_says_so(tmp_path: Path) -> None:
    trace = open_one(tmp_path, write_json(tmp_path / "a.json", [{**kernel(), "cat": "cpu_op"}], schemaVersion=1))
    assert [f.code for f in trace.meta.findings] == ["no-gpu-work"]
    assert trace.meta.gpu_first_ns is None


def test_truncated_gzip_keeps_its_prefix(tmp_path: Path) -> None:
    text = json.dumps({"schemaVersion": 1, "traceEvents": [kernel(f"k{i * 7919 % 1000}", i) for i in range(3000)]})
    path = tmp_path / "cut.json.gz"
    path.write_bytes(gzip.compress(text.encode())[:-2000])
    trace = open_one(tmp_path, path)
    assert not trace.meta.complete
    assert 100 < len(trace) < 3000
    assert trace.slices.start_ns.tolist() == [i * 1000 for i in range(len(trace))]
    assert trace.args(5) == kernel()["args"]
    (finding,) = [f for f in trace.meta.findings if f.code == "truncated"]
    assert "cut off" in finding.message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wide.json"
    path.write_bytes(json.dumps({"traceEvents": [kernel("é", note="ü")]}, ensure_ascii=False).encode(encoding))
    trace = open_one(tmp_path, path)
    assert trace.name(0) == "é"
    assert trace.args(0)["note"] == "ü"


def test_cancelling_the_job(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", [kernel()])
    token = CancelToken()
    token.cancel()
    opener = JobOpener([path], cache=Cache(tmp_path / "cache"))
    with pytest.raises(Cancelled):
        opener.open(cancel=token)


def test_cancelling_one_file_leaves_it_out(tmp_path: Path) -> None:
    paths = [write_json(tmp_path / f"rank_{r}.json", [kernel()] * (r + 1)) for r in range(3)]
    opener = JobOpener(paths, cache=Cache(tmp_path / "cache"), workers=1)
    opener.cancel_file(paths[1])

    def progress(p: Progress) -> None:
        if p.path == str(paths[2]):
            opener.cancel_file(paths[2])

    result = opener.open(progress)
    assert [i.rank for i in result.session.inputs] == [0]
    assert sorted(result.cancelled) == paths[1:]
    assert not list((tmp_path / "cache").glob(".draft-*"))


def test_jobs_of_different_world_sizes_are_told_apart(tmp_path: Path) -> None:
    paths = [
        write_json(tmp_path / f"{i}.json", [kernel()], distributedInfo={"rank": i, "world_size": size})
        for i, size in enumerate((2, 2, 4))
    ]
    assert open_job(tmp_path, *paths).jobs == [[0, 1], [2]]
    assert open_job(tmp_path, *paths[:2]).jobs == [[0, 1]]


def ranked(folder: Path, rank: int, start: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write_json(folder / f"r{rank}.json", [kernel(ts=start, dur=50)], distributedInfo={"rank": rank})


def test_jobs_of_folders_with_the_same_ranks_are_told_apart(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for rank in (0, 1):
        ranked(a, rank)
        ranked(b, rank, 1_000)  # later: as files of one job they would be segments
    assert open_job(tmp_path, a, b).jobs == [[0, 2], [1, 3]]
    assert open_job(tmp_path, a / "r0.json", a / "r1.json", b / "r0.json").jobs == [[0, 2], [1]]
    assert open_job(tmp_path, tmp_path).jobs == [[0, 1, 2, 3]], "one folder is one job, of several segments"


def test_ranks_at_the_same_time_in_folders_of_a_folder_are_told_apart(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("a", "b"):
        for rank in (0, 1):
            ranked(top / name, rank)
    assert open_job(tmp_path, top).jobs == [[0, 2], [1, 3]]
    nodes = tmp_path / "nodes"
    ranked(nodes / "node0", 0)
    ranked(nodes / "node1", 1)
    assert open_job(tmp_path, nodes).jobs == [[0, 1]]


def test_an_unwritable_cache_is_told_and_the_job_opens(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [kernel(note="here")])
    (tmp_path / "file").touch()
    result = JobOpener([path], cache=Cache(tmp_path / "file" / "cache")).open()
    trace = result.session.inputs[0].trace
    assert [f.code for f in trace.meta.findings] == ["cache-unwritable"]
    assert trace.args(0)["note"] == "here"


def test_without_any_place_to_write_tables_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    path = write_json(tmp_path / "a.json.gz", [kernel(note="here")])
    monkeypatch.setattr("viewer.importers.single.write_tables", full)
    trace = JobOpener([path], cache=Cache(tmp_path / "cache")).open().session.inputs[0].trace
    assert trace.args(0)["note"] == "here"
    assert "No space left" in trace.meta.findings[-1].message
    assert not list((tmp_path / "cache").iterdir())


def test_a_damaged_cache_is_rebuilt(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", [kernel()])
    open_one(tmp_path, path)
    (table,) = (tmp_path / "cache").glob("*/slices.arrow")
    table.write_bytes(table.read_bytes()[:100])
    trace = open_one(tmp_path, path)
    assert len(trace) == 1
    assert [f.code for f in trace.meta.findings] == ["cache-rebuilt"]


def test_two_openers_on_one_cache(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", [kernel()] * 100)
    sessions: list[Session] = []

    def run() -> None:
        sessions.append(JobOpener([path], cache=Cache(tmp_path / "cache")).open().session)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [len(s.inputs[0].trace) for s in sessions] == [100] * 4
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e300", "NaN", '"1e3"', "9" * 5000, "[]", "true"])
def test_absurd_numbers_in_the_head_are_no_facts(tmp_path: Path, number: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        f'{{"baseTimeNanoseconds": {number}, "distributedInfo": {{"rank": {number}, "world_size": {number}, '
        f'"pg_config": [{{"pg_size": {number}, "ranks": [{number}]}}]}}, "deviceProperties": [{{"id": {number}}}], '
        f'"traceEvents": [{json.dumps(kernel())}]}}'
    )
    meta = open_one(tmp_path, path).meta
    assert (meta.base_ns, meta.rank, meta.world_size, meta.devices) == (None, None, None, [])


def test_odd_paths_fail_alone_with_a_sentence(tmp_path: Path) -> None:
    good = write_json(tmp_path / "good.json", [kernel()])
    (tmp_path / "loop.json").symlink_to("loop.json")
    odd = [tmp_path / "loop.json", tmp_path / ("n" * 300 + ".json"), Path("x" * 5000), good / "x"]
    result = open_job(tmp_path, good, *odd, Path("a\0b.json"))
    assert [i.path for i in result.session.inputs] == [good]
    assert sorted(e.path for e in result.failures) == sorted((*map(str, odd), r"a\0b.json"))
    assert not any("Rankscope" in e.sentence() for e in result.failures)


def test_a_name_that_is_no_utf8_opens_and_its_args_are_found(tmp_path: Path) -> None:
    path = write_json(Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff\n rank 3.json")), [kernel(bytes=5)])
    for _ in range(2):  # imported, then from the cache
        trace = open_one(tmp_path, path)
        assert trace.args(0)["bytes"] == 5
        assert trace.meta.findings == []


@pytest.mark.parametrize(
    ("table", "column"), [("rows", "begin"), ("rows", "end"), ("rows", "lane"), ("lanes", "row_end")]
)
def test_tables_that_do_not_fit_together_are_rebuilt(tmp_path: Path, table: str, column: str) -> None:
    path = write_json(tmp_path / "t.json", [kernel(ts=i, dur=i % 3) for i in range(20)])
    whole = open_one(tmp_path, path)
    values = getattr(whole.rows if table == "rows" else whole._lanes, column)
    (file,) = (tmp_path / "cache").glob(f"*/{table}.arrow")
    text, old = file.read_bytes(), values.tobytes()
    at = text.rindex(old) if column != "begin" else text.index(old)
    file.write_bytes(text[:at] + b"\xee" * len(old) + text[at + len(old) :])
    again = open_one(tmp_path, path)
    assert [f.code for f in again.meta.findings] == ["cache-rebuilt"]
    assert sorted(again.slices.start_ns.tolist()) == list(range(0, 20_000, 1000))


def test_noise_in_the_tables_is_noticed_and_rebuilt(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [kernel(f"k{i}", i, 1, note=i) for i in range(200)], schemaVersion=1)
    first = open_one(tmp_path, path)
    durations = first.slices.dur_ns.tolist()
    (place,) = [e.path for e in Cache(tmp_path / "cache").entries()]
    del first
    for name in ("slices.arrow", "strings.arrow", "args.bin", "args.index", "meta.json"):
        data = bytearray((place / name).read_bytes())
        data[len(data) // 2] ^= 4
        (place / name).write_bytes(data)
        again = open_one(tmp_path, path)
        assert [f.code for f in again.meta.findings] == ["cache-rebuilt"], name
        assert again.slices.dur_ns.tolist() == durations
        assert again.args(3)["note"] == 3
        del again


def test_args_outlive_the_folder_that_another_process_evicts(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [kernel("k", 1, 1, note="here")])
    trace = open_one(tmp_path, path)
    Cache(tmp_path / "cache").clear()
    assert trace.args(0)["note"] == "here"
