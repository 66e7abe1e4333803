"""Traces of the PyTorch profiler (Kineto), all spellings since 2021."""

from __future__ import annotations

import re
from typing import Any, Final

from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, rank_in_name, read_json, small_facts
from viewer.store.meta import DeviceInfo, ProcessGroup

_SURE: Final = re.compile(rb'"(?:deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:')
_LIKELY: Final = re.compile(
    rb'"schemaVersion"\s*:|"cat"\s*:\s*"(?:cpu_op|operator|kernel|gpu_memcpy|gpu_memset|memcpy|memset|cuda_runtime|'
    rb'cuda_driver|runtime|python_function|user_annotation|ac2g|mtia_runtime|xpu_runtime|trace)"|"ProfilerStep#',
    re.IGNORECASE,
)
_OWN_FIELDS: Final = frozenset({"deviceProperties", "distributedInfo", "baseTimeNanoseconds"})


class KinetoImporter:
    """torch.profiler and on-demand Kineto."""

    name = "kineto"
    signs = (
        '"deviceProperties", "distributedInfo" or "baseTimeNanoseconds", or events with the '
        "categories of the PyTorch profiler"
    )

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
            return 0
        if _SURE.search(head):
            return 3
        return 2 if _LIKELY.search(head) and (b"traceEvents" in head or b'"ph"' in head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job)
        top = trace.top
        info = top.get("distributedInfo")
        info = info if isinstance(info, dict) else {}
        rank, source = _integer(info.get("rank")), "distributedInfo"
        if rank is None or rank < 0:
            rank, source = rank_in_name(job.path), "file name"
        if rank is None:
            source = "unknown"
        base = _integer(top.get("baseTimeNanoseconds"))
        return finish(
            job,
            trace,
            self.name,
            base_ns=base if base is None or base >= 0 else 0,
            rank=rank,
            rank_source=source,
            world_size=_integer(info.get("world_size")),
            host=next((top[k] for k in ("hostname", "host_name", "host") if isinstance(top.get(k), str)), None),
            devices=_devices(top.get("deviceProperties")),
            groups=_groups(info.get("pg_config")),
            facts=small_facts(top, trace.scanned, _OWN_FIELDS)
            | {k: v for k, v in info.items() if k not in {"rank", "world_size", "pg_config"} and _is_small(v)},
        )


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**62 else None


def _is_small(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) and len(str(value)) < 1000


def _devices(value: Any) -> list[DeviceInfo]:
    devices = []
    for entry in value if isinstance(value, list) else ():
        number = _integer(entry.get("id")) if isinstance(entry, dict) else None
        if number is not None:
            devices.append(DeviceInfo(number, str(entry.get("name") or ""), entry))
    return devices


def _groups(value: Any) -> list[ProcessGroup]:
    groups = []
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict):
            continue
        size = _integer(entry.get("pg_size", entry.get("group_count")))
        listed = entry.get("ranks")
        ranks = [r for r in map(_integer, listed if isinstance(listed, list) else ()) if r is not None]
        groups.append(
            ProcessGroup(
                str(entry.get("pg_name", "")),
                str(entry.get("pg_desc", "")),
                size if size is not None else (len(ranks) or None),
                ranks,
                bool(ranks) and size in {None, len(ranks)},
            )
        )
    return groups
