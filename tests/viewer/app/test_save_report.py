"""Save Report: the page and the JSON of what is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewer.app.features import report


@pytest.fixture
def shown(windows: Callable[..., Any], qtbot: Any, job_folder: Path) -> Any:
    window = windows()
    with qtbot.waitSignal(window.controller.ended, timeout=30_000):
        window.open_paths([job_folder])
    qtbot.waitUntil(lambda: window.has_job, timeout=30_000)
    return window


def test_both_kinds_are_written(shown: Any, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suggested: list[str] = []
    for name in ("out.html", "out.json"):
        target = tmp_path / name

        def ask(_: object, path: Path, target: Path = target) -> Path:
            suggested.append(path.name)
            return target

        monkeypatch.setattr(report, "ask_report", ask)
        shown.actions_["save_report"].trigger()
        qtbot.waitUntil(lambda: "save report" not in shown.workspace.work.running, timeout=30_000)
    assert suggested == ["a job é.html"] * 2
    assert (tmp_path / "out.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "a job é" in (tmp_path / "out.html").read_text("utf-8")
    assert json.loads((tmp_path / "out.json").read_bytes())["schema"] == "rankscope.report/1"


def test_nothing_is_written_without_a_name_and_a_refusal_is_said(
    shown: Any, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, str]] = []
    monkeypatch.setattr(shown, "say", lambda *words: said.append(words))
    monkeypatch.setattr(report, "ask_report", lambda *_: None)
    shown.actions_["save_report"].trigger()
    assert "save report" not in shown.workspace.work.running
    monkeypatch.setattr(report, "ask_report", lambda *_: tmp_path / "no folder" / "x.html")
    shown.actions_["save_report"].trigger()
    qtbot.waitUntil(lambda: bool(said), timeout=30_000)
    assert said[0][0] == "error"
    assert "there is no folder" in said[0][1]
