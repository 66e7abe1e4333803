"""What the scan of a trace's text gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.findings import Ledger
from viewer.base.ids import TEXT_ID, UNREAD
from viewer.jit.scan_args import TEXT_COLUMNS
from viewer.jit.scan_events import MARK_COLUMNS, SLICE_COLUMNS, TRACK_KEY
from viewer.jit.scan_intern import StringTable
from viewer.jit.scan_memory import MEMORY_COLUMNS
from viewer.store.streamed import StreamedColumns

SAMPLE_COLUMNS: Final = {"row": np.int64, "series": np.int32, "value": np.float64}
"""Row of marks, number in ``series``, value as written."""
MOST_RECORDED: Final = 32 << 20
"""Bytes of distinct texts of what args record that are kept."""
MOST_VALUES: Final = 1000
"""Top-level values that are kept."""
MOST_NAMES: Final = 8 << 20
"""Distinct names, categories and ids as text; no trace of a job comes near. A million of them takes 0.2 GB to read."""
MOST_NAME_BYTES: Final = 512 << 20
"""Bytes of all of them."""
MOST_AGAIN: Final = 32 << 20
"""Bytes of columns that are used again."""


@dataclass(slots=True)
class Scanned:
    """What the text holds. Collectives: row 0 indexes the slices, then COLLECTIVE_COLUMNS."""

    slices: StreamedColumns
    marks: StreamedColumns
    samples: StreamedColumns
    """SAMPLE_COLUMNS of counter events."""
    memory: StreamedColumns
    """MEMORY_COLUMNS of allocator events whose args are plain."""
    collectives: list[NDArray[np.int64]] = field(default_factory=list)
    strings: StringTable = field(default_factory=StringTable)
    series: StringTable = field(default_factory=StringTable)
    """Names of counters' series, numbered apart: when they are met depends on the pieces in which a text arrives."""
    tracks: StringTable = field(default_factory=StringTable)
    """Rows of TRACK_KEY."""
    recorded: StringTable = field(default_factory=lambda: StringTable(2, 64))
    """What args record of operators and GPU work, see scan_recorded."""
    top: dict[str, bytes] = field(default_factory=dict)
    """Text of the small top-level values."""
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Other counts by name: (count, first offset)."""
    mended_at: dict[str, list[int]] = field(default_factory=dict)
    """Offsets of the repaired events by reason: an event that is rejected later is no longer a repaired one."""
    has_events: bool = False
    """Whether there is an event array at all."""
    is_array: bool = False
    """The text is the bare array, not an object around it."""
    complete: bool = True
    stopped: str = ""
    """Why the text ends early, one clause."""
    stopped_at: int = -1
    text_bytes: int = 0

    @classmethod
    def empty(cls, folder: Path | None = None) -> Scanned:
        """Nothing yet; ``folder`` is where large columns may lie."""
        slices, marks = StreamedColumns(SLICE_COLUMNS, folder), StreamedColumns(MARK_COLUMNS, folder)
        samples, memory = StreamedColumns(SAMPLE_COLUMNS, folder), StreamedColumns(MEMORY_COLUMNS, folder)
        return cls(slices, marks, samples, memory)

    @classmethod
    def instead_of(cls, used: Scanned, folder: Path | None) -> Scanned:
        """Nothing yet, in the memory of one whose rows are no longer needed unless that is much."""
        columns = (used.slices, used.marks, used.samples, used.memory)
        if any(c.room * c.row_bytes > MOST_AGAIN for c in columns):
            return cls.empty(folder)
        for one in columns:
            one.rows = 0
        return cls(*columns)

    def refuse_too_many_names(self) -> None:
        """Raise OverflowError where there are more names than memory should be given to."""
        if len(self.strings) > MOST_NAMES:
            raise OverflowError(f"more than {MOST_NAMES:,} distinct names")
        if self.strings.used_bytes > MOST_NAME_BYTES:
            raise OverflowError(f"more than {MOST_NAME_BYTES >> 20} MiB of distinct names")

    def add(self, other: Scanned) -> None:
        """Add what the text behind this one holds; ``other`` is used up. Raises OverflowError: too many names."""
        place = np.append(self.strings.add_all(other.strings), -1)
        self.refuse_too_many_names()

        def put_ids(ids: NDArray[np.int64]) -> None:
            texts = ids >= TEXT_ID
            if texts.any():
                ids[texts] = TEXT_ID | place[ids[texts] & ~TEXT_ID]

        keys = other.tracks.numbers(len(TRACK_KEY))
        for k, name in enumerate(TRACK_KEY):
            if name == "cat":
                keys[:, k] = place[keys[:, k]]
            elif name in ("pid", "tid"):
                put_ids(keys[:, k])
        other.tracks.replace(keys)
        track = self.tracks.add_all(other.tracks)
        series = self.series.add_all(other.series)
        recorded = other.slices.column("recorded")
        told = recorded >= 0
        if self.recorded.used_bytes > MOST_RECORDED:
            recorded[told] = UNREAD
        else:
            recorded[told] = self.recorded.add_all(other.recorded)[recorded[told]]
        del recorded  # or the columns could not grow
        slices, marks = self.slices.rows, self.marks.rows
        for table in other.collectives:
            table[0] += slices
            for row in (1 + np.flatnonzero(TEXT_COLUMNS)).tolist():
                table[row] = place[table[row]]
        self.collectives += other.collectives
        other.samples.column("row")[:] += marks
        other.samples.column("series")[:] = series[other.samples.column("series")]
        self.samples.append(other.samples)
        other.memory.column("row")[:] += marks
        self.memory.append(other.memory)
        for columns, ids in ((other.slices, ("corr", "ext")), (other.marks, ("id",))):
            columns.column("name")[:] = place[columns.column("name")]
            columns.column("track")[:] = track[columns.column("track")]
            for name in ids:
                put_ids(columns.column(name))
        self.slices.append(other.slices)
        self.marks.append(other.marks)
        self._add_accounts(other)

    def _add_accounts(self, other: Scanned) -> None:
        mine, others = self.ledger, other.ledger
        mine.read += others.read
        mine.kept += others.kept
        mine.repaired += others.repaired
        mine.rejected += others.rejected
        for counts, more in ((mine.reasons, others.reasons), (self.notes, other.notes)):
            for name, (count, first) in more.items():
                before, at = counts.get(name, (0, first))
                counts[name] = (before + count, at)
        for name, offsets in other.mended_at.items():
            self.mended_at.setdefault(name, []).extend(offsets)
        for key, text in other.top.items():
            if len(self.top) < MOST_VALUES or key in self.top:
                self.top[key] = text
        self.complete, self.stopped, self.stopped_at = other.complete, other.stopped, other.stopped_at
        self.text_bytes = other.text_bytes
