"""Tiles and waterfall in words."""

from __future__ import annotations

import pytest

from tests.viewer.analyses.fingerprint.test_figures import job
from viewer.analyses.fingerprint.figure import Figure, RankValue, StepValue
from viewer.views.fingerprint import fingerprint_frame, percent, tile


def test_the_panel_says_the_figures_and_the_largest_loss() -> None:
    session = job()
    frame = fingerprint_frame(session)
    # Of 3,900 ns: 800 exposed, 800 other kernels, 700 idle, 400 for products below the peak, 1,200 for the model.
    assert frame.sentence == "MFU is 30.0 %; the largest loss is exposed communication, 20.5 % of the time."
    assert [t.title for t in frame.tiles][:2] == ["MFU", "Exposed communication"]
    assert frame.tiles[0].line == "usual 40–55 %"
    assert frame.rows[0].title == "Peak"
    rows = frame.rows[1:-1]
    right = 1.0
    for row in rows:  # each bar ends where the one before it begins
        assert row.left + row.share == pytest.approx(right)
        right = row.left
    assert frame.rows[-1].share == pytest.approx(right)
    without = fingerprint_frame(session.with_card(session.card.with_value("model.parameters", None)))
    assert without.tiles[0].link
    assert without.tiles[0].line == "Not computable: needs model.parameters (parameters) on the job card"
    assert "A click opens the job card" in without.tiles[0].tip
    assert without.sentence == "The largest loss is exposed communication, 20.5 % of the time."


def test_a_tile_says_range_theory_spread_and_how() -> None:
    figure = Figure(
        "x", "X", "counted", value=0.2, theory=0.18, theory_how="by hand", low=0.05, high=0.15, applies=True,
        condition="many GPUs", note="a bound",
        steps=(StepValue(1, 0.1), StepValue(2, 0.3)), ranks=(RankValue(0, "rank 0", 0.1), RankValue(1, "rank 1", 0.3)),
    )  # fmt: skip
    made = tile(figure)
    assert (made.text, made.tone, made.word) == ("20.0 %", "bad", "too high")
    assert made.line == "usual 5–15 %, theory 18.0 %, ranks 10–30 %"
    assert made.trend == (0.1, 0.3)
    assert made.full == 0.5
    for part in ("How: counted.", "many GPUs", "Theory: by hand.", "Note: a bound."):
        assert part in made.tip


def test_a_figure_without_a_value_says_why() -> None:
    made = tile(Figure("x", "X", "how", why="there is no GPU work"))
    assert (made.text, made.tone, made.line, made.link) == ("–", "unknown", "There is no GPU work", False)


@pytest.mark.parametrize(("share", "text"), [(0.276, "27.6 %"), (0.0042, "0.42 %"), (0.0, "0.0 %"), (1.0, "100.0 %")])
def test_shares_in_words(share: float, text: str) -> None:
    assert percent(share) == text
