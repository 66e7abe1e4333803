"""Starting: from the process' start to a window that reacts, and to the lanes of a trace, in the real window.

A child process runs the real command line on the screen that ``DISPLAY`` names, else on Qt's
offscreen platform. A timer of 10 ms in its event loop tells when it turns, and how long it did not.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.bench.jobs import write_job

_CHILD = """
import json, resource, sys, time
born = float(sys.argv[1])
from viewer.app import collector
collector.pause()  # as viewer.app.launch does before it loads Qt
from PySide6.QtCore import QEvent, QObject, QTimer
from viewer.app import cli, gui

class Probe(QObject):
    def __init__(self, window):
        super().__init__(window)
        self.window, self.said, self.stalls = window, {}, {"opening": 0.0, "compiling": 0.0}
        self.painted = False
        window.installEventFilter(self)
        self.timer = QTimer(self, interval=10)
        self.timer.timeout.connect(self.tick)
        self.timer.start()
        self.last = time.monotonic()

    def eventFilter(self, watched, event):
        self.painted |= event.type() == QEvent.Type.Paint
        return False

    def tick(self):
        now = time.monotonic()
        gap, self.last = now - self.last, now
        if "usable" in self.said:
            stage = "compiling" if "lanes" in self.said else "opening"
            self.stalls[stage] = max(self.stalls[stage], gap)
        if self.painted and "usable" not in self.said:
            self.said["usable"] = now - born
        space = self.window.workspace
        if "lanes" not in self.said and space is not None and space.timeline.canvas.has_shown:
            self.said["lanes"] = now - born
        if ("lanes" in self.said and self.window.warm_up.is_done) or now - born > 300:
            self.timer.stop()
            self.said["done"] = now - born
            own, others = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            self.said["cpu"] = own.ru_utime + own.ru_stime
            self.window.close()

    def end(self):
        others = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {**self.said, **self.stalls, "helpers": others.ru_utime + others.ru_stime}

show, probes = gui.Desktop.new_window, []
def new_window(*args, **options):
    window = show(*args, **options)
    probes.append(Probe(window))
    return window
gui.Desktop.new_window = new_window
status = cli.main(sys.argv[2:])
print(json.dumps(probes[0].end()), flush=True)
"""


@cache
def _as_installed() -> None:
    """Compile the sources to byte code, as an installer does: no user's first start pays for that."""
    root = Path(__file__).resolve().parents[2]
    for folder in ("viewer", "widgets", "resources"):
        compileall.compile_dir(root / folder, quiet=2)


def _environment(home: Path) -> dict[str, str]:
    folders = {f"XDG_{w}_HOME": str(home / w.lower()) for w in ("CACHE", "CONFIG", "DATA", "STATE")}
    environment = {**os.environ, **folders, "NUMBA_CACHE_DIR": str(home / "code")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not environment.get("DISPLAY"):
        environment["QT_QPA_PLATFORM"] = "offscreen"
    return environment


def _compile_rest(home: Path) -> None:
    """What a first start compiles while its window is used; here it was closed at once."""
    subprocess.run([sys.executable, "-m", "viewer.app.warm_up"], env=_environment(home), check=True)


def start(path: Path, home: Path) -> dict[str, float]:
    """Start the window on a file, with caches of any kind below ``home``.

    Returns:
        Seconds since the process began to "usable", "lanes" and "done" (all compiled code there), the longest time
        without a turn of the event loop while "opening" and after that while "compiling", and CPU seconds of this
        process ("cpu") and of its helpers ("helpers").
    """
    _as_installed()
    environment = _environment(home)
    command = [sys.executable, "-c", _CHILD, str(time.monotonic()), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _at_most(figure: str, value: float, unit: str, limit: float) -> dict[str, Any]:
    return {
        "figure": figure,
        "value": float(f"{value:.3g}"),
        "unit": unit,
        "limit": f"<= {limit:g}",
        "holds": value <= limit,
    }


def _told(figure: str, value: float, unit: str) -> dict[str, Any]:
    return {"figure": figure, "value": float(f"{value:.3g}"), "unit": unit, "limit": "none", "holds": None}


def first_start(path: Path, home: Path) -> list[dict[str, Any]]:
    """Figures of a start with nothing compiled and nothing cached."""
    found = start(path, home)
    size = path.stat().st_size / 1e6
    return [
        _at_most("first start, nothing compiled: window usable", found["usable"], "s", 1.0),
        _at_most(f"first start: a {size:.0f} MB trace on screen", found["lanes"], "s", 8.0),
        _at_most("first start: longest stall until then", found["opening"] * 1000, "ms", 100),
        _at_most("first start: longest stall while the rest compiles", found["compiling"] * 1000, "ms", 100),
        _told("first start: everything compiled", found["done"], "s"),
        _told("first start: time of the cores, window", found["cpu"], "s of CPU"),
        _told("first start: time of the cores, helpers", found["helpers"], "s of CPU"),
    ]


def warm_start(path: Path, home: Path, runs: int = 5) -> list[dict[str, Any]]:
    """Figures of starts with all compiled and the trace in the cache; ``home`` is that of a first start. The best."""
    _compile_rest(home)
    all_runs = [start(path, home) for _ in range(runs)]
    size = path.stat().st_size / 1e6
    return [
        _at_most(
            f"process start to first frame, {size:.0f} MB trace from its cache",
            min(r["lanes"] for r in all_runs),
            "s",
            0.8,
        ),
        _at_most("process start to a usable window", min(r["usable"] for r in all_runs), "s", 1.0),
        _at_most("longest stall of such a start", min(r["opening"] for r in all_runs) * 1000, "ms", 100),
    ]


def figures(folder: Path) -> Iterator[dict[str, Any]]:
    """Figures of starts with a trace of 60 MB that is in the cache."""
    (path,) = write_job(folder / "start", 1, 212_000)
    start(path, folder / "home")  # compiles, reads
    yield from warm_start(path, folder / "home")


if __name__ == "__main__":
    for row in [*first_start(Path(sys.argv[1]), Path(sys.argv[2])), *warm_start(Path(sys.argv[1]), Path(sys.argv[2]))]:
        sys.stdout.write(f"{row['figure']}: {row['value']} {row['unit']} ({row['limit']})\n")
