from __future__ import annotations

import pytest

from viewer.base.errors import UsageError
from viewer.base.frames import LaneGroup, LaneRow
from viewer.base.ids import LaneKind
from viewer.views.kept.notes import ANY_LANE, MAX_TEXT, NoteBook, clean_text, parse_note


def group(rank: int, *lanes: tuple[str, str]) -> LaneGroup:
    rows = tuple(LaneRow(f"rank {rank}/{key}", label, "", LaneKind.STREAM, 1, ()) for key, label in lanes)
    return LaneGroup(rank, f"rank {rank}", "", rows)


GROUPS = (
    group(0, ("stream 0:7", "stream 7"), ("thread 9:9", "thread 9 (main)")),
    group(1, ("stream 0:7", "stream 7"), ("stream 0:77", "stream 77")),
)


def test_a_change_makes_a_new_book_and_leaves_the_old_one() -> None:
    empty = NoteBook()
    one = empty.add(10, "a", "first")
    two = one.add(20, "b", "second", dx=1.0, dy=2.0)
    moved = two.move(1, 5.0, 6.0)
    assert (len(empty), len(one), len(two)) == (0, 1, 2)
    assert [(n.id, n.time_ns, n.lane, n.text) for n in two] == [(1, 10, "a", "first"), (2, 20, "b", "second")]
    assert (two.get(2).dx, two.get(2).dy) == (1.0, 2.0)
    assert (moved.get(1).dx, moved.get(1).dy) == (5.0, 6.0)
    assert two.get(1).dx == one.get(1).dx != 5.0


def test_ids_stay_and_are_not_used_again_after_a_removal() -> None:
    book = NoteBook().add(1, "", "a").add(2, "", "b").remove(2).add(3, "", "c")
    assert [n.id for n in book] == [1, 3]
    assert book.edit(3, "d").get(3).text == "d"
    for change in (lambda: book.remove(2), lambda: book.edit(2, "x"), lambda: book.move(2, 0, 0)):
        with pytest.raises(KeyError):
            change()


def test_texts_are_cleaned_and_bounded() -> None:
    assert clean_text("  a\tb \n\n c\x07d  ") == "a b\nc d"
    with pytest.raises(UsageError, match="needs a text"):
        NoteBook().add(0, "", " \n ")
    with pytest.raises(UsageError, match=f"at most {MAX_TEXT} characters; this one has {MAX_TEXT + 1}"):
        clean_text("x" * (MAX_TEXT + 1))


@pytest.mark.parametrize("spec", ["1ms:" + "n" * 9000, "x" * 9000, "1ms@" + "l" * 9000 + ":a", "y" * 9000 + ":a"])
def test_a_long_note_is_not_quoted_whole(spec: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_note(spec, 0, GROUPS)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("12.5ms:slow", (1_012_500_000, ANY_LANE, "slow")),
        ("-3us: ratio 3:1, see a@b: c", (999_997_000, ANY_LANE, "ratio 3:1, see a@b: c")),
        ("7:bare numbers are ns", (1_000_000_007, ANY_LANE, "bare numbers are ns")),
        ("1us@rank 1/stream 0:7:late: why?", (1_000_001_000, "rank 1/stream 0:7", "late: why?")),
        ("1us@rank 1/stream 0:77:seven", (1_000_001_000, "rank 1/stream 0:77", "seven")),
        ("1us@RANK 0/Stream 0:7:x", (1_000_001_000, "rank 0/stream 0:7", "x")),
        ("1us@stream 77:by label", (1_000_001_000, "rank 1/stream 0:77", "by label")),
        ("1us@thread 9 (main):x", (1_000_001_000, "rank 0/thread 9:9", "x")),
    ],
)
def test_note_texts_of_the_command_line(spec: str, expected: tuple[int, str, str]) -> None:
    assert parse_note(spec, 1_000_000_000, GROUPS) == expected


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("no time", r"'no time' is no note: write \"TIME:TEXT\" or \"TIME@LANE:TEXT\""),
        ("soon:text", r"the note 'soon:text' does not begin with a time \('soon' is no time"),
        ("1ms:  ", r"the note '1ms:  ': a note needs a text"),
        ("1ms@stream 8:x", r"names a lane 'stream 8' that the job has not\. Its lanes: 'rank 0/stream 0:7'"),
        ("1ms@stream 7:x", r"a lane that 2 ranks have\. Write one of 'rank 0/stream 0:7', 'rank 1/stream 0:7'\."),
    ],
)
def test_bad_notes_are_refused_with_a_sentence_that_quotes_them(spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_note(spec, 0, GROUPS)


def test_a_job_without_lanes_says_so() -> None:
    with pytest.raises(UsageError, match="Its lanes: none"):
        parse_note("1ms@x:y", 0, ())
