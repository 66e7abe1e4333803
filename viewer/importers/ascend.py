"""Traces of Ascend NPUs: ``trace_view.json`` of torch_npu and MindSpore, ``msprof_*.json`` of CANN.

A bare list of events. What they are is told by the names of processes: "Python" or "MindSpore" has the framework's
operators (they alone have categories), "CANN" the calls of the runtime, "Ascend Hardware" a lane per stream of the
device, "Communication" (before 2024: "HCCL") a lane per group with whole collectives and lanes "Plane N" with their
tasks, "Overlap Analysis" what the profiler derived from the rest. The args of a task of the device say its type, and
with "connection_id" which call of CANN launched it.

Device time is what a stream computes or copies, and the collectives. Waits and records only order streams. The tasks of
a collective run on streams as well: they lie inside of it and are not counted a second time. What the profiler's own
lane "Computing" says is compared with what is counted here.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.findings import Finding
from viewer.base.ids import ABSENT, TEXT_ID, Paint
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import JsonTrace, finish, rank_in_name, read_json, small_facts
from viewer.importers.wide import Categories, NameFlags, Wide
from viewer.importers.window import TextWindow
from viewer.jit.intervals import total, union
from viewer.store.growing import GrowingColumns
from viewer.store.meta import DeviceInfo
from viewer.store.raw import RawTrace
from viewer.store.rules import RuleTable

I64 = NDArray[np.int64]

HARDWARE, CANN, OVERLAP = "Ascend Hardware", "CANN", "Overlap Analysis"
COMMUNICATION: Final = frozenset({"Communication", "HCCL"})
FRAMEWORK: Final = frozenset({"Python", "MindSpore"})

_SURE: Final = re.compile(
    rb'"(?:Ascend Hardware|Overlap Analysis|async_npu|torch_to_npu|async_task_queue|enqueue_to_dequeue|HostToDevice)"'
    rb'|"HostToDevice\d+"'
)
_FRAMEWORK: Final = re.compile(rb'"(?:Fwd thread id|Sequence number)"|"cat"\s*:\s*"(?:enqueue|dequeue)"')
_TEXT_TIME: Final = re.compile(rb'"ts"\s*:\s*"\d{10,}\.\d{1,6}"')
"""The framework's events come first, with times as text; Kineto writes numbers."""

_TYPE: Final = re.compile(rb'"Task Type"\s*:\s*"([^"]{0,40})"')
_CONNECTION: Final = re.compile(rb'"connection_id"\s*:\s*"?(\d{1,18})"?\s*[,}]')
_COMPUTES: Final = re.compile(
    rb"(?:KERNEL_)?(?:AI_?|MIX(?:ED)?_AI)\w*|FFTS\w*|FUSION|CCU|DPU|DVPP\w*|SIMT\w*", re.IGNORECASE
)
_COPIES: Final = re.compile(rb"MEMCPY\w*|SDMA\w*|\w*DMA(?:_SQE)?|REDUCE_ASYNC\w*", re.IGNORECASE)
_NOTIFIES: Final = re.compile(rb"NOTIFY\w*", re.IGNORECASE)
_ORDERS: Final = re.compile(
    rb"EVENT\w*|\w*WAIT\w*|\w*RECORD\w*|PLACE_?HOLDER\w*|WRITE_VALUE\w*|MODEL_\w*|STREAM_\w*|PROFIL\w*|CONDITION\w*"
    rb"|LABEL\w*|\w*MAINT\w*|MAINTENANCE\w*|BARRIER\w*",
    re.IGNORECASE,
)
_COLLECTIVE: Final = re.compile(rb"COMMUNICATION|HCCL|HCOM", re.IGNORECASE)

_BARE, _COMPUTE, _COPY, _NOTIFY, _ORDER, _WHOLE, _UNKNOWN = range(7)
"""What a task is by its type; _BARE says none."""
_CODED: Final = 1 << 61
"""Added to such a number while it lies in the column of external ids, which this format does not use."""

_STREAM: Final = re.compile(r"^Stream\s+(\d{1,9})$")
_PLANE: Final = re.compile(r"^Plane\b")
_COMPUTING: Final = re.compile(r"^Computing$")
_HCCL: Final = re.compile(r"^(?:hccl|hcom)", re.IGNORECASE)
_NPU: Final = re.compile(r"\bNPU\D{0,2}(\d{1,4})\b")
_MOST_OFF: Final = 0.01
"""The profiler's sum and this one may differ by so much."""

# Categories that slices get; the file writes none for them. What they mean is in resources/rules/categories.toml.
KERNEL, MEMCPY, CALL, OPERATOR = "kernel", "gpu_memcpy", "cann_api", "cpu_op"
SYNC, TASK, DERIVED, OTHER = "npu_sync", "npu_comm_task", "npu_overlap", "npu_task"


class AscendImporter:
    """The profilers of CANN and of the frameworks on it."""

    name = "ascend"
    signs = '"Ascend Hardware", "Overlap Analysis" or the flows of torch_npu, or its operators with times as text'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
        if not text.startswith((b"{", b"[")) or b'"ph"' not in text:
            return 0
        if _SURE.search(text):
            return 3
        return 3 if text.startswith(b"[") and _FRAMEWORK.search(text) and _TEXT_TIME.search(text) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job, look=_tasks)
        raw, findings = trace.built.raw, trace.built.findings
        devices = _devices(trace)
        _categories(raw, devices, findings, job.rules)
        rank, source = _rank(job.path)
        return finish(
            job,
            trace,
            self.name,
            rank=rank,
            rank_source=source,
            devices=[DeviceInfo(number, "Ascend NPU") for number in sorted(set(devices.values()))],
            facts=small_facts(trace.top, trace.scanned, frozenset()),
        )


def _tasks(window: TextWindow, slices: GrowingColumns, begin: int, end: int) -> None:
    """Read "Task Type" and "connection_id" of args: into the columns of external ids (coded) and of correlations."""
    offsets = slices.recent("args_off", begin)[: end - begin] - window.origin
    sizes = slices.recent("args_len", begin)[: end - begin]
    correlation, kind = slices.recent("corr", begin), slices.recent("ext", begin)
    for row in np.flatnonzero(sizes > 16):
        at = int(offsets[row])
        text = window.text(at, at + int(sizes[row]))
        if found := _CONNECTION.search(text):
            correlation[row] = int(found[1])
        if found := _TYPE.search(text):
            kind[row] = _CODED + _kind(bytes(found[1]))


def _kind(word: bytes) -> int:
    patterns = (_COMPUTE, _COMPUTES), (_NOTIFY, _NOTIFIES), (_ORDER, _ORDERS), (_COPY, _COPIES), (_WHOLE, _COLLECTIVE)
    return next((kind for kind, pattern in patterns if pattern.fullmatch(word)), _UNKNOWN if word else _BARE)


def _rank(path: Path) -> tuple[int | None, str]:
    """By the folder that the profiler made, or the file with the rank in its name that it put there."""
    if (rank := rank_in_name(path)) is not None:
        return rank, "file name"
    for folder in path.parents[:2]:
        if folder.name.endswith(("_ascend_pt", "_ascend_ms")) and (rank := rank_in_name(Path(folder.name))) is not None:
            return rank, "folder name"
        with contextlib.suppress(OSError):
            told = [re.fullmatch(r"profiler_info_(\d{1,6})\.json", p.name) for p in folder.glob("profiler_info_*.json")]
            ranks = {int(m[1]) for m in told if m}
            if len(ranks) == 1:
                return ranks.pop(), "profiler_info"
    return None, "unknown"


def _devices(trace: JsonTrace) -> dict[int, int]:
    """Device numbers of the processes that are one, by process id.

    A label "NPU 3" says it. Else ids are packed: layer and device lie in the low ten bits of ids that are otherwise
    equal. Else devices are numbered in the order of their ids.
    """
    raw, labels = trace.built.raw, trace.built.labels
    known = {HARDWARE, CANN, OVERLAP} | COMMUNICATION
    own = {pid: name for pid, name in raw.process_names.items() if name in known}
    heads = [pid >> 10 for pid in own if 1024 <= pid < TEXT_ID]
    packed = {head for head in heads if heads.count(head) > 1}
    found: dict[int, int] = {}
    for name in (HARDWARE, *sorted(COMMUNICATION)):
        for order, pid in enumerate(sorted(p for p, n in own.items() if n == name)):
            told = _NPU.search(labels.get(str(pid), ""))
            if told:
                found[pid] = int(told[1])
            else:
                found[pid] = pid & 31 if pid >> 10 in packed else order
    return found


def _categories(raw: RawTrace, devices: dict[int, int], findings: list[Finding], rules: RuleTable) -> None:
    s, names = Wide(raw.slices), NameFlags(raw)
    number = Categories(raw)
    coded = s.ext >= _CODED
    kind = np.where(coded, s.ext - _CODED, _BARE)
    s.ext = np.where(coded, ABSENT, s.ext)
    bare = (s.cat < 0) & ~s.is_async
    hardware = np.zeros(len(bare), np.bool_)
    unknown = 0
    for pid, name in raw.process_names.items():
        mine = s.pid == pid
        if name == HARDWARE:
            hardware |= mine & bare
        elif name == CANN:
            s.cat[mine & bare] = number(CALL)
        elif name == OVERLAP:
            s.cat[mine & bare] = number(DERIVED)
        elif name in FRAMEWORK:
            s.cat[mine & bare] = number(OPERATOR)
    whole = _collectives(raw, s, devices, bare, number)
    for device in sorted(set(devices.values())):
        own = hardware & np.isin(s.pid, [p for p, d in devices.items() if d == device])
        s.device[own] = device
        for pid, tid in np.unique(np.stack((s.pid[own], s.tid[own])), axis=1).T.tolist():
            lane = own & (s.pid == pid) & (s.tid == tid)
            told = _STREAM.match(raw.thread_names.get((pid, tid), ""))
            if told:
                s.stream[lane] = int(told[1])
            inside = _inside(raw, lane, whole & (s.device == device))
            notifies = bool((kind[lane] == _NOTIFY).any())
            s.cat[lane] = number(KERNEL)
            s.cat[lane & (kind == _COPY)] = number(MEMCPY)
            s.cat[lane & (kind == _COPY) & inside & notifies] = number(TASK)
            s.cat[lane & ((kind == _NOTIFY) | (kind == _ORDER))] = number(SYNC)
            parts = (kind == _WHOLE) | ((kind == _BARE) & names.where(_HCCL, s.name))
            s.cat[lane & parts & inside] = number(TASK)
            s.cat[lane & (kind == _UNKNOWN)] = number(OTHER)
            unknown += int((lane & (kind == _UNKNOWN)).sum())
    calls = s.cat == number.known(CALL)
    launched = hardware | whole
    s.corr[~calls & ~launched | calls & ~np.isin(s.corr, s.corr[launched])] = ABSENT
    work = int((np.isin(s.cat, [number.known(c) for c in (KERNEL, MEMCPY)])).sum())
    raw.slices = s.narrow()
    if work:
        message = "tasks of the device have no categories: their types, and the names of their lanes, say what they are"
        findings.append(Finding("work-by-lane-name", "info", work, message))
    if unknown:
        message = "tasks of the device whose type is not known: they are shown, but count as no work"
        findings.append(Finding("unknown-task-types", "warning", unknown, message))
    _compare(raw, s, hardware & (s.cat == number.known(KERNEL)), number, names, rules, findings)


def _collectives(raw: RawTrace, s: Wide, devices: dict[int, int], bare: Any, number: Categories) -> Any:
    """Give the lanes of communication streams of their own; which slices are whole collectives."""
    whole = np.zeros(len(bare), np.bool_)
    streams = [int(m[1]) for name in raw.thread_names.values() if (m := _STREAM.match(name))]
    free = max((*streams, *(t for _, t in raw.thread_names if 0 <= t < 1 << 20)), default=0) + 1
    for pid, device in devices.items():
        if raw.process_names[pid] not in COMMUNICATION:
            continue
        mine = bare & (s.pid == pid)
        for tid in np.unique(s.tid[mine]).tolist():
            lane = mine & (s.tid == tid)
            plane = _PLANE.match(raw.thread_names.get((pid, tid), "")) is not None
            s.device[lane], s.stream[lane] = device, free
            s.cat[lane] = number(TASK if plane else KERNEL)
            free += 1
            if not plane:
                whole |= lane
    return whole


def _inside(raw: RawTrace, lane: Any, whole: Any) -> Any:
    """Which slices of a lane begin while a collective of their device runs: bool[slices]."""
    start, end = raw.slices.start_ns, raw.slices.start_ns + raw.slices.dur_ns
    order = np.argsort(start[whole], kind="stable")
    begins, ends = start[whole][order], np.maximum.accumulate(end[whole][order]) if whole.any() else end[whole]
    at = np.searchsorted(begins, start, "right") - 1
    found = np.zeros(len(start), np.bool_)
    has = lane & (at >= 0)
    found[has] = start[has] < ends[at[has]]
    return found


def covered(start: I64, end: I64) -> int:
    """Nanoseconds that intervals cover."""
    order = np.argsort(start, kind="stable")
    return total(*union(start[order], end[order]))


def _compare(
    raw: RawTrace, s: Wide, kernels: Any, number: Categories, names: NameFlags, rules: RuleTable, to: list[Finding]
) -> None:
    """Say where the profiler's own figure of computing is another one than that of the kernels."""
    told = (s.cat == number.known(DERIVED)) & names.where(_COMPUTING, s.name)
    if not told.any():
        return
    start, end = raw.slices.start_ns, raw.slices.start_ns + raw.slices.dur_ns
    computes = np.array([rules.class_of(KERNEL, text).paint == Paint.COMPUTE for text in raw.strings] + [False])
    kernels = kernels & computes[s.name]
    devices = np.unique(s.device[kernels]).tolist()
    here = sum(covered(start[rows], end[rows]) for rows in (kernels & (s.device == d) for d in devices))
    theirs = sum(
        covered(start[rows], end[rows]) for rows in (told & (s.pid == p) for p in np.unique(s.pid[told]).tolist())
    )
    if abs(here - theirs) > _MOST_OFF * max(here, theirs):
        message = (
            f'the profiler\'s own lane "Computing" covers {theirs / 1e6:,.3f} ms, the compute kernels of the streams '
            f"{here / 1e6:,.3f} ms: figures here are those of the streams"
        )
        to.append(Finding("overlap-analysis-differs", "warning", 1, message))
