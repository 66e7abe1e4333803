"""Args that lie in the source of a trace, copied out of it: the objects one after another, and where each went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import ABSENT
from viewer.base.work import CancelToken
from viewer.jit.scan_load import PAD
from viewer.jit.scan_top import gather_args
from viewer.store.trace import Trace

SPAN: Final = 8 << 20
"""Bytes of the source that are read at a time, unless one object is longer."""


class ArgsUnreachableError(Exception):
    """The source moved or changed since it was imported; the text says it."""


def source_args(trace: Trace, write: Callable[[memoryview], None], cancel: CancelToken) -> dict[str, NDArray[np.int64]]:
    """Copy all args of a trace out of its source.

    Args:
        trace: one whose ``args_in_source`` is set.
        write: gets the text, piece by piece.
        cancel: stops it.

    Returns:
        Per table the new ``args_off``, counting in what was written.

    Raises:
        ArgsUnreachableError: the source is not what it was.
        Cancelled: on request.
    """
    path, stamp = Path(trace.meta.source.path), trace.meta.source
    tables = {"slices": trace.slices, "marks": trace.marks}
    new = {name: np.array(table.args_off, np.int64) for name, table in tables.items()}
    where = [(name, np.flatnonzero(table.args_off != ABSENT)) for name, table in tables.items()]
    begin = np.concatenate([tables[name].args_off[rows] for name, rows in where])
    size = np.concatenate([tables[name].args_len[rows] for name, rows in where])
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], begin[order] + size[order]
    if not len(begin):
        return new
    # Objects may touch or overlap; the runs between gaps are what is copied.
    reach = np.maximum.accumulate(end)
    gap = np.maximum(begin - np.append(begin[0], reach[:-1]), 0)
    first = np.flatnonzero(np.append(True, gap[1:] > 0))
    moved = np.empty(len(begin), np.int64)
    moved[order] = begin - begin[0] - np.cumsum(gap)
    run_begin, run_end = begin[first], np.append(reach[first[1:] - 1], reach[-1])
    try:
        _copy(path, run_begin, run_end, write, cancel)
        state = path.stat()
        if (state.st_size, state.st_mtime_ns) != (stamp.size, stamp.mtime_ns):
            raise ArgsUnreachableError(f"{path.name} changed since it was imported")
    except OSError as error:
        raise ArgsUnreachableError(f"{path.name} cannot be read ({error.strerror or error})") from None
    at = 0
    for name, rows in where:
        new[name][rows] = moved[at : at + len(rows)]
        at += len(rows)
    return new


def _copy(
    path: Path,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    write: Callable[[memoryview], None],
    cancel: CancelToken,
) -> None:
    """Write the parts [begin, end) of a file, which rise and do not touch. Raises OSError."""
    room = np.zeros(SPAN + PAD, np.uint8)
    out = np.empty(SPAN + 64, np.uint8)
    done = 0
    with path.open("rb", buffering=0) as file:
        while done < len(begin):
            cancel.check()
            upto = max(done + 1, int(np.searchsorted(end, begin[done] + SPAN, "right")))
            offset, span = int(begin[done]), int(end[upto - 1] - begin[done])
            if span + PAD > len(room):
                room = np.zeros(span + PAD, np.uint8)
                out = np.empty(span + 64, np.uint8)
            file.seek(offset)
            with memoryview(room) as view:  # type: ignore[arg-type]
                filled = 0
                while filled < span and (count := file.readinto(view[filled:span])):
                    filled += count
            if filled < span:
                raise OSError("it is shorter than it was")
            parts = begin[done:upto].copy()
            sizes = (end[done:upto] - begin[done:upto]).astype(np.int32)
            used = gather_args(room.ctypes.data, offset, parts, sizes, out, 0)
            write(memoryview(out[:used]))  # type: ignore[arg-type]
            done = upto
