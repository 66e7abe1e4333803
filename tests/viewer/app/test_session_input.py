"""Session files on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.app.conftest import trace_text
from viewer.app.cli import main


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of two traces, one given another rank, with a note, a mark, a selected slice and a narrow window."""
    for rank in (0, 1):
        (tmp_path / f"r{rank}.json").write_text(trace_text(rank))
    path = tmp_path / "job.rankscope"
    slice_ = {"lane": "rank 0/stream 0:7", "name": "gemm_1", "start_ns": 1_110_000, "dur_ns": 61_000}
    content = {
        "format": "rankscope.session",
        "version": "1.0",
        "sources": [{"path": "r0.json"}, {"path": "r1.json", "rank": 6}],
        "clock": {"align": "auto", "origin_ns": 1_010_000},
        "view": {"start_ns": 50_000, "end_ns": 250_000},
        "selection": {"slice": slice_},
        "notes": [{"id": 1, "time_ns": 0, "text": "second gemm", "slice": slice_}],
        "marks": [{"id": 1, "start_ns": 60_000, "end_ns": 160_000, "text": "warm", "color": "red"}],
    }
    path.write_text(json.dumps(content))
    return path


def test_analyze_reads_the_traces_of_a_session_with_its_ranks(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    assert main(["analyze", str(session), "--json", str(out)]) == 0
    report: dict[str, Any] = json.loads(out.read_text())
    assert report["job"]["ranks"] == [0, 6]
    assert capsys.readouterr().err == ""
    assert main(["analyze", str(session), "--json", str(out), "--rank", f"{tmp_path / 'r1.json'}=3"]) == 0
    assert json.loads(out.read_text())["job"]["ranks"] == [0, 3]


def test_missing_traces_are_named_and_the_rest_is_analyzed(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r1.json").unlink()
    out = tmp_path / "report.json"
    assert main(["analyze", str(session), "--json", str(out)]) == 0
    assert "1 of its 2 traces are not there" in capsys.readouterr().err
    assert json.loads(out.read_text())["job"]["ranks"] == [0]
    (tmp_path / "r0.json").unlink()
    assert main(["analyze", str(session), "--json", str(out)]) == 2
    said = capsys.readouterr().err
    assert "none of its traces is there" in said
    assert said.count("\n") == 1


def test_render_paints_notes_marks_window_and_selection_of_a_session(session: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.svg"
    assert main(["render", str(session), "-o", str(out), "--note", "80us:of the call"]) == 0
    said = out.read_text()
    for text in ("second gemm", "warm", "of the call", "gemm_1", ">job<"):
        assert text in said
    assert main(["render", str(session), "-o", str(out), "--window", "200us:300us"]) == 0
    assert "warm" not in out.read_text()


def test_a_bad_session_is_one_line(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session.write_text('{"format": "rankscope.session", "version": "9.0"}')
    assert main(["analyze", str(session)]) == 2
    said = capsys.readouterr().err
    assert "version 9.0" in said
    assert said.count("\n") == 1
    assert main(["analyze", str(session), str(session.with_name("b.rankscope"))]) == 2
    assert "second session file" in capsys.readouterr().err
