"""Traces of VizTracer: every call of a Python program, as Chrome events."""

from __future__ import annotations

import re
from typing import Any, Final

from viewer.base.findings import Finding
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, rank_in_name, read_json, small_facts

_SURE: Final = re.compile(rb'"viztracer_metadata"\s*:')
_CALLS: Final = re.compile(rb'"cat"\s*:\s*"FEE"', re.IGNORECASE)
_OWN_FIELDS: Final = frozenset({"viztracer_metadata", "file_info"})
_MOST: Final = 2**62


class VizTracerImporter:
    """VizTracer, with what it merges in (the PyTorch profiler's events keep their meaning).

    Function entries have category FEE; their args are ``func_args`` and ``return_value`` when those were recorded. The
    source texts in ``file_info`` are not kept.
    """

    name = "viztracer"
    signs = '"viztracer_metadata", or events of category FEE'

    def sniff(self, head: bytes) -> int:
        """See Importer. The metadata stands behind the events: the head of a long file has only their category."""
        if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
            return 0
        return 3 if _SURE.search(head) or _CALLS.search(head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job)
        stated = trace.top.get("viztracer_metadata")
        stated = stated if isinstance(stated, dict) else {}
        if stated.get("overflow") is True:
            trace.built.findings.append(
                Finding(
                    "buffer-overflow",
                    "warning",
                    1,
                    "VizTracer's buffer was too small: the oldest calls were overwritten and are not in the file",
                )
            )
        rank = rank_in_name(job.path)
        return finish(
            job,
            trace,
            self.name,
            base_ns=_whole(stated.get("baseTimeNanoseconds")),
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            facts=small_facts(trace.top, trace.scanned, _OWN_FIELDS)
            | {
                f"viztracer {k}": v
                for k, v in stated.items()
                if isinstance(v, (str, int, float)) and len(str(v)) < 1000
            },
        )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None
