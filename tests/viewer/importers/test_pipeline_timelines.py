"""Files with the spans of many ranks: straggler timelines and MegatronApp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import loads_exactly, open_one


def write_array(path: Path, events: list[Any]) -> Path:
    path.write_text(json.dumps(events))
    return path


def operation(name: str, pid: int, tid: int, ts: float, dur: float) -> dict[str, Any]:
    args = {"step": 3, "model_chunk": 0, "mb_id": 1, "seq_id": 1}
    return {"name": name, "cat": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "ph": "X", "args": args}


def named(what: str, name: str, **ids: int) -> dict[str, Any]:
    return {"name": what, "ph": "M", **ids, "args": {"name": name}}


def test_operations_of_all_ranks_are_spans(tmp_path: Path) -> None:
    path = write_array(
        tmp_path / "timeline_rank_0.json",
        [
            operation("forward-compute", 0, 10, 1.5, 2),
            operation("forward-recv", 0, 11, 1, 0.25),
            operation("params-all-gather", 1, 18, 0, 1),
            operation("optimizer", 1, 15, 4, 1),
            named("process_name", "DP rank [0]", pid=0),
            named("process_name", "DP rank [1]", pid=1),
            named("thread_name", "PP rank 1, TP rank 0, compute", pid=0, tid=10),
        ],
    )
    trace = open_one(tmp_path, path)
    assert lines(trace) == [
        "THREAD 0/10 [DP rank [0]/PP rank 1, TP rank 0, compute] 1500+2000 ANNOTATION forward-compute forward-compute",
        "THREAD 0/11 [DP rank [0]] 1000+250 ANNOTATION forward-recv forward-recv",
        "THREAD 1/18 [DP rank [1]] 0+1000 ANNOTATION params-all-gather params-all-gather",
        "THREAD 1/15 [DP rank [1]] 4000+1000 ANNOTATION optimizer optimizer",
    ]
    meta = trace.meta
    assert (meta.format, meta.rank, meta.rank_source, meta.gpu_first_ns) == (
        "straggler-timeline",
        None,
        "unknown",
        None,
    )
    assert {k: meta.facts[k] for k in ("DP ranks", "PP ranks", "TP ranks")} == {
        "DP ranks": 2, "PP ranks": 1, "TP ranks": 1,
    }  # fmt: skip
    assert codes(trace) == {"spans-of-many-ranks": 2, "no-gpu-work": 1}


def pass_(name: str, pid: int, begin: int, end: int, microbatch: int) -> list[dict[str, Any]]:
    common = {"name": name, "cname": "thread_state_running", "pid": pid, "tid": 1}
    more = {"iteration": 10, "microbatch": microbatch, "model_chunk": 0, "pp_rank": pid}
    return [
        {**common, "ph": "B", "ts": begin, "args": {"iteration": 10}},
        {**common, "ph": "E", "ts": end, "args": more},
    ]


MARK = {"name": "iteration begin", "cname": "x", "ph": "i", "ts": 0, "pid": 0, "tid": 1, "args": {"iteration": 10}}


def test_passes_of_all_pipeline_ranks_are_spans(tmp_path: Path) -> None:
    events = [MARK, *pass_("forward", 0, 5, 9, 0), *pass_("forward", 1, 9, 12, 0), *pass_("backward", 1, 12, 20, 0)]
    trace = open_one(tmp_path, write_array(tmp_path / "merged_trace_rank_2.json", events))
    assert lines(trace) == [
        "THREAD 0/1 [pipeline rank 0/pipeline rank 0] 5000+4000 ANNOTATION megascan_span forward",
        "THREAD 1/1 [pipeline rank 1/pipeline rank 1] 9000+3000 ANNOTATION megascan_span forward",
        "THREAD 1/1 [pipeline rank 1/pipeline rank 1] 12000+8000 ANNOTATION megascan_span backward",
    ]
    assert trace.args(2) == {"iteration": 10, "microbatch": 0, "model_chunk": 0, "pp_rank": 1}
    assert trace.meta.format == "megatronapp"
    assert (trace.meta.rank, trace.meta.gpu_first_ns, len(trace.marks)) == (None, None, 1)
    assert trace.meta.ledger.read == trace.meta.ledger.kept == 7
    assert codes(trace) == {"spans-of-many-ranks": 2, "no-gpu-work": 1}


def test_a_lost_end_leaves_a_mark(tmp_path: Path) -> None:
    trace = open_one(tmp_path, write_array(tmp_path / "t.json", [MARK, *pass_("forward", 0, 5, 9, 0)[:1]]))
    assert (trace.meta.format, len(trace), len(trace.marks)) == ("megatronapp", 0, 2)
    assert codes(trace)["begin-without-end"] == 1


@pytest.mark.parametrize("name", ["timeline-ST.json.gz", "ideal-timeline-ST.json.gz"])
def test_real_straggler_timelines(shared: Path, tmp_path: Path, name: str) -> None:
    trace = open_one(tmp_path, shared / "data/megascale/straggler_ST" / name)
    assert (trace.meta.format, trace.meta.ledger.kept, len(trace)) == ("straggler-timeline", 6866, 6784)
    assert {k: trace.meta.facts[k] for k in ("DP ranks", "PP ranks")} == {"DP ranks": 2, "PP ranks": 4}
    assert {line.split(" ")[0] for line in lines(trace)} == {"THREAD"}


@pytest.mark.parametrize(("name", "lanes"), [("pp4_merged_trace.json", 8), ("pp4_dpp_aggregated-iter10.json", 4)])
def test_real_megatronapp_traces(shared: Path, tmp_path: Path, name: str, lanes: int) -> None:
    path = shared / "data/megascale/megatronapp" / name
    events = loads_exactly(path.read_bytes())
    trace = open_one(tmp_path, path)
    assert trace.meta.ledger.read == trace.meta.ledger.kept == len(events)
    assert len(trace) == sum(e["ph"] == "B" for e in events)
    assert len(trace.lanes) == lanes
    for i in range(len(trace)):
        assert str(trace.args(i)["pp_rank"]) == trace.lane_of(i).pid
