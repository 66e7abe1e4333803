from __future__ import annotations

import numpy as np
import pytest

from tests.support.build import annotation, copy, kernel, make_session, make_trace, row_named, rows_named
from tests.support.panel_frames import figure, section, table, titles, unexplained, values
from viewer.base.ids import Paint
from viewer.base.selection import GapRef, GroupRef, SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.attribution import attribution


def job() -> Session:
    """Rank 0 on two clocks: compute [0, 400), comm [300, 500) and [900, 1000), copy [450, 600); rank 1: compute."""
    first = make_trace(
        kernel("gemm", 1_000, 400),
        kernel("ncclDevKernel_AllReduce", 1_300, 200, stream=20),
        copy("Memcpy DtoH", 1_450, 150, stream=9),
        kernel("ncclDevKernel_AllReduce", 1_900, 100, stream=20),
        rank=0,
        base_ns=5_000,
    )
    second = make_trace(kernel("gemm", 7_000, 300), kernel("gemm", 7_500, 100), rank=1, path="rank1.json")
    return make_session(first, second)


@pytest.fixture(scope="module")
def session() -> Session:
    return job()


def test_the_identity_of_one_rank(session: Session) -> None:
    frame = attribution(session, 0)
    assert frame.title == "rank 0 · GPU 0"
    assert values(frame, "Where the time went") == {
        "compute": "400 ns · 40.0 %",
        "exposed comm": "200 ns · 20.0 %",
        "exposed memory": "100 ns · 10.0 %",
        "idle": "300 ns · 30.0 %",
        "sum = span": "1.000 us (1,000 ns)",
    }
    bar = section(frame, "Where the time went").bar
    assert bar is not None
    assert bar.parts == (
        ("compute", 400, Paint.COMPUTE),
        ("exposed comm", 200, Paint.COMM),
        ("exposed memory", 100, Paint.MEMORY),
        ("idle", 300, None),
    )
    assert sum(ns for _, ns, _ in bar.parts) == bar.total_ns == 1_000
    assert values(frame, "Overlap and busy time") == {
        "busy": "700 ns · 70.0 %",
        "communication": "300 ns",
        "overlap": "100 ns · 33.3 % of communication",
        "memory": "150 ns",
        "GPU events": "4",
    }
    assert figure(frame, "Where the time went", "compute").how.startswith("400 ns.")


def test_a_range_cuts_at_both_borders_on_the_raw_clock_of_the_rank(session: Session) -> None:
    frame = attribution(session, 0, TimeRange(6_200, 6_480))
    assert values(frame, "Where the time went") == {
        "compute": "200 ns · 71.4 %",
        "exposed comm": "80 ns · 28.6 %",
        "exposed memory": "0 ns · 0.0 %",
        "idle": "0 ns · 0.0 %",
        "sum = span": "280 ns",
    }
    assert frame.subtitle == "0.000200 ms to 0.000480 ms (280 ns)"
    assert "never idle" in section(frame, "Largest gaps").note


def test_largest_blocks_lead_to_their_longest_run(session: Session) -> None:
    found = table(attribution(session, 0), "Largest blocks by name")
    trace = session.inputs[0].trace
    assert found.rows == [
        ("gemm", "400 ns", "1", "40.0 %"),
        ("ncclDevKernel_AllReduce", "300 ns", "2", "30.0 %"),
        ("Memcpy DtoH", "150 ns", "1", "15.0 %"),
    ]
    assert found.paints == [Paint.COMPUTE, Paint.COMM, Paint.MEMORY]
    assert found.jumps[1] == SliceRef(0, rows_named(trace, "ncclDevKernel_AllReduce")[0])


def test_largest_gaps_lead_to_the_lane_of_the_next_work(session: Session) -> None:
    found = table(attribution(session, 0), "Largest gaps")
    trace = session.inputs[0].trace
    assert found.rows == [("Memcpy DtoH", "300 ns", "0.000600 ms")]
    lane = trace.lane_of(rows_named(trace, "ncclDevKernel_AllReduce")[0]).id
    assert found.jumps == [GapRef(0, lane, TimeRange(6_600, 6_900))]


def test_all_ranks_have_a_row_each_and_a_sum(session: Session) -> None:
    frame = attribution(session)
    assert frame.title == "2 ranks"
    assert table(frame, "By rank").rows == [
        ("rank 0", "40.0 %", "20.0 %", "10.0 %", "30.0 %", "33.3 %"),
        ("rank 1", "66.7 %", "0.0 %", "0.0 %", "33.3 %", "–"),
    ]
    assert table(frame, "By rank").jumps == [GroupRef(0), GroupRef(1)]
    assert values(frame, "Sum over 2 devices")["sum = span"] == "1.600 us (1,600 ns)"
    assert values(frame, "Sum over 2 devices")["compute"] == "800 ns · 50.0 %"
    assert "Summed over 2 devices" in figure(frame, "Sum over 2 devices", "idle").how
    blocks = table(frame, "Largest blocks by name")
    assert blocks.rows[0] == ("gemm", "800 ns", "3", "50.0 %")
    assert blocks.jumps[0] == SliceRef(0, row_named(session.inputs[0].trace, "gemm"))
    assert [r[:3] for r in table(frame, "Largest gaps").rows] == [
        ("rank 0", "Memcpy DtoH", "300 ns"),
        ("rank 1", "gemm", "200 ns"),
    ]


def test_one_rank_of_several_leads_back_to_all(session: Session) -> None:
    assert attribution(session, 1).sections[0].actions == (("All ranks", GroupRef(None)),)
    assert attribution(session).sections[0].actions == ()
    alone = make_session(make_trace(kernel("a", 0, 10), rank=0))
    assert attribution(alone, 0).sections[0].actions == ()


def test_several_devices_of_a_rank_are_told_apart() -> None:
    session = make_session(make_trace(kernel("a", 0, 10), kernel("b", 0, 30, device=1), rank=0))
    frame = attribution(session, 0)
    assert [r[0] for r in table(frame, "By device").rows] == ["rank 0, GPU 0", "rank 0, GPU 1"]
    assert values(frame, "Sum over 2 devices")["compute"] == "40 ns · 100.0 %"


def test_segments_of_a_rank_take_only_their_part_of_a_range() -> None:
    session = make_session(
        make_trace(kernel("a", 0, 100), rank=0, path="a.json"),
        make_trace(kernel("a", 1_000, 100), rank=0, path="b.json"),
    )
    whole = attribution(session, 0)
    assert [r[0] for r in table(whole, "By device").rows] == ["rank 0, segment 1", "rank 0, segment 2"]
    cut = attribution(session, 0, TimeRange(50, 500))
    assert cut.title == "rank 0 · GPU 0"
    assert values(cut, "Where the time went")["sum = span"] == "50 ns"


def test_work_at_the_same_time_counts_once_in_the_share_and_twice_in_the_total() -> None:
    session = make_session(make_trace(kernel("k", 0, 100), kernel("k", 50, 100, stream=9), rank=0))
    assert table(attribution(session), "Largest blocks by name").rows == [("k", "200 ns", "2", "100.0 %")]


def test_only_ten_blocks_and_ten_gaps_are_listed() -> None:
    events = [kernel(f"k{i}", 100 * i, 50 - i) for i in range(15)]
    frame = attribution(make_session(make_trace(*events, rank=0)))
    assert [r[0] for r in table(frame, "Largest blocks by name").rows] == [f"k{i}" for i in range(10)]
    lengths = [k[1] for k in table(frame, "Largest gaps").keys]
    assert lengths == sorted(lengths, reverse=True)
    assert len(lengths) == 10


def test_nothing_to_attribute_is_said_and_is_not_zero() -> None:
    host_only = make_session(make_trace(annotation("a", 0, 5), rank=0))
    frame = attribution(host_only)
    assert titles(frame) == [""]
    assert "no GPU work" in frame.sections[0].note
    assert frame.sections[0].figures == ()
    mixed = make_session(
        make_trace(annotation("a", 0, 5), rank=0), make_trace(kernel("k", 0, 5), rank=1, path="b.json")
    )
    assert "rank 0" in attribution(mixed).sections[-1].note
    assert "No trace is open" in attribution(Session()).sections[0].note


def test_a_range_in_which_nothing_runs_is_all_idle(session: Session) -> None:
    frame = attribution(session, 0, TimeRange(6_700, 6_800))
    assert values(frame, "Where the time went")["idle"] == "100 ns · 100.0 %"
    assert values(frame, "Overlap and busy time")["overlap"] == "no communication"
    assert "No GPU work touches" in section(frame, "Largest blocks by name").note


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_says_how_and_the_parts_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ("gemm", "ncclDevKernel_AllGather", "Memcpy DtoH")
    traces = []
    for rank in range(3):
        events = []
        for _ in range(40):
            kind = int(rng.integers(3))
            make = copy if kind == 2 else kernel
            start, length, stream = (int(x) for x in rng.integers((0, 0, 1), (2_000, 200, 5)))
            events.append(make(names[kind], start, length, stream=stream, device=int(rng.integers(2))))
        traces.append(make_trace(*events, rank=rank, path=f"{rank}.json"))
    session = make_session(*traces)
    for group in (None, 0, 2):
        for chosen in (None, TimeRange(300, 900)):
            frame = attribution(session, group, chosen)
            assert unexplained(frame) == []
            for part in frame.sections:
                if part.bar is not None:
                    assert sum(ns for _, ns, _ in part.bar.parts) == part.bar.total_ns


def test_chosen_lanes_mean_the_ranks_that_they_are_of() -> None:
    traces = [make_trace(kernel("gemm", 0, 10 + r), rank=r, path=f"rank{r}.json") for r in range(3)]
    session = make_session(*traces)
    two = attribution(session, 0, None, frozenset({0, 2}))
    assert two.title == "2 ranks"
    assert two.subtitle.endswith("whole ranks of the chosen lanes")
    one = attribution(session, 0, None, frozenset({2}))
    assert one.title.startswith("rank 2")
