"""Recomputation: forward kernels that run again inside a checkpointed backward pass."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.ancestors import nearest
from viewer.analyses.flows import flows
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.links import links
from viewer.analyses.names import named_where, remembered
from viewer.analyses.optable.modules import forward_of
from viewer.base.ids import Paint
from viewer.store.trace import Trace

Bools = NDArray[np.bool_]

_REGION: Final = re.compile(
    r"Checkpoint\w*Function\w*Backward|checkpoint\.py\(\d+\): (?:recompute_fn|unpack_hook|_?recompute)"
    r"|^(?:activation[ _])?(?:recomput(?:e|ation)|re-?materiali[sz]ation)\b",
    re.IGNORECASE,
)
"""The backward node of a checkpointed function (it begins with the forward pass), torch's own recomputing functions,
and ranges that a program names so."""
_WRAPPER: Final = re.compile(r"^autograd::engine::evaluate_function: .*Checkpoint", re.IGNORECASE)
_BACKWARD: Final = re.compile(r"^autograd::engine::evaluate_function|Backward\d*$")


@remembered
def _is_region(name: str) -> bool:
    return bool(_REGION.search(name) and not _WRAPPER.match(name))


@remembered
def _is_backward(name: str) -> bool:
    return _BACKWARD.search(name) is not None


def recomputed(trace: Trace) -> Bools:
    """Per position of ``gpu_work`` whether it is a forward kernel that runs again. Built once.

    It is when its launch lies in a recomputing region and no backward operator is between; or in a forward operator
    (one with a backward of its own) that runs inside a backward pass.
    """
    return trace.memo("recomputed", lambda: _build(trace))


def _build(trace: Trace) -> Bools:
    s, work = trace.slices, gpu_work(trace)
    cpu = (s.paint == Paint.OPERATOR) | (s.paint == Paint.PYTHON) | (s.paint == Paint.ANNOTATION)
    region_name = named_where(trace, (Paint.OPERATOR, Paint.PYTHON, Paint.ANNOTATION), _is_region)
    backward_name = named_where(trace, (Paint.OPERATOR,), _is_backward)
    region = np.asarray(cpu & region_name[s.name])
    backward = np.asarray((s.paint == Paint.OPERATOR) & backward_name[s.name] & ~region)
    again = _forward_inside_backward(trace, backward)
    if not region.any() and not again.any():
        return np.zeros(len(work), np.bool_)
    border = nearest(trace, region | backward | again)
    call = links(trace).call_of
    at = np.where(call >= 0, border[np.maximum(call, 0)], -1)
    out: Bools = (at >= 0) & (region | again)[np.maximum(at, 0)]
    return out


def _forward_inside_backward(trace: Trace, backward: Bools) -> Bools:
    """Operators that autograd links to a backward of their own, and that run inside a backward pass."""
    s = trace.slices
    out = np.zeros(len(trace), np.bool_)
    forward = forward_of(trace)
    is_source, drawn = np.zeros(len(trace), np.bool_), np.zeros(len(trace), np.bool_)
    is_source[forward[forward >= 0]] = True
    drawn[flows(trace).source] = True
    sources = np.flatnonzero(is_source & drawn & (s.paint == Paint.OPERATOR))
    inside = nearest(trace, backward)
    parent = s.parent[sources]
    out[sources] = (parent >= 0) & (inside[np.maximum(parent, 0)] >= 0) & ~backward[sources]
    return out
