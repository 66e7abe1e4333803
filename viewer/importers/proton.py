"""Profiles of Triton's Proton (hatchet JSON): a tree of totals, without any time at which something ran.

The tree is laid out as a flame chart: each node as long as its own total and those of its children, children one after
another from where their parent begins. Positions say nothing, and a finding says so; totals are shown as written and
count as no GPU work, because a device figure needs to know when work ran.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np

from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.base.ids import ABSENT
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import rank_in_name, seal
from viewer.importers.source import whole_text
from viewer.store.loose_json import loads
from viewer.store.meta import DeviceInfo
from viewer.store.raw import RawSlices, RawTrace

LARGEST: Final = 1 << 30
"""Bytes of JSON: a larger tree is refused, it has to be held as a whole."""
_FRAME: Final = re.compile(rb'"frame"\s*:\s*\{')
_CHILDREN: Final = re.compile(rb'"children"\s*:\s*\[')
TIMES: Final = ("time (ns)", "cpu_time (ns)")
"""Metrics that are a length in ns, the first that a file has is the one that is drawn."""
SCOPE: Final = "proton_scope"
TOTAL: Final = "proton_total"
_MOST: Final = 2**61
_STEP: Final = "Write the profile again with proton.finalize()."


class ProtonImporter:
    """The unit of the ledger is a node of a tree; the device table at the end becomes the devices of the file."""

    name = "proton"
    signs = 'a tree of "frame" and "children" without events'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
        if not text.startswith((b"[", b"{")) or b'"ph"' in text or b'"traceEvents"' in text:
            return 0
        return 3 if _FRAME.search(text) and _CHILDREN.search(text) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        text, damage = whole_text(job.source, LARGEST)
        job.tell("read", job.stamp.size, 0)
        try:
            if damage:
                raise ValueError(damage)
            document = loads(text)
        except ValueError as error:
            problem = f"is a Proton profile that cannot be read to its end ({error}); a part of a tree has no totals"
            raise InputError(str(job.path), problem, "", _STEP) from None
        roots: list[Any] = []
        tables: list[Any] = []
        for entry in document if isinstance(document, list) else [document]:
            (roots if isinstance(entry, dict) and "frame" in entry else tables).append(entry)
        layout = _Layout(_metric(job, roots))
        layout.walk(job, roots)
        job.tell("sort", job.stamp.size, layout.ledger.read)
        rank = rank_in_name(job.path)
        return seal(
            job,
            layout.columns(job),
            self.name,
            layout.ledger,
            layout.findings(),
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            devices=_devices(tables),
            facts={"drawn metric": layout.metric},
        )


def _nodes(roots: list[Any]) -> list[Any]:
    """All nodes, parents before children, children in order."""
    found, waiting = [], list(reversed(roots))
    while waiting:
        node = waiting.pop()
        found.append(node)
        children = node.get("children") if isinstance(node, dict) else None
        if isinstance(children, list):
            waiting.extend(reversed(children))
    return found


def _metrics(node: Any) -> dict[str, Any]:
    metrics = node.get("metrics") if isinstance(node, dict) else None
    return metrics if isinstance(metrics, dict) else {}


def _metric(job: ImportJob, roots: list[Any]) -> str:
    names = {name for node in _nodes(roots) for name in _metrics(node)}
    for name in TIMES:
        if name in names:
            return name
    seen = ", ".join(sorted(map(str, names))[:8]) or "none"
    raise InputError(
        str(job.path),
        f"is a Proton profile without a time in ns (its metrics: {seen})",
        "",
        "Profile with proton.start(...) without an instrumentation backend, or give the Chrome trace of one.",
    )


def _own_ns(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _MOST:
        return None
    return round(value)


@dataclass(slots=True)
class _Layout:
    metric: str
    ledger: Ledger = field(default_factory=Ledger)
    start: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    total: list[bool] = field(default_factory=list)
    """Whether the node states a device: work of the device, not a scope."""
    args: list[bytes] = field(default_factory=list)
    negative: int = 0
    unreadable: int = 0

    def walk(self, job: ImportJob, roots: list[Any]) -> None:
        """Lay out the trees one after another from 0."""
        nodes = _nodes(roots)
        self.ledger.read = len(nodes)
        at = {id(node): i for i, node in enumerate(nodes) if isinstance(node, dict)}
        inclusive = [0] * len(nodes)
        below: list[list[int]] = [[] for _ in nodes]
        for i in reversed(range(len(nodes))):
            node = nodes[i]
            if not isinstance(node, dict):
                continue
            own = _own_ns(_metrics(node).get(self.metric, 0))
            self.negative += own is not None and own < 0
            self.unreadable += own is None
            children = node.get("children")
            below[i] = [at[id(c)] for c in children if id(c) in at] if isinstance(children, list) else []
            inclusive[i] = max(0, own or 0) + sum(inclusive[c] for c in below[i])
        if any(length >= _MOST for length in inclusive):
            raise InputError(str(job.path), "holds totals beyond 73 years", "", _STEP)
        begin = [0] * len(nodes)
        cursor = 0
        for root in roots:
            begin[at[id(root)]] = cursor
            cursor += inclusive[at[id(root)]]
        for i, node in enumerate(nodes):
            if not isinstance(node, dict):
                self._reject("not-an-object")
                continue
            cursor = begin[i]
            for child in below[i]:
                begin[child] = cursor
                cursor += inclusive[child]
            self._keep(node, begin[i], inclusive[i])
        self.ledger.kept = self.ledger.read - self.ledger.rejected

    def _reject(self, reason: str) -> None:
        count, _ = self.ledger.reasons.get(reason, (0, -1))
        self.ledger.reasons[reason] = (count + 1, -1)
        self.ledger.rejected += 1

    def _keep(self, node: dict[str, Any], start: int, length: int) -> None:
        frame, metrics = node.get("frame"), _metrics(node)
        frame = frame if isinstance(frame, dict) else {}
        self.start.append(start)
        self.length.append(length)
        self.name.append(str(frame.get("name", "")))
        self.total.append("device_id" in metrics)
        more = {k: v for k, v in frame.items() if k != "name"}
        self.args.append(msgspec.json.encode(metrics | more) if metrics or more else b"")

    def columns(self, job: ImportJob) -> RawTrace:
        """The slices, on one thread."""
        numbers: dict[str, int] = {SCOPE: 0, TOTAL: 1}
        names = [numbers.setdefault(name, len(numbers)) for name in self.name]
        sizes = np.array([len(a) for a in self.args], np.int32)
        offsets = np.cumsum(sizes, dtype=np.int64) - sizes
        if sizes.any():
            job.args_sink(memoryview(b"".join(self.args)))
        slices = RawSlices.filled(
            np.array(self.start, np.int64),
            np.array(self.length, np.int64),
            np.array(names, np.int32),
            np.array(self.total, np.int32),
            args_off=np.where(sizes > 0, offsets, ABSENT),
            args_len=sizes,
        )
        return RawTrace(
            list(numbers),
            slices,
            process_names={0: "Proton profile"},
            thread_names={(0, 0): "totals in tree order (positions are not times)"},
        )

    def findings(self) -> list[Finding]:
        """What a person should know of such a file."""
        found = [
            Finding(
                "totals-not-times",
                "warning",
                len(self.start),
                f'a tree of totals: lengths are sums of "{self.metric}" with those of the children, positions are no '
                "times. Nothing here is GPU work at a time, so there are no device figures",
            )
        ]
        if self.negative:
            found.append(Finding("negative-duration", "warning", self.negative, "negative totals: drawn as 0"))
        if self.unreadable:
            message = f'values of "{self.metric}" that are no numbers of ns: drawn as 0'
            found.append(Finding("total-unreadable", "warning", self.unreadable, message))
        if self.ledger.rejected:
            count = self.ledger.rejected
            found.append(Finding("not-an-object", "warning", count, "nodes that are no objects: rejected"))
        return found


def _devices(tables: list[Any]) -> list[DeviceInfo]:
    devices = []
    for table in tables:
        for kind, entries in table.items() if isinstance(table, dict) else ():
            for number, properties in entries.items() if isinstance(entries, dict) else ():
                if str(number).isdecimal() and len(str(number)) < 10 and isinstance(properties, dict):
                    name = " ".join(str(p) for p in (kind, properties.get("arch", "")) if p)
                    devices.append(DeviceInfo(int(number), name, properties))
    return devices
