"""In which order a pipeline runs its passes, and how large its bubble must be at least.

Theory, for p equal stages, m micro-batches, v model chunks per stage, and the times F, B and W that a stage computes
per micro-batch for its forward pass, whole backward pass, and the part of that for the weights:

====================  ===========================  ===========================================
schedule              bubble, time                 share of the phase when only F and B differ
====================  ===========================  ===========================================
GPipe, 1F1B           (p - 1)(F + B)               (p - 1) / (m + p - 1)
interleaved           (p - 1)(F + B) / v           (p - 1) / (v m + p - 1)
ZB1P                  (p - 1)(F + B - 2 W)         (depends on F, B, W)
DualPipe              (p / 2 - 1)(F&B + B - 3 W)   (depends on F, B, W)
====================  ===========================  ===========================================

(Narayanan et al. 2021 for the first two; the table of DeepSeek-V3's report for the others, F&B being a forward and a
backward pass that overlap: here F + B, what they take one after the other.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from viewer.analyses.pipeline.model import Passes, PassKind

SCHEDULES: Final = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "interleaved 1F1B",
    "zb1p": "ZB1P",
    "dualpipe": "DualPipe",
    "unknown": "an order of its own",
}
"""Keys and how they read."""
FITS: Final = 0.9
"""Share of the sequences that must fit a schedule for it to be named."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order of passes. ``key`` is of SCHEDULES, ``source`` "order", "job card" or ""; ``sure`` 0..1.

    ``sure`` is the share of (worker, step) sequences that fit it exactly (1 for the card's word).
    """

    key: str
    source: str
    sure: float

    @property
    def text(self) -> str:
        """As it reads."""
        return SCHEDULES[self.key]


def infer(sequences: Sequence[tuple[int, Passes]], stages: int, chunks: int) -> Schedule:
    """The schedule that the order of passes shows.

    Args:
        sequences: (stage, passes of one step) of each worker that is opened.
        stages: p.
        chunks: v.
    """
    told = [(s, p) for s, p in sequences if p.count(PassKind.FORWARD) and p.count(PassKind.BACKWARD)]
    if not told:
        return Schedule("unknown", "", 0.0)
    if any(p.virtual is not None and (p.virtual != p.chunk * stages + s).any() for s, p in told):
        return Schedule("unknown", "order", 0.0)  # chunks go through the stages there and back
    if any(p.count(PassKind.WEIGHT) for _, p in told):
        fits = _share([_begins_1f1b(s, p, stages) for s, p in told])
        known = chunks == 1 and fits >= FITS
        return Schedule("zb1p", "order", fits) if known else Schedule("unknown", "order", 0.0)
    first_all = [_all_forward_first(p) for _, p in told]
    if chunks > 1:
        if all(first_all):
            return Schedule("gpipe", "order", 1.0)
        fits = _share([_is_interleaved(s, p, stages, chunks) for s, p in told])
        return Schedule("interleaved", "order", fits) if fits >= FITS else Schedule("unknown", "order", 0.0)
    # Where a stage keeps all its micro-batches in flight anyway, both orders look alike there.
    telling = [i for i, (s, p) in enumerate(told) if p.count(PassKind.FORWARD) > stages - s]
    if not telling:
        return Schedule("1f1b", "order", 0.5) if all(first_all) else Schedule("unknown", "order", 0.0)
    gpipe = _share([first_all[i] for i in telling])
    one = _share([_is_1f1b(s, p, stages) for s, p in told])
    if gpipe >= FITS and gpipe > one:
        return Schedule("gpipe", "order", gpipe)
    if one >= FITS:
        return Schedule("1f1b", "order", one)
    return Schedule("unknown", "order", 0.0)


def _share(fits: Sequence[bool]) -> float:
    return sum(fits) / len(fits) if fits else 0.0


def _letters(passes: Passes) -> list[int]:
    letters: list[int] = passes.kind[passes.kind != int(PassKind.WEIGHT)].tolist()
    return letters


def _all_forward_first(passes: Passes) -> bool:
    kinds = _letters(passes)
    return kinds == sorted(kinds)


def _is_1f1b(stage: int, passes: Passes, stages: int) -> bool:
    """Warm-up of p - s - 1 forward passes, then one forward and one backward by turns, then the rest."""
    return _letters(passes) == _by_turns(passes.count(PassKind.FORWARD), stages - stage - 1)


def _is_interleaved(stage: int, passes: Passes, stages: int, chunks: int) -> bool:
    """As 1F1B, with a warm-up of (v - 1) p + 2 (p - s - 1) forward passes."""
    return _letters(passes) == _by_turns(
        passes.count(PassKind.FORWARD), (chunks - 1) * stages + 2 * (stages - stage - 1)
    )


def chunks_by_order(sequences: Sequence[tuple[int, Passes]], stages: int) -> int | None:
    """How many model chunks per stage the order shows; None unless all of it is interleaved 1F1B with the same number.

    The warm-up of (v - 1) p + 2 (p - s - 1) forward passes tells v.

    Args:
        sequences: (stage, passes of one step) of each worker.
        stages: p.
    """
    found: set[int] = set()
    for stage, passes in sequences:
        letters, count = _letters(passes), passes.count(PassKind.FORWARD)
        if not count or letters == sorted(letters):
            return None
        warm = letters.index(int(PassKind.BACKWARD)) - 1
        chunks, rest = divmod(warm - 2 * (stages - stage - 1), stages)
        if rest or chunks < 1 or count % (stages * (chunks + 1)) or letters != _by_turns(count, warm):
            return None
        found.add(chunks + 1)
    return found.pop() if len(found) == 1 else None


def _by_turns(count: int, warm: int) -> list[int]:
    warm = min(warm, count)
    return [0] * warm + [0, 1] * (count - warm) + [1] * warm


def _begins_1f1b(stage: int, passes: Passes, stages: int) -> bool:
    count = passes.count(PassKind.FORWARD)
    kinds = _letters(passes)
    return kinds[: min(stages - stage, count)] == [0] * min(stages - stage, count)


def theory_share(schedule: str, stages: int, micro_batches: int, chunks: int) -> float | None:
    """The bubble's share of the phase by counting alone; None for schedules that need F, B and W."""
    p, m = stages, micro_batches
    if p < 2 or m < 1:
        return None
    if schedule in ("gpipe", "1f1b"):
        return (p - 1) / (m + p - 1)
    if schedule == "interleaved":
        return (p - 1) / (chunks * m + p - 1)
    return None


def theory_ns(
    schedule: str, stages: int, chunks: int, forward_ns: float, backward_ns: float, weight_ns: float
) -> float | None:
    """The least bubble of equal stages, ns: see the table above; None for an order that is none of these.

    ``backward_ns`` is the whole backward pass with the weights' part. Below 0 there is none.
    """
    both = forward_ns + backward_ns
    if schedule == "zb1p":
        return max(0.0, (stages - 1) * (both - 2 * weight_ns))
    if schedule == "dualpipe":
        return max(0.0, (stages / 2 - 1) * (both + backward_ns - 3 * weight_ns))
    if schedule not in ("gpipe", "1f1b", "interleaved"):
        return None
    return (stages - 1) * both / (chunks if schedule == "interleaved" else 1)


def micro_batches(passes: Passes, chunks: int) -> int:
    """Micro-batches of a step: numbers seen, else forward passes per chunk."""
    forward = passes.kind == PassKind.FORWARD
    if not forward.any():
        return 0
    if (passes.micro[forward] >= 0).all():
        return len(np.unique(passes.micro[forward]))
    return -(-int(forward.sum()) // chunks)
