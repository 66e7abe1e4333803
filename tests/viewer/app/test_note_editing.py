from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

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
        editor.stack.undo()
        assert [(n.text, n.dx) for n in editor.book] == state
    editor.stack.undo()
    assert len(editor.book) == 0
    for _ in range(4):
        editor.stack.redo()
    assert [(n.text, n.dx) for n in editor.book] == states[-1]


def test_moves_in_a_row_undo_as_one(editor: NoteEditor) -> None:
    editor.add(5, "", "a")
    editor.add(6, "", "b")
    first, second = editor.book
    editor.move(first.id, 1, 1)
    editor.move(first.id, 2, 2)
    editor.move(second.id, 3, 3)
    editor.stack.undo()
    assert editor.book.get(second.id) == second
    editor.stack.undo()
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
    assert not editor.stack.canUndo()


def test_an_edit_without_change_is_no_step(editor: NoteEditor) -> None:
    editor.add(5, "", "same")
    editor.edit(next(iter(editor.book)).id, "same")
    assert editor.stack.count() == 1


def test_notes_of_a_job_come_back_with_it(editor: NoteEditor) -> None:
    editor.use_job(("/a",))
    editor.add(5, "", "of a")
    editor.use_job(("/b",))
    assert texts(editor) == []
    assert not editor.stack.canUndo()
    editor.use_job(("/a",))
    assert texts(editor) == ["of a"]
