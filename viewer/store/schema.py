"""The tables of one source file, as data: name, Arrow fields, what each column means.

``slices`` is sorted by (lane, depth, start); the slices of one (lane, depth) are disjoint, so ``rows`` turns a window
into two binary searches. Columns hold no Arrow nulls: absent int64 values are ``viewer.base.ids.ABSENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

FORMAT_VERSION: Final = 5
"""Raised with any change of a table, of meta.json or of what an importer makes of a file; older caches are rebuilt."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its Arrow type and meaning."""

    name: str
    type: pa.DataType
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a trace folder, stored as ``<name>.arrow`` with a single record batch."""

    name: str
    columns: tuple[Column, ...]
    doc: str

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        return pa.schema([pa.field(c.name, c.type, nullable=False) for c in self.columns])


def _table(name: str, doc: str, *columns: tuple[str, pa.DataType, str]) -> Table:
    return Table(name, tuple(Column(*c) for c in columns), doc)


_i64, _i32, _u8, _text = pa.int64(), pa.int32(), pa.uint8(), pa.large_string()

SLICES = _table(
    "slices",
    "Events with a start and a duration, sorted by (lane, depth, start, file order).",
    ("start_ns", _i64, "start on the file's own clock, ns (base time not added)"),
    ("dur_ns", _i64, "duration, ns, >= 0"),
    ("name", _i32, "index into strings"),
    ("cat", _i32, "index into strings"),
    ("paint", _u8, "viewer.base.ids.Paint by the rules whose hash is in meta.json"),
    ("parent", _i32, "row of the enclosing slice on a thread lane, -1 at the top and on other lanes"),
    ("corr", _i64, "correlation id as written (0 links nothing), ABSENT when there is none"),
    ("ext", _i64, "External id, ABSENT when there is none"),
    ("args_off", _i64, "offset of the args object in the args text, ABSENT when there is none"),
    ("args_len", _i32, "length of the args object in bytes"),
)
ROWS = _table(
    "rows",
    "One row per (lane, depth): the range of slices that it holds.",
    ("lane", _i32, "index into lanes"),
    ("depth", _i32, "0 at the top of the lane"),
    ("begin", _i64, "first slice"),
    ("end", _i64, "one past the last slice"),
)
LANES = _table(
    "lanes",
    "One row per (process, device, stream or thread, kind).",
    ("kind", _u8, "viewer.base.ids.LaneKind"),
    ("pid", _text, "process id as written"),
    ("tid", _text, "thread id as written"),
    ("device", _i64, "device ordinal, ABSENT on CPU lanes"),
    ("stream", _i64, "stream number, ABSENT on CPU lanes"),
    ("process_name", _text, "from metadata events, else empty"),
    ("thread_name", _text, "from metadata events, else empty"),
    ("sort", _i64, "sort index from metadata events, ABSENT when there is none"),
    ("row_begin", _i64, "first row of rows"),
    ("row_end", _i64, "one past the last row"),
)
STRINGS = _table("strings", "Every distinct name and category.", ("text", _text, "as written, escapes decoded"))
MARKS = _table(
    "marks",
    "Events with a time but no duration (instants and kinds with no other table), by time.",
    ("time_ns", _i64, "time on the file's own clock, ns"),
    ("phase", _u8, "the event's ph as its ASCII code"),
    ("lane_pid", _text, "process id as written"),
    ("lane_tid", _text, "thread id as written"),
    ("name", _i32, "index into strings"),
    ("cat", _i32, "index into strings"),
    ("args_off", _i64, "as in slices"),
    ("args_len", _i32, "as in slices"),
)
FLOWS = _table(
    "flows",
    "Ends of flow arrows, by time.",
    ("time_ns", _i64, "time on the file's own clock, ns"),
    ("phase", _u8, "ASCII code of s, t or f"),
    ("id", _i64, "flow id, or TEXT_ID | index into strings"),
    ("cat", _i32, "index into strings"),
    ("slice", _i64, "the slice that encloses this end (deepest on its lane), ABSENT when none does"),
)
COUNTERS = _table(
    "counters",
    "Samples of counter events, one row per series and sample, by time.",
    ("time_ns", _i64, "time on the file's own clock, ns"),
    ("pid", _text, "process id as written"),
    ("name", _i32, "counter, index into strings"),
    ("series", _i32, "key inside args, index into strings"),
    ("value", pa.float64(), "value as written"),
)
COLLECTIVES = _table(
    "collectives",
    "What args say of communication: of kernels, and of record_param_comms ranges.",
    ("slice", _i64, "row of slices"),
    ("kind", _i32, "Collective name, index into strings"),
    ("in_elems", _i64, "In msg nelems, ABSENT when not given"),
    ("out_elems", _i64, "Out msg nelems, ABSENT when not given"),
    ("dtype", _i32, "index into strings, -1 when not given"),
    ("group_size", _i64, "Group size, ABSENT when not given"),
    ("group", _i32, "Process Group Name, index into strings, -1 when not given"),
    ("group_desc", _i32, "Process Group Description, index into strings, -1 when not given"),
    ("group_ranks", _i32, "Process Group Ranks as written, index into strings, -1 when not given"),
    ("seq", _i64, "Seq, ABSENT when not given"),
    ("comms_id", _i64, "Comms Id, ABSENT when not given"),
    ("src", _i64, "Src Rank of a receive, ABSENT when not given"),
    ("dst", _i64, "Dst Rank of a send, ABSENT when not given"),
    ("first_rank", _i64, "Global rank start, ABSENT when not given"),
    ("rank_stride", _i64, "Global rank stride, ABSENT when not given"),
)
TABLES: Final = (SLICES, ROWS, LANES, STRINGS, MARKS, FLOWS, COUNTERS, COLLECTIVES)
