"""One opened source: its mapped tables, its meta, its strings, and its args on demand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.ids import ABSENT, LaneKind
from viewer.base.memo import Memo
from viewer.store.args import ArgsText
from viewer.store.assemble import Tables, mark_collectives, paints
from viewer.store.files import Columns, columns_in_memory, open_table, read_meta, read_table
from viewer.store.meta import TraceMeta
from viewer.store.rules import RuleTable
from viewer.store.schema import TABLES

T = TypeVar("T")

MOST_TEXTS: Final = 1 << 15
"""Names that are kept as text, per source."""


@dataclass(frozen=True, slots=True)
class Came:
    """How a trace got here: mapped from the cache or read now, in how many seconds, and the bytes of its tables."""

    cached: bool
    seconds: float
    table_bytes: int | None = None
    """None when the tables are only in memory."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a source. ``device`` and ``stream`` are None on CPU lanes; rows are [row_begin, row_end)."""

    id: int
    kind: LaneKind
    pid: str
    tid: str
    device: int | None
    stream: int | None
    process_name: str
    thread_name: str
    sort: int | None
    row_begin: int
    row_end: int


def _check_ranges(tables: dict[str, Columns]) -> None:
    """Rows must cover the slices, and lanes the rows: compiled loops follow them without a look. Raises ValueError."""
    rows, lanes = tables["rows"], tables["lanes"]
    for begin, end, size in (
        (rows.begin, rows.end, len(tables["slices"])),
        (lanes.row_begin, lanes.row_end, len(rows)),
    ):
        borders = np.append(begin, size)
        if borders[0] != 0 or (borders[1:] != end).any() or (np.diff(borders) < 0).any():
            raise ValueError("tables of the cache do not fit together")
    if (rows.lane != np.repeat(np.arange(len(lanes)), lanes.row_end - lanes.row_begin)).any():
        raise ValueError("tables of the cache do not fit together")


class Trace:
    """Tables of one source. Read-only and safe to share between threads.

    Attributes ``slices``, ``rows``, ``marks``, ``flows``, ``counters``, ``collectives`` are
    :class:`viewer.store.files.Columns` with the columns of viewer.store.schema as numpy arrays; ``tables`` holds all of
    them by name, ``args_text`` the text of args.
    """

    def __init__(self, meta: TraceMeta, tables: dict[str, Columns], args: ArgsText) -> None:
        self.meta = meta
        self.slices = tables["slices"]
        self.rows = tables["rows"]
        self.marks = tables["marks"]
        self.flows = tables["flows"]
        self.counters = tables["counters"]
        self.collectives = tables["collectives"]
        self._lanes = tables["lanes"]
        self.tables = tables
        self._strings: pa.LargeStringArray = tables["strings"].text
        self.args_text = args
        self.came: Came | None = None
        """Set by the opener."""
        self.folder: Path | None = None
        """Where the tables are, None in memory."""
        self._memo = Memo()
        self._texts: dict[int, str] = {}
        """Those that were asked for: names are, again and again."""

    @classmethod
    def open(cls, folder: Path) -> Trace:
        """Map the tables of a complete trace folder.

        Raises:
            OSError, pa.ArrowInvalid, msgspec.DecodeError, ValueError: it is damaged.
        """
        meta = read_meta(folder)
        tables = {t.name: open_table(folder, t) for t in TABLES}
        _check_ranges(tables)
        trace = cls(meta, tables, ArgsText.open(folder, meta))
        trace.folder = folder
        return trace

    @classmethod
    def of_files(cls, meta: TraceMeta, files: Mapping[str, pa.Buffer], args: ArgsText) -> Trace:
        """A trace from the content of table files in memory. Raises like :meth:`open`."""
        tables = {t.name: read_table(files[f"{t.name}.arrow"], t) for t in TABLES}
        _check_ranges(tables)
        return cls(meta, tables, args)

    @classmethod
    def in_memory(cls, meta: TraceMeta, tables: Tables, args: ArgsText | None = None) -> Trace:
        """A trace from tables that were never written."""
        return cls(
            meta,
            {t.name: columns_in_memory(t, tables.get(t.name) or {}) for t in TABLES},
            args or ArgsText.none(),
        )

    def __len__(self) -> int:
        return len(self.slices)

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Lanes by id."""
        c = self._lanes

        def number(value: Any) -> int | None:
            return None if value == ABSENT else int(value)

        return tuple(
            Lane(
                i,
                LaneKind(int(c.kind[i])),
                c.pid[i].as_py(),
                c.tid[i].as_py(),
                number(c.device[i]),
                number(c.stream[i]),
                c.process_name[i].as_py(),
                c.thread_name[i].as_py(),
                number(c.sort[i]),
                int(c.row_begin[i]),
                int(c.row_end[i]),
            )
            for i in range(len(c))
        )

    def text(self, string: int) -> str:
        """A name or category by its index; "" for -1."""
        found = self._texts.get(string)
        if found is None:
            found = self._strings[int(string)].as_py() if string >= 0 else ""
            if len(self._texts) < MOST_TEXTS:
                self._texts[int(string)] = found
        return found

    @property
    def strings(self) -> pa.LargeStringArray:
        """All distinct names and categories."""
        return self._strings

    def name(self, index: int) -> str:
        """Name of a slice."""
        return self.text(self.slices.name[index])

    def cat(self, index: int) -> str:
        """Category of a slice as written."""
        return self.text(self.slices.cat[index])

    def row_of(self, index: int) -> int:
        """The row of ``rows`` that holds a slice."""
        return int(np.searchsorted(self.rows.begin, index, "right")) - 1

    def lane_of(self, index: int) -> Lane:
        """The lane that holds a slice."""
        return self.lanes[int(self.rows.lane[self.row_of(index)])]

    def args(self, index: int) -> dict[str, Any]:
        """Parsed args of a slice; {} when it has none. Never raises for bad text: see ``ArgsText``."""
        return self.args_text.parse(int(self.slices.args_off[index]), int(self.slices.args_len[index]))

    def mark_args(self, index: int) -> dict[str, Any]:
        """Parsed args of a row of ``marks``."""
        return self.args_text.parse(int(self.marks.args_off[index]), int(self.marks.args_len[index]))

    @property
    def args_problem(self) -> str:
        """One sentence when the args text is out of reach (source moved or changed), else ""."""
        return self.args_text.problem

    def window_rows(self, row: int, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Slices [a, b) of one row that touch [start_ns, end_ns) of raw time (two binary searches)."""
        begin, end = int(self.rows.begin[row]), int(self.rows.end[row])
        starts: NDArray[np.int64] = self.slices.start_ns[begin:end]
        b = begin + int(np.searchsorted(starts, end_ns, "left"))
        a = begin + int(np.searchsorted(starts, start_ns, "right"))
        # The row is disjoint: only the slice before the first start can still be open at start_ns.
        while a > begin and int(self.slices.start_ns[a - 1] + self.slices.dur_ns[a - 1]) > start_ns:
            a -= 1
        return a, b

    def repaint(self, rules: RuleTable) -> None:
        """Class the slices by other rules than those of the import; in memory only, before the trace is shared."""
        strings = self._strings.to_pylist()
        paint = paints(self.slices.cat, self.slices.name, strings, rules)
        rows = self.collectives.slice
        mark_collectives(paint, self.slices.cat[rows], rows, strings, rules)
        paint.flags.writeable = False  # like mapped columns: another type to the compiler
        self.slices.replace("paint", paint)

    def memo(self, key: Hashable, build: Callable[[], T]) -> T:
        """A value derived from this trace alone, built once (thread-safe)."""
        return self._memo.get(key, build)
