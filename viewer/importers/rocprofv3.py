"""JSON of rocprofv3 (rocprofiler-sdk-tool): arrays of records in ns, names in tables beside them.

The file is decoded as a whole (bounded by LARGEST), each record on its own: a bad one is rejected, not the file. The
unit of the ledger is one record of the arrays in ``buffer_records``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.importers.base import Imported, ImportJob
from viewer.importers.cut import close_cut
from viewer.importers.json_trace import rank_in_name, seal
from viewer.importers.record_columns import RecordColumns
from viewer.importers.source import whole_text
from viewer.store.loose_json import mend_words
from viewer.store.meta import DeviceInfo

LARGEST: Final = 2 << 30
"""Bytes of JSON; see whole_text."""
MENDED: Final = 256 << 20
"""Longer texts with bare words or bad bytes are not mended as a whole."""
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_STEP: Final = "Export it again: rocprofv3 --output-format json."
_MOST: Final = 1 << 62
_GPU: Final = 2
"""An agent's type."""
_TELL: Final = 20_000

KERNELS, COPIES = "kernel_dispatch", "memory_copy"
CATEGORIES: Final = {KERNELS: "kernel", COPIES: "gpu_memcpy"}
"""Arrays that hold GPU work, and its category; the others give their own name."""


COPY_STREAM: Final = -1
"""The stream of copies when the file has no streams: they run on engines of their own."""
_STREAM: Final = re.compile(rb'"stream_id"\s*:\s*\{\s*"handle"\s*:\s*[1-9]')
"""Builds that do not know streams write 0 everywhere."""


class _Handle(msgspec.Struct, frozen=True):
    handle: int = 0


class _Xyz(msgspec.Struct, frozen=True):
    x: int = 0
    y: int = 0
    z: int = 0

    def triple(self) -> list[int]:
        return [self.x, self.y, self.z]


class _Correlation(msgspec.Struct, frozen=True):
    internal: int = 0


class _Dispatch(msgspec.Struct):
    kernel_id: int
    agent_id: _Handle
    queue_id: _Handle = _Handle()
    dispatch_id: int = 0
    private_segment_size: int = 0
    group_segment_size: int = 0
    workgroup_size: _Xyz = _Xyz()
    grid_size: _Xyz = _Xyz()


class _Record(msgspec.Struct):
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    kind: int = -1
    operation: int = -1
    thread_id: int = 0
    correlation_id: _Correlation = _Correlation()
    dispatch_info: _Dispatch | None = None
    stream_id: _Handle | None = None
    agent_id: _Handle | None = None
    src_agent_id: _Handle | None = None
    dst_agent_id: _Handle | None = None
    bytes: int | None = None
    allocation_size: int | None = None


class _Strings(msgspec.Struct):
    buffer_records: list[dict[str, Any]] = []
    marker_api: list[dict[str, Any]] = []


class _Tool(msgspec.Struct):
    metadata: dict[str, Any] = {}
    agents: list[dict[str, Any]] = []
    strings: _Strings = msgspec.field(default_factory=_Strings)
    kernel_symbols: list[dict[str, Any]] = []
    buffer_records: dict[str, msgspec.Raw] = {}
    callback_records: dict[str, msgspec.Raw] = {}


class _Document(msgspec.Struct):
    tool: list[_Tool] | _Tool = msgspec.field(name="rocprofiler-sdk-tool")


class Rocprofv3Importer:
    """Kernels and copies are GPU work of (agent, stream); API calls and markers lie on their threads."""

    name = "rocprofv3"
    signs = '"rocprofiler-sdk-tool"'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
        return 3 if text.startswith(b"{") and b'"rocprofiler-sdk-tool"' in text else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        text, damage = whole_text(job.source, LARGEST)
        text = text.removeprefix(b"\xef\xbb\xbf")
        job.tell("read", job.stamp.size, 0)
        document, told = _decode(job, text, damage)
        tools = document.tool if isinstance(document.tool, list) else [document.tool]
        columns = RecordColumns(job.args_sink)
        reader = _Reader(job, columns)
        for tool in tools:
            reader.read(tool)
        findings = [*told, *columns.findings(), *reader.findings()]
        rank = rank_in_name(job.path)
        nodes = [t.metadata.get("node") for t in tools]
        host = [h for n in nodes if isinstance(n, dict) and isinstance(h := n.get("hostname"), str)]
        return seal(
            job,
            columns.raw(),
            self.name,
            columns.ledger,
            findings,
            complete=all(f.code != "truncated" for f in told),
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            host=host[0] if len(set(host)) == 1 else None,
            devices=reader.devices,
            facts=_facts(tools),
        )


def _decode(job: ImportJob, text: bytes, damage: str) -> tuple[_Document, list[Finding]]:
    """The document; what is damaged is read up to there. The findings are those of the reading."""
    document, problem, at = _try(text)
    if document is not None:
        return document, []
    if not damage and len(text) <= MENDED:  # counter values may be bare nan, names bytes that are no text
        mended = mend_words(text.decode("utf-8", "replace")).encode("utf-8", "replace")
        document, _, _ = _try(mended)
        if document is not None:
            message = "bare nan or inf, or bytes that are no text: read as null, and with replacement characters"
            return document, [Finding("mended-text", "info", 1, message, f"byte {at}" if at >= 0 else "")]
    document, _, _ = _try(close_cut(text[:at] if at >= 0 else text))
    if document is None:
        problem = f"is rocprofv3's JSON, but cannot be read ({damage or problem})"
        raise InputError(str(job.path), problem, f"byte {at}" if at >= 0 else "", _STEP)
    message = f"{damage or problem}: what comes before is exact, totals are lower bounds"
    return document, [Finding("truncated", "warning", 1, message, f"byte {at if at >= 0 else len(text)}")]


def _try(text: bytes) -> tuple[_Document | None, str, int]:
    """(document, problem, byte of the problem or -1)."""
    try:
        return msgspec.json.decode(text, type=_Document), "", -1
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        found = _BYTE.search(str(error))
        return None, str(error) or type(error).__name__, int(found[1]) if found else -1


def _facts(tools: list[_Tool]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for tool in tools:
        command = tool.metadata.get("command")
        if isinstance(command, list):
            facts.setdefault("command", " ".join(map(str, command))[:1000])
        for key in ("init_time", "fini_time"):
            if isinstance(tool.metadata.get(key), int):
                facts.setdefault(key, tool.metadata[key])
    return facts


@dataclass(slots=True)
class _Names:
    """The tables of one process."""

    operations: list[tuple[str, list[Any]]] = field(default_factory=list)
    kernels: dict[int, dict[str, Any]] = field(default_factory=dict)
    markers: dict[int, str] = field(default_factory=dict)
    gpus: dict[int, int] = field(default_factory=dict)
    """Agent handle -> device ordinal."""

    def operation(self, record: _Record, array: str) -> str:
        """The operation of a record in words."""
        if 0 <= record.kind < len(self.operations):
            kind, names = self.operations[record.kind]
            if 0 <= record.operation < len(names):
                return str(names[record.operation])
            array = kind or array
        return f"{array} {record.operation}" if record.operation >= 0 else array

    def kernel(self, number: int) -> str:
        """The readable name of a kernel."""
        symbol = self.kernels.get(number, {})
        for key in ("formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name", "kernel_name"):
            name = symbol.get(key)
            if isinstance(name, str) and name and name != "0":
                return name
        return f"kernel {number}"


class _Reader:
    def __init__(self, job: ImportJob, columns: RecordColumns) -> None:
        self._job, self._columns = job, columns
        self._record = msgspec.json.Decoder(_Record)
        self._list = msgspec.json.Decoder(list[msgspec.Raw])
        self.devices: list[DeviceInfo] = []
        self._strangers = 0
        self._counter_records = 0

    def read(self, tool: _Tool) -> None:
        """All records of one process."""
        pid = tool.metadata.get("pid")
        pid = pid if isinstance(pid, int) and 0 <= pid < _MOST else 0
        names = self._names(tool)
        command = tool.metadata.get("command")
        if isinstance(command, list) and command:
            self._columns.process_names[pid] = str(command[0]).rsplit("/", 1)[-1][:200]
        by_stream = any(_STREAM.search(memoryview(tool.buffer_records.get(a, b""))) for a in CATEGORIES)
        for array, raw in tool.buffer_records.items():
            for number, text in enumerate(self._records(raw)):
                if number % _TELL == 0:
                    self._job.tell("read", self._job.stamp.size, self._columns.ledger.read)
                self._take(array, text, pid, names, by_stream)
        for raw in tool.callback_records.values():
            self._counter_records += len(self._records(raw))

    def _records(self, raw: msgspec.Raw) -> list[msgspec.Raw]:
        try:
            return self._list.decode(raw)
        except msgspec.MsgspecError:
            return []

    def _names(self, tool: _Tool) -> _Names:
        names = _Names()
        for entry in tool.strings.buffer_records:
            operations = entry.get("operations")
            names.operations.append((str(entry.get("kind", "")), operations if isinstance(operations, list) else []))
        names.kernels = {s["kernel_id"]: s for s in tool.kernel_symbols if isinstance(s.get("kernel_id"), int)}
        for entry in tool.strings.marker_api:
            if isinstance(entry.get("key"), int):
                names.markers[entry["key"]] = str(entry.get("value", ""))
        for agent in tool.agents:
            identity = agent.get("id")
            handle = identity.get("handle") if isinstance(identity, dict) else None
            if agent.get("type") != _GPU or not isinstance(handle, int):
                continue
            ordinal = agent.get("logical_node_type_id")
            number = ordinal if isinstance(ordinal, int) and 0 <= ordinal < _MOST else len(names.gpus)
            names.gpus[handle] = number
            if all(d.id != number for d in self.devices):
                small = {k: v for k, v in agent.items() if isinstance(v, (str, int, float))}
                self.devices.append(DeviceInfo(number, str(agent.get("product_name") or agent.get("name", "")), small))
        return names

    def _device(self, names: _Names, *handles: _Handle | None) -> int | None:
        """The device of the first agent that is a GPU; the agent's own number when the file does not list it."""
        given = [h.handle for h in handles if h is not None]
        for handle in given:
            if handle in names.gpus:
                return names.gpus[handle]
        self._strangers += 1
        return given[0] if given and 0 <= given[0] < _MOST else None

    def _take(self, array: str, text: msgspec.Raw, pid: int, names: _Names, by_stream: bool) -> None:
        columns = self._columns
        columns.ledger.read += 1
        try:
            record = self._record.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            columns.reject("unreadable")
            return
        start, end = record.start_timestamp, record.end_timestamp
        if start is None or end is None:
            columns.reject("no-time")
            return
        work = array in CATEGORIES
        if not (-_MOST < start < _MOST and -_MOST < end < _MOST):
            columns.reject("time-out-of-range")
        elif work and start == end == 0:
            columns.reject("untimed")
        elif array == KERNELS and record.dispatch_info is not None:
            self._kernel(record, record.dispatch_info, pid, names, by_stream)
        elif array == COPIES:
            self._copy(record, pid, names, by_stream)
        elif work:
            columns.reject("unreadable")
        else:
            name = names.operation(record, array)
            if array == "marker_api":
                name = names.markers.get(record.correlation_id.internal) or name
            columns.add(
                name, array, start, end, pid=pid, tid=record.thread_id, corr=record.correlation_id.internal,
                args=_call_args(record),
            )  # fmt: skip

    def _kernel(self, record: _Record, info: _Dispatch, pid: int, names: _Names, by_stream: bool) -> None:
        device = self._device(names, info.agent_id)
        stream = record.stream_id.handle if by_stream and record.stream_id else info.queue_id.handle
        block, size = info.workgroup_size.triple(), info.grid_size.triple()
        symbol = names.kernels.get(info.kernel_id, {})
        args = {
            "device": device,
            "stream": stream,
            "queue": info.queue_id.handle,
            "correlation": record.correlation_id.internal,
            "dispatch": info.dispatch_id,
            "grid": [-(-s // b) if b > 0 else s for s, b in zip(size, block, strict=True)],
            "block": block,
            "grid in work items": size,
            "registers per thread": symbol.get("arch_vgpr_count"),
            "shared memory": info.group_segment_size,
            "private memory": info.private_segment_size,
            "kernel": symbol.get("kernel_name"),
        }
        self._columns.add(
            names.kernel(info.kernel_id), CATEGORIES[KERNELS], record.start_timestamp or 0, record.end_timestamp or 0,
            pid=pid, tid=record.thread_id, corr=record.correlation_id.internal, device=device, stream=stream,
            args={k: v for k, v in args.items() if v is not None},
        )  # fmt: skip

    def _copy(self, record: _Record, pid: int, names: _Names, by_stream: bool) -> None:
        source, target = record.src_agent_id, record.dst_agent_id
        name = names.operation(record, COPIES)
        device = self._device(names, target, source)
        between = [names.gpus.get(h.handle) if h else None for h in (source, target)]
        if None not in between and between[0] != between[1]:
            name = f"{name} (device {between[0]} -> device {between[1]})"
        stream = record.stream_id.handle if by_stream and record.stream_id else None
        args = {
            "device": device,
            "stream": stream,
            "correlation": record.correlation_id.internal,
            "bytes": record.bytes,
            "source agent": source.handle if source else None,
            "target agent": target.handle if target else None,
        }
        self._columns.add(
            name, CATEGORIES[COPIES], record.start_timestamp or 0, record.end_timestamp or 0,
            pid=pid, tid=record.thread_id, corr=record.correlation_id.internal, device=device,
            stream=COPY_STREAM if stream is None else stream,
            args={k: v for k, v in args.items() if v is not None},
        )  # fmt: skip

    def findings(self) -> list[Finding]:
        """What is special about the file."""
        found = []
        if self._strangers:
            message = "records of agents that the file does not list as GPUs: their device is the agent's number"
            found.append(Finding("agent-unknown", "warning", self._strangers, message))
        if self._counter_records:
            message = "records of callbacks (counter values): not shown, and not in the count of events read"
            found.append(Finding("counters-not-read", "info", self._counter_records, message))
        return found


def _call_args(record: _Record) -> dict[str, Any]:
    args: dict[str, Any] = {"correlation": record.correlation_id.internal} if record.correlation_id.internal else {}
    size = record.bytes if record.bytes is not None else record.allocation_size
    return args if size is None else args | {"bytes": size}
