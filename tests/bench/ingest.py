"""Reading: throughput, memory, size on disk, reopening, and the first start."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.exact import lost_events
from tests.bench.figure import at_least, at_most, figure
from tests.bench.jobs import write_job
from tests.bench.peers import ratios
from tests.bench.start import first_start

_CHILD = """
import sys, time
from pathlib import Path
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
paths, cache = sys.argv[2:], Path(sys.argv[1])
def status(key):
    return int(Path("/proc/self/status").read_text().split(key)[1].split()[0])
import tempfile, threading
from tests.bench.jobs import write_job
with tempfile.TemporaryDirectory() as tiny:  # loads modules and the code of all readers
    JobOpener(write_job(Path(tiny), 1, 300_000), cache=Cache(Path(tiny) / "cache")).open()
most, stop = [0], threading.Event()
def watch():
    while not stop.wait(0.002):
        most[0] = max(most[0], status("RssAnon:") >> 10)
before = status("RssAnon:")
threading.Thread(target=watch, daemon=True).start()
wall, cpu = time.perf_counter(), time.process_time()
session = JobOpener(paths, cache=Cache(cache)).open().session
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
events = sum(i.trace.meta.events for i in session.inputs)
lost = sum(i.trace.meta.ledger.rejected for i in session.inputs)
rows = sum(len(i.trace.slices) + len(i.trace.marks) + len(i.trace.flows) for i in session.inputs)
stop.set()
print(wall, cpu, max(most[0], before >> 10), events, lost, rows, max(0, status("RssAnon:") - before) << 10)
"""


def _child(cache: Path, *arguments: object) -> list[float]:
    command = [sys.executable, "-c", _CHILD, str(cache), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return [float(x) for x in done.stdout.split()]


def figures(folder: Path, scale: float) -> Iterator[dict[str, Any]]:
    """Measure one figure after another. ``scale`` is the size of the jobs."""
    million = int(1_000_000 * scale)
    small = write_job(folder / "small", 1, int(245_000 * scale))
    yield from first_start(small[0], folder / "home")

    b = write_job(folder / "b", 1, million)
    c = write_job(folder / "c", 8, million // 4)
    packed = write_job(folder / "packed", 1, million, packed=True)
    packed_c = write_job(folder / "packed-c", 8, million // 4, packed=True)
    text, text_c = b[0].stat().st_size, sum(p.stat().st_size for p in c)
    fastest = {}
    for name, paths, bytes_, least in (
        ("B, plain", b, text, 0.8),
        ("C, plain", c, text_c, 0.8),
        ("B, gzip", packed, text, 0.5),
        ("C, gzip", packed_c, text_c, 0.5),
    ):
        runs = [_child(folder / f"cache-{name[0]}-{name[3]}-{k}", *paths) for k in range(3)]
        best = min(runs)
        fastest[name] = best[0]
        yield at_least(f"path to mapped tables, job {name}", bytes_ / best[0] / 1e9, "GB/s of JSON", least)
        yield figure(f"the same by CPU time, job {name}", bytes_ / min(r[1] for r in runs) / 1e9, "GB/s", "none", None)
        if name == "B, plain":
            yield at_most("resident after open, job B", min(r[6] for r in runs) / best[3], "bytes per event", 10)
            yield at_most("peak anonymous memory, job B", min(r[2] for r in runs), "MiB", 250)
            yield at_most("events lost, job B", abs(best[3] - (million // 5 * 5 + 1)) + best[4], "events", 0)
            on_disk = sum(f.stat().st_size for f in (folder / "cache-B-p-0").rglob("*.arrow"))
            yield at_most("tables on disk", on_disk / best[3], "bytes per event", 60)
    yield from ratios(b[0], fastest["B, plain"])
    yield _reopened(folder / "cache-B-p-0", b[0])
    yield from lost_events(folder, scale)
    yield _large_file(folder, scale)
    yield _linearity(folder, million)


def _large_file(folder: Path, scale: float) -> dict[str, Any]:
    per_event = write_job(folder / "large", 1, 10_000, name="sample")[0].stat().st_size / 10_000
    (path,) = write_job(folder / "large", 1, int(4e9 * scale / per_event))
    size = path.stat().st_size / 1e9
    peak = _child(folder / "cache-large", path)[2]
    path.unlink()
    return at_most(f"peak anonymous memory, one file of {size:.2g} GB", peak, "MiB", 600)


def _linearity(folder: Path, million: int) -> dict[str, Any]:
    sizes = [max(million, 1000) * 2**k for k in range(6)]
    times = []
    for events in sizes:
        (path,) = write_job(folder / "growth", 1, events, name=f"n{events}")
        runs = []
        for k in range(3 if events < 4 * million else 1):
            cache = folder / f"cache-{events}-{k}"
            runs.append(_child(cache, path)[1])
            shutil.rmtree(cache)
        times.append(min(runs))
        path.unlink()
    x, y = [math.log(s) for s in sizes], [math.log(t) for t in times]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mx) * (q - my) for a, q in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)
    return at_most(f"exponent of the cost, {sizes[0]:,} to {sizes[-1]:,} events (CPU time)", slope, "", 1.05)


def _reopened(cache: Path, path: Path) -> dict[str, Any]:
    import numpy as np

    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    best = math.inf
    for _ in range(5):
        begin = time.perf_counter()
        trace = JobOpener([path], cache=Cache(cache)).open().session.inputs[0].trace
        rows = trace.rows
        np.searchsorted(trace.slices.start_ns[rows.begin[0] : rows.end[0]], trace.meta.first_ns or 0)
        best = min(best, time.perf_counter() - begin)
    return at_most("reopening to the first query, job B", best * 1000, "ms", 50)
