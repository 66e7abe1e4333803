"""Attention: FLOPs = 2 P H (D + Dv) forward, P the pairs of query and key that are looked at.

The backward pass of the fused kernels has five products where the forward pass has two, as it computes the scores
again: 2 P H (3 D + 2 Dv). A causal mask leaves half of the pairs of a square (the convention of the field: N N / 2,
without the half diagonal), and Nq Nk - Nq Nq / 2 where the queries are the last of longer keys. Heads are those of the
queries: sharing keys among them (GQA) saves memory, no products. The softmax is not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from viewer.analyses.flops.call import Call, Cost, Unknown, product, traffic

_MISMATCH = "its shapes are not those of attention"
_RAGGED = "the lengths of the sequences are not recorded, and they differ"
CAUSAL_UNKNOWN: Final = "whether the mask is causal was not recorded"

_FLASH_FLAGS = re.compile(r"flash_(?:fwd|bwd)\w*<.*?>\s*,\s*(true|false)\s*,\s*(true|false)\s*[,>]")
"""flash-attn 2's kernels name their traits, whether they drop out, whether they are causal."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an operator has what. Positions are those of its arguments; None where it has no such argument.

    ``query`` is followed by key and value. ``heads_first``: sizes are [B, H, N, D], else [B, N, H, D]; with ``ends``
    (the position of the ends of sequences of the queries, those of the keys behind it) and three sizes [T, H, D].
    ``causal`` is a yes or no, ``mask_kind`` a number (0 none, 1 causal from the top left, 2 from the bottom right).
    ``window`` has the number of keys to the left, the right one behind it. ``corner``: "bottom" where a causal mask of
    unequal lengths ends at the last key, "top" where it begins at the first. ``longest`` the longest query, then key.
    """

    query: int = 0
    heads_first: bool = False
    causal: int | None = None
    mask_kind: int | None = None
    ends: int | None = None
    longest: int | None = None
    window: int | None = None
    corner: str = "bottom"
    backward: bool = False


def causal_of_kernels(names: tuple[str, ...]) -> bool | None:
    """Whether kernels say by their names that their mask is causal; None where they do not, or disagree."""
    found = {m[2] == "true" for name in names if (m := _FLASH_FLAGS.search(name))}
    return found.pop() if len(found) == 1 else None


def pairs(nq: int, nk: int, causal: bool, corner: str = "bottom", left: int = -1, right: int = -1) -> int:
    """Pairs of query and key that a mask lets through, twice over (so that a half stays whole).

    ``left`` and ``right`` bound the distance of keys, -1 for no bound; a causal mask is ``right`` = 0. Causal masks
    count half the diagonal, windows count exactly.
    """
    if left < 0 and (right < 0 or causal):
        if not causal:
            return 2 * nq * nk
        if corner == "top":
            seen = min(nq, nk)
            return seen * seen + 2 * max(0, nq - nk) * nk
        return 2 * nq * nk - nq * nq if nq <= nk else nk * nk
    right = 0 if causal else right
    shift = nk - nq if corner == "bottom" else 0
    # Row i sees keys from i + shift - left to i + shift + right, cut to [0, nk). Sums of clipped ramps.
    high = _ramp(shift + (right if right >= 0 else nk + nq) + 1, nq, nk)
    low = _ramp(shift - left, nq, nk) if left >= 0 else 0
    return 2 * max(0, high - low)


def _ramp(first: int, count: int, most: int) -> int:
    """Sum over i < count of min(max(first + i, 0), most)."""
    rising_from = min(max(0, -first), count)
    flat_from = min(max(0, most - first), count)
    flat_from = max(flat_from, rising_from)
    n = flat_from - rising_from
    start = first + rising_from
    return n * start + n * (n - 1) // 2 + (count - flat_from) * most


def attention(call: Call, layout: Layout) -> Cost:
    """What a call of an operator with this layout costs. Raises Unknown."""
    q, k, v = (call.tensor(layout.query + i) for i in range(3))
    if len(q) == 3 and (layout.ends is not None or layout.heads_first is False):
        batch, nq, nk, total_q, total_k = _ragged(call, layout, q[0], k[0])
        heads, d, dv = q[1], q[2], v[2]
    elif len(q) == 4 and len(k) == 4 and len(v) == 4:
        if layout.ends is not None and call.optional(layout.ends) and q[0] == 1:
            batch, nq, nk, total_q, total_k = _ragged(call, layout, q[1], k[1])
        else:
            at = 2 if layout.heads_first else 1
            batch, nq, nk = q[0], q[at], k[at]
            total_q, total_k = batch * nq, batch * nk
        heads, d, dv = q[1 if layout.heads_first else 2], q[3], v[3]
        if k[0] != q[0]:
            raise Unknown(_MISMATCH)
    else:
        raise Unknown(_MISMATCH)
    causal, corner = _causal(call, layout)
    left = right = -1
    if layout.window is not None:
        left, right = (n if (n := call.number(layout.window + i)) is not None else -1 for i in (0, 1))
    twice = batch * pairs(nq, nk, causal, corner, left, right)
    per_pair = 3 * d + 2 * dv if layout.backward else d + dv
    size = call.size(layout.query)
    kv_heads = k[1 if layout.heads_first or len(k) == 3 else 2]
    once = total_q * heads * (d + dv) + total_k * kv_heads * (d + dv)  # q, out, k, v
    moved = traffic((once * (2 if layout.backward else 1), size))
    mask = "causal" if causal else "no mask"
    window = f", window {left},{right}" if left >= 0 or right > 0 else ""
    shared = f"/{kv_heads}" if kv_heads != heads else ""
    narrow = f"/{dv}" if dv != d else ""
    shape = f"B {batch} H {heads}{shared} Nq {nq:,} Nk {nk:,} D {d}{narrow} {mask}{window}"
    return Cost(twice * heads * per_pair, moved, "attention", call.type(layout.query), shape)


def _causal(call: Call, layout: Layout) -> tuple[bool, str]:
    if layout.mask_kind is not None:
        kind = call.number(layout.mask_kind)
        if kind is not None:
            return kind in (1, 2), "top" if kind == 1 else "bottom"
    known = call.flag(layout.causal) if layout.causal is not None else None
    if known is None:
        known = causal_of_kernels(call.kernels)
    if known is None:
        raise Unknown(CAUSAL_UNKNOWN)
    return known, layout.corner


def _ragged(call: Call, layout: Layout, total_q: int, total_k: int) -> tuple[int, int, int, int, int]:
    """(sequences, queries and keys of each, all queries, all keys) of packed sequences; equal lengths only.

    The ends are values, which no profiler records. But n sequences no longer than ``longest`` that fill n x longest
    rows are all that long; and a single one has all the rows.
    """
    count_q = product(call.optional(layout.ends)) - 1 if layout.ends is not None else 0
    if count_q < 1:
        raise Unknown("the lengths of the sequences are not recorded")
    if total_q % count_q or total_k % count_q:
        raise Unknown(_RAGGED)
    nq, nk = total_q // count_q, total_k // count_q
    if count_q > 1:
        longest = [call.number(layout.longest + i) if layout.longest is not None else None for i in (0, 1)]
        if longest != [nq, nk]:
            raise Unknown(_RAGGED)
    return count_q, nq, nk, total_q, total_k
