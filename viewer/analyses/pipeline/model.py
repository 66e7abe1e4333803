"""What a pipeline is made of: workers in lines of stages, and the passes that each of them ran."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class PassKind(IntEnum):
    """What a pass computes. BACKWARD is all of it, or the part for the inputs where WEIGHT is a pass of its own."""

    FORWARD = 0
    BACKWARD = 1
    WEIGHT = 2

    @property
    def letter(self) -> str:
        """As schedules are drawn."""
        return "FBW"[self]

    @property
    def text(self) -> str:
        """As a word."""
        return ("forward", "backward", "weight gradient")[self]


class CommKind(IntEnum):
    """What a stretch of communication is, as far as a pipeline goes."""

    SEND = 0
    RECEIVE = 1
    OTHER = 2

    @property
    def text(self) -> str:
        """As a word."""
        return ("send", "receive", "communication")[self]


@dataclass(frozen=True, slots=True)
class Worker:
    """One place of the job: a rank, or a worker inside a file that holds many of them.

    ``stage`` counts from 0 in its line; ``line`` is the replica of the pipeline that it belongs to. ``group`` is the id
    of its RankGroup, None when its trace is missing; ``rank`` is None where nothing states it.
    """

    index: int
    label: str
    stage: int
    line: int
    rank: int | None
    group: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """One pipeline: its workers by stage (``workers`` are indexes), and which replica it is in words."""

    index: int
    label: str
    workers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Communication:
    """Communication of a worker in a step by start: session ns, CommKind, and rows of ``slices`` of its input."""

    start: I64
    end: I64
    kind: U8
    row: I64


@dataclass(frozen=True, eq=False)
class Passes:
    """The passes of one worker in one step, by start; all arrays have one length.

    ``kind`` is a PassKind; ``micro`` the micro-batch from 0 and ``chunk`` the model chunk of the stage, -1 where it is
    not known. ``start`` and ``end`` are session ns. ``length`` is the same stretch and ``busy`` the time in it with a
    compute kernel running, both ns of the worker's own clock. ``row`` is a slice to look at, of ``input``.
    ``compute_ns`` is the union of all compute of the passes (below the sum of ``busy`` where passes overlap).
    ``virtual`` is the place of each pass among all stages x chunks where annotations say it; None where chunk c of
    stage s is taken to be the c x stages + s-th (a loop: not so where chunks go through the stages there and back).
    """

    input: int
    kind: U8
    micro: I64
    chunk: I64
    start: I64
    end: I64
    length: I64
    busy: I64
    row: I64
    compute_ns: int
    comm: Communication
    virtual: I64 | None = None

    def __len__(self) -> int:
        return len(self.kind)

    def count(self, kind: PassKind) -> int:
        """How many passes of a kind."""
        return int((self.kind == kind).sum())

    def mean_ns(self, kind: PassKind) -> int | None:
        """Mean time with compute of the passes of a kind, None without any."""
        mine = self.busy[self.kind == kind]
        return round(float(mine.mean())) if len(mine) else None


@dataclass(frozen=True, eq=False)
class Layout:
    """Who runs the pipeline and what they ran.

    ``steps`` are step numbers as shown, ascending; ``passes`` by (worker, step number), without entries for what is not
    in the files. ``stages_from`` and ``passes_from`` say from what, in words; ``partial`` what is missing ("" for
    nothing). ``timed`` is "kernels" or "spans" (a span is a pass as the trainer timed it: all of it counts as compute).
    ``chunks`` is the number of model chunks per stage, ``chunks_from`` from what.
    """

    stages: int
    workers: tuple[Worker, ...]
    lines: tuple[Line, ...]
    steps: tuple[int, ...]
    passes: dict[tuple[int, int], Passes]
    stages_from: str
    passes_from: str
    timed: str
    chunks: int = 1
    partial: str = ""

    @property
    def missing(self) -> tuple[Worker, ...]:
        """Workers whose traces are not opened."""
        return tuple(w for w in self.workers if w.group is None)


class NoPipelineError(Exception):
    """Why there is no pipeline to speak of, as one sentence."""
