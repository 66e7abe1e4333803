"""What all Chrome-style JSON traces share: text to columns, the ledger's findings, the extents."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.importers.base import Imported, ImportJob
from viewer.importers.columns import Built, build
from viewer.importers.event_scan import EventScan, Look
from viewer.importers.refuse import STEP
from viewer.importers.scanned import Scanned
from viewer.importers.source import TextStream, open_text
from viewer.importers.stream_parts import StreamParts
from viewer.importers.text_parts import TextParts
from viewer.importers.window import CHUNK, TextWindow
from viewer.store.assemble import gpu_categories
from viewer.store.lazy import PIECE
from viewer.store.loose_json import loads
from viewer.store.meta import MOST_LABELS, TraceMeta
from viewer.store.raw import RawSlices, RawTrace
from viewer.store.schema import FORMAT_VERSION

_RANK: Final = re.compile(r"(?<![a-z])rank[_\-. ]?(\d{1,6})(?!\d)", re.IGNORECASE)
_PARTIAL_RANK: Final = re.compile(
    r"(?:local|node|tp|pp|dp|cp|ep|sp|tensor|pipeline|data|expert)[_\-.]?\Z", re.IGNORECASE
)
LABEL: Final = 200
"""Characters of a process label that are kept."""
LEAST_CHUNK: Final = 64 << 10
FACT_BYTES: Final = 16 << 10
"""Longer top-level values are no facts to keep."""


@dataclass(slots=True)
class JsonTrace:
    """A read file: its columns and its top-level values."""

    scanned: Scanned
    built: Built
    top: dict[str, Any]
    in_source: bool


def read_json(job: ImportJob, chunk: int = CHUNK, look: Look | None = None) -> JsonTrace:
    """Read the text of a Chrome-style trace. Raises InputError when it holds no event array.

    ``look`` sees every slice while its text is at hand, see EventScan.
    """
    scanned, in_source = _scan(job, chunk, look)
    refuse_if_no_trace(job.path, scanned)
    job.tell("sort", job.stamp.size, scanned.ledger.read)
    top = {}
    for key, text in scanned.top.items():
        try:
            top[key] = loads(text)
        except ValueError:
            continue
    return JsonTrace(scanned, build(scanned, job.rules), top, in_source)


def _scan(job: ImportJob, chunk: int, look: Look | None) -> tuple[Scanned, bool]:
    stream, in_source = open_text(job.source)
    if in_source:  # a small file needs no large window
        chunk = min(chunk, max(LEAST_CHUNK, job.stamp.size + 1))
    try:
        if in_source and (threads := job.threads()) > 1:
            parts = TextParts(
                job.path, job.stamp.size, threads, lambda d, e: job.tell("read", d, e), look, job.scratch, chunk
            )
            if parts.worth_it:
                try:
                    scanned, damage = parts.run()
                except OverflowError as error:
                    raise _too_long(job.path, error, parts.at) from None
                return _damaged(scanned, damage), True
        if not in_source and (threads := job.threads()) > 1:
            ahead = StreamParts(
                stream,
                threads,
                job.args_sink,
                lambda e: job.tell("read", stream.position, e),
                look,
                job.scratch,
            )
            try:
                scanned = ahead.run()
            except OverflowError as error:
                raise _too_long(job.path, error, ahead.at) from None
            return _ended(scanned, stream), False
        scan = EventScan(
            TextWindow(stream, chunk),
            None if in_source else job.args_sink,
            lambda s: job.tell("read", stream.position, s.events),
            look,
            job.scratch,
        )
        try:
            scanned = scan.run()
        except OverflowError as error:
            raise _too_long(job.path, error, scan.window.origin + scan.window.position) from None
        return _ended(scanned, stream), in_source
    finally:
        stream.close()


def _ended(scanned: Scanned, stream: TextStream) -> Scanned:
    # Where reading stopped early, how far it had got depends on the pieces; what the whole stream is worth does not.
    room = memoryview(bytearray(CHUNK))
    while stream.read_into(room):
        pass
    if stream.behind:
        scanned.notes["bytes-behind-compressed"] = (1, -1)
    return _damaged(scanned, stream.damage)


def _damaged(scanned: Scanned, damage: str) -> Scanned:
    if damage:
        scanned.complete = False
        scanned.stopped = damage
    return scanned


def _too_long(path: Path, error: OverflowError, at: int) -> InputError:
    return InputError(str(path), f"holds {error}", f"byte {at}", "It does not look like a trace.")


def refuse_if_no_trace(path: Path, scanned: Scanned) -> None:
    """Raise InputError for JSON that is no trace."""
    if not scanned.has_events:
        if not scanned.complete and scanned.stopped_at >= 0:
            raise InputError(
                str(path),
                f"holds no event list up to where it can be read ({scanned.stopped})",
                f"byte {scanned.stopped_at}",
                STEP,
            )
        raise InputError(str(path), 'is JSON, but no trace: it has no "traceEvents"', "", STEP)
    ledger = scanned.ledger
    if ledger.read and not ledger.kept + ledger.repaired:
        reasons = sorted(ledger.reasons.items(), key=lambda item: (-item[1][0], item[1][1]))  # of equals the first one
        name, (_, first) = reasons[0]
        raise InputError(
            str(path),
            f"none of its {ledger.read:,} list entries is a trace event (first reason: {name})",
            f"byte {first}",
            STEP,
        )


def rank_in_name(path: Path) -> int | None:
    """The rank that a file name states ("rank_2.json", "rank-0.Apr_03.pt.trace.json"), None when it does not."""
    found = {int(m[1]) for m in _RANK.finditer(path.name) if not _PARTIAL_RANK.search(path.name[: m.start()])}
    return found.pop() if len(found) == 1 else None


def finish(job: ImportJob, trace: JsonTrace, name: str, **meta: Any) -> Imported:
    """Ledger, findings and extents into a TraceMeta. ``meta`` are further fields of it."""
    scanned = trace.scanned
    findings = [*_reading_findings(scanned), *trace.built.findings]  # after build(), which adds to the notes
    return seal(
        job,
        trace.built.raw,
        name,
        scanned.ledger,
        findings,
        complete=scanned.complete,
        args_in_source=trace.in_source,
        labels={k: v[:LABEL] for k, v in itertools.islice(trace.built.labels.items(), MOST_LABELS)},
        **meta,
    )


def seal(job: ImportJob, raw: RawTrace, name: str, ledger: Ledger, findings: list[Finding], **meta: Any) -> Imported:
    """Raw columns and a ledger, with the extents that they give, as an importer hands them over."""
    slices = raw.slices
    first = last = gpu_first = gpu_last = None
    if len(slices.start_ns):
        cat = slices.tracks.cat
        gpu = gpu_categories(cat, raw.strings, job.rules)[cat]
        first, last, gpu_first, gpu_last = _extents(slices, gpu)
    for table in (raw.marks, raw.counters):
        if table is not None:
            low, high = int(table.time_ns.min()), int(table.time_ns.max())
            first = low if first is None else min(first, low)
            last = high if last is None else max(last, high)
    times = _memory_times(raw)
    if len(times):
        first = min(int(times.min()), int(times.max()) if first is None else first)
        last = max(int(times.max()), int(times.min()) if last is None else last)
    if first is None and not raw.memory:
        findings.append(
            Finding("no-events", "warning", 1, "the file is a valid trace without any event that has a time")
        )
    elif gpu_first is None:
        findings.append(
            Finding("no-gpu-work", "info", 1, "the file holds no GPU work: its device figures do not exist")
        )
    assert ledger.balanced()
    return Imported(
        raw,
        TraceMeta(
            version=FORMAT_VERSION,
            format=name,
            source=job.stamp,
            rules_hash=job.rules.hash,
            events=ledger.kept + ledger.repaired,
            first_ns=first,
            last_ns=last,
            gpu_first_ns=gpu_first,
            gpu_last_ns=gpu_last,
            ledger=ledger,
            findings=findings,
            **meta,
        ),
    )


def _memory_times(raw: RawTrace) -> NDArray[np.int64]:
    """Times of allocator events and of levels by category that are times."""
    memory = raw.memory
    if "memory_devices" not in memory:
        return np.zeros(0, np.int64)
    timed = np.array(memory["memory_devices"]["timed"], np.bool_)
    held = [memory[name] for name in ("allocator_events", "category_levels") if name in memory]
    return np.concatenate([np.zeros(0, np.int64), *(t["time_ns"][timed[t["device"]]] for t in held)])


def _extents(slices: RawSlices, gpu: NDArray[np.bool_]) -> tuple[int, int, int | None, int | None]:
    """First start and last end of all slices, and of those on the tracks ``gpu``."""
    first, last, gpu_first, gpu_last = [], [], [], []
    for begin in range(0, len(slices.start_ns), PIECE):
        piece = slice(begin, begin + PIECE)
        start, chosen = slices.start_ns[piece], gpu[slices.track[piece]]
        end = start + slices.dur_ns[piece]
        first.append(int(start.min()))
        last.append(int(end.max()))
        if chosen.any():
            gpu_first.append(int(start[chosen].min()))
            gpu_last.append(int(end[chosen].max()))
    return min(first), max(last), min(gpu_first, default=None), max(gpu_last, default=None)


_NOTES: Final[dict[str, tuple[str, str]]] = {
    "negative-duration": ("warning", "durations below 0 (the profiler's own error): taken as 0"),
    "rounded-time": ("info", "times finer than a nanosecond: rounded to the nearest"),
    "trailing-bytes": ("warning", "something follows the end of the trace: left unread"),
    "stray-bytes": ("warning", "bytes between events that are no JSON: skipped"),
    "counter-unreadable": ("warning", "counter events whose values cannot be read"),
    "bytes-behind-compressed": ("warning", "bytes behind the compressed data that are nothing compressed: left unread"),
    "no-duration": ("warning", "complete events (ph X) without a duration: kept as marks, in no figure"),
}
_REJECTED: Final = {
    "empty": "empty objects in the event list",
    "not-an-object": "entries of the event list that are no objects",
    "no-phase": "events that do not say what they are (no ph)",
    "no-time": "events without a time",
    "time-out-of-range": "events whose time is beyond 146 years",
    "unreadable": "events that are no JSON and could not be mended",
}


def _reading_findings(scanned: Scanned) -> list[Finding]:
    findings = []
    if not scanned.complete:
        where = f"byte {scanned.stopped_at}" if scanned.stopped_at >= 0 else ""
        findings.append(
            Finding(
                "truncated",
                "warning",
                1,
                f"{scanned.stopped}: what comes before is exact, totals are lower bounds",
                where,
            )
        )
    for reason, text in _REJECTED.items():
        if reason in scanned.ledger.reasons:
            count, first = scanned.ledger.reasons[reason]
            findings.append(Finding(reason, "warning", count, f"{text}: rejected", f"byte {first}"))
    if "quotes-or-brackets" in scanned.ledger.reasons:
        count, first = scanned.ledger.reasons["quotes-or-brackets"]
        findings.append(
            Finding(
                "quotes-or-brackets", "warning", count, "events with broken quotes or brackets: mended", f"byte {first}"
            )
        )
    if "args-text" in scanned.ledger.reasons:
        count, first = scanned.ledger.reasons["args-text"]
        message = "arguments held bytes that are no text: shown with replacement characters"
        findings.append(Finding("args-text", "info", count, message, f"byte {first}"))
    for name, (severity, text) in _NOTES.items():
        if name in scanned.notes:
            count, first = scanned.notes[name]
            findings.append(Finding(name, severity, count, text, f"byte {first}" if first >= 0 else ""))  # type: ignore[arg-type]
    return findings


def small_facts(top: dict[str, Any], scanned: Scanned, leave: frozenset[str]) -> dict[str, Any]:
    """Top-level values worth keeping as written."""
    return {k: v for k, v in top.items() if k not in leave and len(scanned.top[k]) <= FACT_BYTES}
