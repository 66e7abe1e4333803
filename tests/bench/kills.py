"""Imports killed at random moments: whatever was written, the next opening must give the truth.

Each round starts a process that imports a file into a cache that earlier rounds left behind, and kills it (SIGKILL)
after a random part of the time that an import takes. Afterwards no complete folder of the cache may be damaged, and
opening gives the same events as the first, undisturbed import.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.jobs import write_job

_SERVER = """
import os, sys, tempfile
from pathlib import Path
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from tests.bench.jobs import write_job
with tempfile.TemporaryDirectory() as tiny:  # loads modules and compiled code
    for packed in (False, True):
        paths = write_job(Path(tiny), 1, 100, packed=packed)
        JobOpener(paths, cache=Cache(Path(tiny) / "cache")).open()
print("ready", flush=True)
for line in sys.stdin:
    cache, path = line.rstrip().split("\\t")
    child = os.fork()
    if not child:
        JobOpener([Path(path)], cache=Cache(Path(cache))).open()
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class _Server:
    """A process that has loaded everything; each import runs in a fork of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, cache: Path, path: Path, kill_after: float | None) -> tuple[bool, float]:
        """Import, and kill after so many seconds; whether the import ended by itself, and how long it took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{cache}\t{path}\n")
        self._process.stdin.flush()
        child = int(self._line())
        begin = time.perf_counter()
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return self._line() == "0", time.perf_counter() - begin

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def kill_imports(folder: Path, count: int, events: int, seed: int = 1) -> dict[str, Any]:
    """Kill ``count`` imports.

    Returns:
        How many were killed, how many had written their tables by then, drafts left behind, and what was wrong
        afterwards ("" for nothing).
    """
    paths = [write_job(folder / "plain", 1, events)[0], write_job(folder / "packed", 1, events, packed=True)[0]]
    truth = _digest(paths, folder / "truth")
    chance = random.Random(seed)
    found: dict[str, Any] = {"kills": 0, "finished": 0, "drafts": 0, "wrong": ""}
    server = _Server()
    try:
        runs = [[server.run(folder / f"trial-{i}", path, None)[1] for path in paths] for i in range(3)]
        seconds = [min(times) for times in zip(*runs, strict=True)]
        while found["kills"] < count and not found["wrong"]:
            cache = folder / f"cache-{found['kills'] // 10}"
            which = found["kills"] % 2
            ended, _ = server.run(cache, paths[which], chance.random() * seconds[which])
            found["kills"] += 1
            found["finished"] += ended
            found["drafts"] += len(list(cache.glob(".draft-*")))
            found["wrong"] = _wrong(cache)
            if found["kills"] % 10 == 0 and not found["wrong"] and _digest(paths, cache) != truth:
                found["wrong"] = "the tables differ from those of an undisturbed import"
            if chance.random() < 0.5:
                _forget(cache)
    finally:
        server.close()
    return found


def _forget(cache: Path) -> None:
    from viewer.store.cache import Cache

    Cache(cache).clear()


def _wrong(cache: Path) -> str:
    """What is wrong with the complete folders of a cache."""
    from viewer.store.sums import damaged_file

    for place in cache.iterdir() if cache.exists() else ():
        if place.is_dir() and not place.name.startswith(".") and place.name != "notes":
            damaged = damaged_file(place)
            if damaged is not None:
                return f"{damaged} of a complete folder is damaged"
    return ""


def _digest(paths: list[Path], cache: Path) -> list[int]:
    import zlib

    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    session = JobOpener(paths, cache=Cache(cache)).open().session
    out = []
    for item in session.inputs:
        s = item.trace.slices
        out += [len(s), *(zlib.crc32(c.tobytes()) for c in (s.start_ns, s.dur_ns, s.name, s.parent))]
    return out


def figures(folder: Path, scale: float, count: int = 100) -> Iterator[dict[str, Any]]:
    """The figure of ``python -m tests.bench kills``."""
    found = kill_imports(folder, count, int(200_000 * scale))
    about = f"{found['finished']} had finished, {found['drafts']} drafts seen"
    wrong = found["wrong"] or "nothing"
    yield {
        "figure": f"{found['kills']} kills at random moments of an import ({about}): broken afterwards: {wrong}",
        "value": int(bool(found["wrong"])),
        "unit": "",
        "limit": "<= 0",
        "holds": not found["wrong"] and found["kills"] == count,
    }
