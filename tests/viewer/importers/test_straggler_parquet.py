"""Operation tables of StragglerAnalysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import open_one
from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache

ROWS: dict[str, Any] = {
    "dp_rank": pa.array([0, 0, 1, 0], pa.int8()),
    "stage": pa.array([0, 1, 0, 0], pa.int8()),
    "step": pa.array([5, 5, 5, 6]),
    "optype": pa.array(["forward-compute", "forward-recv", "optimizer", "forward-compute"]).dictionary_encode(),
    "start_ts": pa.array([0.0, 0.5, 1.0, 0.0], pa.float32()),
    "duration": pa.array([0.25, 0.125, 1.0, 0.25], pa.float32()),
    "mb_id": pa.array([3, -1, -1, 4], pa.int8()),
    "mc": pa.array([0, -1, -1, 0], pa.int8()),
    "seq_id": pa.array([1, 2, 0, 0], pa.int32()),
}


def written(path: Path, **changes: Any) -> Path:
    columns = {k: v for k, v in {**ROWS, **changes}.items() if v is not None}
    pq.write_table(pa.table(columns), path)
    return path


def refused(home: Path, path: Path) -> str:
    (failure,) = JobOpener([path], cache=Cache(home / "c")).open().failures
    return failure.sentence()


def test_rows_are_spans_and_steps_follow_each_other(tmp_path: Path) -> None:
    trace = open_one(tmp_path, written(tmp_path / "t.parquet"))
    assert lines(trace) == [
        "THREAD 0/0 [DP rank [0]/PP rank 0, TP rank 0, compute] 0+250000000 ANNOTATION forward-compute forward-compute",
        "THREAD 0/0 [DP rank [0]/PP rank 0, TP rank 0, compute] 2200000000+250000000 ANNOTATION forward-compute "
        "forward-compute",
        "THREAD 0/1 [DP rank [0]/PP rank 1, TP rank 0, pp-recv] 500000000+125000000 ANNOTATION forward-recv "
        "forward-recv",
        "THREAD 1/2 [DP rank [1]/PP rank 0, TP rank 0, misc] 1000000000+1000000000 ANNOTATION optimizer optimizer",
    ]
    assert trace.args(0) == {"step": 5, "mb_id": 3, "model_chunk": 0, "seq_id": 1}
    assert (trace.meta.format, trace.meta.rank, trace.meta.ledger.kept) == ("straggler-parquet", None, 4)
    assert codes(trace) == {"spans-of-many-ranks": 2, "no-gpu-work": 1, "steps-laid-out": 2}


def test_times_of_one_axis_stay(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", start_ts=pa.array([0.0, 0.5, 1.0, 7.0]))
    trace = open_one(tmp_path, path)
    assert "steps-laid-out" not in codes(trace)
    assert int(trace.slices.start_ns.max()) == 7_000_000_000


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.parquet",
        start_ts=pa.array([0.0, None, float("nan"), 1e30]),
        dp_rank=pa.array([0, 0, 1, -4]),
    )
    trace = open_one(tmp_path, path)
    ledger = trace.meta.ledger
    assert (ledger.read, ledger.kept, ledger.rejected, codes(trace)["unreadable"]) == (4, 1, 3, 3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"optype": None}, "is a Parquet table, but no trace: it has no column optype"),
        ({"start_ts": pa.array([0, 1, 2, 3])}, "has no seconds (numbers with a fraction) in its column start_ts"),
    ],
)
def test_other_tables_are_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    sentence = refused(tmp_path, written(tmp_path / "t.parquet", **changes))
    assert said in sentence
    assert "StragglerAnalysis" in sentence


def test_a_cut_table_is_refused_in_a_sentence(tmp_path: Path) -> None:
    whole = written(tmp_path / "t.parquet").read_bytes()
    for cut in (6, len(whole) // 2, len(whole) - 3):
        (tmp_path / "c.parquet").write_bytes(whole[:cut])
        assert "is a Parquet table that cannot be read" in refused(tmp_path, tmp_path / "c.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
    assert "cannot be read" in refused(tmp_path, tmp_path / "c.parquet")


def test_the_real_table_says_what_its_timeline_says(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/megascale/straggler_ST"
    found = []
    for name in ("trace-ST.parquet", "timeline-ST.json.gz"):
        out = pipeline(JobOpener([folder / name], cache=Cache(tmp_path / "c")).open().session)
        assert isinstance(out, Pipeline)
        found.append(out)
    table, timeline = found
    assert (table.stages, len(table.layout.lines), len(table.steps), table.schedule.key) == (4, 2, 32, "1f1b")
    for one, other in zip(table.steps, timeline.steps, strict=True):
        assert one.number == other.number
        assert one.share == pytest.approx(other.share, abs=1e-3)
        for a, b in zip(one.stages(), other.stages(), strict=True):
            assert a.compute_ns == pytest.approx(b.compute_ns, abs=2_000)  # float32 seconds
    assert np.ptp([s.share for s in table.steps]) < 0.05


def test_a_long_text_in_very_many_rows_is_refused_before_it_takes_room(tmp_path: Path) -> None:
    rows = 300_000
    kinds = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1_000_000]))
    zeros = {name: pa.array(np.zeros(rows, np.int8)) for name in ("dp_rank", "stage", "step")}
    times = {name: pa.array(np.zeros(rows, np.float32)) for name in ("start_ts", "duration")}
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({**zeros, "optype": kinds, **times}), path, store_schema=False)
    assert path.stat().st_size < 2_000_000
    assert "a text is longer" in refused(tmp_path, path)


def test_lists_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "lists.parquet", stage=pa.array([[0], [1], [0], [0]]))
    assert "stage holds lists" in refused(tmp_path, path)


def test_plain_texts_are_read_as_those_of_a_dictionary(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.parquet", optype=ROWS["optype"].dictionary_decode())
    coded = written(tmp_path / "coded.parquet")
    assert lines(open_one(tmp_path / "a", plain)) == lines(open_one(tmp_path / "b", coded))
