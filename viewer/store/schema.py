"""The tables of one source file, as data: name, Arrow fields, what each column means.

``slices`` is sorted by (lane, depth, start); the slices of one (lane, depth) are disjoint, so ``rows`` turns a window
into two binary searches. Columns hold no Arrow nulls: absent int64 values are ``viewer.base.ids.ABSENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

FORMAT_VERSION: Final = 9
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
    ("recorded", _i32, "row of recorded, NOTHING_RECORDED, or UNREAD: only the args text tells"),
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
RECORDED = _table(
    "recorded",
    "What args record of operators (shapes, types, scalars, modules) and GPU work (grid, block, bytes), distinct.",
    ("text", _text, "a JSON object of those fields that are there, values as written"),
)
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
MEMORY_DEVICES = _table(
    "memory_devices",
    "One row per device whose memory a source tells of. Bytes; ABSENT where the source cannot tell.",
    ("name", _text, 'as torch names it ("cuda:0", "cpu")'),
    ("ordinal", _i64, "device ordinal, ABSENT for the host"),
    ("event_begin", _i64, "first row of allocator_events"),
    ("event_end", _i64, "one past the last row"),
    ("block_begin", _i64, "first row of blocks"),
    ("block_end", _i64, "one past the last row"),
    ("timed", _u8, "1: times are times; 0: the source has none, they count events"),
    ("split_free", _u8, "1: request and completion of a free are told apart"),
    ("allocated_before", _i64, "allocated before the first event, a block until its free is completed"),
    ("live_before", _i64, "the same, a block until its free is requested"),
    ("reserved_before", _i64, "reserved before the first event"),
    ("final_allocated", _i64, "in blocks that are held at the end"),
    ("final_pending", _i64, "in blocks whose free was requested but is not complete at the end"),
    ("final_reserved", _i64, "reserved at the end"),
    ("final_inactive", _i64, "in inactive blocks at the end"),
    ("stated_peak_allocated", _i64, "peak of allocated that the source itself states, ABSENT when it does not"),
    ("stated_peak_reserved", _i64, "peak of reserved that the source itself states"),
    ("stated_ooms", _i64, "failed requests that the source itself counts"),
    ("unseen_frees", _i64, "blocks that were freed but never seen made"),
    ("never_seen", _i64, "blocks held at the end that are in no event"),
    ("ghosts", _i64, "blocks that no event frees and that are not there at the end"),
    ("contradictions", _i64, "events that contradict others"),
)
ALLOCATOR_EVENTS = _table(
    "allocator_events",
    "What the allocator did, by (device, order of the recorder); times of a device never fall.",
    ("time_ns", _i64, "time on the file's own clock, ns; the number of the event where memory_devices.timed is 0"),
    ("device", _i32, "row of memory_devices"),
    ("action", _u8, "viewer.base.allocator.Action"),
    ("address", _i64, "address (its bits); bytes free on the device for OOM; ABSENT when not given"),
    ("size", _i64, "bytes as written (mostly what was requested); ABSENT when not given"),
    ("stream", _i64, "stream as written, ABSENT when not given"),
    ("stack", _i32, "row of stacks, -1 without one"),
    ("pool", _i32, "private pool as text, index into strings, -1 when not given"),
    ("note", _i32, "compile context or user's text, index into strings, -1 without one"),
    ("category", _u8, "Category that the source gives, NOT_GIVEN else"),
    ("block", _i32, "row of blocks, -1 for none"),
    ("mark", _i64, "row of marks that it was read of, ABSENT in other sources"),
    ("allocated", _i64, "allocated after it, a block until its free is completed; ABSENT when the source cannot tell"),
    ("live", _i64, "the same until the free is requested"),
    ("reserved", _i64, "reserved after it"),
)
BLOCKS = _table(
    "blocks",
    "Pieces of memory from their making to their free, by (device, made, order): intervals for drawing.",
    ("device", _i32, "row of memory_devices"),
    ("address", _i64, "as in allocator_events"),
    ("size", _i64, "bytes: what it occupies where the end tells it, else what its events say"),
    ("requested", _i64, "bytes asked for, ABSENT when not told"),
    ("start_ns", _i64, "made; BEFORE when that was before the recording"),
    ("asked_ns", _i64, "free requested; BEFORE, or NEVER when not until the end"),
    ("end_ns", _i64, "free completed; NEVER when not until the end"),
    ("made_event", _i64, "row of allocator_events, -1 when it has none"),
    ("asked_event", _i64, "as above"),
    ("gone_event", _i64, "as above"),
    ("stream", _i64, "stream as written, ABSENT when not given"),
    ("stack", _i32, "where it was made, row of stacks; -1 when not told"),
    ("pool", _i32, "as in allocator_events"),
    ("segment", _i32, "row of segments that holds it at the end, -1 when not told"),
    ("end", _u8, "viewer.base.allocator.BlockEnd"),
    ("category", _u8, "Category that the source gives, NOT_GIVEN else"),
)
SEGMENTS = _table(
    "segments",
    "Memory that the allocator got from the device, by (device, address, start).",
    ("device", _i32, "row of memory_devices"),
    ("address", _i64, "as in allocator_events"),
    ("size", _i64, "bytes"),
    ("start_ns", _i64, "got; BEFORE when before the recording or not told"),
    ("end_ns", _i64, "given back; NEVER when it is there at the end"),
    ("stream", _i64, "stream as written, ABSENT when not given"),
    ("allocated", _i64, "bytes allocated at the end as stated, ABSENT when not"),
    ("active", _i64, "bytes active at the end as stated, ABSENT when not"),
    ("requested", _i64, "bytes requested at the end as stated, ABSENT when not"),
    ("kind", _i32, 'segment type ("small", "large"), index into strings, -1 when not given'),
    ("pool", _i32, "as in allocator_events"),
    ("stack", _i32, "row of stacks, -1 without one"),
    ("expandable", _u8, "1: an expandable segment"),
    ("at_end", _u8, "1: it is there at the end"),
)
HOLES = _table(
    "holes",
    "Inactive blocks at the end, by (segment, address).",
    ("device", _i32, "row of memory_devices"),
    ("segment", _i32, "row of segments"),
    ("address", _i64, "as in allocator_events"),
    ("size", _i64, "bytes"),
)
CATEGORY_LEVELS = _table(
    "category_levels",
    "Bytes by category where a source gives sums and no blocks, by (device, time).",
    ("time_ns", _i64, "time on the file's own clock, ns"),
    ("device", _i32, "row of memory_devices"),
    ("category", _u8, "viewer.base.allocator.Category"),
    ("value", _i64, "bytes from then on"),
)
STACKS = _table(
    "stacks",
    "Call stacks of allocator events.",
    ("begin", _i64, "first row of stack_frames, the innermost frame"),
    ("end", _i64, "one past the last row"),
)
STACK_FRAMES = _table("stack_frames", "Frames of stacks.", ("frame", _i32, "row of frames"))
FRAMES = _table(
    "frames",
    "Distinct frames.",
    ("name", _i32, "function, index into strings, -1 when not given"),
    ("file", _i32, "file, index into strings, -1 when not given"),
    ("line", _i64, "line, 0 when not known"),
)
MEMORY_TABLES: Final = (
    MEMORY_DEVICES, ALLOCATOR_EVENTS, BLOCKS, SEGMENTS, HOLES, CATEGORY_LEVELS, STACKS, STACK_FRAMES, FRAMES,
)  # fmt: skip
TABLES: Final = (SLICES, ROWS, LANES, STRINGS, RECORDED, MARKS, FLOWS, COUNTERS, COLLECTIVES, *MEMORY_TABLES)
