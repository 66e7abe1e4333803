"""Every Chrome-style file of other writers, event by event, against Python's own json with exact decimals."""

from __future__ import annotations

import collections
import gzip
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.importers.golden import codes
from tests.viewer.importers.texts import loads_exactly, open_one

FILES = (
    "chrome-odd/chrome116_trace.json", "chrome-odd/perfetto_flow_events_v1.json",
    "chrome-odd/speedscope_bex-interaction.json", "chrome-odd/speedscope_event-reordering-name-match.json",
    "chrome-odd/speedscope_mismatched-name.json", "chrome-odd/speedscope_multiprocess.json",
    "chrome-odd/speedscope_not-enough-end-events.json", "chrome-odd/speedscope_out-of-order-unbalanced-name.json",
    "chrome-odd/speedscope_simple-object.json", "chrome-odd/speedscope_x-events-matching-end.json",
    "jax-xla/tf_trace_viewer_trace.json", "megascale/megatronapp/pp4_dpp_aggregated-iter10.json",
    "megascale/megatronapp/pp4_merged_trace.json", "megascale/straggler_ST/ideal-timeline-ST.json.gz",
    "megascale/straggler_ST/timeline-ST.json.gz", "viztracer/async_simple.json",
    "viztracer/function_args_return.json", "viztracer/multithread.json",
)  # fmt: skip


def nearest_ns(value: Any) -> int:
    return int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN))


@pytest.mark.parametrize("name", FILES)
def test_all_events_are_accounted_for(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "data" / name
    content = path.read_bytes()
    document = loads_exactly(gzip.decompress(content) if path.suffix == ".gz" else content)
    events: list[dict[str, Any]] = document["traceEvents"] if isinstance(document, dict) else document
    trace = open_one(tmp_path, path)
    assert trace.meta.complete
    assert trace.meta.ledger.read == trace.meta.ledger.kept == len(events)
    phases = collections.Counter(e["ph"] for e in events)
    timed = [e for e in events if e["ph"] == "X" and "dur" in e]
    s = trace.slices
    got = collections.Counter(
        zip(s.start_ns.tolist(), s.dur_ns.tolist(), (trace.name(i) for i in range(len(trace))), strict=True)
    )
    wanted = collections.Counter((nearest_ns(e["ts"]), max(0, nearest_ns(e["dur"])), e.get("name", "")) for e in timed)
    assert not wanted - got  # every complete event is a slice; the others are pairs of begin and end
    begins = phases["B"] + phases["b"] + phases["S"]
    unended = codes(trace).get("begin-without-end", 0)
    assert len(trace) - len(timed) == begins - unended
    assert len(trace.flows) == sum(phases[p] for p in "stf")
    untabled = phases["M"] + phases["C"] + len(trace.flows) + phases["E"] + phases["e"] + phases["F"]
    assert len(trace.marks) == len(events) - len(timed) - (begins - unended) - untabled
    assert trace.meta.gpu_first_ns is None
    assert codes(trace)["no-gpu-work"] == 1


def test_objects_and_snapshots_are_marks(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "data/chrome-odd/chrome116_trace.json")
    kinds = collections.Counter(chr(p) for p in trace.marks.phase)
    assert (kinds["N"], kinds["O"], kinds["P"], kinds["R"], kinds["I"]) == (1, 2, 17, 13, 97)


@pytest.mark.parametrize("name", ["simple-partial", "simple-partial-whitespace"])
def test_an_open_array_is_read_to_its_end(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / f"data/chrome-odd/speedscope_{name}.json"
    events = loads_exactly(path.read_bytes().rstrip().rstrip(b",") + b"]")
    trace = open_one(tmp_path, path)
    assert trace.meta.ledger.read == trace.meta.ledger.kept == len(events) == 6
    assert (len(trace), len(trace.marks), trace.meta.complete) == (3, 1, False)


def test_the_accelerators_of_one_vendor_have_no_gpu_work_by_rule(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "data/kineto-single/hta_mtia_rank0.json.gz")
    assert (trace.meta.format, trace.meta.gpu_first_ns) == ("kineto", None)
    assert codes(trace)["no-gpu-work"] == 1
