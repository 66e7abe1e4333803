"""Operation tables of StragglerAnalysis (ByteDance's ndtimeline) as Parquet: training operations of all ranks of a job.

One row is one operation of one worker in one step: kind (``optype``), begin and length in seconds as floats, place
(``dp_rank``, ``stage``), micro-batch (``mb_id``), chunk (``mc``), order (``seq_id``). Begins count from that of their
step: steps are laid one after the other. The unit of the ledger is a row.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np
import pyarrow as pa

from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.importers.base import Imported, ImportJob
from viewer.importers.json_trace import seal
from viewer.importers.record_columns import RecordColumns
from viewer.importers.source import open_text
from viewer.importers.straggler import several_ranks

MAGIC: Final = b"PAR1"
MOST_ROWS: Final = 5_000_000
MOST_BYTES: Final = 1 << 30
"""Rows and bytes of a table that are read; it has to be read as a whole."""
NEEDED: Final = ("dp_rank", "stage", "step", "optype", "start_ts", "duration")
OPTIONAL: Final = {"tp_rank": "tp_rank", "rank": "rank", "mb_id": "mb_id", "mc": "model_chunk", "seq_id": "seq_id"}
"""Columns that go into the args of an operation, and their names there (those of the JSON timelines)."""
LONGEST_TEXT: Final = 1_000
"""Bytes of a kind of operation."""
FARTHEST_S: Final = 4e9
"""Seconds: what lies beyond (126 years) is no time."""
GAP: Final = 0.1
"""Room between steps that are laid one after the other, as a share of the step before."""
_STEP: Final = "Give a table of StragglerAnalysis with the columns dp_rank, stage, step, optype, start_ts, duration."
_KINDS: Final = (("compute", "compute"), ("send", "pp-send"), ("recv", "pp-recv"))
_TELL: Final = 50_000


class StragglerParquetImporter:
    """Process = data-parallel rank, thread = (pipeline rank, kind of operation), as in the JSON timelines."""

    name = "straggler-parquet"
    signs = "a Parquet table of training operations"

    def sniff(self, head: bytes) -> int:
        """See Importer. The columns stand at the file's end: whether it is such a table is told by reading it."""
        return 2 if head.startswith(MAGIC) else 0

    def read(self, job: ImportJob) -> Imported:
        """See Importer."""
        table = _table(job)
        times = _Times(table)
        columns = RecordColumns(job.args_sink)
        names: dict[tuple[int, int], str] = {}
        threads: dict[tuple[int, int, str], int] = {}
        given = [c for c in OPTIONAL if c in table.column_names]
        rows = zip(*(table[c].to_pylist() for c in (*NEEDED, *given)), strict=True)
        for number, (replica, stage, step, kind, start, length, *more) in enumerate(rows):
            if number % _TELL == 0:
                job.tell("read", job.stamp.size, number)
            columns.ledger.read += 1
            begin = times.begin_ns(step, start, length)
            if not isinstance(kind, str) or not _whole(replica) or not _whole(stage) or begin is None:
                columns.reject("unreadable")
                continue
            told = {OPTIONAL[c]: v for c, v in zip(given, more, strict=True) if isinstance(v, int)}
            place = (stage, int(told.get("tp_rank", 0)), _kind(kind))
            thread = threads.setdefault(place, len(threads))
            names[replica, thread] = f"PP rank {stage}, TP rank {place[1]}, {place[2]}"
            columns.process_names.setdefault(replica, f"DP rank [{replica}]")
            end = begin + round(float(length) * 1e9)
            columns.add(kind[:200], kind[:200], begin, end, pid=replica, tid=thread, args={"step": step, **told})
        raw = columns.raw()
        raw.thread_names.update(names)
        findings = [several_ranks("operations that the trainer timed", len(columns.process_names)), *columns.findings()]
        if times.laid:
            message = (
                "begins count from that of their step: steps are laid one after the other, and the gaps between them "
                "mean nothing"
            )
            findings.append(Finding("steps-laid-out", "info", times.laid, message))
        facts = {
            "DP ranks": len(columns.process_names),
            "PP ranks": len({p[0] for p in threads}),
            "TP ranks": len({p[1] for p in threads}),
        }
        return seal(job, raw, self.name, columns.ledger, findings, facts=facts)


def _table(job: ImportJob) -> Any:
    """The table's columns that are used. Raises InputError."""
    import pyarrow.parquet as pq

    path = str(job.path)
    stream, _ = open_text(job.source)
    data = bytearray()
    room = memoryview(bytearray(1 << 20))
    try:
        while count := stream.read_into(room):
            data += room[:count]
            if len(data) > MOST_BYTES:
                raise InputError(
                    path, f"is a Parquet table of more than {MOST_BYTES >> 20:,} MiB", "", "Give fewer steps."
                )
            job.tell("read", stream.position, 0)
    finally:
        stream.close()
    try:
        reader = pa.BufferReader(pa.py_buffer(bytes(data)))
        file = pq.ParquetFile(reader)
        missing = [c for c in NEEDED if c not in file.schema_arrow.names]
        if missing:
            raise InputError(path, f"is a Parquet table, but no trace: it has no column {missing[0]}", "", _STEP)
        held = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        if file.metadata.num_rows > MOST_ROWS or held > MOST_BYTES:
            raise InputError(
                path, f"holds {file.metadata.num_rows:,} rows, more than can be read", "", "Give fewer steps."
            )
        wanted = [c for c in (*NEEDED, *OPTIONAL) if c in file.schema_arrow.names]
        fields = [file.schema_arrow.field(c) for c in wanted]
        nested = [f.name for f in fields if pa.types.is_nested(f.type)]
        if nested:
            raise InputError(path, f"is a Parquet table, but no trace: {nested[0]} holds lists", "", _STEP)
        # One long text may stand in millions of rows of a small file: texts stay numbers until their lengths are known.
        texts = [f.name for f in fields if _is_text(f.type)]
        table = pq.ParquetFile(reader, read_dictionary=texts).read(columns=wanted)
        if any(_longest(table[name]) > LONGEST_TEXT for name in texts):
            raise InputError(path, f"is a Parquet table, but no trace: a text is longer than {LONGEST_TEXT}", "", _STEP)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise InputError(
            path, f"is a Parquet table that cannot be read ({reason})", "", "Copy the file again."
        ) from None
    for name in ("start_ts", "duration"):
        if not pa.types.is_floating(table.schema.field(name).type):
            raise InputError(path, f"has no seconds (numbers with a fraction) in its column {name}", "", _STEP)
    return table


def _is_text(kind: Any) -> bool:
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(test(held) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def _longest(column: Any) -> int:
    """Bytes of the longest distinct text of a column."""
    import pyarrow.compute as pc

    parts = [c.dictionary if pa.types.is_dictionary(c.type) else c for c in column.chunks]
    return max((pc.max(pc.binary_length(part)).as_py() or 0 for part in parts), default=0)


class _Times:
    """Begins in ns on one axis for all steps."""

    def __init__(self, table: Any) -> None:
        step = np.array([s if _whole(s) else -1 for s in table["step"].to_pylist()], np.int64)
        start = table["start_ts"].to_numpy().astype(np.float64)
        end = start + table["duration"].to_numpy().astype(np.float64)
        good = (step >= 0) & np.isfinite(end) & (np.abs(start) < FARTHEST_S) & (np.abs(end) < FARTHEST_S)
        self.laid = 0
        self._shift: dict[int, float] = {}
        if not good.any():
            return
        order = np.argsort(step[good], kind="stable")
        numbers, at_first = np.unique(step[good][order], return_index=True)
        firsts = np.minimum.reduceat(start[good][order], at_first)
        lasts = np.maximum.reduceat(end[good][order], at_first)
        spans = list(zip(numbers.tolist(), firsts.tolist(), lasts.tolist(), strict=True))
        self._shift = dict.fromkeys(numbers.tolist(), 0.0)
        if any(a[2] > b[1] for a, b in itertools.pairwise(spans)):
            self.laid = len(spans)
            at = 0.0
            for number, first, last in spans:
                self._shift[number] = at - first
                at += (last - first) * (1 + GAP)

    def begin_ns(self, step: object, start: object, length: object) -> int | None:
        """A row's begin; None where it has none."""
        if step not in self._shift or not isinstance(start, float) or not isinstance(length, float):
            return None
        if not (
            math.isfinite(start) and math.isfinite(length) and abs(start) < FARTHEST_S and abs(length) < FARTHEST_S
        ):
            return None
        assert isinstance(step, int)
        return round((start + self._shift[step]) * 1e9)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 30


def _kind(operation: str) -> str:
    for sign, kind in _KINDS:
        if operation.endswith(sign):
            return kind
    return "collectives" if "reduce" in operation or "gather" in operation else "misc"
