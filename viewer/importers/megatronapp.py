"""Merged traces of MegatronApp (MegaScan): forward and backward passes of all pipeline ranks in one array."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from viewer.base.ids import TEXT_ID
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, read_json, small_facts
from viewer.importers.straggler import several_ranks

_ITERATION: Final = re.compile(rb'"name"\s*:\s*"iteration (?:begin|end)"')
_COLOUR: Final = re.compile(rb'"cname"\s*:')
_PLACE: Final = re.compile(rb'"(?:pp_rank|microbatch|iteration)"\s*:')
SPAN: Final = "megascan_span"
"""The category that its slices get: the file writes none."""


class MegatronAppImporter:
    """B/E pairs and instants; the process is the pipeline rank.

    The end of a pair says more than its begin (micro-batch, chunk): its args are those that are kept.
    """

    name = "megatronapp"
    signs = '"iteration begin" or "iteration end" with colours and pipeline ranks'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"[")):
            return 0
        return 3 if _ITERATION.search(head) and _COLOUR.search(head) and _PLACE.search(head) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job)
        raw = trace.built.raw
        bare = raw.slices.tracks.cat < 0
        if bare[raw.slices.track].any():
            raw.strings.append(SPAN)
            raw.slices.tracks.cat[bare] = len(raw.strings) - 1
        pid, tid = raw.slices.pid, raw.slices.tid
        stages = [int(p) for p in np.unique(pid) if 0 <= p < TEXT_ID]
        for stage in stages:
            raw.process_names.setdefault(stage, f"pipeline rank {stage}")
            for thread in np.unique(tid[pid == stage]).tolist():
                raw.thread_names.setdefault((stage, thread), f"pipeline rank {stage}")
        trace.built.findings.append(several_ranks("forward and backward passes", len(stages)))
        return finish(
            job,
            trace,
            self.name,
            facts=small_facts(trace.top, trace.scanned, frozenset()) | {"pipeline ranks": len(stages)},
        )
