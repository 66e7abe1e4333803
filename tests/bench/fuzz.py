"""Mutated traces by the hundred thousand: no crash, no hang, bounded memory, a ledger that adds up, one sentence else.

Children work through numbered inputs (``fuzz_inputs``); each says in shared memory which one it is at, so that an input
that kills or hangs its child is known. Failures are saved, made shorter where possible.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench.fuzz_check import SECONDS, make
from tests.bench.fuzz_inputs import Inputs

_POLL: Final = 0.25
_TICK: Final = os.sysconf("SC_CLK_TCK")
_MOST_DEATHS: Final = 20
"""A run in which more children die is broken; it ends."""


@dataclass(slots=True)
class _Child:
    """One process and where it stands."""

    begin: int
    status: Path
    process: subprocess.Popen[bytes]
    number: int = -1
    cpu_at: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])

    def cpu(self) -> float:
        """CPU seconds so far: a busy machine makes nothing a hang."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return self.cpu_at
        return (int(fields[11]) + int(fields[12])) / _TICK

    def look(self) -> None:
        """Read what the child says."""
        number, *counts = struct.unpack("4q", self.status.read_bytes()[:32])
        if number != self.number:
            self.number, self.cpu_at = number, self.cpu()
        self.counts = counts


@dataclass(slots=True)
class Fuzzing:
    """One run. ``faults`` maps each kind of failure to the number of its first input."""

    seed: int
    count: int
    seconds: float
    jobs: int
    shared: Path | None
    save: Path
    faults: dict[str, int] = field(default_factory=dict)
    totals: list[int] = field(default_factory=lambda: [0, 0, 0])
    cpu: float = 0.0

    def _start(self, folder: Path, begin: int) -> _Child:
        status = folder / f"status-{begin}-{time.monotonic_ns()}"
        status.write_bytes(struct.pack("4q", -1, 0, 0, 0))
        shared = str(self.shared or "")
        numbers = map(str, (self.seed, begin, self.jobs, self.count))
        command = [sys.executable, "-m", "tests.bench.fuzz_check", "work", *numbers, shared, str(status)]
        with status.with_suffix(".out").open("wb") as out:
            return _Child(begin, status, subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL))

    def run(self) -> None:
        """Run to the end, or until the time is over."""
        until = time.monotonic() + self.seconds if self.seconds else float("inf")
        deaths = 0
        with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
            folder = Path(name)
            running = [self._start(folder, k) for k in range(min(self.jobs, self.count))]
            while running:
                time.sleep(_POLL)
                for child in list(running):
                    ended = child.process.poll()
                    child.look()
                    over = time.monotonic() > until or deaths > _MOST_DEATHS
                    hangs = child.number >= 0 and child.cpu() - child.cpu_at > SECONDS
                    if ended is None and not over and not hangs:
                        continue
                    self.cpu += child.cpu()
                    child.process.kill()
                    child.process.wait()
                    running.remove(child)
                    self.totals = [a + b for a, b in zip(self.totals, child.counts, strict=True)]
                    for line in child.status.with_suffix(".out").read_text().splitlines():
                        found = json.loads(line)
                        self.faults.setdefault(found["fault"], found["number"])
                    if (ended or hangs) and not over:
                        deaths += 1
                        self.faults.setdefault("hangs" if hangs else f"dies of signal {-(ended or 0)}", child.number)
                        self.totals[2] += 1
                        if child.number >= 0 and child.number + self.jobs < self.count:
                            running.append(self._start(folder, child.number + self.jobs))
            self._keep(folder)

    def _keep(self, folder: Path) -> None:
        """Write the failing inputs, made shorter."""
        inputs, scratch = Inputs(self.seed, self.shared), folder / "made"
        scratch.mkdir()
        for fault, number in self.faults.items():
            self.save.mkdir(parents=True, exist_ok=True)
            shown = "".join(c if c.isalnum() else "-" for c in fault)[:80]
            path = self.save / f"{self.seed}-{number}-{shown}.bin"
            path.write_bytes(make(inputs, number, scratch) if number >= 0 else b"")
            command = [sys.executable, "-m", "tests.bench.fuzz_check", "minimise", str(path), str(number), fault]
            subprocess.run(command, check=False, timeout=600, stderr=subprocess.DEVNULL)


def figures(options: Any) -> Iterator[dict[str, Any]]:
    """Run and say what was found."""
    shared = Path(os.environ.get("RANKSCOPE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
    run = Fuzzing(
        options.seed,
        options.count,
        options.seconds,
        options.jobs,
        shared if shared.is_dir() else None,
        options.save,
    )
    begun = time.monotonic()
    run.run()
    wall = time.monotonic() - begun
    done = sum(run.totals)
    yield _figure("inputs", done, "inputs", f">= {options.count}", done >= options.count or bool(options.seconds))
    yield _figure("of these kept", run.totals[0], "inputs", "none", None)
    yield _figure("of these refused with a sentence", run.totals[1], "inputs", "none", None)
    yield _figure("inputs per second", round(done / max(wall, 1e-9)), "1/s", "none", None)
    yield _figure("inputs per second of CPU", round(done / max(run.cpu, 1e-9)), "1/s", "none", None)
    for fault, number in run.faults.items():
        yield _figure(f"input {number}: {fault}", 1, "failure", "0", False)
    yield _figure("kinds of failure", len(run.faults), "kinds", "0", not run.faults)


def _figure(figure: str, value: float, unit: str, limit: str, holds: bool | None) -> dict[str, Any]:
    return {"figure": figure, "value": value, "unit": unit, "limit": limit, "holds": holds}
