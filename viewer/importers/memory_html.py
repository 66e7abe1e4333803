"""HTML pages about memory: those of torch.cuda._memory_viz hold the snapshot itself, those of a timeline a picture."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from viewer.base.errors import InputError
from viewer.importers.base import Imported, ImportJob
from viewer.importers.source import whole_text
from viewer.importers.torch_snapshot import TorchSnapshotImporter, read_pickle

LARGEST: Final = 2 << 30
_PAGE: Final = re.compile(rb"\s*(?:<!DOCTYPE html|<html)", re.IGNORECASE)
_VIZ: Final = re.compile(rb"add_local_files|MemoryViz\.js")
_TIMELINE: Final = re.compile(rb"GPU Memory Timeline HTML")
_DATA: Final = re.compile(rb'"base64"\s*:\s*"([A-Za-z0-9+/=]*)"')


class _Held:
    """Bytes in memory as a TextStream."""

    damage = ""
    behind = False

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self.position = 0

    def read_into(self, room: memoryview) -> int:
        """See TextStream."""
        part = self._data[self.position : self.position + len(room)]
        room[: len(part)] = part
        self.position += len(part)
        return len(part)

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryHtmlImporter:
    """A page of torch.cuda._memory_viz is read as the snapshot that it carries; nothing of the page runs."""

    name = TorchSnapshotImporter.name
    signs = "an HTML page that carries a snapshot of the allocator"

    def sniff(self, head: bytes) -> int:
        """See Importer."""
        return 3 if _PAGE.match(head) and (_VIZ.search(head) or _TIMELINE.search(head)) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        text, damage = whole_text(job.source, LARGEST)
        if not damage and _TIMELINE.search(text[:4096]):
            raise InputError(
                str(job.path),
                "is a memory timeline as a picture: its numbers are drawn, not stored",
                "",
                "Export the same profile as .json or .raw.json.gz: the suffix given to export_memory_timeline decides.",
            )
        found = _DATA.search(text)
        if damage or found is None:
            reason = f" ({damage})" if damage else ""
            problem = f"is a page of torch.cuda._memory_viz whose snapshot cannot be found{reason}"
            raise InputError(str(job.path), problem, "", "Give the snapshot itself (*.pickle).")
        try:
            data = base64.b64decode(found[1], validate=True)
        except (binascii.Error, ValueError):
            problem = "is a page of torch.cuda._memory_viz whose snapshot is damaged"
            raise InputError(str(job.path), problem, "", "Give the snapshot itself (*.pickle).") from None
        del text, found
        return read_pickle(job, _Held(data))
