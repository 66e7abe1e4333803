from __future__ import annotations

import pytest

from tests.support.build import call, kernel, make_session, make_trace, row_named
from tests.support.host_job import HostJob
from tests.viewer.analyses.idleness.test_profile import two_steps
from viewer.analyses.idleness.parts import CAUSES
from viewer.base.errors import Cancelled
from viewer.base.selection import GapRef, TimeRange
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views import gaps
from viewer.views.gaps import gaps_frame
from viewer.views.idle_words import WORDS, words_of


def rows(session: Session, cause: str | None = None, least: int = 0, group: int | None = None) -> list[tuple[str, ...]]:
    table = gaps_frame(session, group, cause, least).gaps
    return [] if table is None else table.rows


def test_the_longest_gaps_with_their_parts_and_place() -> None:
    session = make_session(two_steps())
    frame = gaps_frame(session, None, None, 0)
    assert frame.sentence.endswith("70 ns idle in 3 gaps, most of it “data loading”. Listed: the longest, 3 of them.")
    assert frame.gaps is not None
    assert frame.gaps.headers == ("Length", "Causes", "Step", "Told by", "Where", "Next work", "Start")
    first = [cell.replace("\u00a0", " ") for cell in frame.gaps.rows[0]]
    assert first[:3] == ["40 ns", "nothing recorded 37.5 % · data loading 50.0 % · launch 12.5 %", "→ 8"]
    assert first[3:6] == ["enumerate(DataLoader)#_Iter.__next__", "–", "third"]
    trace = session.inputs[0].trace
    lane = trace.lane_of(row_named(trace, "third")).id
    assert frame.gaps.jumps[0] == GapRef(0, lane, TimeRange(40, 80))
    assert all(len(r) == len(frame.gaps.headers) == len(frame.gaps.how) for r in frame.gaps.rows)
    assert all(frame.gaps.how)


def test_totals_by_cause_add_up_to_the_idle_time() -> None:
    frame = gaps_frame(make_session(two_steps()), None, None, 0)
    assert frame.causes is not None
    assert frame.bar is not None
    sums = [keys[1] for keys in frame.causes.keys]
    assert sums == sorted(sums, reverse=True)
    assert sum(sums) == frame.bar.total_ns == sum(ns for _, ns, _ in frame.bar.parts) == 70
    assert len(frame.names) == len(frame.causes.rows)


def test_filters_by_cause_length_and_rank() -> None:
    session = make_session(two_steps(), HostJob(rank=1, faults=("sync",)).trace())
    loading = gaps_frame(session, None, "data loading", 0)
    assert loading.gaps is not None
    assert loading.gaps.headers[:4] == ("Length", "Data loading", "Causes", "Rank")
    assert [r[:2] for r in loading.gaps.rows] == [("40 ns", "20 ns")]
    assert loading.note == WORDS["data loading"].meaning
    assert all(r[2] == "rank 1" for r in rows(session, least=1_000))
    assert len(rows(session, "sync-drain", 100_000, group=session.group_of(1).id)) == 6
    assert rows(session, "recompilation") == []
    assert len(rows(session, group=session.group_of(0).id)) == 3


def test_the_call_and_its_line_are_told() -> None:
    session = make_session(HostJob(faults=("sync",)).trace())
    table = gaps_frame(session, None, "sync-drain", 0).gaps
    assert table is not None
    assert ("cudaStreamSynchronize", "train.py(12): check") in {(r[4], r[5]) for r in table.rows}


def test_many_causes_share_the_last_part_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "HUES", 4)
    faults = ("sync", "collection", "data-loading", "recompilation", "allocation", "host-bound")
    frame = gaps_frame(make_session(HostJob(faults=faults).trace()), None, None, 0)
    assert frame.bar is not None
    assert len(frame.bar.parts) == 5
    assert frame.bar.parts[-1][0] == f"{len(frame.names) - 4} others"
    assert sum(ns for _, ns, _ in frame.bar.parts) == frame.bar.total_ns
    last = words_of(frame.names[-1]).label
    monkeypatch.setattr(gaps, "HUES", len(frame.names) - 1)
    frame = gaps_frame(make_session(HostJob(faults=faults).trace()), None, None, 0)
    assert frame.bar is not None
    assert frame.bar.parts[-1][0] == last, "one that is left has its own name"


def test_nothing_to_show_is_one_sentence() -> None:
    idle = gaps_frame(make_session(make_trace(call("cudaLaunchKernel", 0, 1))), None, None, 0)
    assert (idle.bar, idle.gaps, idle.sentence) == (None, None, "There is no GPU work, so there are no gaps.")
    busy = gaps_frame(make_session(make_trace(kernel("a", 0, 5))), None, None, 0)
    assert (busy.bar, busy.sentence) == (None, "The GPU is never idle between its first and its last work.")
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        gaps_frame(make_session(two_steps()), None, None, 0, token)


def test_every_cause_is_explained() -> None:
    assert set(WORDS) == set(CAUSES)
    assert len({w.label for w in WORDS.values()}) == len(WORDS)
    assert all(w.meaning.endswith(".") for w in WORDS.values())
