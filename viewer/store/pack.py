"""A pack: the tables of a job in one file that opens without its sources. What is in it, and what must hold.

A pack is a zip archive without zip's own compression::

    rankscope-pack          the first member, MARK: by it a pack is known
    0/slices.arrow.zst      a table of the first input, as in its cache folder, compressed with zstd
    0/args.bin, args.index  its args text in compressed blocks (viewer.store.args)
    0/meta.json
    manifest.json           the last member: names, sizes and checksums of all these

Nothing in a pack is trusted: checksums find damage, and ``check_values`` that every index points at something.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from viewer.base.ids import ABSENT, UNREAD, LaneKind, Paint
from viewer.store.args import BLOCKS_FILE, INDEX_FILE
from viewer.store.memory_checks import check_memory
from viewer.store.schema import FORMAT_VERSION, TABLES
from viewer.store.sums import FileSum
from viewer.store.trace import Trace

SUFFIX: Final = ".rankpack"
MARK_NAME: Final = "rankscope-pack"
MARK: Final = b"rankscope.pack/1\n"
MANIFEST: Final = "manifest.json"
META: Final = "meta.json"
READABLE: Final = (FORMAT_VERSION,)
"""Versions of the tables that mean the same to this version. Extend it when FORMAT_VERSION is raised for a reason that
does not concern the tables of a finished import."""
LARGEST_MANIFEST: Final = 64 << 20
LARGEST_META: Final = 64 << 20
MAX_INPUTS: Final = 20_000
FILES: Final = (*(f"{t.name}.arrow" for t in TABLES), INDEX_FILE, BLOCKS_FILE, META)
"""What an input has, unpacked."""
_FAR: Final = 1 << 62


class PackedFile(msgspec.Struct, frozen=True):
    """One input.

    ``name`` is its base name or a path relative to the folder that was packed, ``files`` the sums of its files as they
    are after unpacking.
    """

    name: str
    events: int
    files: dict[str, FileSum]


class Manifest(msgspec.Struct, frozen=True):
    """manifest.json. ``tables`` is the FORMAT_VERSION of whoever wrote it."""

    format: str
    tables: int
    written_by: str
    inputs: list[PackedFile]


def member_name(number: int, file: str) -> str:
    """Where a file of an input is in the pack."""
    return f"{number}/{file}.zst" if file.endswith(".arrow") else f"{number}/{file}"


def read_manifest(data: bytes) -> Manifest:
    """Decode and check a manifest. Raises ValueError with the reason in words."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its manifest makes no sense ({error})") from None
    if manifest.format != MARK.decode().strip() or manifest.tables not in READABLE:
        raise ValueError(
            f"it was written by another version of Rankscope ({manifest.written_by[:40]!r}, tables {manifest.tables}; "
            f"this one reads {', '.join(map(str, READABLE))})"
        )
    if len(manifest.inputs) > MAX_INPUTS:
        raise ValueError(f"it holds more than {MAX_INPUTS:,} inputs")
    for item in manifest.inputs:
        if set(item.files) != set(FILES):
            raise ValueError("its manifest does not list the files of an input")
        sizes = [s.size for s in item.files.values()]
        if min(sizes) < 0 or max(sizes) > 1 << 44 or item.files[META].size > LARGEST_META:
            raise ValueError("its manifest states absurd sizes")
    return manifest


def check_values(trace: Trace) -> None:
    """That no index of a table leads outside and all times can be computed with. Raises ValueError, pa.ArrowInvalid."""
    strings = len(trace.strings)
    for table in trace.tables.values():
        table.batch.validate(full=True)
    s, n = trace.slices, len(trace.slices)
    c, marks = trace.collectives, trace.marks
    texts = (s.name, s.cat, marks.name, marks.cat, trace.flows.cat, trace.counters.name, trace.counters.series)
    _between(-1, strings, *texts, c.kind, c.dtype, c.group, c.group_desc, c.group_ranks)
    _within(n, c.slice)
    _within(n, trace.flows.slice[trace.flows.slice != ABSENT])
    _between(UNREAD, len(trace.tables["recorded"]), s.recorded)
    _within(max(Paint) + 1, s.paint)
    _within(max(LaneKind) + 1, trace.tables["lanes"].kind)
    _between(0, 1 << 31, trace.rows.depth)
    _between(-_FAR, _FAR, s.start_ns, trace.marks.time_ns, trace.flows.time_ns, trace.counters.time_ns)
    _between(0, _FAR, s.dur_ns)
    _between(-1, max(n, 1), s.parent)
    _between(0, 1 << 31, s.args_len, trace.marks.args_len)
    if (s.parent >= np.arange(n)).any():
        raise ValueError("its tables contradict themselves")
    end = s.start_ns + s.dur_ns
    first_of_row = np.zeros(n + 1, np.bool_)
    first_of_row[trace.rows.begin] = True
    if n > 1 and ((s.start_ns[1:] < end[:-1]) & ~first_of_row[1:n]).any():
        raise ValueError("its tables contradict themselves")
    for times in (trace.marks.time_ns, trace.flows.time_ns, trace.counters.time_ns):
        if (times[1:] < times[:-1]).any():
            raise ValueError("its tables contradict themselves")
    check_memory(trace)
    meta = trace.meta
    for value in (meta.base_ns, meta.first_ns, meta.last_ns, meta.gpu_first_ns, meta.gpu_last_ns):
        if value is not None and not -_FAR < value < _FAR:
            raise ValueError("its meta.json states an absurd time")
    for value in (meta.rank, meta.world_size):
        if value is not None and not 0 <= value < 1 << 31:
            raise ValueError("its meta.json states an absurd rank")


def _within(size: int, *columns: Any) -> None:
    _between(0, size, *columns)


def _between(low: int, high: int, *columns: Any) -> None:
    for column in columns:
        if len(column) and (column.min() < low or column.max() >= high):
            raise ValueError("its tables point outside of each other")


def damage_of(error: Exception) -> str:
    """What is wrong with a pack's content, in a few words."""
    if isinstance(error, pa.ArrowException | msgspec.MsgspecError | IndexError | EOFError):
        return "its content makes no sense"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
