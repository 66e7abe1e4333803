from __future__ import annotations

from pytestqt.qtbot import QtBot

from viewer.app.undo import UndoStack


def test_values_go_back_and_forth(qtbot: QtBot) -> None:
    undo, seen = UndoStack(), [0]
    with qtbot.waitSignal(undo.changed):
        undo.push("One", 0, 1, seen.append)
    undo.push("Two", 1, 2, seen.append)
    assert undo.stack.undoText() == "Two"
    undo.stack.undo()
    undo.stack.undo()
    undo.stack.redo()
    assert seen == [0, 1, 2, 1, 0, 1]


def test_steps_of_one_drag_undo_as_one_and_other_drags_do_not_join(qtbot: QtBot) -> None:
    undo, seen = UndoStack(), [0]
    for merge, before, after in (("a", 0, 1), ("a", 1, 2), ("b", 2, 3), (None, 3, 4), (None, 4, 5)):
        undo.push("Drag", before, after, seen.append, merge)
    assert undo.stack.count() == 4
    for value in (4, 3, 2, 0):
        undo.stack.undo()
        assert seen[-1] == value


def test_what_is_saved_is_clean_until_the_next_change(qtbot: QtBot) -> None:
    undo = UndoStack()
    assert undo.clean
    undo.push("One", 0, 1, lambda _: None)
    assert not undo.clean
    undo.set_clean()
    assert undo.clean
    undo.stack.undo()
    assert not undo.clean
    undo.stack.redo()
    assert undo.clean
