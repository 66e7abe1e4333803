"""Which module GPU work belongs to: by the Python frames of modules, and backward through the arrows of autograd."""

from __future__ import annotations

import re
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import nearest
from viewer.analyses.flows import flows
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import flags_where, named_where
from viewer.analyses.optable.nest import Nest
from viewer.base.ids import ABSENT, Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
PREFIX: Final = "nn.Module: "
_BACKWARD: Final = re.compile(r"Backward\d*$")
_NONE: Final = np.empty(0, np.int64)


def module_nest(trace: Trace) -> Nest:
    """The frames of modules. Built once."""
    return trace.memo("module_nest", lambda: _modules(trace))


def operator_nest(trace: Trace) -> Nest:
    """The operators. Built once."""
    return trace.memo("operator_nest", lambda: Nest.of(trace, np.asarray(trace.slices.paint == Paint.OPERATOR)))


def _modules(trace: Trace) -> Nest:
    s = trace.slices
    named = named_where(trace, (Paint.PYTHON,), lambda name: name.startswith(PREFIX))
    return Nest.of(trace, np.asarray((s.paint == Paint.PYTHON) & named[s.name]))


def forward_of(trace: Trace) -> NDArray[np.int32]:
    """For every slice the forward operator whose backward pass it is part of; -1 without one. Built once.

    By the arrows that the profiler draws from a forward operator to its backward one; in a file without any, by equal
    sequence numbers.
    """

    def build() -> NDArray[np.int32]:
        out = np.full(len(trace), -1, np.int32)
        source, target = _arrows(trace)
        if not len(target):
            source, target = by_sequence_number(trace)
        if not len(target):
            return out
        to = np.full(len(trace), -1, np.int32)
        to[target] = source
        near = nearest(trace, to >= 0)
        found = near >= 0
        out[found] = to[near[found]]
        return out

    return trace.memo("forward_of", build)


def _arrows(trace: Trace) -> tuple[I64, I64]:
    """Forward operators and where their backward pass begins, by the arrows of the file."""
    f, arrows = trace.flows, flows(trace)
    if not len(f):
        return _NONE, _NONE
    drawn = flags_where(trace, f.cat, lambda cat: cat.lower() == "fwdbwd")
    ends = np.zeros(len(trace), np.bool_)
    ends[f.slice[drawn[f.cat] & (f.slice >= 0)]] = True
    mine = ends[arrows.source] & ends[arrows.target]
    return arrows.source[mine], arrows.target[mine]


class _Sequence(msgspec.Struct):
    number: int | None = msgspec.field(default=None, name="Sequence number")
    forward_thread: int | None = msgspec.field(default=None, name="Fwd thread id")


def by_sequence_number(trace: Trace) -> tuple[I64, I64]:
    """Forward and backward operators of equal sequence numbers; backward ones name the thread of the forward pass.

    Of several forward operators with one number (an operator and what it calls) the first counts.
    """
    s = trace.slices
    operator = s.paint == Paint.OPERATOR
    if not named_where(trace, (Paint.OPERATOR,), _BACKWARD.search).any():
        return _NONE, _NONE
    rows = np.flatnonzero(operator & (s.args_off != ABSENT))
    rows = rows[np.argsort(s.args_off[rows], kind="stable")]
    decoder = msgspec.json.Decoder(_Sequence)
    forward: dict[int, int] = {}
    backward: list[tuple[int, int]] = []
    texts = trace.args_text.read_many(s.args_off[rows].tolist(), s.args_len[rows].tolist())
    for row, text in zip(rows.tolist(), texts, strict=True):
        try:
            found = decoder.decode(text) if text else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if found is None or found.number is None:
            continue
        if found.forward_thread:
            backward.append((found.number, row))
        elif found.number not in forward or s.start_ns[row] < s.start_ns[forward[found.number]]:
            forward[found.number] = row
    pairs = [(forward[n], row) for n, row in backward if n in forward and s.start_ns[forward[n]] <= s.start_ns[row]]
    if not pairs:
        return _NONE, _NONE
    out = np.array(pairs, np.int64)
    return out[:, 0].copy(), out[:, 1].copy()


def module_of_work(trace: Trace) -> I64:
    """Per position of ``gpu_work`` the place in :func:`module_nest` of its innermost module; -1 without one.

    Work of a backward pass belongs to the module of the forward operator. Built once.
    """

    def build() -> I64:
        nest, call = module_nest(trace), links(trace).call_of
        if not len(nest):
            return np.full(len(gpu_work(trace)), -1, np.int64)
        row = np.maximum(call, 0)
        own = np.where(call >= 0, nest.around[row], -1).astype(np.int64)
        source = np.where(call >= 0, forward_of(trace)[row], -1)
        linked = np.where(source >= 0, nest.around[np.maximum(source, 0)], -1).astype(np.int64)
        return np.where(own >= 0, own, linked)

    return trace.memo("module_of_work", build)


def is_backward(trace: Trace) -> NDArray[np.bool_]:
    """Per position of ``gpu_work`` whether it was launched by a backward operator."""
    call = links(trace).call_of
    out: NDArray[np.bool_] = (call >= 0) & (forward_of(trace)[np.maximum(call, 0)] >= 0)
    return out
