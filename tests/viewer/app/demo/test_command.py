from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from viewer.app.cli import main
from viewer.app.demo import job as demo_job
from viewer.app.demo.command import PICTURE, REPORT, demo_folder, make_demo


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo job at a size that tests can wait for."""
    real = demo_job.write_demo_job
    monkeypatch.setattr(demo_job, "write_demo_job", lambda folder: real(folder, ranks=4, steps=3, layers=1))


def test_without_a_display_it_writes_the_picture_and_the_report(
    qtbot: QtBot, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "no display" in said.err
    assert said.out.splitlines() == [str(tmp_path / PICTURE), str(tmp_path / REPORT)]
    assert (tmp_path / PICTURE).read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / REPORT).read_text())["job"]["ranks"] == [0, 1, 2, 3]


def test_the_two_faults_are_named_in_the_picture(small: None) -> None:
    from viewer.app.analyze import open_job
    from viewer.app.demo.command import demo_notes
    from viewer.app.options import JobOptions
    from viewer.views.kept.notes import notes_from_specs
    from viewer.views.lanes.tree import build_tree

    folder = demo_folder()
    make_demo(folder)
    session = open_job([folder], JobOptions()).session
    late, slow = notes_from_specs(demo_notes(session, folder), session.origin_ns(), build_tree(session))
    truth: dict[str, Any] = json.loads(folder.with_name(f"{folder.name}.truth.json").read_text())["faults"]
    assert truth["late_data"]["start_ns"] < late.time_ns < truth["late_data"]["end_ns"]
    assert late.lane.startswith(f"rank {truth['late_data']['rank']}/")
    assert slow.lane.startswith(f"rank {truth['slow_rank']['rank']}/")
    folder.with_name(f"{folder.name}.truth.json").unlink()
    assert demo_notes(session, folder) == ()


def test_a_demo_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo_job, "write_demo_job", full)
    assert main(["demo", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert said.count("\n") == 1
    assert list(demo_folder().parent.iterdir()) == [], "no half a job is left"
    shutil.rmtree(tmp_path / "out")
