"""Bytes against what the parallel plan needs: only where the job card says enough.

Per step and rank, data parallelism moves each trainable parameter that the rank holds (all / (tp x pp)): without
sharding of gradients one all-reduce of the gradients; with ZeRO 1 or 2 one reduce-scatter of the gradients and one
all-gather of the parameters; with ZeRO 3 (FSDP) one reduce-scatter and two all-gathers, forward and backward. Other
groups are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.hiding import gradient_groups
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.steps import step_table
from viewer.base.dtypes import element_bytes
from viewer.base.ids import ABSENT
from viewer.store.session import Session

TOLERANCE: Final = 1.1
"""Buckets are padded, and the first and last pipeline stage hold the embeddings: so much more is no excess."""


_SHORT: Final = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4, "fp8": 1}
"""Names of types as a job card spells them."""


@dataclass(frozen=True, slots=True)
class Volume:
    """Bytes of one data-parallel group per step and rank: moved, and needed by the plan."""

    group: int
    moved_bytes: int
    needed_bytes: int
    how: str

    @property
    def share(self) -> float:
        """Which share of the moved bytes the plan needs; 1 where no more is moved (within 10 %)."""
        if self.moved_bytes <= TOLERANCE * self.needed_bytes:
            return 1.0
        return self.needed_bytes / self.moved_bytes


def volumes(session: Session) -> tuple[Volume, ...]:
    """The data-parallel groups of a job against the plan; () where the card does not say enough. Built once."""
    return session.card_memo("volumes", lambda: _build(session))


def needed_share(session: Session) -> dict[int, float]:
    """Per group that can be judged: which share of its bytes the plan needs."""
    return {v.group: v.share for v in volumes(session)}


def missing_for_volume(session: Session) -> str:
    """What the card lacks for a judgement of the volume, as words; "" where nothing is missing."""
    card = session.card
    fields = [
        ("model.parameters", card.model.parameters),
        ("plan.tp", card.plan.tp),
        ("plan.pp", card.plan.pp),
        ("plan.zero_stage", card.plan.zero_stage),
        ("run.grad_dtype", card.run.grad_dtype),
    ]
    return ", ".join(name for name, value in fields if value is None)


def _build(session: Session) -> tuple[Volume, ...]:
    card = session.card
    if missing_for_volume(session) or (card.plan.ep or 1) > 1:
        return ()  # experts are replicated over other ranks than the rest
    parameters = card.model.trainable_parameters or card.model.parameters or 0
    stage, grad = card.plan.zero_stage or 0, _bytes(card.run.grad_dtype)
    param = _bytes(card.run.param_dtype or card.run.dtype) or grad
    if grad is None or param is None or parameters <= 0:
        return ()
    held = parameters / ((card.plan.tp or 1) * (card.plan.pp or 1))
    gathers = 0 if stage == 0 else (2 if stage >= 3 else 1)
    needed = round(held * grad + gathers * held * param)
    how = (
        f"{parameters:,} parameters / (tp {card.plan.tp} x pp {card.plan.pp}), reduced once in {grad} bytes each"
        + (f" and gathered {gathers} times in {param} bytes each" if gathers else "")
        + f" (ZeRO stage {stage})"
    )
    every, gradient = everything(session), gradient_groups(session)
    kinds = [int(k) for k in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.REDUCE)]
    chosen = (every.size != ABSENT) & np.isin(every.kind, kinds) & gradient[every.group]
    steps = {i.index: sum(1 for s in step_table(i.trace).steps if len(s.rows)) for i in session.inputs}
    out = []
    for number in range(len(job_groups(session).groups)):
        mine = np.flatnonzero(chosen & (every.group == number))
        inputs = np.unique(every.input[mine])
        rank_steps = sum(steps[int(i)] for i in inputs)
        if rank_steps:
            out.append(Volume(number, int(every.size[mine].sum()) // rank_steps, needed, how))
    return tuple(out)


def _bytes(dtype: str | None) -> int | None:
    text = (dtype or "").strip().lower()
    return _SHORT.get(text) or element_bytes(text)
