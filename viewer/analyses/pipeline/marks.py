"""What names of ranges and Python frames say about passes of a pipeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.links import lanes_of_rows
from viewer.analyses.names import distinct, flags
from viewer.analyses.pipeline.model import PassKind
from viewer.base.ids import LaneKind, Paint
from viewer.store.trace import Trace

I64 = NDArray[np.int64]

_LONGEST: Final = 300
_ACTION: Final = re.compile(r"^PP:(\d{1,5})([FBIW])(\d{1,6})$")
"""torch.distributed.pipelining: stage, action (I: the backward pass for the inputs only), micro-batch."""
_NUMBERED: Final = re.compile(r"^(forward|backward)[ _-](?:micro_?batch[ _-]?)?(\d{1,6})$", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"(?:^|: |[.:/])_?(?:exec_)?(forward|backward|wgrad|weight_?grad)[_-]?(?:step|pass|compute|micro_?batch)"
    r"(?:_helper)?(?:$|[^\w])",
    re.IGNORECASE,
)
"""Megatron's frames and ranges (forward_step), DeepSpeed's (_exec_forward_pass), ndtimeline's (forward-compute)."""
_KINDS: Final = {
    "F": PassKind.FORWARD,
    "B": PassKind.BACKWARD,
    "I": PassKind.BACKWARD,
    "W": PassKind.WEIGHT,
    "forward": PassKind.FORWARD,
    "backward": PassKind.BACKWARD,
    "wgrad": PassKind.WEIGHT,
    "weightgrad": PassKind.WEIGHT,
    "weight_grad": PassKind.WEIGHT,
}


@dataclass(frozen=True, slots=True)
class PassName:
    """What a name says: kind of pass, stage among all virtual stages and micro-batch, -1 where it does not say."""

    kind: PassKind
    stage: int = -1
    micro: int = -1


def pass_name(text: str) -> PassName | None:
    """What a range's name says of a pass; None when it is none."""
    head = text[:_LONGEST]
    if found := _ACTION.match(head):
        return PassName(_KINDS[found[2]], int(found[1]), int(found[3]))
    if found := _NUMBERED.match(head):
        return PassName(_KINDS[found[1].lower()], -1, int(found[2]))
    if "forward_backward" in head.lower() or (found := _NAMED.search(head)) is None:
        return None
    return PassName(_KINDS[found[1].lower()])


@dataclass(frozen=True, eq=False)
class Marks:
    """Ranges of passes on CPU threads by start, none inside another: raw ns; kind, stage and micro as in PassName."""

    start: I64
    end: I64
    kind: I64
    stage: I64
    micro: I64
    row: I64

    def __len__(self) -> int:
        return len(self.row)


def marks(trace: Trace) -> Marks | None:
    """The ranges that name passes; None unless both forward and backward ones are there. Built once."""
    return trace.memo("pipeline_marks", lambda: _build(trace))


def _build(trace: Trace) -> Marks | None:
    s = trace.slices
    rows = np.flatnonzero((s.paint == Paint.ANNOTATION) | (s.paint == Paint.PYTHON))
    if not len(rows):
        return None
    told = {c: n for c in distinct(s.name[rows]) if (n := pass_name(trace.text(c))) is not None}
    # Numbered ranges say most.
    numbered = {c: n for c, n in told.items() if n.micro >= 0}
    for chosen in (numbered, told):
        kinds = {n.kind for n in chosen.values()}
        if not {PassKind.FORWARD, PassKind.BACKWARD} <= kinds:
            continue
        mine = rows[flags(trace, chosen)[s.name[rows]]]
        on_thread = np.array([lane.kind is LaneKind.THREAD for lane in trace.lanes], np.bool_)
        mine = mine[on_thread[lanes_of_rows(trace, mine)]]
        mine = mine[np.lexsort((-s.dur_ns[mine], s.start_ns[mine]))]
        end = s.start_ns[mine] + s.dur_ns[mine]
        before = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1])) if len(mine) else end
        mine = mine[s.start_ns[mine] >= before]
        names = [chosen[int(c)] for c in s.name[mine]]
        if {PassKind.FORWARD, PassKind.BACKWARD} <= {n.kind for n in names}:
            return Marks(
                s.start_ns[mine],
                s.start_ns[mine] + s.dur_ns[mine],
                np.array([n.kind for n in names], np.int64),
                np.array([n.stage for n in names], np.int64),
                np.array([n.micro for n in names], np.int64),
                mine,
            )
    return None
