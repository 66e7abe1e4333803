"""The text of torch.cuda.memory_summary(): counters of one device at one instant, rounded down to their unit."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import rank_in_name, seal
from viewer.importers.source import whole_text
from viewer.store.memory import MemoryBuilder
from viewer.store.raw import RawSlices, RawTrace

NAME: Final = "memory-summary"
LARGEST: Final = 16 << 20
_TITLE: Final = re.compile(r"PyTorch (\w+) memory summary, device ID (\d+)")
_OOMS: Final = re.compile(r"OOMs:\s*(\d+)")
_RETRIES: Final = re.compile(r"retries:\s*(\d+)")
_ROW: Final = re.compile(
    r"^\|\s*([A-Z][\w\- ]*?)\s*\|\s*(\d+)\s*(B|[KMGTPE]iB)?\s*\|\s*(\d+)\s*(B|[KMGTPE]iB)?\s*\|", re.M
)
_UNIT: Final = {"": 1, "B": 1} | {f"{p}iB": 1024 ** (i + 1) for i, p in enumerate("KMGTPE")}


class MemorySummaryImporter:
    """The unit of the ledger is a table, one per device."""

    name = NAME
    signs = 'the title "PyTorch CUDA memory summary"'

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        return 3 if _TITLE.search(head.decode("utf-8", "replace")) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        text = whole_text(job.source, LARGEST)[0].decode("utf-8", "replace")
        titles = list(_TITLE.finditer(text))
        builder = MemoryBuilder()
        ledger = Ledger(read=len(titles))
        findings = []
        coarsest = 1
        for title, end in zip(titles, [*(t.start() for t in titles[1:]), len(text)], strict=True):
            part = text[title.end() : end]
            rows = {m[1]: m for m in reversed(list(_ROW.finditer(part)))}  # the first of a name wins
            told: dict[str, int] = {}
            for name, current, peak in (
                ("Allocated memory", "final_allocated", "stated_peak_allocated"),
                ("GPU reserved memory", "final_reserved", "stated_peak_reserved"),
            ):
                if name in rows:
                    _, value, unit, highest, highest_unit = rows[name].groups()
                    told[current] = int(value) * _UNIT[unit or ""]
                    told[peak] = int(highest) * _UNIT[highest_unit or ""]
                    coarsest = max(coarsest, _UNIT[unit or ""], _UNIT[highest_unit or ""])
            if "Active memory" in rows and "final_allocated" in told:
                _, value, unit, _, _ = rows["Active memory"].groups()
                told["final_pending"] = max(0, int(value) * _UNIT[unit or ""] - told["final_allocated"])
            if "final_reserved" in told and "final_allocated" in told:
                told["final_inactive"] = told["final_reserved"] - told["final_allocated"] - told.get("final_pending", 0)
            if (found := _OOMS.search(part)) is not None:
                told["stated_ooms"] = int(found[1])
            if (found := _RETRIES.search(part)) is not None and int(found[1]):
                message = "requests for which the allocator had to give memory back to the driver and try again"
                findings.append(Finding("alloc-retries", "warning", int(found[1]), message))
            if not told:
                ledger.reasons["unreadable"] = (ledger.rejected + 1, -1)
                ledger.rejected += 1
                continue
            ledger.kept += 1
            kind = title[1].lower()
            builder.add_stated(f"{kind}:{int(title[2]) % 4096}", int(title[2]) % 4096, told)
        if not ledger.kept:
            problem = "is a memory summary whose table cannot be read"
            raise InputError(str(job.path), problem, "", "Write print(torch.cuda.memory_summary()) to a file again.")
        if coarsest > 1:
            message = f"figures of a memory summary are rounded down to {coarsest:,} bytes"
            findings.append(Finding("rounded-bytes", "info", 1, message))
        rank = rank_in_name(job.path)
        empty = np.zeros(0, np.int64)
        none = empty.astype(np.int32)
        return seal(
            job,
            RawTrace([], RawSlices.filled(empty, empty, none, none), memory=builder.tables()),
            NAME,
            ledger,
            findings,
            rank=rank,
            rank_source="unknown" if rank is None else "file name",
            companion=True,
        )
