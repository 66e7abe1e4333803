"""--align: what the clocks of an opened job become."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.build import make_session
from tests.support.ranks import BASE, RankJob
from viewer.app.clocks import clocks_text, read_given, settle_clocks
from viewer.base.clock import Clock, GivenClock
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


def test_base_leaves_it_and_goes_back_from_any_other() -> None:
    session = RankJob(ranks=2, offsets={1: 9_000}).session()
    assert settle_clocks(session, "base") is session
    again = settle_clocks(settle_clocks(session, "auto"), "base")
    assert [i.clock for i in again.inputs] == [i.clock for i in session.inputs]
    assert again.clock_method == "base"


def test_none_adds_nothing_and_the_alignment_is_the_same_from_there() -> None:
    session = RankJob(ranks=2, offsets={1: 9_000}, bases={0: BASE, 1: BASE - 5_000_000}).session()
    written = settle_clocks(session, "none")
    assert written.clock_method == "none"
    assert all(i.clock == Clock() for i in written.inputs)
    fresh = make_session(*(i.trace for i in session.inputs), align="none")  # nothing is shared with the first one
    one, other = (settle_clocks(s, "auto") for s in (session, fresh))
    assert [i.clock for i in one.inputs] == [i.clock for i in other.inputs]
    assert abs(one.inputs[1].clock.offset_ns - 9_000) < 400


def test_what_a_person_gives_goes_before_the_method() -> None:
    session = RankJob(ranks=4, steps=30, offsets={1: 700_000}, drift_ppm={3: 20.0}).session()
    aligned = settle_clocks(session, "auto")
    path = {i.rank: os.path.abspath(i.path) for i in session.inputs}
    given = settle_clocks(session, "auto", {path[3]: GivenClock(-5), path[1]: GivenClock(6, 7, 8)})
    assert given.clock_method == "collectives"
    assert [i.clock.given for i in given.inputs] == [False, True, False, True]
    kept = aligned.inputs[3].clock
    assert given.inputs[3].clock == replace(kept, offset_ns=-5, given=True)  # drift and t0 of the method stay
    assert given.inputs[1].clock == Clock(BASE, 6, 7, 8, given=True)
    assert given.inputs[2].clock == aligned.inputs[2].clock


def test_clocks_as_text_are_read_back(tmp_path: Path) -> None:
    session = RankJob(ranks=4, steps=30, offsets={1: 700_000}, drift_ppm={3: 20.0}).session()
    aligned = settle_clocks(session, "auto")
    path = tmp_path / "clocks.json"
    path.write_text(clocks_text(aligned))
    told = read_given(path)
    assert sorted(told) == [0, 1, 2, 3]
    given = settle_clocks(session, "base", {os.path.abspath(i.path): told[i.rank or 0] for i in session.inputs})
    for one, other in zip(aligned.inputs, given.inputs, strict=True):
        at = BASE + 500_000_000
        assert abs(one.clock.to_raw(at) - other.clock.to_raw(at)) <= 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"rank": 1, "offset_ns": 2**63}], "rank 1, offset_ns 9223372036854775808"),
        ([{"rank": 1, "offset_ns": 1.5}], "whole numbers"),
        ([{"rank": "1", "offset_ns": 5}], "whole numbers"),
        ([{"rank": 1, "offset_ns": 0, "drift_ppb": -(10**9)}], "at most 100,000,000 ppb"),
        ([{"rank": 9, "offset_ns": 5}], "moves nothing"),
        ([{"rank": None, "offset_ns": 5}, {"rank": 1, "offset_ns": None}], "moves nothing"),
        ([], "moves nothing"),
    ],
)
def test_offsets_that_would_do_nothing_or_nonsense_are_refused(tmp_path: Path, rows: list[object], said: str) -> None:
    path = tmp_path / "clocks.json"
    path.write_text(json.dumps({"t0_ns": 0, "ranks": rows}))
    with pytest.raises(UsageError, match=re.escape(said)):
        settle_clocks(RankJob(ranks=2).session(), str(path))


def test_one_rank_is_not_compared_with_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise AssertionError("aligned")

    monkeypatch.setattr("viewer.analyses.collective.alignment.align", fail)
    session = RankJob(ranks=1).session()
    assert settle_clocks(session, "auto") is session


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
    with pytest.raises(UsageError, match="does not exist"):
        settle_clocks(RankJob(ranks=2).session(), str(tmp_path / "auot"))
