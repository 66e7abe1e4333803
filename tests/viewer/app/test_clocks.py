"""--align: what the clocks of an opened job become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.ranks import BASE, RankJob
from viewer.app.clocks import settle_clocks
from viewer.base.errors import UsageError
from viewer.exporters.report import report


def test_auto_aligns_and_the_report_says_how_sure_it_is() -> None:
    session = RankJob(ranks=4, offsets={2: 1_500_000}).session()
    aligned = settle_clocks(session, "auto")
    clock = report(aligned)["clock"]
    assert (clock["method"], clock["reference"], clock["match_rate"]) == ("collectives", 0, 1.0)
    row = clock["ranks"][2]
    assert abs(row["offset_ns"] - 1_500_000) < 400
    assert row["low_ns"] <= 1_500_000 <= row["high_ns"]
    assert row["matches"] == 12 * 5
    assert row["connected"]
    assert row["uncertainty_ns"] < 6_000
    assert {g["kind"] for g in report(aligned)["job"]["groups"]} == set()  # no file lists its groups


@pytest.mark.parametrize("choice", ["base", "none"])
def test_base_and_none_leave_it(choice: str) -> None:
    session = RankJob(ranks=2).session()
    assert settle_clocks(session, choice) is session


def test_a_report_gives_its_clocks_back(tmp_path: Path) -> None:
    session = RankJob(ranks=4, steps=30, offsets={1: 700_000}, drift_ppm={3: 20.0}).session()
    aligned = settle_clocks(session, "auto")
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(aligned)))
    given = settle_clocks(session, str(path))
    assert given.clock_method == "given"
    for one, other in zip(aligned.inputs, given.inputs, strict=True):
        at = BASE + 500_000_000
        assert abs(one.clock.to_raw(at) - other.clock.to_raw(at)) <= 1
    assert report(given)["clock"]["method"] == "given"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[1]", 'has no list "ranks"'),
        ('{"ranks": [3]}', 'has no list "ranks"'),
        ('{"ranks": [{"rank": 0, "offset_ns": 0, "drift_ppb": 5}]}', "a drift needs t0_ns"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "clocks.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        settle_clocks(RankJob(ranks=2).session(), str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        settle_clocks(RankJob(ranks=2).session(), str(tmp_path / "auot"))
