"""One input through the importer, and what must hold of the outcome. Also the child process of the fuzzer."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.bench import fuzz_jobs
from tests.bench.fuzz_inputs import Inputs
from viewer.base.errors import InputError
from viewer.exporters.report import encode_report, report
from viewer.importers import stream_parts, text_parts
from viewer.importers.base import Imported, ImportJob
from viewer.importers.event_scan import EventScan
from viewer.importers.registry import importer_of
from viewer.importers.source import as_source
from viewer.importers.window import TextWindow
from viewer.jit.scan_load import PAD
from viewer.store.args import ArgsText, ArgsWriter
from viewer.store.assemble import assemble
from viewer.store.rules import shipped_rules
from viewer.store.session import Opened, build_session
from viewer.store.trace import Trace

ROOM: Final = 3 << 30
"""Address space an input may take on top of what the process has."""
GROWTH: Final = 200 << 20
"""Resident memory that thousands of small inputs may add up to."""
SECONDS: Final = 5
"""CPU time of one input."""
TABLES_EVERY: Final = 3
"""Every so many inputs the tables are made, too."""
DEEP_EVERY: Final = 48
"""Every so many inputs the figures and the report are made, too."""
JOB_EVERY: Final = 24
"""Every so many inputs an archive or a pack is opened."""
LEAST_PART: Final = 300
"""Bytes for which a thread begins here."""
CHROME: Final = {"kineto", "chrome", "viztracer", "trace-viewer", "straggler-timeline", "megatronapp"}


class Fault(Exception):
    """Something that must hold does not."""


def _hold(what: str, holds: bool) -> None:
    if not holds:
        raise Fault(what)


def check(path: Path, data: bytes, tables: bool, deep: bool) -> str:
    """Import ``data`` from ``path``; how it ended ("kept", "refused"). Raises whatever is wrong."""
    path.write_bytes(data)
    writer = ArgsWriter()
    try:
        imported = _read(path, writer, 1)
    except InputError as error:
        sentence = error.sentence()
        _hold("a refusal is one short line", "\n" not in sentence and len(sentence) < 2_000 and bool(error.problem))
        return "refused"
    finally:
        writer.close()
    check_ledger(imported, data)
    if not tables:
        return "kept"
    check_tables(imported)
    if not deep:
        return "kept"
    trace = check_trace(imported, writer)
    check_figures(path, trace)
    return "kept"


def _read(path: Path, writer: ArgsWriter, threads: int) -> Imported:
    source = as_source(path)
    importer, _ = importer_of(source)
    job = ImportJob(source, source.stamp(), shipped_rules(), writer.write)
    job.threads = lambda: threads
    return importer.read(job)


def check_parts(path: Path) -> None:
    """Several threads that share the file at ``path`` find what one finds."""
    outcomes: list[Any] = []
    for threads in (1, 3):
        writer = ArgsWriter()
        try:
            imported = _read(path, writer, threads)
            writer.close()
            s, ledger = imported.raw.slices, imported.meta.ledger
            columns = [getattr(s, k).tobytes() for k in ("start_ns", "dur_ns", "name", "track", "args_len")]
            if imported.meta.args_in_source:
                columns.append(s.args_off.tobytes())
            else:  # where it lies depends on how the text was cut
                columns += ArgsText.of_writer(writer).read_many(s.args_off.tolist(), s.args_len.tolist())
            outcomes.append((columns, ledger, list(imported.raw.strings), [f.code for f in imported.meta.findings]))
        except InputError as error:
            outcomes.append(error.sentence())
        finally:
            writer.close()
    _hold("several threads find what one finds", outcomes[0] == outcomes[1])


def check_packed_parts(path: Path, data: bytes) -> None:
    """The same of what is inflated as it is read."""
    packed = path.with_suffix(".packed")
    packed.write_bytes(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1))
    try:
        check_parts(packed)
    finally:
        packed.unlink()


def check_ledger(imported: Imported, data: bytes) -> None:
    """read = kept + repaired + rejected, the reasons add up, and valid JSON loses nothing."""
    meta, ledger = imported.meta, imported.meta.ledger
    _hold("the ledger adds up", ledger.balanced())
    _hold("no count is negative", min(ledger.read, ledger.kept, ledger.repaired, ledger.rejected) >= 0)
    reasons = sum(count for count, _ in ledger.reasons.values())
    _hold("the reasons add up", reasons == ledger.repaired + ledger.rejected)
    _hold("no reason without an event", all(count > 0 for count, _ in ledger.reasons.values()))
    _hold("events are those kept and repaired", meta.events == ledger.kept + ledger.repaired)
    for finding in meta.findings:
        _hold("a finding is one line", "\n" not in finding.message and len(finding.message) < 2_000)
    if meta.format in CHROME:
        listed = _listed(data)
        if listed is not None:
            _hold("valid JSON loses no entry", ledger.read == listed and meta.complete)


def _listed(data: bytes) -> int | None:
    """Entries of the event arrays of valid JSON; None where that is not for json to say."""
    tops: list[Any] = []

    def pairs(members: list[tuple[str, Any]]) -> Any:
        tops[:] = members  # the last call is that of the outermost object
        return dict(members)

    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return len(value)
    return sum(len(v) for k, v in tops if k == "traceEvents" and isinstance(v, list))


def check_tables(imported: Imported) -> None:
    """The tables hold every slice; times stay far from the ends of int64."""
    raw = imported.raw
    tables = assemble(raw, shipped_rules())
    _hold("every slice is in the table", len(tables["slices"]["start_ns"]) == len(raw.slices.start_ns))
    if len(raw.slices.start_ns):
        _hold("durations are not negative", int(raw.slices.dur_ns.min()) >= 0)
        _hold(
            "ends do not overflow",
            int((raw.slices.start_ns + raw.slices.dur_ns).min()) >= int(raw.slices.start_ns.min()),
        )


def check_trace(imported: Imported, writer: ArgsWriter) -> Trace:
    """A trace in memory of it, as the window gets it; all its args can be asked for."""
    args = ArgsText.of_source(imported.meta.source) if imported.meta.args_in_source else ArgsText.of_writer(writer)
    trace = Trace.in_memory(imported.meta, assemble(imported.raw, shipped_rules()), args)
    for row in range(min(len(trace), 40)):
        trace.args(row)
    for row in range(min(len(trace.marks), 40)):
        trace.mark_args(row)
    return trace


def check_figures(path: Path, trace: Trace) -> None:
    """The report of the file: its identities are asserted where they are computed."""
    encode_report(report(build_session([Opened(path, trace)])))


# Compiled code against a page that must not be touched ---------------------------------------------------------------


class _Guarded(TextWindow):
    """A window whose padded buffer ends where a protected page begins: a load beyond the padding ends the process."""

    def __init__(self, stream: Any, chunk: int) -> None:
        super().__init__(stream, chunk)
        self._guard()

    def _guard(self) -> None:
        size, page = len(self._data), mmap.PAGESIZE
        pages = -(-size // page) + 1
        self._map = mmap.mmap(-1, pages * page)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + (pages - 1) * page), ctypes.c_size_t(page), 0)
        fresh = np.frombuffer(self._map, np.uint8, size, (pages - 1) * page - size)
        fresh[:] = self._data
        self._data = fresh

    def more(self) -> bool:
        """See TextWindow: a buffer that grew is guarded again."""
        before = self.room
        brought = super().more()
        if self.room != before:
            self._guard()
        return brought


class _Memory:
    def __init__(self, text: bytes) -> None:
        self._text, self.position, self.damage, self.behind = text, 0, "", False

    def read_into(self, room: memoryview) -> int:
        part = self._text[self.position : self.position + len(room)]
        room[: len(part)] = part
        self.position += len(part)
        return len(part)

    def close(self) -> None:
        pass


def scan_outcome(text: bytes, chunk: int) -> tuple[Any, ...]:
    """What a scan of a text finds, in a window of ``chunk`` bytes at the edge of readable memory."""
    assert chunk + PAD > PAD
    try:
        found = EventScan(_Guarded(_Memory(text), chunk)).run()
    except OverflowError as error:
        return (str(error),)
    ledger = found.ledger
    slices, marks = found.slices, found.marks
    blocks = [slices.column(k).tobytes() for k in ("start_ns", "dur_ns", "at")]
    blocks += [marks.column(k).tobytes() for k in ("time_ns", "phase", "at")]
    return ledger.read, ledger.kept, ledger.rejected, sorted(ledger.reasons.items()), found.complete, found.top, blocks


def check_windows(data: bytes) -> None:
    """The size of the window changes nothing, and no compiled loop reads beyond its padding."""
    whole, small = scan_outcome(data, 1 << 16), scan_outcome(data, 1 << 9)
    for k, (a, b) in enumerate(zip(whole, small, strict=False)):
        _hold(f"the window's size changes nothing (part {k})", a == b)


# The process ---------------------------------------------------------------------------------------------------------


def fault_of(error: BaseException) -> str:
    """A name for a failure: what it is, and the innermost line of the product that it passed."""
    if isinstance(error, Fault):
        return f"does not hold: {error}"
    places = [f"{Path(f.filename).name}:{f.name}" for f in traceback.extract_tb(error.__traceback__)]
    own = [p for p, f in zip(places, traceback.extract_tb(error.__traceback__), strict=True) if "viewer" in f.filename]
    return f"{type(error).__name__} in {(own or places)[-1]}"


def run_one(path: Path, data: bytes, number: int) -> str:
    """All checks of one input: "kept", "refused" or the name of the failure."""
    try:
        if number % JOB_EVERY == 7:
            return fuzz_jobs.check_job(path, data, path.parent, number % 5 == 0, _hold)
        outcome = check(path, data, number % TABLES_EVERY == 0, number % DEEP_EVERY == 0)
        if number % 8 == 1:
            check_windows(data)
        elif number % 8 == 3:
            check_parts(path)
        elif number % 8 == 5:
            check_packed_parts(path, data)
    except MemoryError as error:
        return f"out of memory: {fault_of(error)}"
    except Exception as error:
        return fault_of(error)
    return outcome


def make(inputs: Inputs, number: int, folder: Path) -> bytes:
    """The input of that number: a trace, an archive or a pack."""
    if number % JOB_EVERY != 7:
        return inputs.make(number)
    if number // JOB_EVERY % 3 == 0:
        return fuzz_jobs.pack(number, folder)
    return fuzz_jobs.archive(number, inputs)


def warm(path: Path) -> None:
    """Load modules and compiled code."""
    text_parts.LEAST = stream_parts.STRETCH = LEAST_PART
    inputs = Inputs(0, None)
    for number in range(0, 1920, 24):
        for k in (0, number // 4 % 24, 3, 5):
            run_one(path, make(inputs, number + k, path.parent), number + k)


def limit_memory() -> None:
    """No more than ROOM on top of what is mapped now."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work(seed: int, begin: int, step: int, count: int, shared: Path | None, status: Path) -> None:
    """Inputs begin, begin + step, ... below ``count``; writes (number, kept, refused, failed) to ``status``.

    Each new failure is one line of JSON on stdout.
    """
    inputs = Inputs(seed, shared)
    known: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / "rank_0.json"
        warm(path)
        limit_memory()
        ceiling = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + GROWTH
        counts = {"kept": 0, "refused": 0, "failed": 0}
        with status.open("r+b") as file, mmap.mmap(file.fileno(), 32) as shown:
            for number in range(begin, count, step):
                shown[:] = struct.pack("4q", number, *counts.values())
                outcome = run_one(path, make(inputs, number, path.parent), number)
                if outcome not in counts and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > ceiling:
                    outcome = "memory grows"
                elif outcome in counts and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > ceiling:
                    outcome, ceiling = "memory grows", ceiling + GROWTH
                counts[outcome if outcome in counts else "failed"] += 1
                if outcome not in counts and outcome not in known:
                    known.add(outcome)
                    sys.stdout.write(json.dumps({"number": number, "fault": outcome}) + "\n")
                    sys.stdout.flush()
            shown[:] = struct.pack("4q", count, *counts.values())


def apart(path: Path, data: bytes, number: int) -> str:
    """The outcome of :func:`run_one` in a process of its own, which may die or hang."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            limit_memory()
            os.write(writing, run_one(path, data, number).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, state = os.waitpid(child, 0)
    if os.WIFSIGNALED(state):
        hung = os.WTERMSIG(state) in (signal.SIGXCPU, signal.SIGKILL)
        return "hangs" if hung else f"dies of signal {os.WTERMSIG(state)}"
    return said


def minimise(data: bytes, number: int, fault: str, tries: int = 400) -> bytes:
    """A shorter input with the same failure."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "rank_0.json"
        warm(path)
        size = max(1, len(data) // 2)
        while size and tries > 0:
            at = 0
            while at < len(data) and tries > 0:
                shorter = data[:at] + data[at + size :]
                tries -= 1
                if apart(path, shorter, number) == fault:
                    data = shorter
                else:
                    at += size
            size //= 2
    return data


def main() -> int:
    """``work SEED BEGIN STEP COUNT SHARED STATUS`` or ``minimise FILE NUMBER FAULT`` (rewrites FILE)."""
    match sys.argv[1:]:
        case ["work", seed, begin, step, count, shared, status]:
            work(int(seed), int(begin), int(step), int(count), Path(shared) if shared else None, Path(status))
        case ["minimise", file, number, fault]:
            Path(file).write_bytes(minimise(Path(file).read_bytes(), int(number), fault))
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
