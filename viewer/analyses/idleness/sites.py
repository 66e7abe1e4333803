"""Where in a program a call was made: the operator around it and the line of Python, as far as they are recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from viewer.analyses.host import stack_of
from viewer.store.trace import Trace

_FRAME = re.compile(r"^.+\.py[xdi]?\(\d+\): ")
_LIBRARY = re.compile(
    r"(?:^|/)(?:torch|triton|numpy|nvtx|contextlib\.py|threading\.py|functools\.py|runpy\.py|importlib"
    r"|site-packages|dist-packages|lib/python\d[\d.]*)(?:/|\()|^<"
)
STACK_KEY = "Call stack"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a call was made; rows of ``slices``, -1 for none.

    ``operator_row`` is the outermost operator around it. ``frame_row`` is the innermost Python frame of the program
    itself (of libraries, where there is no other), ``line`` its text "file.py(12): function"; "" without any. The line
    of a frame is where its function begins; a line of an operator's recorded call stack is exact.
    """

    operator_row: int
    frame_row: int
    line: str


def site_of(trace: Trace, row: int) -> Site:
    """Where a slice of a CPU thread was called."""
    stack = stack_of(trace, row) if row >= 0 else None
    if stack is None:
        return Site(-1, -1, "")
    operator = stack.operators[0] if stack.operators else -1
    frames = [r for r in reversed(stack.python) if _FRAME.match(trace.name(r))]
    own = next((r for r in frames if not _LIBRARY.search(trace.name(r))), frames[0] if frames else -1)
    if own >= 0:
        return Site(operator, own, trace.name(own))
    return Site(operator, -1, _recorded_line(trace, reversed(stack.operators)))


def _recorded_line(trace: Trace, operators: Iterable[int]) -> str:
    for row in operators:
        text = trace.args(row).get(STACK_KEY)
        if isinstance(text, str) and text:
            lines = [line.strip() for line in text[:20_000].split(";") if line.strip()]
            return next((line for line in lines if not _LIBRARY.search(line)), lines[0] if lines else "")
    return ""
