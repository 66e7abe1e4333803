"""The whole window on small jobs, with the real engine behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from tests.viewer.app.conftest import trace_text
from viewer.app import dialogs
from viewer.app.features.side_panels import SidePanels
from viewer.app.keys_dialog import KeysDialog
from viewer.app.main_window import MainWindow
from viewer.app.message_bar import Message
from viewer.app.settings import SettingsFile
from viewer.base.selection import Selection, SliceRef

Windows = Callable[..., MainWindow]
PATIENCE = 60_000
"""ms; the first opening may have to compile."""


def mime_of(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(p)) for p in paths])
    return mime


def drop(window: MainWindow, mime: QMimeData, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> bool:
    actions = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    enter = QDragEnterEvent(QPoint(50, 50), actions, mime, Qt.MouseButton.LeftButton, modifiers)
    QApplication.sendEvent(window, enter)
    if not enter.isAccepted():
        return False
    assert window.drops.sheet.isVisible()
    event = QDropEvent(QPointF(50, 50), actions, mime, Qt.MouseButton.LeftButton, modifiers)
    QApplication.sendEvent(window, event)
    assert not window.drops.sheet.isVisible()
    assert event.dropAction() == Qt.DropAction.CopyAction
    return event.isAccepted()


def side(window: MainWindow) -> SidePanels:
    return next(f for f in window.features if isinstance(f, SidePanels))


def opened(qtbot: QtBot, window: MainWindow, inputs: int) -> None:
    def there() -> bool:
        return (
            window.workspace is not None
            and len(window.workspace.session.inputs) == inputs
            and not window.controller.running
            and side(window).are_filled
        )

    qtbot.waitUntil(there, timeout=PATIENCE)


def texts(window: MainWindow) -> list[str]:
    return [m.text for m in window.messages.messages]


def test_importing_the_window_loads_neither_pyqtgraph_nor_the_engine() -> None:
    code = (
        "import sys, viewer.app.main_window, viewer.app.gui\n"
        "heavy = {'pyqtgraph', 'numba', 'pyarrow', 'numpy'} & set(sys.modules)\nsys.exit(repr(heavy) if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


def test_lanes_of_a_cached_job_load_no_more_than_they_need() -> None:
    code = (
        "import sys, viewer.app.workspace, viewer.importers.opening\n"
        "heavy = {'pyarrow.compute', 'pyqtgraph', 'viewer.importers.registry', 'viewer.jit.scan_events',\n"
        " 'viewer.panels.section_view', 'viewer.panels.range_table', 'viewer.analyses.collective.alignment'}\n"
        "heavy &= set(sys.modules)\nsys.exit(repr(heavy) if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


def test_what_the_lanes_asked_for_waits_while_helpers_compile(
    qtbot: QtBot, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else this process would compile the same beside them."""
    window = windows()
    window.warm_up.stop()
    window.warm_up.ready.emit()
    qtbot.waitUntil(lambda: window.workspace is not None)
    assert window.workspace is not None
    work, got = window.workspace.work, list[str]()
    monkeypatch.setattr(type(window.warm_up), "is_compiling", property(lambda _: True))
    work.hold()
    work.submit("test held", lambda _: "held", got.append)
    window.workspace.timeline.canvas.shown.emit()
    QApplication.processEvents()
    work.submit("test asked", lambda _: "asked", got.append)
    qtbot.waitUntil(lambda: got == ["asked"], timeout=PATIENCE)
    window.warm_up.engine_loaded.emit()
    qtbot.waitUntil(lambda: got == ["asked", "held"], timeout=PATIENCE)


def test_panels_are_made_after_the_lanes_one_per_turn(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.warm_up.stop()  # nothing else asks for the panels
    window.open_paths([job_folder])
    window._build_workspace()
    qtbot.waitUntil(lambda: window.has_job and not window.controller.running, timeout=PATIENCE)
    names = ("findings", "attribution", "breakdown", "files", "range", "kept")
    before = {name: window.docks[name].widget() for name in names}
    assert {w.text() for w in before.values() if isinstance(w, QLabel)} == {"Loading…"}
    panels = side(window)
    panels.fill()
    assert all(window.docks[name].widget() is before[name] for name in names)
    with qtbot.waitSignal(panels.filled, timeout=PATIENCE):
        panels._make_next()
        assert [n for n in names if window.docks[n].widget() is not before[n]] == ["findings"], "home comes first"
    assert [window.docks[n].widget().accessibleName() for n in names[:5]] == [
        "Findings",
        "Attribution",
        "Breakdown",
        "Import",
        "Selection",
    ]
    assert window.docks["kept"].widget() is not before["kept"]


def test_what_did_not_open_is_told_to_a_panel_that_comes_later(
    qtbot: QtBot, windows: Windows, job_folder: Path
) -> None:
    (job_folder / "rank 2.json").write_text("{")
    window = windows()
    window.open_paths([job_folder, job_folder / "rank 2.json"])
    opened(qtbot, window, 2)
    window.docks["files"].widget().copy()
    assert "rank 2.json" in QGuiApplication.clipboard().text()


def test_the_start_page_comes_first(windows: Windows) -> None:
    window = windows()
    assert window.stack.currentWidget() is window.start_page
    assert window.windowTitle() == "Rankscope"
    assert not window.actions_["export"].isEnabled()
    assert all(not window.docks[n].isVisible() for n in ("breakdown", "attribution", "files"))


def test_a_dropped_folder_opens_as_one_job(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    assert drop(window, mime_of(job_folder))
    opened(qtbot, window, 2)
    assert window.workspace is not None
    assert window.stack.currentWidget() is window.workspace.centre
    assert [g.rank for g in window.workspace.session.groups] == [0, 1]
    assert window.windowTitle() == "a job é[*] · 2 ranks – Rankscope"
    assert window.actions_["export"].isEnabled()
    assert window.docks["attribution"].isVisibleTo(window)
    assert texts(window) == []
    assert not window.progress.isVisible()
    qtbot.waitUntil(lambda: window.status.window.text().startswith("Window "))


def test_several_dropped_files_and_a_bad_one(qtbot: QtBot, windows: Windows, job_folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "em%20pty.json"
    bad.write_text("")
    window = windows()
    assert drop(window, mime_of(*sorted(job_folder.iterdir()), bad))
    opened(qtbot, window, 2)
    qtbot.waitUntil(lambda: len(texts(window)) == 1)
    assert str(bad) in texts(window)[0]
    assert window.messages.messages[0].severity == "error"


def test_only_bad_files_leave_the_start_page_and_words(qtbot: QtBot, windows: Windows, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{")
    window = windows()
    drop(window, mime_of(tmp_path / "a.json", tmp_path / "b.json", tmp_path / "gone.json"))
    qtbot.waitUntil(lambda: len(texts(window)) == 3, timeout=PATIENCE)
    assert window.stack.currentWidget() is window.start_page
    assert window.settings.recent == []


def test_a_drop_without_files_is_refused(windows: Windows) -> None:
    window = windows()
    mime = QMimeData()
    mime.setText("just words")
    assert not drop(window, mime)
    assert not window.drops.sheet.isVisible()


def test_a_drag_that_leaves_takes_its_sheet_along(windows: Windows, job_folder: Path) -> None:
    window = windows()
    mime = mime_of(job_folder)
    enter = QDragEnterEvent(
        QPoint(5, 5), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(window, enter)
    assert window.drops.sheet.geometry() == window.rect()
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window.drops.sheet.isVisible()
    QApplication.sendEvent(window, enter)
    assert window.drops.sheet.isVisible()
    QApplication.sendEvent(window, QEvent(QEvent.Type.WindowActivate))
    assert not window.drops.sheet.isVisible(), "the source died on the way"


def test_shift_adds_to_the_job(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    first, second = sorted(job_folder.iterdir())
    window = windows()
    window.open_paths([second])
    opened(qtbot, window, 1)
    assert window.workspace is not None
    window.workspace.context.select(Selection(slice=SliceRef(0, 0), group=0))
    assert drop(window, mime_of(first), Qt.KeyboardModifier.ShiftModifier)
    opened(qtbot, window, 2)
    assert [i.rank for i in window.workspace.session.inputs] == [0, 1]


def test_a_snapshot_keeps_the_selection(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    workspace = window.workspace
    assert workspace is not None
    whole = workspace.session
    from viewer.store.session import Opened, build_session

    late = whole.inputs[1]
    workspace.show_session(build_session([Opened(late.path, late.trace)]), same_job=False)
    workspace.context.select(Selection(slice=SliceRef(0, 3), group=0))
    workspace.show_session(whole, same_job=True)
    assert workspace.context.selection == Selection(slice=SliceRef(1, 3), group=1)


def test_recent_jobs(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    assert SettingsFile().load().recent == [[str(job_folder)]]
    window.menus.fill_recent()
    assert [a.text() for a in window.menus.recent.actions()] == ["a job é", "", "&Clear List"]
    window.close_job()
    assert window.stack.currentWidget() is window.start_page
    assert not window.actions_["export"].isEnabled()
    (button,) = window.start_page.recent_buttons()
    assert "a job é   2 ranks   today " in button.text()
    button.click()
    opened(qtbot, window, 2)
    window.start_page.clear_recent.emit()
    assert window.start_page.recent_buttons() == []
    assert SettingsFile().load().recent == []


def test_a_recent_job_that_is_gone_is_forgotten(windows: Windows, tmp_path: Path) -> None:
    window = windows()
    window.settings.remember([str(tmp_path / "gone")])
    window.recent.open([str(tmp_path / "gone")])
    assert window.settings.recent == []
    assert "is not there any more" in texts(window)[0]


def test_damaged_settings_do_not_matter(windows: Windows) -> None:
    path = SettingsFile().path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"geometry": "QUJD", "layout": "!!", "theme": "dark", "recent": [["/x"]]}))
    window = windows()
    assert window.settings.recent == [["/x"]]
    assert window.isVisible()


def test_the_theme_is_switched_and_remembered(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows("light")
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    assert window.workspace is not None
    window.say("info", "hello")
    window.actions_["theme_dark"].trigger()
    assert window.workspace.context.theme.name == "dark"
    assert SettingsFile().load().theme == "dark"
    window.actions_["theme_light"].trigger()
    assert window.workspace.context.theme.name == "light"
    assert window.actions_["theme_light"].isChecked()


def test_cancel_while_opening(qtbot: QtBot, windows: Windows) -> None:
    from tests.picture_job import job
    from tests.viewer.app.test_open_job import FakeOpener

    opener = FakeOpener(job(3), step=threading.Semaphore(1))
    window = windows(make_opener=lambda _p, _o: (opener, opener.candidates))
    window.open_paths([Path("/runs/job 1")])
    qtbot.waitUntil(lambda: window.has_job, timeout=PATIENCE)
    assert window.controller.running, "the first lanes show before the last file is read"
    assert window.progress.isVisibleTo(window)
    qtbot.waitUntil(lambda: len(window.progress._rows) == 3)
    window.progress._toggle.setChecked(True)
    leave_out = [b for b in window.progress.findChildren(QToolButton) if b.accessibleName() == "Leave out rank1.json"]
    leave_out[0].click()
    assert [p.name for p in opener.left_out] == ["rank1.json"]
    window.progress._cancel.click()
    qtbot.waitUntil(lambda: not window.controller.running, timeout=PATIENCE)
    assert window.has_job, "what was open stays"
    assert not window.progress.isVisibleTo(window)
    assert texts(window) == []


def test_closing_while_opening_leaves_nothing_behind(qtbot: QtBot, windows: Windows) -> None:
    from tests.picture_job import job
    from tests.viewer.app.test_open_job import FakeOpener

    opener = FakeOpener(job(2), step=threading.Semaphore(0))
    window = windows(make_opener=lambda _p, _o: (opener, opener.candidates))
    window.open_paths([Path("/runs")])
    assert opener.began.wait(10)
    with qtbot.waitSignal(window.closed):
        window.close()
    assert not window.controller.running
    qtbot.waitUntil(lambda: not [t for t in threading.enumerate() if t.name.startswith("rankscope")], timeout=PATIENCE)


def test_the_layout_is_remembered(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    window.docks["files"].close()
    window.resize(1000, 640)
    window.close()
    again = windows()
    again.open_paths([job_folder])
    opened(qtbot, again, 2)
    assert not again.docks["files"].isVisibleTo(again)
    assert again.docks["breakdown"].isVisibleTo(again)
    again.actions_["reset_layout"].trigger()
    assert again.docks["files"].isVisibleTo(again)


def test_a_new_job_begins_with_its_findings(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.resize(1200, 600)  # too low for panels one above the other
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    assert window.workspace is not None

    def front() -> set[str]:
        return {bar.tabText(bar.currentIndex()) for bar in window.findChildren(QTabBar) if bar.isVisible()}

    qtbot.waitUntil(lambda: front() == {"Findings"})
    window.workspace.context.select(Selection(slice=SliceRef(0, 0)))
    qtbot.waitUntil(lambda: front() == {"Breakdown"})
    window.close_job()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    qtbot.waitUntil(lambda: front() == {"Findings"})


def test_two_jobs_are_offered_apart(qtbot: QtBot, windows: Windows, tmp_path: Path) -> None:
    for name, world in (("a", 2), ("b", 4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rank0.json").write_text(trace_text(0, world=world))
    window = windows()
    window.open_paths([tmp_path / "a", tmp_path / "b"])
    opened(qtbot, window, 2)

    def offer() -> list[Message]:
        return [m for m in window.messages.messages if m.buttons]

    qtbot.waitUntil(lambda: bool(offer()))
    assert "2 different jobs" in offer()[0].text
    with qtbot.waitSignal(window.new_window, timeout=PATIENCE) as apart:
        offer()[0].buttons[0][1]()
    assert apart.args[0] == [tmp_path / "b"], "a whole folder is opened as such"
    opened(qtbot, window, 1)


def test_folders_with_the_same_ranks_are_offered_apart_without_a_word_on_conflicts(
    qtbot: QtBot, windows: Windows, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for rank in range(2):
            (tmp_path / name / f"rank{rank}.json").write_text(trace_text(rank))
    window = windows()
    window.open_paths([tmp_path / "a", tmp_path / "b"])
    opened(qtbot, window, 4)
    qtbot.waitUntil(lambda: bool(window.messages.messages))
    assert texts(window) == ["These files look like 2 different jobs (a, b)."]
    assert "a and b" in window.windowTitle()


def test_notes_are_added_and_undone(
    qtbot: QtBot, windows: Windows, job_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ask_note", lambda _parent, _text="": "look here")
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    workspace = window.workspace
    assert workspace is not None
    workspace.context.select(Selection(slice=SliceRef(0, 0), group=0))
    window.actions_["add_note"].trigger()
    (note,) = window.kept.notes.book
    assert note.lane.startswith("rank 0")
    assert [n.text for n in workspace.timeline.kept.notes] == ["look here"]
    workspace.timeline.note_moved.emit(note.id, 50.0, 60.0)
    assert window.kept.notes.book.get(note.id).dx == 50.0
    workspace.timeline.note_removed.emit(note.id)
    assert len(window.kept.notes.book) == 0
    for _ in range(3):
        window.undo.stack.undo()
    assert len(window.kept.notes.book) == 0
    assert workspace.timeline.kept.notes == ()


def test_runs_of_a_name(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    workspace = window.workspace
    assert workspace is not None
    trace = workspace.session.inputs[0].trace
    gemms = [i for i in range(len(trace)) if trace.name(i) == "gemm_0"]
    assert len(gemms) == 2
    assert not window.actions_["next_run"].isEnabled()
    workspace.context.select(Selection(slice=SliceRef(0, gemms[0]), group=0))
    said: list[str] = []
    workspace.timeline.walk.said.connect(said.append)
    for action, row, words in (
        ("next_run", 1, ""),
        ("next_run", 1, "last run"),
        ("previous_run", 0, ""),
        ("previous_run", 0, "first run"),
        ("slowest_run", 1, ""),
    ):
        said.clear()
        window.actions_[action].trigger()
        qtbot.waitUntil(lambda: workspace.work.pending == 0, timeout=PATIENCE)
        assert workspace.context.selection.slice == SliceRef(0, gemms[row]), action
        assert [words in text for text in said] == [True] * bool(words), "what leads nowhere is said"
    window.actions_["previous_run"].trigger()
    workspace.show_session(replace(workspace.session), same_job=True)
    qtbot.waitUntil(lambda: workspace.work.pending == 0, timeout=PATIENCE)
    assert workspace.context.selection.slice == SliceRef(0, gemms[1]), "it was found in the session before"


def test_the_keys_and_about_dialogs_open(qtbot: QtBot, windows: Windows) -> None:
    window = windows()
    for dialog in (KeysDialog(window), dialogs.about_dialog(window, Path("/log"))):
        dialog.open()
        assert dialog.isVisible()
        dialog.close()
        dialog.deleteLater()


def test_the_demo_opens_and_is_made_once(qtbot: QtBot, windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewer.app.demo import job as demo_job
    from viewer.app.demo.command import demo_folder

    real, made = demo_job.write_demo_job, []

    def small(folder: Path) -> dict[str, Any]:
        made.append(folder)
        return real(folder, ranks=2, steps=1, layers=1)

    monkeypatch.setattr(demo_job, "write_demo_job", small)
    window = windows()
    for _ in range(2):
        window.open_demo()
        opened(qtbot, window, 2)
        window.close_job()
    assert len(made) == 1
    assert len(list(demo_folder().iterdir())) == 2
    assert texts(window) == []


def test_a_closing_window_does_not_wait_for_the_compiler(
    qtbot: QtBot, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viewer.app import warm_up

    gate, begun = threading.Event(), threading.Event()

    def compiles() -> None:
        begun.set()
        gate.wait(60)

    monkeypatch.setattr(warm_up, "warm_engine", compiles)
    window = windows()
    qtbot.waitUntil(begun.is_set, timeout=PATIENCE)
    before = time.monotonic()
    window.close()
    took = time.monotonic() - before
    gate.set()
    assert took < 5


def test_a_file_that_needs_a_display_says_so(job_folder: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "viewer.app.cli", str(job_folder)],
        env={k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_a_picture_of_the_view_is_copied(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = windows()
    window.actions_["copy"].trigger()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    QApplication.clipboard().clear()
    window.actions_["copy"].trigger()
    qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull(), timeout=PATIENCE)
    assert window.statusBar().currentMessage().startswith("Copied the picture")
    QApplication.clipboard().clear()


def test_the_export_dialog_saves_and_its_choices_are_kept(
    qtbot: QtBot, windows: Windows, job_folder: Path, tmp_path: Path
) -> None:
    from viewer.panels.export_dialog import ExportDialog

    window = windows("dark")
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    window.actions_["export"].trigger()
    (dialog,) = window.findChildren(ExportDialog)
    choices = dialog.choices()
    assert (choices.title, choices.theme) == ("a job é", "dark")
    dialog.set_choices(replace(choices, format="svg", legend=False))
    target = tmp_path / "out.svg"
    with qtbot.waitSignal(dialog.saved, timeout=PATIENCE):
        dialog.save_to(target)
    assert target.read_text().startswith("<?xml")
    assert window.statusBar().currentMessage() == f"Saved {target}"
    dialog.close()
    assert window.settings.picture["format"] == "svg"
    assert window.settings.picture["legend"] is False
    assert "title" not in window.settings.picture


def test_a_job_without_events_opens_and_says_so(qtbot: QtBot, windows: Windows, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    window = windows()
    window.open_paths([tmp_path / "none.json"])
    opened(qtbot, window, 1)
    qtbot.waitUntil(lambda: len(texts(window)) == 1, timeout=PATIENCE)
    assert "none.json" in texts(window)[0]
    assert "without any event" in texts(window)[0]
    for action in ("add_note", "fit", "fit_selection", "zoom_in", "export"):
        window.actions_[action].trigger()
    assert any("nothing to make a picture of" in t for t in texts(window))
