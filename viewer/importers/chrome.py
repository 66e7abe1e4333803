"""Any other trace in Chrome's JSON format, as an object or as a bare array."""

from __future__ import annotations

from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import finish, rank_in_name, read_json, small_facts


class ChromeImporter:
    """The trace event format of Chrome, Perfetto and many tools."""

    name = "chrome"
    signs = '"traceEvents" or events with "ph", and no sign of a more special writer'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
        if not text.startswith((b"{", b"[")):
            return 0
        return 2 if b'"traceEvents"' in text or b'"ph"' in text else 1

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        trace = read_json(job)
        rank = rank_in_name(job.path)
        return finish(
            job,
            trace,
            self.name,
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            facts=small_facts(trace.top, trace.scanned, frozenset()),
        )
