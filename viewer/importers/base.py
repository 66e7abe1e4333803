"""What an importer is, and what it gets and gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from viewer.base.work import CancelToken, Progress, ProgressSink, no_progress
from viewer.importers.source import Source
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.raw import RawTrace
from viewer.store.rules import RuleTable


@dataclass(slots=True)
class ImportJob:
    """One file to read.

    ``args_sink`` gets the text of args objects when the source itself cannot be read at an offset later (compressed,
    recoded); the importer calls it with successive pieces, and offsets count in what it was given.
    """

    source: Source
    stamp: SourceStamp
    rules: RuleTable
    args_sink: Callable[[memoryview], None]
    progress: ProgressSink = no_progress
    cancel: CancelToken = field(default_factory=CancelToken)
    began: float = field(default_factory=time.monotonic)
    scratch: Path | None = None
    """A folder for what is too large for memory while the file is read."""
    threads: Callable[[], int] = lambda: 1
    """How many threads this file may use now."""

    @property
    def path(self) -> Path:
        """How the source is shown; a name for people, which need not exist on disk."""
        return self.source.path

    def tell(self, stage: str, done_bytes: int, events: int) -> None:
        """Report progress; raises Cancelled when a stop was asked for."""
        self.cancel.check()
        self.progress(
            Progress(str(self.path), stage, done_bytes, self.stamp.size, events, time.monotonic() - self.began)
        )


@dataclass(slots=True)
class Imported:
    """What an importer hands over. ``meta`` lacks only what the tables give (extents, see the opener)."""

    raw: RawTrace
    meta: TraceMeta


class Importer(Protocol):
    """One format."""

    name: str
    """As the report's ``format`` says."""
    signs: str
    """By what a file of the format is recognised, in words that follow "its text has"."""

    def sniff(self, head: bytes) -> int:
        """How sure the format is by the first 64 KiB of text: 0 no, 1 possible, 2 likely, 3 sure."""

    def read(self, job: ImportJob) -> Imported:
        """Read a file.

        Raises:
            InputError: the file is no trace of this format.
            Cancelled: on request.
            OSError: it cannot be read.
        """
