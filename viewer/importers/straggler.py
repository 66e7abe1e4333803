"""Timelines of StragglerAnalysis (ByteDance's ndtimeline): training operations of all ranks of a job in one array."""

from __future__ import annotations

import re
from typing import Final

from viewer.base.findings import Finding
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, read_json, small_facts

_OPERATION: Final = re.compile(
    rb'"cat"\s*:\s*"(?:forward|backward)-(?:compute|send|recv)"|"cat"\s*:\s*"(?:grads-reduce-scatter|params-all-gather)"'
)
_PLACE: Final = re.compile(rb'"(?:mb_id|seq_id)"\s*:')
_RANK: Final = re.compile(r"\b([DPT]P) rank\s*\[?(\d{1,6})\]?")


class StragglerImporter:
    """A measured or an ideal timeline: process = data-parallel rank, thread = (pipeline rank, kind of operation).

    An operation is no kernel: the file has no GPU work, and as it holds many ranks it has no rank of its own.
    """

    name = "straggler-timeline"
    signs = "training operations (forward-compute, backward-send, …) with micro-batch numbers"

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
            return 0
        return 3 if _OPERATION.search(head) and _PLACE.search(head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job)
        raw = trace.built.raw
        ranks: dict[str, set[int]] = {}
        for text in (*raw.process_names.values(), *raw.thread_names.values()):
            for kind, number in _RANK.findall(text):
                ranks.setdefault(kind, set()).add(int(number))
        trace.built.findings.append(several_ranks("operations that the trainer timed", len(raw.process_names)))
        return finish(
            job,
            trace,
            self.name,
            facts=small_facts(trace.top, trace.scanned, frozenset())
            | {f"{kind} ranks": len(numbers) for kind, numbers in sorted(ranks.items())},
        )


def several_ranks(what: str, processes: int) -> Finding:
    """The finding of a file with spans of many ranks and no kernels."""
    return Finding(
        "spans-of-many-ranks",
        "info",
        max(1, processes),
        f"one file with {what} of several ranks: spans, not kernels. They are in no device figure, and the file has "
        "no rank of its own; the Parallel view and the Stragglers panel tell its workers apart",
    )
