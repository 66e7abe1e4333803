"""From allocator events and the state at the end to blocks: when each was made, asked to be freed, and gone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.allocator import Action, BlockEnd
from viewer.jit.config import kernel

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

BEFORE_EVENT: Final = -1
"""The number of an event before the recording."""
(ADDRESS, SIZE, MADE, ASKED, GONE, END, FINAL) = range(7)
BLOCK_WORDS: Final = 7
UNSEEN, CONTRADICTIONS, GHOSTS, NEVER_SEEN = range(4)

_ALLOC, _REQUESTED = np.int64(Action.ALLOC), np.int64(Action.FREE_REQUESTED)
_COMPLETED, _FREE = np.int64(Action.FREE_COMPLETED), np.int64(Action.FREE)
_FREED, _HELD = np.int64(BlockEnd.FREED), np.int64(BlockEnd.ALLOCATED)
_PENDING, _GHOST = np.int64(BlockEnd.PENDING), np.int64(BlockEnd.GHOST)


@kernel
def replay_blocks(
    action: NDArray[np.uint8],
    number: I32,
    address: I64,
    size: I64,
    final_number: I32,
    final_address: I64,
    final_size: I64,
    final_end: NDArray[np.uint8],
    has_final: bool,
    current: I32,
    blocks: I64,
    block_of: I32,
    counts: I64,
) -> Any:
    """Follow every address through the events of one device, then settle what is left with the final blocks.

    Args:
        action: uint8[n], Action of each event, in the order of the recorder.
        number: int32[n], its address numbered from 0 on (equal addresses, equal numbers).
        address: int64[n].
        size: int64[n], bytes >= 0.
        final_number: int32[m], addresses of active blocks at the end, numbered alike.
        final_address: int64[m].
        final_size: int64[m], bytes that they occupy.
        final_end: uint8[m], BlockEnd.ALLOCATED or PENDING.
        has_final: whether the state at the end is known at all.
        current: int32[addresses], filled with -1; used up.
        blocks: int64[events + m, BLOCK_WORDS], written: address, bytes, the events that made it, asked to free it and
            freed it (-1 before the recording, n never), BlockEnd, row of the final block or -1.
        block_of: int32[n], filled with -1; the block of each event, written.
        counts: int64[4], written: frees of blocks that were never seen made, events that contradict others, ghosts,
            blocks of the end that are in no event.

    Returns:
        How many blocks there are, in the order of the events that show them first.
    """
    n = len(action)
    count = 0
    for i in range(n):
        what = np.int64(action[i])
        if what > _FREE:
            continue
        here = number[i]
        block = current[here]
        if what == _ALLOC:
            if block >= 0:  # its end was not recorded: at the latest it is now
                if blocks[block, ASKED] == n:
                    counts[CONTRADICTIONS] += 1
                    blocks[block, ASKED] = i
                blocks[block, GONE] = i
                blocks[block, END] = _FREED
            block = count
        elif block < 0:
            counts[UNSEEN] += 1
            block = count
        if block == count:
            count += 1
            blocks[block, ADDRESS] = address[i]
            blocks[block, SIZE] = size[i]
            blocks[block, MADE] = i if what == _ALLOC else BEFORE_EVENT
            # Its request, if it is not this event, was before the recording.
            blocks[block, ASKED] = n if what == _ALLOC else (i if what != _COMPLETED else BEFORE_EVENT)
            blocks[block, GONE] = n
            blocks[block, END] = _HELD
            blocks[block, FINAL] = -1
            current[here] = block
        block_of[i] = block
        if what == _REQUESTED:
            if blocks[block, ASKED] != n and blocks[block, ASKED] != i:
                counts[CONTRADICTIONS] += 1
            else:
                blocks[block, ASKED] = i
            blocks[block, END] = _PENDING
        elif what != _ALLOC:
            if blocks[block, ASKED] == n:
                blocks[block, ASKED] = i
            blocks[block, GONE] = i
            blocks[block, END] = _FREED
            current[here] = -1
    if not has_final:
        return count
    for k in range(len(final_number)):
        block = current[final_number[k]]
        if block < 0:
            counts[NEVER_SEEN] += 1
            block = count
            count += 1
            blocks[block, ADDRESS] = final_address[k]
            blocks[block, MADE] = BEFORE_EVENT
            blocks[block, ASKED] = BEFORE_EVENT if final_end[k] == _PENDING else n
            blocks[block, GONE] = n
        elif (blocks[block, END] == _PENDING) != (final_end[k] == _PENDING):
            counts[CONTRADICTIONS] += 1
        current[final_number[k]] = -1
        blocks[block, SIZE] = final_size[k]
        blocks[block, END] = final_end[k]
        blocks[block, FINAL] = k
    for block in range(count):
        if blocks[block, END] != _FREED and blocks[block, FINAL] < 0:
            counts[GHOSTS] += 1
            blocks[block, END] = _GHOST
    return count


@kernel
def add_levels(blocks: I64, count: int, allocated: I64, live: I64) -> Any:
    """Bytes held after each event: ``allocated`` until a free is complete, ``live`` until it is asked for.

    Args:
        blocks: see :func:`replay_blocks`.
        count: how many.
        allocated: int64[n], zeros; written.
        live: int64[n], zeros; written.

    Returns:
        (allocated, live) before the first event.
    """
    n = len(allocated)
    allocated_before = np.int64(0)
    live_before = np.int64(0)
    for b in range(count):
        size = blocks[b, SIZE]
        if blocks[b, MADE] >= 0:
            allocated[blocks[b, MADE]] += size
            live[blocks[b, MADE]] += size
        else:
            allocated_before += size
            if blocks[b, ASKED] >= 0:
                live_before += size
        if blocks[b, GONE] < n:
            allocated[blocks[b, GONE]] -= size
        if blocks[b, ASKED] >= 0 and blocks[b, ASKED] < n:
            live[blocks[b, ASKED]] -= size
    a = allocated_before
    v = live_before
    for i in range(n):
        a += allocated[i]
        v += live[i]
        allocated[i] = a
        live[i] = v
    return allocated_before, live_before
