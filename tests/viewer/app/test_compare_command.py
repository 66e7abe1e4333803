"""``rankscope compare``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.app.cli import main

KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}


def trace(length: int) -> str:
    events = [{"name": "gemm", "ts": 10, "dur": length}, {"name": "add", "ts": 200, "dur": 5}]
    return json.dumps({"traceEvents": [KERNEL | e for e in events]})


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "base.json", tmp_path / "test.json"
    for path, length in zip(paths, (100, 130), strict=True):
        path.write_text(trace(length))
    return paths


def test_a_summary(runs, capsys):
    assert main(["compare", *map(str, runs)]) == 0
    out = capsys.readouterr().out
    assert "gemm" in out
    assert "noise unknown, too few steps" in out


def test_json_on_stdout_and_in_a_file(runs, tmp_path, capsysbinary):
    assert main(["compare", *map(str, runs), "--json", "-"]) == 0
    data = json.loads(capsysbinary.readouterr().out)
    assert data["delta_ns"] == 30_000
    assert data["kernels"][0]["name"] == "gemm"
    assert data["kernels"][0]["pct"] == 30.0
    assert data["kernels"][0]["significant"] is None
    out = tmp_path / "out.json"
    assert main(["compare", *map(str, runs), "--json", str(out)]) == 0
    assert json.loads(out.read_text()) == data


def test_a_page_that_needs_no_qt(runs, tmp_path):
    out = tmp_path / "out.html"
    words = ["compare", *map(str, runs), "--html", str(out)]
    code = f"import sys; sys.modules['PySide6'] = None; from viewer.app.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = out.read_text("utf-8")
    assert "<h1>base.json → test.json</h1>" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "gemm" in page


def test_a_page_and_json_cannot_share_stdout(runs, capsys):
    assert main(["compare", *map(str, runs), "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert main(["compare", *map(str, runs), "--html", "-", "--json", "-"]) == 2
    assert "cannot both go to stdout" in capsys.readouterr().err


@pytest.mark.usefixtures("qapp")  # a picture makes a QGuiApplication where there is none
def test_a_picture(runs, tmp_path):
    for name in ("out.svg", "out.png"):
        out = tmp_path / name
        assert main(["compare", *map(str, runs), "--picture", str(out)]) == 0
        assert out.stat().st_size > 1_000
    assert "base.json → test.json" in (tmp_path / "out.svg").read_text()


def test_a_file_against_itself(runs, capsys):
    assert main(["compare", str(runs[0]), str(runs[0])]) == 0
    assert "identical" in capsys.readouterr().out


def test_what_cannot_be_compared_is_said(runs, tmp_path, capsys):
    empty = tmp_path / "empty.json"
    alone = {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    empty.write_text(json.dumps({"traceEvents": [alone]}))
    out = tmp_path / "out.svg"
    assert main(["compare", str(runs[0]), str(empty), "--picture", str(out)]) == 0
    told = capsys.readouterr()
    assert told.out == "not comparable: the test run holds no GPU work\n"
    assert "no picture was painted: the test run holds no GPU work." in told.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["{base}", "nowhere.json"], "nowhere.json"),
        (["{base}"], "TEST"),
        (["{base}", ""], "is empty"),
        (["{base}", "{base}", "--picture", "out.bmp"], "bmp"),
        (["{base}", "{base}", "--json", "no/such/folder/out.json"], "no folder"),
        (["{base}", "{base}", "--html", "no/such/folder/out.html"], "no folder"),
    ],
)
def test_bad_calls_are_one_sentence(words, part, runs, capsys):
    assert main(["compare", *(w.format(base=runs[0]) for w in words)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert part in told.err
    assert len(told.err.splitlines()) == 1
