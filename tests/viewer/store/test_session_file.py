from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.errors import InputError, UsageError
from viewer.base.session_file import (
    SavedBookmark,
    SavedClock,
    SavedMark,
    SavedNote,
    SavedRange,
    SavedSelection,
    SavedSlice,
    SavedSource,
    SavedView,
    SessionFile,
)
from viewer.store.session_file import (
    MAX_BYTES,
    encode_session,
    is_session_file,
    parse_session,
    read_session,
    resolved,
    spelled,
    write_session,
)

FULL = SessionFile(
    title="job 17",
    sources=[SavedSource("a/r0.json", 10, 5, "ab", 3, -7), SavedSource("/else/r1.json")],
    clock=SavedClock("base", 1_700_000_000_123_456_789),
    view=SavedView(-5, 10**9, "rank 3/stream 0:7", 12),
    selection=SavedSelection(SavedSlice("rank 3/stream 0:7", "gemm", 17, 4), None, SavedRange(1, 2), "rank 3"),
    lanes={"collapsed": ["rank 1"], "heights": {"x": 3}},
    marks=[SavedMark(1, 5, None, "here", "red", ""), SavedMark(4, 5, 9)],
    notes=[SavedNote(2, 5, "spät\nsehr", "rank 3/stream 0:7", 1.5, -2.0, SavedSlice("l", "n", 1, 0))],
    bookmarks=[SavedBookmark(3, SavedView(0, 1), "warm", {"collapsed": []})],
    job={"model": {"layers": 40}},
)


def document(**changed: Any) -> bytes:
    return json.dumps({"format": "rankscope.session", "version": "1.0", **changed}).encode()


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_session(data, "bad.rankscope")
    said = caught.value.sentence()
    assert said.startswith("bad.rankscope")
    assert "\n" not in said
    assert len(said) < 500
    return said


def test_a_session_comes_back_as_it_was_written_and_the_same_gives_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "job.rankscope"
    write_session(path, FULL)
    first = path.read_bytes()
    back = read_session(path)
    assert back.content == FULL
    write_session(path, back.content, back.raw)
    assert path.read_bytes() == first
    assert "spät" in first.decode()
    assert first.count(b"\n") > 40
    assert list(json.loads(first))[:4] == ["format", "version", "title", "sources"]
    assert os.listdir(tmp_path) == ["job.rankscope"]


def test_what_a_newer_minor_version_added_is_kept_on_saving() -> None:
    raw = json.loads(encode_session(FULL))
    raw["version"] = "1.7"
    raw["lens"] = {"kind": "new"}
    raw["clock"]["drift"] = [1, 2]
    raw["notes"][0]["author"] = "me"
    raw["marks"][1]["shape"] = "star"
    raw["sources"][1]["host"] = "n3"
    read = parse_session(json.dumps(raw).encode(), "x")
    fewer = SessionFile(
        sources=FULL.sources, clock=SavedClock("none"), marks=FULL.marks[1:], notes=FULL.notes, job=read.content.job
    )
    saved = json.loads(encode_session(fewer, read.raw))
    assert saved["version"] == "1.7"
    assert saved["lens"] == {"kind": "new"}
    assert saved["clock"] == {"align": "none", "origin_ns": 0, "drift": [1, 2]}
    assert saved["notes"][0]["author"] == "me"
    assert saved["sources"][1]["host"] == "n3"
    assert [m["shape"] for m in saved["marks"]] == ["star"]
    assert saved["job"] == {"model": {"layers": 40}}
    assert saved["bookmarks"] == []
    assert saved["view"] is None


def test_a_newer_major_version_is_one_sentence() -> None:
    assert "version 2.0; this Rankscope reads version 1" in refused(document(version="2.0"))
    assert "states no version" in refused(document(version=None))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "line 1"),
        (b"{" * 200_000, "session file"),
        (b'{"format":"rankscope.session","version":"1.0","job":' + b"[" * 300 + b"]" * 300 + b"}", "nested too deeply"),
        (b'{"format":"rankscope.session","version":"1.0","job":' + b'{"a":' * 150_000, "session file"),
        (b"[1]", "lacks"),
        (b"\xff\xfe\x00", "no session file"),
        (b'{"traceEvents": []}', "lacks"),
        (document(sources=[{"path": 3}]), "at sources[0].path"),
        (document(sources=[{"path": ""}]), "at sources[0].path"),
        (document(sources={"path": "x"}), "at sources"),
        (document(sources=[{"path": "x", "rank": True}]), "at sources[0].rank"),
        (document(sources=[{"path": "x", "rank": -1}]), "at sources[0].rank"),
        (document(notes=[{"id": 1, "time_ns": 1, "text": "x" * 501}]), "at notes[0].text"),
        (document(notes=[{"id": 1, "time_ns": 10**30, "text": "x"}]), "at notes[0].time_ns"),
        (document(notes=[{"id": 1, "time_ns": 1.5, "text": "x"}]), "at notes[0].time_ns"),
        (document(notes=[{"id": n + 1, "time_ns": 1, "text": "x"} for n in range(1001)]), "at notes"),
        (document(bookmarks=[{"slot": 10, "view": {"start_ns": 0, "end_ns": 1}}]), "at bookmarks[0].slot"),
        (document(clock={"origin_ns": "0"}), "at clock.origin_ns"),
        (document(title="x").replace(b'"x"', b"NaN"), "NaN is no number"),
        (document(title="x").replace(b'"x"', b"1e999"), "not finite"),
        (document(title="x").replace(b'"x"', b"1" * 5000), "no session file"),
        (document(job={"x": [0] * 1_000_001}), "more than 1,000,000 values"),
    ],
)
def test_a_hostile_file_is_one_sentence(data: bytes, says: str) -> None:
    assert says in refused(data)


@given(st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        parse_session(data, "x")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["sources", "clock", "view", "selection", "lanes", "marks", "notes", "bookmarks", "job", "title"]),
)
def test_any_values_are_read_or_refused_and_saved_again(value: Any, where: str) -> None:
    try:
        read = parse_session(document(**{where: value}), "x")
    except InputError:
        return
    again = parse_session(encode_session(read.content, read.raw), "x")
    assert again.content == read.content


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe.rankscope", tmp_path / "large.rankscope"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for path, says in (
        (Path("/dev/zero"), "no regular file"),
        (pipe, "no regular file"),
        (tmp_path, "cannot be read|no regular file"),
        (large, "too large"),
        (tmp_path / "gone.rankscope", "does not exist"),
        (tmp_path / "nul\0.rankscope", "cannot be read"),
    ):
        with pytest.raises(InputError, match=says):
            read_session(path)


def test_a_file_that_cannot_be_written_is_said_and_the_old_one_stays(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_session(tmp_path / "no folder" / "x.rankscope", FULL)
    link, real = tmp_path / "link.rankscope", tmp_path / "real.rankscope"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_session(link, FULL)
    assert link.is_symlink()
    assert read_session(real).content == FULL
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_path_that_is_no_text_survives(tmp_path: Path) -> None:
    odd = os.fsdecode(b"a\xff.json")
    write_session(tmp_path / "x.rankscope", SessionFile(sources=[SavedSource(odd)]))
    assert read_session(tmp_path / "x.rankscope").content.sources[0].path == odd


@pytest.mark.parametrize(
    ("file", "session", "text"),
    [
        ("/d/job/a.json", "/d/job/x.rankscope", "a.json"),
        ("/d/job/t/a.json", "/d/job/x.rankscope", "t/a.json"),
        ("/d/traces/a.json", "/d/notes/x.rankscope", "../traces/a.json"),
        ("/d/a.json", "/d/notes/x.rankscope", "../a.json"),
        ("/e/a.json", "/d/notes/x.rankscope", "/e/a.json"),
        ("/e/a.json", "/d/x.rankscope", "/e/a.json"),
        ("/d/jobs/a.json", "/d/job/x/s.rankscope", "/d/jobs/a.json"),
    ],
)
def test_paths_are_relative_where_both_move_together(file: str, session: str, text: str) -> None:
    assert spelled(Path(file), Path(session)) == text
    assert resolved(text, Path(session)) == Path(file)


def test_names() -> None:
    assert is_session_file("A.RankScope")
    assert not is_session_file("a.json")
