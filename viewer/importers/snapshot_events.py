"""Events of allocator snapshots: their times, frees that were only asked for, what snapshots of a profile say more.

torch.cuda._memory_viz makes a snapshot of a profiler's memory too (profile_plot): its events have categories, its
frames hold the names of profiler slices, its last device is the host, and its segments are spans of addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Action, BlockEnd, Category
from viewer.base.ids import ABSENT
from viewer.store.memory_rows import Events, FinalState

I64 = NDArray[np.int64]

CATEGORIES: Final = {
    "parameter": Category.WEIGHTS,
    "optimizer_state": Category.OPTIMIZER,
    "input": Category.INPUT,
    "temporary": Category.TEMPORARY,
    "activation": Category.ACTIVATIONS,
    "gradient": Category.GRADIENTS,
    "autograd_detail": Category.TEMPORARY,
    "unknown": Category.UNKNOWN,
}
"""torch.profiler._memory_profiler.Category by name, as memory timelines have them."""
_SLICE: Final = re.compile(r"(.{1,4000})\((\d{1,9})\): (.+)", re.DOTALL)
_NO_FILE: Final = "none"

Told = tuple[str, Literal["info", "warning"], int, str]


def drawn_times(time_us: I64) -> tuple[I64, bool, int]:
    """(ns that never fall, whether they are times, how many had fallen): events without any count from 0 on."""
    known = (time_us != ABSENT) & (time_us != 0)
    if not known.any():
        return np.arange(len(time_us), dtype=np.int64), False, 0
    if not known.all():  # as the event before
        first = int(np.argmax(known))
        at = np.maximum.accumulate(np.where(known, np.arange(len(known)), first))
        time_us = time_us[at]
    back = int((np.diff(time_us) < 0).sum())
    if back:
        time_us = np.maximum.accumulate(time_us)
    return time_us * 1000, True, back


def completed(events: Events, final: FinalState | None) -> Told | None:
    """Mend what a recording left out (skip_actions): frees of which only the request is there count as done.

    Args:
        events: of one device, changed.
        final: its state at the end.

    Returns:
        What to tell; None for nothing.
    """
    action = events.action
    asked = np.flatnonzero(action == Action.FREE_REQUESTED)
    done = np.isin(action, (Action.FREE_COMPLETED, Action.FREE))
    if not done.any() and len(asked):
        waiting = np.zeros(len(asked), np.bool_)
        if final is not None:  # of those that wait for their free at the end the last request
            pending = final.blocks["address"][final.blocks["end"] == BlockEnd.PENDING]
            _, last = np.unique(events.address[asked][::-1], return_index=True)
            waiting[len(asked) - 1 - last] = np.isin(events.address[asked][len(asked) - 1 - last], pending)
        elif not _made_again(events, asked):
            return None
        count = int((~waiting).sum())
        if not count:
            return None
        action[asked[~waiting]] = Action.FREE
        events.split_free = bool(waiting.any())
        message = "frees of which the recording has only the request: they count as completed then"
        return "memory-frees-not-completed", "info", count, message
    if done.any() and not (action == Action.ALLOC).any():
        address = events.address[done]
        again = len(address) - len(np.unique(address))
        if again:
            message = (
                "frees at an address that was freed before, in a recording without a single allocation: it left them "
                "out (skip_actions), so levels before its end are too high"
            )
            return "memory-allocations-left-out", "warning", again, message
    return None


def _made_again(events: Events, asked: I64) -> bool:
    """Whether a block is made where the free of another one was asked for: that free was completed."""
    made = np.flatnonzero(events.action == Action.ALLOC)
    freed, first = np.unique(events.address[asked], return_index=True)
    at = np.minimum(np.searchsorted(freed, events.address[made]), len(freed) - 1)
    return bool(((freed[at] == events.address[made]) & (asked[first[at]] < made)).any())


def named_frames(frames: I64, texts: list[str], number_of: Callable[[str], int]) -> I64:
    """Frames (name, file, line) in which names of slices ("f.py(12): g") without a file are taken apart."""
    if _NO_FILE not in texts:
        return frames
    none = texts.index(_NO_FILE)
    out = frames.copy()
    for k in np.flatnonzero(frames[:, 1] == none).tolist():
        found = _SLICE.fullmatch(texts[int(frames[k, 0])]) if frames[k, 0] >= 0 else None
        if found is None:
            out[k, 1] = -1
        else:
            out[k] = number_of(found[3]), number_of(found[1]), int(found[2])
    return out
