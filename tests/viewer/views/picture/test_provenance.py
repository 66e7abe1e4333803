from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.picture_job import PLAIN, US, job, trace_of
from tests.support.ranks import RankJob
from viewer import __version__
from viewer.app.clocks import settle_clocks
from viewer.base.clock import Clock, GivenClock
from viewer.base.selection import TimeRange
from viewer.store.session import Opened, build_session
from viewer.views.picture.provenance import clock_words, provenance, rank_words


def window(start_us: int, end_us: int) -> TimeRange:
    origin = 10**18 + 100 * US
    return TimeRange(origin + start_us * US, origin + end_us * US)


def test_one_file_names_it_with_its_digest_rank_window_clock_and_version() -> None:
    assert provenance(job(1), [0], window(-50, 1250)) == [
        "rank0.json",
        "digest (head+tail) 00000000",
        "rank 0",
        "window \u221250 us to 1.25 ms after the first GPU start",
        "clock: base times applied",
        f"Rankscope {__version__}",
    ]


def test_few_files_are_all_named_each_with_its_digest() -> None:
    parts = provenance(job(2), [0, 1], window(0, 1))
    assert parts[:4] == ["rank0.json 00000000", "rank1.json 01010101", "digests: head+tail", "ranks 0, 1"]


def test_many_files_are_counted_in_their_folder_and_any_change_shows_in_the_digest() -> None:
    parts = provenance(job(8), list(range(8)), window(0, 1))
    assert parts[0] == "8 files in job 1"
    assert parts[1].startswith("digest of all (head+tail) ")
    assert parts[2] == "ranks 0–7"
    other = build_session(
        [
            Opened(Path(f"/runs/job 1/{r}"), trace_of(PLAIN, r, 10**18, "ff" * 32 if r == 7 else f"{r:02x}" * 32))
            for r in range(8)
        ]
    )
    assert provenance(other, list(range(8)), window(0, 1))[1] != parts[1]


def test_a_part_of_the_job_is_said_to_be_one() -> None:
    parts = provenance(job(8), [2, 3, 4], window(0, 1))
    assert "ranks 2–4 (of 8 groups)" in parts
    assert "rank2.json 02020202" in parts


def test_unknown_ranks_and_events_without_gpu_work_are_said() -> None:
    s = build_session([Opened(Path("/a/x.json"), trace_of((("cpu_op", "f", 5, 5, 1),), None))])
    parts = provenance(s, [0], TimeRange(5 * US, 6 * US))
    assert "1 of unknown rank" in parts
    assert "window 0 ns to 1 us after the first event" in parts
    assert "clock: times as written, no base times stated" in parts


def test_the_clock_is_said_as_it_is() -> None:
    inputs = job(2).inputs
    moved = replace(inputs[1], clock=Clock(10**18, 5, known=False))
    assert clock_words([inputs[0], moved]) == "clock: unknown for 1 of 2 files, moved to be seen"
    assert clock_words([inputs[0], replace(inputs[1], clock=Clock(0))]) == "clock: base times not applied"
    corrected = replace(inputs[1], clock=Clock(10**18, 5))
    assert clock_words([inputs[0], corrected]) == "clock: base times applied, offsets corrected"
    bare = job(2, base_ns=None).inputs[0]
    assert clock_words([inputs[0], bare]) == "clock: base times applied, 1 of 2 files state none"


def test_runs_of_ranks_are_joined() -> None:
    assert rank_words([5, 0, 1, 2, 7, 8]) == "0–2, 5, 7, 8"


def test_an_alignment_is_said_with_its_drift_and_doubt() -> None:
    session = settle_clocks(RankJob(ranks=4, steps=20, drift_ppm={2: 30.0}).session(), "auto")
    parts = provenance(session, [0, 1, 2, 3], window(0, 1))
    said = next(p for p in parts if p.startswith("clock"))
    assert said.startswith("clock: aligned by collectives, drift corrected (± ")
    path = str(session.inputs[1].path.absolute())
    given = settle_clocks(session, "auto", {path: GivenClock(5)})
    assert "1 of 4 offsets given" in clock_words(given.inputs, given.clock_method)
    by_hand = settle_clocks(session, "base", {path: GivenClock(5, 7, 0)})
    words = clock_words(by_hand.inputs, by_hand.clock_method)
    assert words == "clock: base times applied, 1 of 4 offsets given, with drift"


def test_ranks_that_an_alignment_left_are_counted() -> None:
    made = RankJob(ranks=4, world_operations=False, sends=False, without_file=(3,))
    session = settle_clocks(made.session(), "auto")
    said = next(p for p in provenance(session, [0, 1, 2], window(0, 1)) if p.startswith("clock"))
    assert said.endswith(", 1 of 3 ranks not aligned, on base times")
