"""Runs a load of a manifest: its command with a time limit, in a folder of its own, and finds what it wrote."""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from viewer.app.gate.manifest import Load, Manifest
from viewer.base.errors import InputError
from viewer.base.run_record import LARGEST, RunFigure
from viewer.store.small_file import read_small

MOST_FIGURES: Final = 200
MAX_FIGURES_BYTES: Final = 4 << 20
TAIL_LINES: Final = 5
GRACE_SECONDS: Final = 10.0
UNITS: Final = {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "bytes": "bytes", "share": "share"}
HIGHER: Final = (
    "mfu",
    "throughput",
    *("tokens_per", "tokens per", "tokens/s", "samples_per", "samples per", "samples/s"),
    *("hit_rate", "hit rate", "goodput", "qps", "rps", "tflop", "clock", "mhz", "util"),
)
"""Words in the names of figures of which more is better."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a load left: paths of traces to open (perhaps none) and the figures that it wrote itself."""

    traces: tuple[Path, ...]
    figures: dict[str, RunFigure]


@contextlib.contextmanager
def load_output(manifest: Manifest, load: Load, *, run: bool) -> Iterator[Ran]:
    """Run a load's command, if asked to, and find what it names; its folder goes away afterwards.

    Raises InputError when the command fails, takes too long, or what it should write is not there.
    """
    with tempfile.TemporaryDirectory(prefix="rankscope-load-") as out:
        if run and load.command:
            run_command(load, manifest.folder, out)
        traces = [path for text in load.traces for path in _matches(text, manifest.folder, out, load.name)]
        figures = {}
        if load.figures:
            figures = read_figures(_place(load.figures, manifest.folder, out))
        yield Ran(tuple(traces), figures)


def run_command(load: Load, folder: Path, out: str) -> None:
    """Run a command without a shell; its whole process group ends at the time limit. Raises InputError."""
    words = [word.replace("{out}", out) for word in load.command]
    what = f"load {load.name}"
    log_path = Path(out) / ".output"
    with log_path.open("wb") as log:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "RANKSCOPE_OUT": out},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(what, f"its command {words[0]!r} cannot be started: {reason}", "", _MEND) from None
        try:
            status = process.wait(load.seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise InputError(
                what, f"took longer than its {load.seconds:g} s and was ended", "", "Raise time_limit, or mend it."
            ) from None
        except BaseException:
            _end(process)
            raise
    if status != 0:
        ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        raise InputError(what, f"its command {ended}; it said last: {_tail(log_path)}", "", _MEND)


_MEND: Final = "Run it by hand from the manifest's folder."


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it started: politely, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            if number == signal.SIGKILL:
                return
    process.wait()


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4_000))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return " | ".join(line.strip() for line in lines[-TAIL_LINES:]) or "nothing"


def _place(text: str, folder: Path, out: str) -> Path:
    return folder / text.replace("{out}", out)


def _matches(text: str, folder: Path, out: str, name: str) -> list[Path]:
    path = _place(text, folder, out)
    if path.exists():
        return [path]
    found = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(text) else []
    if not found:
        raise InputError(f"load {name}", f"its traces {text!r} are not there", "", "Check the command and the paths.")
    return [Path(p) for p in found]


def read_figures(path: Path) -> dict[str, RunFigure]:
    """Figures from a JSON file: {"ttft_ms": 12.5, ...}, or {"name": {"value", "unit", "better", "samples", "gate"}}.

    Raises InputError.
    """
    data = read_small(path, MAX_FIGURES_BYTES, "a file of figures (JSON)")
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"is no JSON: {str(error)[:120]}") from None
    if not isinstance(raw, dict) or len(raw) > MOST_FIGURES:
        raise InputError(str(path), f"must be one object of at most {MOST_FIGURES} figures by name")
    return {name[:200]: _figure(name, value, str(path)) for name, value in raw.items()}


def given_figure(text: str) -> tuple[str, RunFigure]:
    """A figure of the command line, NAME=VALUE. Raises InputError."""
    name, sign, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not sign or not name.strip() or not abs(number) <= LARGEST:
        raise InputError(f"--figure {text}", "is no NAME=NUMBER", "", "Write for example --figure ttft_ms=12.5.")
    return name.strip(), plain_figure(name.strip(), number)


def plain_figure(name: str, value: float) -> RunFigure:
    """A figure of which only name and value are known: its unit is the end of its name; it gates."""
    unit = UNITS.get(name.rpartition("_")[2].lower(), "")
    return RunFigure(value, unit, "higher" if is_higher_better(name) else "lower", True, how="given by the load")


def is_higher_better(name: str) -> bool:
    """Whether a figure of that name is a rate or a share of which more is better, by the words in it."""
    return any(word in name.lower() for word in HIGHER)


def _figure(name: str, value: Any, path: str) -> RunFigure:
    table = value if isinstance(value, dict) else {"value": value}
    for key in table:
        if key not in ("value", "unit", "better", "samples", "gate", "least"):
            raise InputError(path, f"holds {key!r}, which is no part of a figure", name)
    samples = table.get("samples", [])
    numbers = [table.get("value"), *(samples if isinstance(samples, list) else [None])]
    if table.get("value") is None and isinstance(samples, list) and samples:
        numbers = list(samples)
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= LARGEST for v in numbers):
        raise InputError(path, f"holds a value that is no number up to {LARGEST:g}", name)
    import numpy as np

    base = plain_figure(name, float(np.median(numbers)) if table.get("value") is None else float(numbers[0]))
    better = table.get("better", base.better)
    if better not in ("lower", "higher"):
        raise InputError(path, 'must say "lower" or "higher" as what is better', name)
    return RunFigure(
        base.value,
        str(table.get("unit", base.unit))[:40],
        better,
        bool(table.get("gate", True)),
        samples=[float(v) for v in samples[:1_000]],
        how=base.how,
    )
