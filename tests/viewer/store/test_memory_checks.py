"""Tables of memory that contradict themselves are refused, and come through a pack as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bench.memory import write_snapshot
from tests.viewer.importers.test_torch_snapshot import busy
from tests.viewer.importers.texts import open_job, open_one
from viewer.exporters.pack import write_pack
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.memory_checks import check_memory
from viewer.store.schema import MEMORY_TABLES


def test_a_pack_holds_the_tables_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "rank_2.pickle"
    path.write_bytes(busy(5).pickled())
    session = open_job(tmp_path, path).session
    write_pack(tmp_path / "job.rankpack", session, [path])
    result = JobOpener([tmp_path / "job.rankpack"], cache=Cache(tmp_path / "other")).open()
    assert not result.failures
    (old,), (new,) = session.inputs, result.session.inputs
    assert (new.rank, new.trace.meta.companion) == (2, True)
    for table in MEMORY_TABLES:
        assert new.trace.tables[table.name].batch.equals(old.trace.tables[table.name].batch), table.name


BAD = {
    "allocator_events": {"stack": 10**6, "block": 10**6, "pool": 10**6, "action": 99, "size": -5, "device": 3},
    "blocks": {"segment": 10**6, "made_event": 10**7, "end": 77, "category": 99, "size": -1, "stack": -7},
    "segments": {"device": 9, "kind": 10**6},
    "holes": {"segment": -1},
    "memory_devices": {"event_begin": 5, "block_end": 1},
    "stacks": {"end": 10**6, "begin": -1},
    "stack_frames": {"frame": 10**6},
    "frames": {"name": 10**6},
}


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, columns in BAD.items() for c in columns])
def test_an_index_that_leads_outside_is_refused(tmp_path: Path, table: str, column: str) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(busy(5).pickled())
    trace = open_one(tmp_path, path)
    check_memory(trace)
    values = np.array(getattr(trace.tables[table], column))
    values[len(values) // 2] = np.array(BAD[table][column]).astype(values.dtype)
    trace.tables[table].replace(column, values)
    with pytest.raises(ValueError, match="memory"):
        check_memory(trace)


def test_times_that_fall_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(busy(5).pickled())
    trace = open_one(tmp_path, path)
    times = np.array(trace.tables["allocator_events"].time_ns)
    times[3] = times[0] - 1
    trace.tables["allocator_events"].replace("time_ns", times)
    with pytest.raises(ValueError, match="memory"):
        check_memory(trace)


def test_a_snapshot_as_large_ones_are_written_is_consistent(tmp_path: Path) -> None:
    path = tmp_path / "large.pickle"
    write_snapshot(path, 5000)
    trace = open_one(tmp_path, path)
    check_memory(trace)
    d = trace.tables["memory_devices"]
    assert (d.unseen_frees[0], d.ghosts[0], d.contradictions[0], d.never_seen[0]) == (0, 0, 0, 0)
    assert trace.tables["allocator_events"].allocated[-1] == d.final_allocated[0]
