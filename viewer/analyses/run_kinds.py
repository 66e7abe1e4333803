"""Runs of GPU work that should take equally long: same kernel, same grid and block, same shapes of its operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import operator_of_work
from viewer.analyses.flops.launchers import recorded_launchers
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.numbering import numbered_rows
from viewer.base.ids import Paint
from viewer.store.recorded import numbered
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
_EMPTY = msgspec.Raw(b"")


class _Launch(msgspec.Struct):
    grid: msgspec.Raw = _EMPTY
    block: msgspec.Raw = _EMPTY


@dataclass(frozen=True, eq=False)
class RunKinds:
    """Per position of ``gpu_work`` the number of its kind, -1 for what is no compute, and whether shapes were recorded.

    Without shapes, runs of one kind may still have had different work.
    """

    kind: I64
    shaped: NDArray[np.bool_]


def run_kinds(trace: Trace) -> RunKinds:
    """The kinds of a file. Built once."""
    return trace.memo("run_kinds", lambda: _build(trace))


def _build(trace: Trace) -> RunKinds:
    s, work = trace.slices, gpu_work(trace)
    out, shaped = np.full(len(work), -1, np.int64), np.zeros(len(work), np.bool_)
    at = np.flatnonzero(work.paint == Paint.COMPUTE)
    if not len(at):
        return RunKinds(out, shaped)
    launch = _launches(trace, work.index[at])
    inner = operator_of_work(trace)[at]
    shape = np.full(len(at), -1, np.int64)
    launchers = recorded_launchers(trace)
    if len(launchers.rows):
        has = inner >= 0
        number = launchers.number[launchers.place[at[has]]]
        shape[has] = number
        shaped[at[has]] = np.array([any(e.dims) for e in launchers.entries], np.bool_)[number]
    operator = np.where(inner >= 0, s.name[np.maximum(inner, 0)], -1).astype(np.int64)
    name = s.name[work.index[at]].astype(np.int64)
    out[at] = numbered_rows(np.stack((name, launch, shape, operator), axis=1)).number
    return RunKinds(out, shaped)


_decode: Final = msgspec.json.Decoder(_Launch).decode


def _launches(trace: Trace, rows: I64) -> I64:
    """A number per kernel that is equal for equal grid and block; -1 where nothing is said."""
    number, keys = numbered(trace, rows, _grid_and_block)
    known = np.array([key is not None for key in keys], np.bool_)
    return np.where(known[number], number, -1) if len(keys) else number


def _grid_and_block(text: bytes) -> tuple[bytes, bytes] | None:
    try:
        found = _decode(text)  # fails for an empty one as well
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    grid = bytes(found.grid)
    return (grid, bytes(found.block)) if grid else None
