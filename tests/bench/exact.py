"""Events lost, counted against what was written and against Python's json with exact numbers."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.bench.figure import at_most, figure
from tests.bench.jobs import TS_BASES, slices_of, write_job


def lost_events(folder: Path, scale: float) -> Iterator[dict[str, Any]]:
    """On each base of times, and on the sample traces where they are there."""
    for base in TS_BASES:
        count = int(1_000_000 * scale) // 5 * 5
        (path,) = write_job(folder / "bases", 1, count, name=base, ts_base=base)
        trace = _opened(path)
        got = sorted(zip(trace.slices.start_ns.tolist(), trace.slices.dur_ns.tolist(), strict=True))
        wrong = sum((Counter(slices_of(count, base)) - Counter(got)).values())
        wrong += abs(len(trace.flows) - count // 5 * 2) + abs(trace.meta.events - count - 1)
        yield at_most(f"events lost or moved, times by {base}", wrong + trace.meta.ledger.rejected, "events", 0)
    samples = Path(os.environ.get("RANKSCOPE_SHARED") or Path(__file__).parents[3] / "shared") / "data"
    if not samples.is_dir():
        yield figure("events lost, sample traces against json", None, "events", "not measured: no samples here", None)
        return
    files = lost = 0
    for path in sorted(p for p in samples.rglob("*") if p.name.endswith((".json", ".json.gz"))):
        missing = _lost(path)
        if missing is not None:
            files += 1
            lost += missing
            if missing:
                sys.stderr.write(f"{path}: {missing} events lost\n")
    yield at_most(f"events lost, {files} sample traces against json", lost, "events", 0)


def _opened(path: Path) -> Any:
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    with tempfile.TemporaryDirectory() as cache:
        result = JobOpener([path], cache=Cache(Path(cache))).open()
        return result.session.inputs[0].trace if result.session.inputs else None


def _lost(path: Path) -> int | None:
    """Events that json reads and that are in no table and in no reason of the ledger; None for what is no trace."""
    content = path.read_bytes()
    try:
        text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, EOFError, OSError):
        return None
    events = value.get("traceEvents") if isinstance(value, dict) else value
    if not isinstance(events, list) or not any(isinstance(e, dict) and "ph" in e for e in events):
        return None
    trace = _opened(path)
    if trace is None:
        return len(events)
    ledger = trace.meta.ledger
    expected: Counter[tuple[int, int]] = Counter()
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "X":
            start, dur = _ns(event.get("ts")), _ns(event.get("dur"))
            if start is not None and dur is not None:
                expected[start, max(0, dur)] += 1
    got = Counter(zip(trace.slices.start_ns.tolist(), trace.slices.dur_ns.tolist(), strict=True))
    missing = sum((expected - got).values())
    return max(0, missing - ledger.rejected) + abs(len(events) - ledger.read)


def _ns(value: Any) -> int | None:
    """Microseconds to ns, halves away from zero; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        return None
    try:
        exact = Decimal(value) * 1000
        return int(exact.to_integral_value("ROUND_HALF_UP"))
    except ArithmeticError:
        return None
