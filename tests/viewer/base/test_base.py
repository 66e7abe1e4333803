"""Errors, ledger, cancellation, registry, ranges, placement, themes."""

from __future__ import annotations

from importlib.resources import files

import pytest

from viewer.base.errors import Cancelled, InputError, on_one_line
from viewer.base.findings import Ledger
from viewer.base.frames import LaneGroup, LaneRow, PlacedRow, Placement
from viewer.base.ids import LaneKind, Paint
from viewer.base.registry import Registry
from viewer.base.selection import TimeRange
from viewer.base.theme import parse_theme
from viewer.base.work import CancelToken


def test_an_input_error_is_one_sentence_with_file_place_and_next_step() -> None:
    error = InputError("a\nb.json", "is no trace.", "byte 12", "Export it again.")
    assert str(error) == "a\\nb.json at byte 12: is no trace. Export it again."


def test_the_ledger_knows_whether_it_adds_up() -> None:
    assert Ledger(read=6, kept=3, repaired=2, rejected=1).balanced()
    assert not Ledger(read=6, kept=3, repaired=2, rejected=0).balanced()


def test_cancelling_a_parent_cancels_the_child() -> None:
    parent = CancelToken()
    child = CancelToken(parent)
    child.check()
    parent.cancel()
    assert child.cancelled
    with pytest.raises(Cancelled):
        child.check()


def test_a_child_does_not_cancel_its_parent() -> None:
    parent = CancelToken()
    CancelToken(parent).cancel()
    assert not parent.cancelled


def test_a_name_is_registered_once_and_unknown_names_list_the_known() -> None:
    registry: Registry[int] = Registry("importer")
    registry.add("a", 1)
    with pytest.raises(ValueError, match="registered twice"):
        registry.add("a", 2)
    with pytest.raises(KeyError, match="known: a"):
        registry.get("b")
    assert list(registry) == [1]
    assert registry.names() == ("a",)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ((2, 5), (2, 5)),
        ((-5, 5), (0, 5)),
        ((5, 50), (5, 10)),
        ((20, 30), (10, 10)),
        ((-9, -5), (0, 0)),
    ],
)
def test_clamping_a_range_never_reverses_it(inner: tuple[int, int], expected: tuple[int, int]) -> None:
    assert TimeRange(*inner).clamp(TimeRange(0, 10)) == TimeRange(*expected)


def test_a_range_is_half_open() -> None:
    assert TimeRange(0, 10).contains(0)
    assert not TimeRange(0, 10).contains(10)
    assert TimeRange(3, 10).length_ns == 7


def _placement() -> Placement:
    lane = LaneRow("rank 0/stream 0:7", "stream 7", "", LaneKind.STREAM, 1, ((0, 0),))
    group = LaneGroup(0, "rank 0", "", (lane,))
    return Placement((PlacedRow(0, 20, group, None, 20), PlacedRow(20, 30, group, lane, 30)), 50)


@pytest.mark.parametrize(("y", "row"), [(-1, None), (0, 0), (19.9, 0), (20, 1), (49, 1), (50, None)])
def test_rows_are_found_by_height(y: float, row: int | None) -> None:
    placement = _placement()
    assert placement.at(y) is (None if row is None else placement.rows[row])


@pytest.mark.parametrize("pinned", [0, 1, 2])
def test_rows_in_sight_are_the_pinned_ones_and_those_that_scroll_below_them(pinned: int) -> None:
    group = LaneGroup(0, "rank 0", "", ())
    heights = (20, 30, 5, 40, 12, 26)
    places = [sum(heights[:i]) for i in range(7)]
    rows = [PlacedRow(places[i], heights[i], group, None, 9, pinned=i < pinned) for i in range(6)]
    placement = Placement(tuple(rows), places[6], places[pinned])
    for top in range(0, 140, 3):
        for height in (1, 25, 60, 200):
            first, last = top + places[pinned], top + height
            scrolled = [i for i in range(pinned, 6) if places[i + 1] > first and places[i] < last]
            found = list(placement.in_sight(top, height))
            assert found[:pinned] == list(range(pinned))
            assert found[pinned:] == scrolled or (not scrolled and found[pinned:] == [5]), "the last may lie above"


def test_lanes_are_found_by_key() -> None:
    placement = _placement()
    assert placement.find("rank 0/stream 0:7") is placement.rows[1]
    assert placement.find("rank 9") is None


@pytest.mark.parametrize("name", ["light", "dark"])
def test_shipped_themes_colour_every_paint(name: str) -> None:
    theme = parse_theme(name, (files("resources") / "themes" / f"{name}.toml").read_text(encoding="utf-8"))
    assert len(theme.paints) == len(theme.paint_text) == len(Paint)
    assert theme.dark is (name == "dark")
    assert theme["accent"].startswith("#")


def test_a_theme_without_a_colour_names_it() -> None:
    with pytest.raises(ValueError, match="compute"):
        parse_theme("x", "dark = true\n[color]\n[paint]\nother = { fill = '#000000', text = '#ffffff' }")


def test_what_comes_from_a_file_stays_on_the_line_of_an_error() -> None:
    error = InputError("a\nb", 'ends inside "\n\x1b[31m"' + "x" * 5_000, "byte\t1", "Stop.")
    assert error.sentence().startswith(r'a\nb at byte\t1: ends inside "\n\x1b[31m"xxx')
    assert error.sentence().endswith("x…. Stop.")
    assert len(error.sentence()) < 700
    assert on_one_line("é\u2028") == "é\\u2028"
