"""The small controls of the shell, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QProgressBar, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from viewer.app.action_table import ACTIONS
from viewer.app.actions import Actions
from viewer.app.dropping import dropped_paths
from viewer.app.icons import application_icon, icon
from viewer.app.key_table import key_subjects, native
from viewer.app.keys_dialog import KeysDialog
from viewer.app.message_bar import MAX_HEIGHT, MAX_SHOWN, Message, MessageBar
from viewer.app.opening_state import FileState, Overview
from viewer.app.palette import Appearance, application_palette
from viewer.app.progress_view import MAX_ROWS, STEPS, ProgressView
from viewer.app.start_page import StartPage, job_title
from viewer.app.themes import NAMES, load_theme
from viewer.base.errors import UsageError
from viewer.base.theme import Theme


@pytest.fixture
def theme() -> Theme:
    return load_theme("light")


# Messages


def test_the_worst_message_comes_first_and_none_twice(qtbot: QtBot, theme: Theme) -> None:
    bar = MessageBar(theme)
    qtbot.addWidget(bar)
    assert bar.isHidden()
    for severity, text in (("info", "a"), ("error", "b"), ("warning", "c"), ("error", "b")):
        bar.show_message(Message(severity, text))
    assert [m.text for m in bar.messages] == ["b", "c", "a"]
    assert not bar.isHidden()
    bar.clear()
    assert bar.isHidden()


def test_many_messages_stay_small(qtbot: QtBot, theme: Theme) -> None:
    bar = MessageBar(theme)
    qtbot.addWidget(bar)
    bar.resize(600, 50)
    for i in range(MAX_SHOWN + 20):
        bar.show_message(Message("error", f"<b>file {i}</b> is no trace. " * 4))
    assert len(bar.messages) == MAX_SHOWN
    assert bar.sizeHint().height() <= MAX_HEIGHT + 20


def test_a_button_acts_and_dismisses(qtbot: QtBot, theme: Theme) -> None:
    pressed: list[int] = []
    bar = MessageBar(theme)
    qtbot.addWidget(bar)
    bar.show_message(Message("warning", "two jobs", (("Open Apart", lambda: pressed.append(1)),)))
    (button,) = bar.findChildren(QPushButton)
    button.click()
    assert pressed == [1]
    assert bar.messages == ()


# Progress


def state(path: str, kind: str = "reading", done: int = 500, events: int = 10) -> FileState:
    return FileState(path, "reading", done, 1000, events, kind)


def test_progress_shows_the_files_and_cancels_one(qtbot: QtBot, theme: Theme) -> None:
    view = ProgressView(theme)
    qtbot.addWidget(view)
    view.begin("Opening job", expanded=True)
    view.update_view(
        Overview((state("/x/a.json"), state("/x/b.json", "waiting", 0, 0)), 500, 2000, 10, 5.0, 250.0, 6.2, 2.0)
    )
    assert view._text.text() == "0 of 2 files · 500 B of 1.953 KiB · 5 events/s · 6 s left"
    buttons = [b for b in view.findChildren(QToolButton) if b.accessibleName().startswith("Leave out")]
    assert [b.accessibleName() for b in buttons] == ["Leave out a.json", "Leave out b.json"]
    with qtbot.waitSignal(view.cancel_file) as cancelled:
        buttons[1].click()
    assert cancelled.args == ["/x/b.json"]
    with qtbot.waitSignal(view.cancel_all):
        view._cancel.click()


def test_a_file_that_does_not_open_looks_unlike_one_that_does(qtbot: QtBot, theme: Theme) -> None:
    view = ProgressView(theme)
    qtbot.addWidget(view)
    view.begin("Opening job", expanded=True)
    states = ("open", "failed", "cancelled")
    view.update_view(Overview(tuple(state(f"/x/{s}.json", s) for s in states), 1, 2))
    bars = {b.accessibleName(): b.value() for b in view.findChildren(QProgressBar)}
    assert [bars[f"Progress of {s}.json"] for s in states] == [STEPS, 0, 0]


def test_a_bar_moves_by_itself_no_more_while_the_engine_is_prepared(qtbot: QtBot, theme: Theme) -> None:
    view = ProgressView(theme)
    qtbot.addWidget(view)
    view.begin("Opening job", expanded=True)
    view.prepare("Preparing", 0.25, Overview((state("/x/a.json", "waiting", 0, 0),), 0, 1000))
    bars = {b.accessibleName(): b for b in view.findChildren(QProgressBar)}
    bar = bars["Overall progress"]
    assert (bar.value(), bar.maximum()) == (STEPS // 4, STEPS)
    assert view._text.text() == "Preparing"
    assert "Progress of a.json" in bars


def test_files_of_one_name_are_told_apart_by_their_folder(qtbot: QtBot, theme: Theme) -> None:
    view = ProgressView(theme)
    qtbot.addWidget(view)
    view.begin("Opening job", expanded=True)
    view.update_view(Overview(tuple(state(p) for p in ("/x/a/r0.json", "/x/b/r0.json", "/x/b/r1.json")), 1, 2))
    shown = {label.text() for label in view.findChildren(QLabel)}
    assert {"a/r0.json", "b/r0.json", "r1.json"} <= shown


def test_progress_of_a_thousand_files_stays_a_short_list(qtbot: QtBot, theme: Theme) -> None:
    view = ProgressView(theme)
    qtbot.addWidget(view)
    view.begin("Opening job", expanded=True)
    files = [state(f"/x/{i}.json", "open" if i < 900 else "waiting") for i in range(1000)]
    view.update_view(Overview(tuple(files), 1, 2))
    bars = view.findChildren(QProgressBar)
    assert len(bars) == MAX_ROWS + 1
    assert "Progress of 900.json" in {b.accessibleName() for b in bars}, "files at work go before those that are done"
    view.update_view(Overview((files[0],), 1, 2))
    assert set(view._rows) == {"/x/0.json"}
    view.begin("Opening another", expanded=False)
    assert view._rows == {}
    assert not view.expanded


# Start page and drops


def test_recent_jobs_are_buttons(qtbot: QtBot, theme: Theme) -> None:
    page = StartPage(theme)
    qtbot.addWidget(page)
    page.set_recent([["/data/run 7/traces"], ["/a&b/x.json", "/a&b/y.json"]])
    texts = [b.text() for b in page.recent_buttons()]
    assert texts == ["traces   /data/run 7", "2 files in a&&b   /a&&b"]
    with qtbot.waitSignal(page.open_recent) as opened:
        page.recent_buttons()[1].click()
    assert opened.args == [["/a&b/x.json", "/a&b/y.json"]]
    with qtbot.waitSignal(page.open_recent):
        qtbot.keyClick(page.recent_buttons()[0], Qt.Key.Key_Return)
    page.set_recent([])
    assert page.recent_buttons() == []


@pytest.mark.parametrize(
    ("paths", "title"),
    [
        ([], ""),
        (["/d/a.json"], "a.json"),
        (["/d/a.json", "/d/b.json"], "2 files in d"),
        (["/d/a.json", "/e/b.json"], "a.json and 1 more"),
        (["/d/a\x1b[0m.json"], "a�[0m.json"),
        (["/d/" + "n" * 200], "n" * 79 + "…"),
    ],
)
def test_titles_of_jobs(paths: list[str], title: str) -> None:
    assert job_title(paths) == title


def test_titles_of_several_folders(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    assert job_title(folders[:1]) == "one"
    assert job_title(folders[:2]) == "one and two"
    assert job_title(folders) == "one and 2 more folders"


def test_paths_of_a_drop(tmp_path: Path) -> None:
    odd = tmp_path / "a job é 100%.json"
    odd.write_text("")
    mime = QMimeData()
    uri = QUrl.fromLocalFile(str(odd)).toEncoded().data().decode()
    assert "%20" in uri
    assert "%25" in uri
    mime.setData("text/uri-list", f"{uri}\r\nfile:///b\r\n{uri}\r\nhttps://example.org/x.json\r\n".encode())
    assert dropped_paths(mime) == [odd, Path("/b")]


def test_plain_text_counts_only_as_existing_absolute_paths(tmp_path: Path) -> None:
    mime = QMimeData()
    mime.setText(f"{tmp_path}\n")
    assert dropped_paths(mime) == [tmp_path]
    mime.setText("hello")
    assert dropped_paths(mime) == []
    mime.setText(f"{tmp_path}\n/no/such/file\n")
    assert dropped_paths(mime) == []


# Actions, icons, themes


def test_ids_and_keys_are_unique() -> None:
    ids = [spec.id for spec in ACTIONS]
    keys = [k for spec in ACTIONS for k in spec.keys]
    assert len(set(ids)) == len(ids)
    assert len(set(keys)) == len(keys)
    lines = [line for lines in key_subjects().values() for line in lines]
    assert ((native("Ctrl+E"),), "Export Picture") in [(line.keys, line.text) for line in lines]
    for spec in ACTIONS:
        assert all(native(key) in {k for line in lines for k in line.keys} for key in spec.keys), spec.id


def test_actions_fill_menus_and_wait_for_a_job(qtbot: QtBot, theme: Theme) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    done: list[str] = []
    actions = Actions(window, {s.id: (lambda i=s.id: done.append(i)) for s in ACTIONS}, theme)
    menus = actions.fill(window.menuBar())
    assert [m.title() for p, m in menus.items() if "/" not in p] == [
        "&File",
        "&Edit",
        "&View",
        "&Analyze",
        "&Go",
        "&Help",
    ]
    assert not actions["export"].isEnabled()
    actions.enable(job=True, selected=False)
    assert actions["export"].isEnabled()
    assert not actions["next_run"].isEnabled()
    actions["export"].trigger()
    actions["theme_dark"].trigger()
    assert done == ["export", "theme_dark"]
    assert actions["theme_dark"].isChecked()


def test_icons_are_painted_in_the_colour_asked_for(qtbot: QtBot) -> None:
    def colors(name: str, color: str) -> set[str]:
        image = icon(name, color).pixmap(QSize(32, 32)).toImage()
        points = [QPoint(x, y) for x in range(image.width()) for y in range(image.height())]
        return {image.pixelColor(p).name() for p in points if image.pixelColor(p).alpha() == 255}

    for spec in ACTIONS:
        if spec.icon:
            assert colors(spec.icon, "#ff0000") == {"#ff0000"}, spec.icon
    assert not application_icon().isNull()


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_readable_on_their_ground(name: str) -> None:
    def luminance(hex_color: str) -> float:
        parts = [int(hex_color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a: str, b: str) -> float:
        high, low = sorted((luminance(a), luminance(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    theme = load_theme(name)
    for ground in ("window", "base", "group"):
        assert contrast(theme["text"], theme[ground]) >= 7
        assert contrast(theme["muted"], theme[ground]) >= 4.5
        assert contrast(theme["error"], theme[ground]) >= 4.5
        assert contrast(theme["warning"], theme[ground]) >= 4.5


def test_an_unknown_theme_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="light or dark"):
        load_theme("pink")


def test_a_theme_is_switched_live(qtbot: QtBot) -> None:
    palette = QApplication.palette()
    appearance = Appearance("light")
    try:
        with qtbot.waitSignal(appearance.changed) as changed:
            appearance.choose("dark")
        assert changed.args[0].dark
        window = QApplication.palette().color(QPalette.ColorRole.Window).name()
        assert window == load_theme("dark")["window"]
        with qtbot.assertNotEmitted(appearance.changed):
            appearance.choose("dark")
        with pytest.raises(ValueError, match="pink"):
            appearance.choose("pink")
    finally:
        QApplication.setPalette(palette)


def test_system_follows_the_desktop(qtbot: QtBot) -> None:
    palette = QApplication.palette()
    appearance = Appearance("system")
    try:
        hints = QApplication.styleHints()
        hints.setColorScheme(Qt.ColorScheme.Dark)
        qtbot.waitUntil(lambda: appearance.theme.dark == (hints.colorScheme() == Qt.ColorScheme.Dark))
        hints.unsetColorScheme()
        qtbot.waitUntil(lambda: appearance.theme.dark == (hints.colorScheme() == Qt.ColorScheme.Dark))
        assert appearance.choice == "system"
    finally:
        QApplication.setPalette(palette)


def test_a_palette_sets_tooltips_and_disabled_text(qtbot: QtBot) -> None:
    theme = load_theme("dark")
    palette = application_palette(theme)
    assert palette.color(QPalette.ColorRole.ToolTipText).name() == theme["text"]
    disabled = palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.WindowText)
    assert disabled.name() == theme["muted"]


def test_the_sheet_of_keys_names_everything_and_narrows_down(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    sheet = KeysDialog(window)
    lines = sheet.lines()
    assert len(lines) == sum(len(of) for of in key_subjects().values())
    assert any("Alt+drag" in line for line in lines)
    sheet.narrow("rectangle")
    assert sheet.lines() == ["Alt+drag, Right drag Zoom to a rectangle"]
    sheet.narrow("")
    assert sheet.lines() == lines
    sheet.deleteLater()
