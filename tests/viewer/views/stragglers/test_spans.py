"""Late workers of files that hold the passes of many."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.build import kernel, make_session, make_trace
from tests.viewer.analyses.pipeline.test_spans import spans
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session
from viewer.views.stragglers.panel import stragglers
from viewer.views.stragglers.spans import span_stragglers


def opened(path: Path, home: Path) -> Session:
    return JobOpener([path], cache=Cache(home)).open().session


def job(path: Path, slow: tuple[int, int] | None, replicas: int = 3) -> Path:
    """Two stages, three steps of two micro-batches; worker ``slow`` (stage, replica) takes twice as long."""
    events = []
    for step in range(3):
        for replica in range(replicas):
            for stage in range(2):
                at = 100 * step + stage
                for letter, micro in (("F", 0), ("B", 0), ("F", 1), ("B", 1)):
                    (*names, event) = spans(stage, replica, [(letter, micro, at)])
                    event["args"]["step"] = step
                    event["dur"] *= 2 if (stage, replica) == slow else 1
                    events += [*names, event]
                    at += 8
    path.write_text(json.dumps(events))
    return path


def test_a_late_worker_is_named_and_one_click_away(tmp_path: Path) -> None:
    session = opened(job(tmp_path / "t.json", (1, 2)), tmp_path / "c")
    frame = stragglers(session)
    assert frame.tone == "warning"
    assert frame.sentence.startswith("PP 1, DP 2 is late: it computes 6.0 us per step")
    assert frame.table is not None
    assert frame.table.rows[0][:3] == ("PP 1, DP 2", "12.0 us", "6.0 us")
    assert [r[5] for r in frame.table.rows] == ["yes", *["no"] * 5]
    target = frame.targets[0]
    assert target is not None
    assert target.slice is not None
    assert session.inputs[0].trace.name(target.slice.index) == "backward-compute"


def test_nobody_is_late_among_equals_and_alone(tmp_path: Path) -> None:
    even = stragglers(opened(job(tmp_path / "t.json", None), tmp_path / "c"))
    assert (even.tone, even.sentence.startswith("No worker is late")) == ("", True)
    alone = stragglers(opened(job(tmp_path / "u.json", None, 1), tmp_path / "c"))
    assert "there are no peers" in alone.sentence
    assert span_stragglers(make_session(make_trace(kernel("gemm", 0, 10), rank=0))) is None


def test_the_job_with_a_slow_last_stage_has_no_late_worker(shared: Path, tmp_path: Path) -> None:
    frame = stragglers(opened(shared / "data/megascale/straggler_ST/timeline-ST.json.gz", tmp_path / "c"))
    assert frame.tone == ""
    assert frame.sentence.startswith("No worker is late: the most that one computes beyond the others of its stage")
    assert "Stage 3 makes the phase 23 % longer than equal stages would" in frame.sentence
    assert frame.table is not None
    assert len(frame.table.rows) == 8
