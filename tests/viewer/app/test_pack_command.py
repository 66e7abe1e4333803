from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewer.app.cli import main

Capture = pytest.CaptureFixture[str]


def report_of(path: Path, tmp_path: Path) -> dict[str, object]:
    out = tmp_path / "report.json"
    assert main(["analyze", str(path), "--json", str(out)]) == 0
    data: dict[str, object] = json.loads(out.read_text())
    for item in data["inputs"]:  # type: ignore[attr-defined]
        item["path"] = Path(item["path"]).name
    return data


def test_a_pack_is_analyzed_like_its_sources(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "job.rankpack"
    assert main(["pack", str(job_folder), "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"Packed 2 files into {out}, ")
    assert report_of(out, tmp_path) == report_of(job_folder, tmp_path)
    assert main(["analyze", str(out / "rank 1.json.gz")]) == 0


def test_wrong_calls_get_one_line(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    source = next(job_folder.iterdir())
    for words, said in (
        ([str(source), "-o", str(source)], "one of the inputs"),
        ([str(source), "-o", str(tmp_path / "no" / "x.rankpack")], "there is no folder"),
        ([str(tmp_path / "gone.json"), "-o", str(tmp_path / "x.rankpack")], "no such file"),
        ([str(source)], "--output"),
        ([str(source), "-o", "-"], "cannot go to stdout"),
    ):
        assert main(["pack", *words]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert not (tmp_path / "x.rankpack").exists()
