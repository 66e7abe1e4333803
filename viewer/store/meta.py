"""meta.json of a trace folder: what a source says of itself, and how its import went."""

from __future__ import annotations

from typing import Any

import msgspec

from viewer.base.findings import Finding, Ledger

MOST_LABELS = 1_000


class SourceStamp(msgspec.Struct, frozen=True):
    """Identity of the source file at import: a change of any of these makes the cache stale."""

    path: str
    size: int
    mtime_ns: int
    digest: str
    """sha256 (hex) over the head and the tail of the file and its size; not of the whole file."""


class DeviceInfo(msgspec.Struct, frozen=True):
    """One entry of deviceProperties. ``properties`` keeps every key as written."""

    id: int
    name: str
    properties: dict[str, Any] = {}


class ProcessGroup(msgspec.Struct, frozen=True):
    """A communicator as distributedInfo.pg_config lists it. ``ranks`` is empty when the file does not list them."""

    name: str
    description: str
    size: int | None
    ranks: list[int] = []
    ranks_complete: bool = False


class TraceMeta(msgspec.Struct):
    """Everything about one source that is not a table. Times are ns on the file's own clock; None = not stated."""

    version: int
    format: str
    source: SourceStamp
    rules_hash: str
    base_ns: int | None = None
    rank: int | None = None
    rank_source: str = "unknown"
    world_size: int | None = None
    host: str | None = None
    devices: list[DeviceInfo] = []
    groups: list[ProcessGroup] = []
    facts: dict[str, Any] = {}
    """Small top-level values of the file (versions, switches such as with_stack), as written."""
    labels: dict[str, str] = {}
    """Process labels of metadata events by process id as text; at most MOST_LABELS."""
    complete: bool = True
    events: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    gpu_first_ns: int | None = None
    gpu_last_ns: int | None = None
    args_in_source: bool = False
    import_seconds: float | None = None
    """Wall time from the file's first byte to its tables."""
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    findings: list[Finding] = []
    companion: bool = False
    """It tells of a rank beside the rank's trace (memory): it contradicts no trace and is aligned with it."""
    origin: SourceStamp | None = None
    """The file that was imported, when ``source`` is a pack; its path is a name only."""

    @property
    def imported(self) -> SourceStamp:
        """The file that the tables were made of."""
        return self.origin or self.source
