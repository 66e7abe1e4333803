"""The History panel in the window: it needs no job, and what it opens has a window of its own."""

from pathlib import Path

from tests.viewer.views.test_run_history import GOOD, fill
from viewer.app import dialogs
from viewer.app.features.run_history import RunHistory, is_store
from viewer.app.settings import SettingsFile


def feature_of(window):
    return next(f for f in window.features if isinstance(f, RunHistory))


def test_a_store_opens_without_a_job_and_is_remembered(qtbot, windows, tmp_path):
    fill(tmp_path, GOOD)
    window = windows()
    window.open_paths([tmp_path])
    qtbot.waitUntil(lambda: feature_of(window).panel is not None, timeout=20_000)
    panel = feature_of(window).panel
    qtbot.waitUntil(lambda: panel.frame_shown is not None)
    assert window.docks["history"].isVisible()
    assert not window.has_job
    opened = []
    window.new_window.connect(opened.append)
    panel.trace_wanted.emit(Path("x.rankpack"))
    assert opened == [[Path("x.rankpack")]]
    window.close()
    assert SettingsFile().load().baseline == str(tmp_path)


def test_the_action_asks_for_a_folder_the_first_time(qtbot, windows, tmp_path, monkeypatch):
    fill(tmp_path, GOOD)
    asked = []
    monkeypatch.setattr(dialogs, "ask_baseline", lambda _, folder: asked.append(folder) or tmp_path)
    window = windows()
    qtbot.waitUntil(lambda: feature_of(window).panel is not None, timeout=20_000)
    window.actions_["run_history"].trigger()
    qtbot.waitUntil(lambda: feature_of(window).panel.frame_shown is not None)
    window.actions_["run_history"].trigger()
    assert len(asked) == 1


def test_only_folders_with_runs_are_stores(tmp_path):
    assert not is_store(tmp_path)
    (tmp_path / "runs").mkdir()
    assert not is_store(tmp_path)
    fill(tmp_path, GOOD[:1])
    assert is_store(tmp_path)
    assert not is_store(tmp_path / "none")


def test_a_run_is_compared_with_the_good_one_before_it(qtbot, windows, tmp_path, job_folder):
    from viewer.app.cli import main

    base, test = tmp_path / "a.rankpack", tmp_path / "b.rankpack"
    for path in (base, test):
        assert main(["pack", str(job_folder), "-o", str(path)]) == 0
    window = windows()
    qtbot.waitUntil(lambda: feature_of(window).panel is not None, timeout=20_000)
    feature_of(window).panel.comparison_wanted.emit((base, test))
    qtbot.waitUntil(window.docks["compare"].isVisible, timeout=20_000)
    assert window.has_job
