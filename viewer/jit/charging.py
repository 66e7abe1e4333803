"""Exposed time charged to what caused it: one sweep over layers of disjoint intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]


@kernel
def charge(
    shown: I64,
    owner: I64,
    carrier: I64,
    dark: I64,
    ideal: I64,
    volume: I64,
    rest: U8,
    hiding: U8,
    pipeline: Bools,
    codes: I64,
    parts: I64,
    transfers: I64,
) -> None:
    """Add every instant of ``shown`` to the part that it was, for the communication that owns it.

    Layers are int64[3, k]: starts, ends and numbers of communications, disjoint and ascending. An instant without an
    owner counts nowhere; one that a carrier moves is its transfer, else one of the layer ``dark`` is not matched, else
    it waits.

    Args:
        shown: the exposed time, numbers unused.
        owner: who is charged.
        carrier: who transfers.
        dark: whose transfer nobody knows.
        ideal: int64[n], until when the transfer of each communication is ideal.
        volume: int64[n], until when it moves more than it needs to.
        rest: uint8[n], the part after that.
        hiding: uint8[n], why nothing hid it.
        pipeline: bool[n], whether waiting is the pipeline's.
        codes: int64[7], the parts of an ideal transfer by ``hiding`` (three), of more volume, of what is not matched,
            of waiting and of the pipeline's waiting.
        parts: int64[parts, n], added to.
        transfers: int64[3, n], added to.
    """
    o = c = d = 0
    for k in range(shown.shape[1]):
        at = shown[0, k]
        end = shown[1, k]
        while at < end:
            while o < owner.shape[1] and owner[1, o] <= at:
                o += 1
            if o == owner.shape[1]:
                return
            if owner[0, o] > at:
                at = owner[0, o]
                continue
            until = min(end, owner[1, o])
            mine = owner[2, o]
            while c < carrier.shape[1] and carrier[1, c] <= at:
                c += 1
            if c < carrier.shape[1] and carrier[0, c] <= at:
                until = min(until, carrier[1, c])
                by = carrier[2, c]
                if at < ideal[by]:
                    until = min(until, ideal[by])
                    part = codes[hiding[by]]
                elif at < volume[by]:
                    until = min(until, volume[by])
                    part = codes[3]
                else:
                    part = np.int64(rest[by])
                transfers[hiding[by], mine] += until - at
            else:
                if c < carrier.shape[1]:
                    until = min(until, carrier[0, c])
                while d < dark.shape[1] and dark[1, d] <= at:
                    d += 1
                if d < dark.shape[1] and dark[0, d] <= at:
                    until = min(until, dark[1, d])
                    part = codes[4]
                else:
                    if d < dark.shape[1]:
                        until = min(until, dark[0, d])
                    part = codes[6] if pipeline[mine] else codes[5]
            parts[part, mine] += until - at
            at = until
