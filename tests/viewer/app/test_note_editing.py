from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from viewer.app.dialogs import NoteDialog
from viewer.app.note_editing import NoteEditor


@pytest.fixture
def editor(qtbot: QtBot) -> NoteEditor:
    return NoteEditor(lambda text: text)


def texts(editor: NoteEditor) -> list[str]:
    return [n.text for n in editor.book]


def test_every_change_can_be_undone(editor: NoteEditor) -> None:
    editor.add(5, "rank 0/stream 0:7", "late")
    (note,) = editor.book
    steps: list[tuple[Callable[[], None], list[tuple[str, float]]]] = [
        (lambda: editor.edit(note.id, "very late"), [("very late", note.dx)]),
        (lambda: editor.move(note.id, 90.0, 10.0), [("very late", 90.0)]),
        (lambda: editor.remove(note.id), []),
    ]
    states = [[(n.text, n.dx) for n in editor.book]]
    for change, after in steps:
        change()
        assert [(n.text, n.dx) for n in editor.book] == after
        states.append(after)
    for state in reversed(states[:-1]):
        editor.undo.stack.undo()
        assert [(n.text, n.dx) for n in editor.book] == state
    editor.undo.stack.undo()
    assert len(editor.book) == 0
    for _ in range(4):
        editor.undo.stack.redo()
    assert [(n.text, n.dx) for n in editor.book] == states[-1]


def test_moves_in_a_row_undo_as_one(editor: NoteEditor) -> None:
    editor.add(5, "", "a")
    editor.add(6, "", "b")
    first, second = editor.book
    editor.move(first.id, 1, 1)
    editor.move(first.id, 2, 2)
    editor.move(second.id, 3, 3)
    editor.undo.stack.undo()
    assert editor.book.get(second.id) == second
    editor.undo.stack.undo()
    assert editor.book.get(first.id) == first


def test_the_user_is_asked_for_the_text(qtbot: QtBot) -> None:
    answers = iter(["first", "second", None, None])
    asked: list[str] = []
    asking = NoteEditor(lambda text: (asked.append(text), next(answers))[1])
    asking.ask_and_add(5, "")
    asking.ask_and_edit(next(iter(asking.book)).id)
    assert texts(asking) == ["second"]
    asking.ask_and_edit(next(iter(asking.book)).id)
    asking.ask_and_add(6, "")
    assert texts(asking) == ["second"], "no answer changes nothing"
    assert asked == ["", "first", "second", ""]


def test_a_refusal_is_a_sentence_and_no_step(qtbot: QtBot, editor: NoteEditor) -> None:
    with qtbot.waitSignal(editor.refused) as refused:
        editor.add(5, "", "x" * 5000)
    assert "characters" in refused.args[0]
    assert not editor.undo.stack.canUndo()


def test_an_edit_without_change_is_no_step(editor: NoteEditor) -> None:
    editor.add(5, "", "same")
    editor.edit(next(iter(editor.book)).id, "same")
    assert editor.undo.stack.count() == 1


def test_a_note_is_written_with_enter_and_shift_enter(qtbot: QtBot) -> None:
    dialog = NoteDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    edit = dialog.findChild(QPlainTextEdit)
    add = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Add Note")
    assert not add.isEnabled()
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert dialog.isVisible(), "nothing is written yet"
    qtbot.keyClicks(edit, "one")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(edit, "two")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert not dialog.isVisible()
    assert dialog.text() == "one\ntwo"


def test_a_note_that_is_edited_can_be_overwritten_or_left(qtbot: QtBot) -> None:
    dialog = NoteDialog("old")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.keyClicks(dialog.findChild(QPlainTextEdit), "new")
    assert dialog.text() == "new"
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.result() == QDialog.DialogCode.Rejected
