from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from viewer.base.selection import TimeRange
from viewer.store.assemble import assemble
from viewer.store.meta import DeviceInfo, SourceStamp, TraceMeta
from viewer.store.raw import RawSlices, RawTrace
from viewer.store.rules import shipped_rules
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace


def trace(
    start: int = 0,
    end: int = 100,
    rank: int | None = None,
    base: int | None = None,
    gpu: bool = True,
    devices: list[DeviceInfo] | None = None,
) -> Trace:
    raw = RawTrace(
        ["kernel" if gpu else "cpu_op", "work"],
        RawSlices.filled(
            np.array([start], np.int64),
            np.array([end - start], np.int64),
            np.array([1], np.int32),
            np.array([0], np.int32),
            device=np.array([0], np.int64),
            stream=np.array([7], np.int64),
        ),
    )
    meta = TraceMeta(
        version=1,
        format="test",
        source=SourceStamp("x", 1, 1, ""),
        rules_hash="",
        base_ns=base,
        rank=rank,
        rank_source="unknown" if rank is None else "distributedInfo",
        first_ns=start,
        last_ns=end,
        gpu_first_ns=start if gpu else None,
        devices=devices or [],
    )
    return Trace.in_memory(meta, assemble(raw, shipped_rules()))


def session(*traces: Trace, align: str = "auto", given: dict[int, int] | None = None) -> Session:
    return build_session(
        [Opened(Path(f"f{i}.json"), t, (given or {}).get(i)) for i, t in enumerate(traces)], align=align
    )


def test_base_times_put_ranks_on_one_clock() -> None:
    s = session(trace(1000, 1100, 0, base=10**18), trace(900, 1000, 1, base=10**18 + 250))
    assert [i.extent() for i in s.inputs] == [
        TimeRange(10**18 + 1000, 10**18 + 1100),
        TimeRange(10**18 + 1150, 10**18 + 1250),
    ]
    assert s.extent() == TimeRange(10**18 + 1000, 10**18 + 1250)
    assert s.origin_ns() == 10**18 + 1000
    assert s.inputs[1].clock.to_raw(10**18 + 1150) == 900


def test_align_none_leaves_the_files_times() -> None:
    s = session(trace(1000, 1100, 0, base=10**18), align="none")
    assert s.extent() == TimeRange(1000, 1100)


def test_an_unknown_rank_is_none_and_never_zero() -> None:
    s = session(trace(rank=None))
    assert s.inputs[0].rank is None
    assert s.groups[0].rank is None
    assert s.groups[0].label == "f0.json"


def test_the_users_word_beats_the_file() -> None:
    s = session(trace(rank=3), given={0: 5})
    assert (s.inputs[0].rank, s.inputs[0].rank_source) == (5, "given")


def test_disjoint_files_of_a_rank_are_segments_of_one_group() -> None:
    s = session(trace(200, 300, 3), trace(0, 100, 3))
    assert [i.segment for i in s.inputs] == [1, 0]
    assert [g.inputs for g in s.groups] == [(1, 0)]
    assert not s.findings


def test_overlapping_files_of_a_rank_conflict_and_both_are_shown() -> None:
    s = session(trace(0, 100, 3), trace(99, 200, 3), trace(0, 100, 1))
    assert [i.conflict for i in s.inputs] == [True, True, False]
    assert [g.label for g in s.groups] == ["rank 1", "rank 3 (f0.json)", "rank 3 (f1.json)"]
    (finding,) = s.findings
    assert (finding.code, finding.count) == ("rank-conflict", 2)
    assert "f0.json, f1.json" in finding.message


def test_groups_are_ordered_by_rank_and_unknown_ranks_come_last() -> None:
    s = session(trace(rank=None), trace(rank=10), trace(rank=2))
    assert [g.rank for g in s.groups] == [2, 10, None]
    assert [g.id for g in s.groups] == [0, 1, 2]
    assert s.group_of(1).rank == 10


def test_a_file_on_another_origin_is_moved_and_it_is_said() -> None:
    s = session(trace(10**18, 10**18 + 100, 0), trace(500, 600, 1))
    assert s.inputs[1].extent() == TimeRange(10**18, 10**18 + 100)
    assert not s.inputs[1].clock.known
    assert [f.code for f in s.findings] == ["no-common-clock"]


def test_origin_is_the_first_gpu_start_else_the_first_event_else_zero() -> None:
    assert session(trace(5, 10, gpu=False), trace(40, 50)).origin_ns() == 40
    assert session(trace(5, 10, gpu=False)).origin_ns() == 5
    assert Session().origin_ns() == 0
    assert Session().extent() is None


@pytest.mark.parametrize(
    ("devices", "name"),
    [
        ([DeviceInfo(0, "H100"), DeviceInfo(1, "A100")], "H100"),
        ([DeviceInfo(1, "A100")], None),
        ([DeviceInfo(0, "")], None),
    ],
)
def test_a_groups_gpu_is_the_device_it_used(devices: list[DeviceInfo], name: str | None) -> None:
    assert session(trace(devices=devices)).groups[0].gpu == name
