"""Everything in a full window can be reached without a mouse, and has a name for those who cannot see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QMenu,
    QMenuBar,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import opened
from viewer.app.action_table import ACTIONS
from viewer.app.main_window import MainWindow
from viewer.app.panel_table import PANELS

Windows = Callable[..., MainWindow]


def full_window(qtbot: QtBot, windows: Windows, folder: Path) -> MainWindow:
    """A window with a job and every panel made."""
    window = windows()
    window.open_paths([folder])
    opened(qtbot, window, 2)
    for spec in PANELS:
        window.docks.show_panel(spec.name)
        QApplication.processEvents()
    return window


def said_of(widget: QWidget) -> str:
    """What a screen reader says of a widget."""
    found = QAccessible.queryAccessibleInterface(widget)
    return "" if found is None else found.text(QAccessible.Text.Name).strip()


def is_part(widget: QWidget) -> bool:
    """Whether a widget is a part that Qt makes of another one, which has the name."""
    if isinstance(widget, QMenu | QMenuBar | QHeaderView | QScrollBar):
        return True
    if widget.objectName().startswith("qt_"):
        return True
    parent = widget.parentWidget()
    if type(widget.window()).__name__ in ("QFrame", "QComboBoxPrivateContainer") or isinstance(
        parent, QAbstractSpinBox | QComboBox
    ):
        return True  # lists that drop down, and the line edits of boxes
    return isinstance(parent, QAbstractScrollArea) and parent.viewport() is widget


def where(widget: QWidget | None) -> str:
    names = []
    while widget is not None:
        names.append(f"{type(widget).__name__}:{widget.objectName() or widget.accessibleName()}")
        widget = widget.parentWidget()
    return " < ".join(names[:6])


def test_everything_that_takes_the_focus_has_a_name(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = full_window(qtbot, windows, job_folder)
    focusable = [
        w for w in window.findChildren(QWidget) if w.focusPolicy() != Qt.FocusPolicy.NoFocus and not is_part(w)
    ]
    assert len(focusable) > 60
    nameless = [where(w) for w in focusable if not said_of(w)]
    assert not nameless, "\n".join(nameless)


def test_every_table_every_panel_and_the_lanes_have_a_name(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = full_window(qtbot, windows, job_folder)
    tables = [w for w in window.findChildren(QAbstractItemView) if not is_part(w)]
    assert len(tables) > 5
    nameless = [where(t) for t in tables if not t.accessibleName()]
    assert not nameless, "\n".join(nameless)
    panels = {spec.name: window.docks[spec.name].widget() for spec in PANELS}
    assert [name for name, panel in panels.items() if not panel.accessibleName()] == []
    assert window.workspace is not None
    timeline = window.workspace.timeline
    for part in (timeline, timeline.canvas, timeline.headers, timeline.ruler, timeline.minimap):
        assert part.accessibleName(), where(part)


def test_every_action_has_a_key_or_is_in_the_palette(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    from viewer.app.features.command_palette import CommandPalette

    window = full_window(qtbot, windows, job_folder)
    palette = next(f for f in window.features if isinstance(f, CommandPalette))
    offered = {command.id for command in palette.commands()}
    lost = [spec.id for spec in ACTIONS if not (window.actions_[spec.id].shortcuts() or spec.id in offered)]
    assert lost == []
    texts = {command.text for command in palette.commands()}
    assert {spec.title for spec in PANELS} <= texts  # each panel can be shown or put away from the palette


def test_the_focus_goes_round_a_full_window_and_shows(qtbot: QtBot, windows: Windows, job_folder: Path) -> None:
    window = full_window(qtbot, windows, job_folder)
    window.activateWindow()
    assert window.workspace is not None
    canvas = window.workspace.timeline.canvas
    canvas.setFocus()
    seen: list[QWidget] = []
    for _ in range(400):
        widget = window.focusWidget()
        if widget is None or (widget is canvas and seen):
            break
        seen.append(widget)
        window.focusNextChild()
    assert len(set(map(id, seen))) > 10
    assert window.focusWidget() is canvas  # round, and not caught in a table
    assert all(w.isVisible() for w in seen)


def test_letters_typed_into_a_panel_are_text_and_no_keys_of_the_lanes(
    qtbot: QtBot, windows: Windows, job_folder: Path
) -> None:
    window = full_window(qtbot, windows, job_folder)
    assert window.workspace is not None
    typed = "wm01kxtf.]?"
    for name in ("kernels", "range", "flame"):
        window.docks.show_panel(name)
        QApplication.processEvents()
        edit = next(e for e in window.docks[name].widget().findChildren(QLineEdit) if e.isVisible())
        edit.setFocus()
        before = window.workspace.timeline.window(), window.workspace.context.selection
        qtbot.keyClicks(edit, typed)
        assert edit.text() == typed, name
        assert (window.workspace.timeline.window(), window.workspace.context.selection) == before, name
        assert not window.kept.marks.book, name
        edit.clear()
