"""The steps of a rank on the clock of one of its sources of memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.steps import step_table
from viewer.store.session import Input, Session

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MemorySteps:
    """Steps by time, raw ns of the file asked for: ``start_ns`` and ``end_ns`` int64[n], ``index`` as marks say it.

    ``input`` says whose marks they are: an input of the same rank, mapped through the clocks.
    """

    start_ns: I64
    end_ns: I64
    index: I64
    input: int

    def __len__(self) -> int:
        return len(self.start_ns)

    def edges(self) -> I64:
        """int64[n + 1]: where each step begins, and where the last one ends."""
        return np.append(self.start_ns, self.end_ns[-1:])


def memory_steps(session: Session, item: Input) -> MemorySteps | None:
    """Steps of the file itself, else of another file of its rank; None without, and for files without times."""

    def build() -> MemorySteps | None:
        d = item.trace.tables["memory_devices"]
        if len(d) and not d.timed.any():
            return None
        group = session.group_of(item.index)
        for index in (item.index, *(i for i in group.inputs if i != item.index)):
            other = session.inputs[index]
            steps = step_table(other.trace).steps
            if not steps or (other is not item and not (other.clock.known and item.clock.known)):
                continue
            spans = [(s.start_ns, s.end_ns) for s in steps]
            if other is not item:
                spans = [tuple(item.clock.to_raw(other.clock.to_session(t)) for t in s) for s in spans]  # type: ignore[misc]
            table = np.array(sorted(zip(*zip(*spans, strict=True), [s.index for s in steps], strict=True)), np.int64)
            return MemorySteps(table[:, 0], table[:, 1], table[:, 2], index)
        return None

    return session.clocked_memo(("memory steps", item.index), build)
