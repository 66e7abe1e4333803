"""Traces that JAX, TensorFlow and OpenXLA write for TensorBoard's trace viewer (``*.trace.json.gz``).

Events have no categories; what they are is told by the names of processes and threads: "/device:GPU:0" with lanes
"Stream #14(Compute)", and "/host:CPU". Slices of a stream's lane are GPU work. The other lanes of a GPU ("XLA Ops",
"Steps", ...) are labels that the profiler derived from the streams. A TPU has no streams: its lanes nest and repeat
each other, so they are shown without device figures.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.base.findings import Finding
from viewer.base.ids import ABSENT
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, rank_in_name, read_json, small_facts
from viewer.importers.wide import Categories, NameFlags, Wide
from viewer.importers.window import TextWindow
from viewer.store.growing import GrowingColumns
from viewer.store.meta import DeviceInfo
from viewer.store.raw import RawTrace

_WRITER: Final = re.compile(
    rb'"displayTimeUnit"\s*:\s*"ns"\s*,\s*"metadata"\s*:\s*\{\s*"highres-ticks"\s*:\s*true\s*\}'
    rb'|"name"\s*:\s*"[^"]{0,200}/(?:device:[A-Z_]+:\d+|host:[A-Z]+)[^"]{0,200}"'
)
_DEVICE: Final = re.compile(r"/device:([A-Za-z_]+):(\d{1,9})(?!\d)")
_HOST: Final = re.compile(r"(?:^|\s)/host:")
_STREAM: Final = re.compile(r"^Stream #(\d{1,9})(?!\d)")
_CORRELATION: Final = re.compile(rb'"correlation_id"\s*:\s*"?(\d{1,18})"?\s*[,}]')
_CALL: Final = re.compile(r"^(?:cu|cuda|hip)[A-Z]\w*$")
_PYTHON: Final = re.compile(r"^\$")

# Categories that the slices get; the file writes none. What they mean is in resources/rules/categories.toml.
KERNEL, COPY, FILL = "kernel", "gpu_memcpy", "gpu_memset"
LABEL, TPU, CALL, PYTHON = "xla_lane", "xla_device_lane", "cuda_driver", "python_function"


@dataclass(frozen=True, slots=True)
class _Process:
    kind: str
    """GPU, TPU, ... ; "" for a host."""
    number: int


class TraceViewerImporter:
    """The JSON form of an XPlane: the trace viewer's own."""

    name = "trace-viewer"
    signs = "processes named /device: or /host:, or the header that XProf writes"

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
            return 0
        return 3 if _WRITER.search(head) and (b'"traceEvents"' in head or b'"ph"' in head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job, look=_correlations)
        raw = trace.built.raw
        processes = _processes(raw, trace.built.findings)
        _categories(raw, processes, trace.built.findings)
        rank = rank_in_name(job.path)
        return finish(
            job,
            trace,
            self.name,
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            devices=[
                DeviceInfo(p.number, raw.process_names[pid]) for pid, p in sorted(processes.items()) if p.kind == "GPU"
            ],
            facts=small_facts(trace.top, trace.scanned, frozenset()),
        )


def _correlations(window: TextWindow, slices: GrowingColumns, begin: int, end: int) -> None:
    """Read "correlation_id" of args; Kineto's "correlation" was read by the scan itself."""
    offsets = slices.recent("args_off", begin)[: end - begin] - window.origin
    sizes = slices.recent("args_len", begin)[: end - begin]
    correlation = slices.recent("corr", begin)
    for row in np.flatnonzero(sizes > 16):
        at = int(offsets[row])
        found = _CORRELATION.search(window.text(at, at + int(sizes[row])))
        if found:
            correlation[row] = int(found[1])


def _processes(raw: RawTrace, findings: list[Finding]) -> dict[int, _Process]:
    """What each named process is. Devices of several hosts repeat their numbers: they then get those of processes."""
    found: dict[int, _Process] = {}
    for pid, name in raw.process_names.items():
        device = _DEVICE.search(name)
        if device:
            found[pid] = _Process(device[1].upper(), int(device[2]))
        elif _HOST.search(name):
            found[pid] = _Process("", -1)
    numbers = Counter((p.kind, p.number) for p in found.values() if p.kind)
    repeated = [key for key, count in numbers.items() if count > 1]
    if repeated:
        for pid, process in found.items():
            if process.kind:
                found[pid] = _Process(process.kind, pid)
        message = "devices of several hosts share their numbers: they are numbered by their process ids here"
        findings.append(Finding("devices-renumbered", "warning", len(repeated), message))
    return found


def _categories(raw: RawTrace, processes: dict[int, _Process], findings: list[Finding]) -> None:
    """Give slices without a category the one that their lane means, and GPU work its device and stream."""
    s = Wide(raw.slices)
    number = Categories(raw)
    names = NameFlags(raw)
    bare = (s.cat < 0) & ~s.is_async
    work = nested = 0
    for pid, process in processes.items():
        mine = bare & (s.pid == pid)
        if not process.kind:
            calls = mine & names.where(_CALL, s.name)
            s.cat[calls] = number(CALL)
            s.cat[mine & names.where(_PYTHON, s.name)] = number(PYTHON)
            continue
        if process.kind != "GPU":
            s.cat[mine] = number(TPU)
            nested += int(mine.sum())
            continue
        whole = (s.pid == pid) & ~s.is_async
        for tid in np.unique(s.tid[whole]).tolist():
            lane = whole & (s.tid == tid)
            stream = _STREAM.match(raw.thread_names.get((pid, tid), ""))
            s.device[lane & (s.device == ABSENT)] = process.number
            if stream:
                s.stream[lane & (s.stream == ABSENT)] = int(stream[1])
            lane &= bare
            if not stream:
                s.cat[lane] = number(LABEL)
                continue
            s.cat[lane] = number(KERNEL)
            s.cat[lane & names.where(_COPIES, s.name)] = number(COPY)
            s.cat[lane & names.where(_FILLS, s.name)] = number(FILL)
            work += int(lane.sum())
    raw.slices = s.narrow()
    if work:
        message = "the file has no categories: the slices of lanes that are named as streams of a GPU are its work"
        findings.append(Finding("work-by-lane-name", "info", work, message))
    if nested:
        message = (
            "slices of a device that is no GPU: its lanes nest and repeat each other, so they are shown without "
            "device figures"
        )
        findings.append(Finding("device-without-streams", "info", nested, message))


_COPIES: Final = re.compile(r"^mem(?:ory)?_?cpy", re.IGNORECASE)
_FILLS: Final = re.compile(r"^mem(?:ory)?_?set", re.IGNORECASE)
