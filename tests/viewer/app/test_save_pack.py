from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewer.app.features import pack
from viewer.app.features.pack import SavePack


@pytest.fixture
def shown(windows: Callable[..., Any], qtbot: Any, job_folder: Path) -> Any:
    window = windows()
    with qtbot.waitSignal(window.controller.ended, timeout=30_000):
        window.open_paths([job_folder])
    qtbot.waitUntil(lambda: window.has_job, timeout=30_000)
    return window


def feature(window: Any) -> SavePack:
    return next(f for f in window.features if isinstance(f, SavePack))


def test_a_job_is_saved_and_opens_again(
    shown: Any, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job_folder: Path
) -> None:
    suggested: list[Path] = []
    target = tmp_path / "out.rankpack"

    def ask(_: object, name: Path) -> Path:
        suggested.append(name)
        return target

    monkeypatch.setattr(pack, "ask_pack", ask)
    shown.actions_["save_pack"].trigger()
    qtbot.waitUntil(lambda: feature(shown).progress is None and target.exists(), timeout=30_000)
    assert [p.name for p in suggested] == [f"{job_folder.name}.rankpack"]
    groups = len(shown.workspace.session.groups)
    with qtbot.waitSignal(shown.controller.ended, timeout=30_000):
        shown.open_paths([target])
    assert len(shown.workspace.session.groups) == groups
    assert shown.workspace.session.inputs[0].path == target / "rank 0.json"


def test_cancel_and_refusal(shown: Any, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str]] = []
    monkeypatch.setattr(shown, "say", lambda *words: said.append(words))
    monkeypatch.setattr(pack, "ask_pack", lambda *_: None)
    feature(shown).save()
    assert feature(shown).progress is None
    monkeypatch.setattr(pack, "ask_pack", lambda *_: tmp_path / "no folder" / "x.rankpack")
    feature(shown).save()
    qtbot.waitUntil(lambda: bool(said), timeout=30_000)
    assert said[0][0] == "error"
    assert "cannot be written" in said[0][1]

    def slow(*arguments: Any) -> None:
        arguments[3](5, 10, "rank\n0.json")
        while True:
            arguments[4].check()

    monkeypatch.setattr("viewer.exporters.pack.write_pack", slow)
    monkeypatch.setattr(pack, "ask_pack", lambda *_: tmp_path / "x.rankpack")
    feature(shown).save()
    progress = feature(shown).progress
    assert progress is not None
    qtbot.waitUntil(lambda: progress.value() == 500, timeout=30_000)
    assert "\n" not in progress.labelText()
    progress.canceled.emit()
    assert feature(shown).progress is None
    assert len(said) == 1
