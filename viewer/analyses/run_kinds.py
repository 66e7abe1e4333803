"""Runs of GPU work that should take equally long: same kernel, same grid and block, same shapes of its operator."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import operator_of_work
from viewer.analyses.flops.shapes import recorded
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import ABSENT, Paint
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
    launch = np.full(len(work), -1, np.int64)
    launch[at] = _launches(trace, work.index[at])
    inner = operator_of_work(trace)[at]
    shape = np.full(len(at), -1, np.int64)
    rows, inverse = np.unique(inner[inner >= 0], return_inverse=True)
    if len(rows):
        number, entries = recorded(trace, rows)
        shape[inner >= 0] = number[inverse]
        has = np.array([any(e.dims) for e in entries], np.bool_)
        shaped[at[inner >= 0]] = has[number[inverse]]
    key = np.stack([s.name[work.index[at]].astype(np.int64), launch[at], shape, s.name[np.maximum(inner, 0)]], axis=1)
    key[inner < 0, 3] = -1
    out[at] = np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    return RunKinds(out, shaped)


def _launches(trace: Trace, rows: I64) -> I64:
    """A number per kernel that is equal for equal grid and block; -1 where nothing is said."""
    s = trace.slices
    order = np.argsort(s.args_off[rows], kind="stable")
    order = order[s.args_off[rows[order]] != ABSENT]
    chosen = rows[order]
    decoder = msgspec.json.Decoder(_Launch)
    numbers: dict[tuple[bytes, bytes], int] = {}
    out = np.full(len(rows), -1, np.int64)
    texts = trace.args_text.read_many(s.args_off[chosen].tolist(), s.args_len[chosen].tolist())
    for place, text in zip(order.tolist(), texts, strict=True):
        try:
            found = decoder.decode(text) if text else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if found is not None and bytes(found.grid):
            out[place] = numbers.setdefault((bytes(found.grid), bytes(found.block)), len(numbers))
    return out
