"""Whether a job trains or serves: what is usual, and what there is to change, differs."""

from __future__ import annotations

import re
from typing import Final, Literal

from viewer.analyses.names import distinct
from viewer.analyses.steps import step_table
from viewer.store.session import Session
from viewer.store.trace import Trace

Workload = Literal["training", "inference", "unknown"]

SERVING: Final = "serving mark"
"""The source of steps that a serving engine marks (``viewer.analyses.steps``)."""
_BACKWARD: Final = re.compile(
    r"backward|[_\W]bwd|bwd_|\bautograd::engine|AccumulateGrad|^Optimizer\.(?:step|zero_grad)|FusedAdam|_adamw?_"
    r"|[dw]grad_",
    re.IGNORECASE,
)
"""Names of operators, ranges, Python functions and kernels of a backward pass or an optimizer."""
_TRAINER: Final = re.compile(
    r"Grad(?:ient)?s?_?(?:Accum|Reduc|Bucket|Buffer|Sync)|DistributedDataParallel|forward_backward"
)
"""Names of a training program whose backward pass may lie outside of what was recorded."""
ENOUGH: Final = 50
"""Distinct names from which on a file without any of these says something: a cut-out of a few says nothing."""


def workload(session: Session) -> Workload:
    """What a job does. Built once.

    Training where a name in any file is of training; inference where a serving engine marks its steps, or many names
    are recorded and none is of training; else unknown.
    """

    def build() -> Workload:
        found = {_of(item.trace) for item in session.inputs}
        return "training" if "training" in found else "inference" if "inference" in found else "unknown"

    return session.memo("workload", build)


def forward_only(session: Session) -> bool:
    """Whether enough is recorded to say that no file holds a backward pass or an optimizer. Built once."""

    def build() -> bool:
        every = [_seen(item.trace) for item in session.inputs]
        return bool(every) and not any(b for b, _, _ in every) and all(n >= ENOUGH for _, _, n in every)

    return session.memo("forward_only", build)


def _of(trace: Trace) -> Workload:
    backward, trainer, names = _seen(trace)
    if step_table(trace).source == SERVING:
        return "inference"
    if backward or trainer:
        return "training"
    return "inference" if names >= ENOUGH else "unknown"


def _seen(trace: Trace) -> tuple[bool, bool, int]:
    """(a name of a backward pass, a name of a trainer, number of distinct names)."""

    def build() -> tuple[bool, bool, int]:
        texts = [trace.text(code) for code in distinct(trace.slices.name)]
        return any(map(_BACKWARD.search, texts)), any(map(_TRAINER.search, texts)), len(texts)

    return trace.memo("names_of_training", build)
