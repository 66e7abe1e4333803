"""Files with the spans of many workers: what a trainer timed, against published figures where there are some."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viewer.analyses.pipeline.figures import Pipeline, pipeline
from viewer.analyses.pipeline.peers import worker_rows
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache

F, B = 1_000, 2_000


def found(path: Path, home: Path) -> Pipeline:
    result = JobOpener([path], cache=Cache(home)).open()
    assert not result.failures
    out = pipeline(result.session)
    assert isinstance(out, Pipeline), out
    return out


def spans(stage: int, replica: int, order: list[tuple[str, int, int]]) -> list[dict[str, Any]]:
    """Passes (letter, micro-batch, begin in us) of one worker; forward passes take 1 us, backward ones 2 us."""
    out: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": replica, "args": {"name": f"DP rank [{replica}]"}},
        {
            "name": "thread_name", "ph": "M", "pid": replica, "tid": 10 * stage,
            "args": {"name": f"PP rank {stage}, TP rank 0, compute"},
        },
    ]  # fmt: skip
    for letter, micro, begin in order:
        name = "forward-compute" if letter == "F" else "backward-compute"
        out.append(
            {
                "name": name, "cat": name, "ph": "X", "pid": replica, "tid": 10 * stage,
                "ts": begin, "dur": 1 if letter == "F" else 2,
                "args": {"step": 7, "model_chunk": 0, "mb_id": micro, "seq_id": micro},
            }
        )  # fmt: skip
    return out


def test_workers_of_one_file(tmp_path: Path) -> None:
    first = [("F", 0, 0), ("F", 1, 1), ("B", 0, 4), ("B", 1, 7)]
    second = [("F", 0, 1), ("B", 0, 2), ("F", 1, 4), ("B", 1, 5)]
    events = [e for d in (0, 1) for s, o in ((0, first), (1, second)) for e in spans(s, d, o)]
    (tmp_path / "t.json").write_text(json.dumps(events))
    out = found(tmp_path / "t.json", tmp_path / "c")
    assert [w.label for w in out.layout.workers] == ["PP 0, DP 0", "PP 1, DP 0", "PP 0, DP 1", "PP 1, DP 1"]
    assert (out.schedule.key, out.stages, out.unsure_ns) == ("1f1b", 2, 0)
    (step,) = out.steps
    assert step.number == 7
    # [0, 9) us with 6 us of compute each.
    assert [s.bubble_ns for s in step.stages()] == [3_000] * 4
    assert step.theory_share == pytest.approx(1 / 3)
    parts = step.parts()
    assert parts is not None
    assert (parts.theory_ns, parts.total_ns()) == (F + B, 3_000)


def test_published_figures_of_a_job_with_a_slow_last_stage(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/megascale/straggler_ST"
    out = found(folder / "timeline-ST.json.gz", tmp_path / "c")
    published = json.loads((folder / "result-ST.json").read_text())
    assert (out.stages, len(out.layout.lines), len(out.steps)) == (
        published["job_meta"]["pp_size"], published["job_meta"]["dp_size"], len(published["step_t_base"]),
    )  # fmt: skip
    assert (out.schedule.key, out.schedule.sure) == ("1f1b", 1.0)
    # What if only one stage were as it is and all others equal: their figures hold for the step, ours for its phase.
    by_stage = {int(k): v for k, v in published["blocking_decompose_by_stage"].items()}
    for step in out.steps:
        for line in step.lines:
            assert line.slowest == max(by_stage, key=lambda s: by_stage[s]) == 3
            for stage, value in enumerate(line.slowdown):
                assert value == pytest.approx(by_stage[stage], abs=0.02)
    # Theirs by replica: 1.178 and 1.173 of the same 1.179, so neither replica is the cause. Nobody is late.
    assert not any(r.late for r in worker_rows(out))
    assert max(abs(r.share or 0.0) for r in worker_rows(out)) < 0.02
    for step in out.steps:
        parts = step.parts()
        assert parts is not None
        assert parts.total_ns() == step.bubble_ns
        assert parts.imbalance_ns > 0.2 * step.bubble_ns
        assert abs(parts.rest_ns) < 0.01 * step.bubble_ns


def test_the_ideal_timeline_of_that_job_is_theory(shared: Path, tmp_path: Path) -> None:
    out = found(shared / "data/megascale/straggler_ST/ideal-timeline-ST.json.gz", tmp_path / "c")
    for step in out.steps:
        parts = step.parts()
        assert parts is not None
        assert step.share == pytest.approx(step.theory_share, abs=0.005)
        assert max(abs(parts.imbalance_ns), abs(parts.variation_ns), abs(parts.rest_ns)) < 1_000


@pytest.mark.parametrize(
    ("name", "lines", "micro"), [("pp4_merged_trace.json", 2, 8), ("pp4_dpp_aggregated-iter10.json", 1, 4)]
)
def test_passes_in_an_order_of_their_own(shared: Path, tmp_path: Path, name: str, lines: int, micro: int) -> None:
    out = found(shared / "data/megascale/megatronapp" / name, tmp_path / "c")
    assert (out.stages, out.layout.chunks, len(out.layout.lines)) == (4, 4, lines)
    assert out.schedule.key == "unknown"
    (step,) = out.steps
    assert step.number == 10
    assert step.theory_share is None
    for line in step.lines:
        assert line.micro_batches == micro
        assert line.slowest == 3  # it has the loss
        for stage in line.stages:
            assert stage.parts is not None
            assert stage.parts.total_ns() == stage.bubble_ns
