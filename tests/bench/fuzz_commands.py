"""Every command of the command line on jobs that are changed or extreme, as a user calls it.

What must hold: exit status 0 or 2 (1 of a check), at most short lines on stderr that name no stack and no defect, an
answer in time, JSON that is JSON, ledgers and shares that add up.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.bench.fuzz_inputs import Inputs
from tests.bench.fuzz_jobs_made import EXTREMES, Job, changed

SECONDS: Final = 20.0
"""CPU time of one command on a small job."""
_PICTURES: Final = 3
"""Every so many jobs a picture is painted and a pack is opened."""
_MARKUP: Final = re.compile(r"<b>x</b>|<b>&(?!amp)|\u202e|\x1b")


class Slow(BaseException):
    """A command took too long; no ``except Exception`` holds it."""


class _Bytes(io.TextIOWrapper):
    """Standard output into memory, as text and as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)

    def said(self) -> str:
        """All of it so far."""
        self.flush()
        raw: io.BytesIO = self.buffer  # type: ignore[assignment]
        return raw.getvalue().decode("utf-8", "replace")


def _too_slow(*_: Any) -> None:
    raise Slow


def call(words: list[str], statuses: tuple[int, ...] = (0, 2)) -> tuple[list[str], str]:
    """Run one command; what does not hold, and its standard output."""
    from viewer.app import cli

    out, err, faults = _Bytes(), _Bytes(), []
    name = " ".join(w for w in words if not w.startswith("/"))
    before = signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            status = cli.main(words)
    except Slow as stop:
        places = [f for f in traceback.extract_tb(stop.__traceback__) if "/viewer/" in f.filename]
        return [f"{name}: takes long in {[f'{Path(p.filename).name}:{p.name}' for p in places[-3:]]}"], ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    said = err.said()
    if status not in statuses:
        faults.append(f"{name}: exit status {status}: {said[-600:].strip()}")
    elif "Traceback" in said or "defect" in said or "error of Rankscope" in said:
        faults.append(f"{name}: {said[-600:].strip()}")
    lines = said.splitlines()
    if status == 2 and not lines and words[0] != "check":
        faults.append(f"{name}: no word about what is wrong")
    if any(len(line) > 2_000 for line in lines):
        faults.append(f"{name}: a line of {max(map(len, lines))} characters")
    return faults, out.said() if status in (0, 1) else ""


def adds_up(report: dict[str, Any]) -> list[str]:
    """What of a report does not add up."""
    faults = []
    for item in report["inputs"]:
        ledger = item["ledger"]
        if ledger["read"] != ledger["kept"] + ledger["repaired"] + ledger["rejected"]:
            faults.append("the ledger does not add up")
    for rank in report["ranks"]:
        for figures in rank["devices"]:
            parts = [figures.get(k) for k in ("compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns")]
            if None not in parts and figures.get("span_ns") is not None and sum(parts) != figures["span_ns"]:
                faults.append("the parts of a device are not its span")
            if any(
                isinstance(v, int | float) and v < 0 for k, v in figures.items() if k.endswith("_ns") and "sta" not in k
            ):
                faults.append(f"a negative figure of a device: {figures}"[:300])
    return faults


def run_job(job: Job, folder: Path, other: Path | None, number: int) -> list[str]:
    """All commands on a job; what does not hold. Raises nothing."""
    place = folder / "job"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in job.items():
        (place / name).write_bytes(data)
    faults, text = call(["analyze", str(place), "--json", "-"])
    if text:
        try:
            faults += adds_up(json.loads(text))
        except ValueError as error:
            faults.append(f"the report is no JSON: {error}")
    faults += call(["analyze", str(place)])[0]
    more, page = call(["analyze", str(place), "--html", "-"])
    faults += more
    found = _MARKUP.search(page)
    if found:
        faults.append(f"the page holds {found[0]!r} as it was in the file: {page[found.start() - 60 : found.end()]!r}")
    faults += call(["compare", str(place), str(place)])[0]
    if other is not None:
        faults += call(["compare", str(other), str(place), "--json", "-"])[0]
        faults += call(["compare", str(place), str(other)])[0]
    faults += call(["check", str(place), "--load", "a", "--baseline", str(folder / "store")], (0, 1, 2))[0]
    if number % _PICTURES == 0:
        faults += call(["render", str(place), "-o", str(folder / "a.svg")])[0]
        pack = folder / "a.rankpack"
        more, _ = call(["pack", str(place), "-o", str(pack)])
        faults += more
        if pack.exists():
            faults += call(["analyze", str(pack)])[0]
    for leftover in ("a.svg", "a.rankpack"):
        (folder / leftover).unlink(missing_ok=True)
    shutil.rmtree(folder / "store", ignore_errors=True)
    return faults


def small_samples(shared: Path | None, most: int = 300_000) -> list[Path]:
    """Sample files and folders of at most so many bytes."""
    if shared is None:
        return []
    files = [p for part in ("data", "cases") for p in sorted((shared / part).rglob("*")) if p.is_file()]
    return [p for p in files if p.stat().st_size <= most and p.suffix not in (".md", ".tsv")]


def job_of(number: int, seed: int, samples: list[Path], inputs: Inputs) -> tuple[str, Job]:
    """The job of that number: an extreme one, a sample, several small mutated files, or the changed training run."""
    extremes = list(EXTREMES.items())
    if number < len(extremes):
        return extremes[number][0], extremes[number][1]()
    number -= len(extremes)
    if number < len(samples):
        return samples[number].name, {samples[number].name: samples[number].read_bytes()}
    number += seed * 1_000_003
    if number % 5 == 4:
        return f"mutated {number}", {f"rank_{k}.json": inputs.make(number + k) for k in range(number % 3 + 1)}
    return f"changed {number}", changed(number)


@contextlib.contextmanager
def own_home(folder: Path) -> Iterator[None]:
    """Settings, caches and state of the commands are in ``folder``; a defect says its sentence, no stack."""
    kept = dict(os.environ)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(folder / name.lower())
    os.environ.pop("RANKSCOPE_DEBUG", None)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def figures(options: Any) -> Iterator[dict[str, Any]]:
    """Run and say what was found; one process."""
    shared = Path(os.environ.get("RANKSCOPE_SHARED") or Path(__file__).resolve().parents[3] / "shared")
    shared_folder = shared if shared.is_dir() else None
    samples, inputs = small_samples(shared_folder), Inputs(options.seed, shared_folder)
    faulthandler.enable()
    until = time.monotonic() + options.seconds if options.seconds else float("inf")
    done, known = 0, set()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, own_home(Path(name)):
        folder, other = Path(name), Path(name) / "other"
        other.mkdir()
        for file, data in EXTREMES["a group of absent ranks"]().items():
            (other / file).write_bytes(data)
        call(["analyze", str(other), "--json", "-"])  # compiles
        for number in range(options.first, options.first + options.count):
            if time.monotonic() > until:
                break
            title, job = job_of(number, options.seed, samples, inputs)
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / "current").write_text(f"{number} {title}\n")
            begun = time.process_time()
            faults = run_job(job, folder, other, number)
            shutil.rmtree(folder / "xdg_cache_home", ignore_errors=True)
            if options.loud:
                sys.stderr.write(f"{number} {title}: {time.process_time() - begun:.1f} s\n")
            done += 1
            for fault in faults:
                kind = re.sub(r"\d+|/\S+", "#", fault)[:200]
                if kind not in known:
                    known.add(kind)
                    kept = options.save / f"{number}"
                    kept.mkdir(exist_ok=True)
                    for file, data in job.items():
                        (kept / file).write_bytes(data)
                    yield _figure(f"job {number} ({title}): {fault}", 1, "failure", "0", False)
        (options.save / "current").unlink(missing_ok=True)
    yield _figure("jobs", done, "jobs", "none", None)
    yield _figure("kinds of failure", len(known), "kinds", "0", not known)


def _figure(figure: str, value: float, unit: str, limit: str, holds: bool | None) -> dict[str, Any]:
    return {"figure": figure, "value": value, "unit": unit, "limit": limit, "holds": holds}
