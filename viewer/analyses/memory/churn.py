"""Calls to the driver for memory in steady steps: segments that the allocator gets and gives back again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.edges import Edges, step_edges
from viewer.analyses.memory.figures import device_events
from viewer.base.allocator import Action
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]

MOSTLY: Final = 0.5
"""Share of the steady steps in which it happens: once is a new shape, in every second step it is the rule."""
_GOT = (Action.SEGMENT_ALLOC, Action.SEGMENT_MAP)
_GIVEN = (Action.SEGMENT_FREE, Action.SEGMENT_UNMAP)


@dataclass(frozen=True, eq=False)
class Churn:
    """Per step (warm-up included) int64[steps]: calls that got and gave back memory, and bytes that were given back.

    ``retries``: requests to the driver, or failures, right after memory was given back: the allocator had no room, let
    go of its cache and tried again.
    """

    device: int
    edges: Edges
    got: I64
    given: I64
    given_bytes: I64
    retries: I64

    @property
    def steady(self) -> slice:
        """The steps after warm-up."""
        return slice(self.edges.first, None)

    @property
    def is_churn(self) -> bool:
        """Whether most steady steps both get memory and give some back."""
        both = (self.got[self.steady] > 0) & (self.given[self.steady] > 0)
        return len(both) >= 3 and float(both.mean()) >= MOSTLY


def churn(session: Session, item: Input, device: int) -> Churn | None:
    """Calls per step; None without steps."""
    edges = step_edges(session, item, device)
    if edges is None:
        return None
    e, rows = item.trace.tables["allocator_events"], device_events(item.trace, device)
    action, size = e.action[rows], e.size[rows]
    at = edges.at - rows.start

    def per_step(which: tuple[Action, ...], weight: I64) -> I64:
        total = np.concatenate([[0], np.cumsum(np.where(np.isin(action, which), weight, 0))])
        out: I64 = np.diff(total[at])
        return out

    one = np.ones(len(action), np.int64)
    asked = np.isin(action, (*_GOT, Action.OOM))
    again = np.concatenate([[False], asked[1:] & np.isin(action[:-1], _GIVEN)]).astype(np.int64)[: len(action)]
    every = tuple(Action)
    return Churn(
        device, edges, per_step(_GOT, one), per_step(_GIVEN, one), per_step(_GIVEN, size), per_step(every, again)
    )
