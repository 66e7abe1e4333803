"""What each cause of idle time is called, what it means, and the colour it is drawn in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.base.ids import Paint

_OPEN: Final = "Host late: the launch of the next work had not begun, and "
_QUEUED: Final = "The launch of the next work had begun before the gap: "


@dataclass(frozen=True, slots=True)
class CauseWords:
    """How a cause is shown: ``label``, ``meaning`` (a sentence), and the paint of its part of a bar (None: idle)."""

    label: str
    meaning: str
    paint: Paint | None


WORDS: Final = {
    "python": CauseWords("Python", _OPEN + "the launching thread ran a Python function.", Paint.PYTHON),
    "operator": CauseWords(
        "operators", _OPEN + "the launching thread was inside an operator, between calls.", Paint.OPERATOR
    ),
    "runtime call": CauseWords(
        "runtime calls", _OPEN + "the launching thread was inside another call of the runtime or driver.", Paint.RUNTIME
    ),
    "annotation": CauseWords(
        "inside a named range",
        _OPEN + "nothing but a range that the program named was open on the launching thread.",
        Paint.ANNOTATION,
    ),
    "profiler overhead": CauseWords(
        "profiler", _OPEN + "the profiler itself was at work on the launching thread.", Paint.OVERHEAD
    ),
    "other": CauseWords(
        "other host work", _OPEN + "a slice of another category was open on the launching thread.", Paint.OTHER
    ),
    "allocator": CauseWords(
        "allocator calls",
        "The driver was asked for memory or given some back (cudaMalloc, cudaFree and the like, empty_cache), or such "
        "a call had drained the queue.",
        Paint.RUNTIME,
    ),
    "data loading": CauseWords(
        "data loading", _OPEN + "the launching thread was inside a data loader's range.", Paint.ANNOTATION
    ),
    "recompilation": CauseWords(
        "recompilation",
        _OPEN + "the launching thread compiled code (Dynamo, Inductor, Triton, NVRTC) or loaded a compiled module.",
        Paint.OVERHEAD,
    ),
    "garbage collection": CauseWords(
        "garbage collection", _OPEN + "Python's collector ran on the launching thread.", Paint.PYTHON
    ),
    "untraced": CauseWords(
        "nothing recorded",
        _OPEN + "no slice (but the mark of the step) was open on the launching thread, nor on the one that launched "
        "the work before: code that is "
        "not traced (Python, without with_stack), or a thread that waits.",
        None,
    ),
    "sync-drain": CauseWords(
        "after a sync",
        "A blocking call had waited until the queue was empty; the device idles until the host has queued work again.",
        Paint.SYNC,
    ),
    "launch": CauseWords("launch", "From the begin of the launch call of the next work to its start.", Paint.RUNTIME),
    "slow start": CauseWords(
        "slow start",
        "The launch call had returned, and after the time that launches take in this file (4 times the median, at "
        "least 20 us) the work still had not started: what it waited for is not recorded.",
        Paint.RUNTIME,
    ),
    "turnaround": CauseWords(
        "turnaround",
        _QUEUED + "the device's own turnaround, on one stream and at most 3 us, or between works of one graph launch.",
        Paint.COMPUTE,
    ),
    "event": CauseWords(
        "waited for an event", _QUEUED + "its stream has a recorded wait for an event there.", Paint.SYNC
    ),
    "copy": CauseWords("after a copy", _QUEUED + "the work that ended last before it is a copy or fill.", Paint.MEMORY),
    "other stream": CauseWords(
        "after another stream", _QUEUED + "the work that ended last before it ran on another stream.", Paint.COMM
    ),
    "unproven": CauseWords("queued, unproven", _QUEUED + "nothing in the trace says what it waited for.", Paint.OTHER),
    "launch in flight": CauseWords(
        "launch call not done",
        _QUEUED + "but the call had not returned when the gap began, so the work was not surely queued.",
        Paint.RUNTIME,
    ),
    "unknown": CauseWords("no launch known", "The next work has no launch call in the file, or there is none.", None),
}


def words_of(cause: str) -> CauseWords:
    """The words of a cause."""
    return WORDS[cause]
