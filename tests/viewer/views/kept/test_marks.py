from __future__ import annotations

import pytest

from viewer.base.errors import UsageError
from viewer.base.kept import MARK_COLORS, Bookmark, Mark
from viewer.views.kept.marks import MAX_MARKS, BookmarkBook, MarkBook, color_token


def test_every_change_makes_a_new_book_and_ids_are_never_used_twice() -> None:
    empty = MarkBook()
    one = empty.add(5, 5, text=" two\nlines ")
    assert one.marks == (Mark(1, 5, 5, "two lines"),)
    assert not one.get(1).is_range
    two = one.add(5, 9, "rank 0/stream 0:7", color="red")
    assert two.get(2) == Mark(2, 5, 9, "", "red", "rank 0/stream 0:7")
    assert two.move(2, 30, 20).get(2).start_ns == 20
    assert two.recolor(1, "green").get(1).color == "green"
    assert two.edit(1, "").get(1).text == ""
    assert [m.id for m in two.remove(2).add(1, 1)] == [1, 3]
    assert len(empty) == 0


def test_what_makes_no_sense_is_refused() -> None:
    book = MarkBook().add(0, 0)
    with pytest.raises(UsageError, match="at most 200"):
        book.edit(1, "x" * 201)
    with pytest.raises(UsageError, match="no colour"):
        book.recolor(1, "pink")
    with pytest.raises(KeyError):
        book.remove(2)
    full = MarkBook(tuple(Mark(i, 0, 0) for i in range(MAX_MARKS)), MAX_MARKS)
    with pytest.raises(UsageError, match="1,000 marks"):
        full.add(0, 0)


def test_a_colour_of_a_newer_version_is_shown_as_the_first() -> None:
    assert color_token("pink") == f"mark_{MARK_COLORS[0]}"
    assert color_token("red") == "mark_red"


def test_a_slot_holds_one_bookmark_and_keeps_its_name() -> None:
    book = BookmarkBook().put(Bookmark(3, 0, 5)).put(Bookmark(1, 0, 9)).edit(3, "warm-up")
    assert [b.slot for b in book] == [1, 3]
    book = book.put(Bookmark(3, 7, 8))
    kept = book.get(3)
    assert kept == Bookmark(3, 7, 8, "warm-up")
    assert book.remove(3).get(3) is None
    with pytest.raises(KeyError):
        book.remove(2)
    with pytest.raises(KeyError):
        book.edit(2, "x")
    with pytest.raises(UsageError, match="from 1 to 9"):
        book.put(Bookmark(0, 0, 1))
