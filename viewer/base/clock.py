"""How the clock of one file maps to the clock of the job."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # a command that only reads its words needs no arrays
    import numpy as np
    from numpy.typing import NDArray

_BILLION: Final = 1_000_000_000
FAR_PPB: Final = 100_000_000
"""No drift is larger: a clock that gains or loses a tenth is none of a computer."""


@dataclass(frozen=True, slots=True)
class Clock:
    """file time (raw + ``base_ns``) = session time + ``offset_ns`` + drift x (session time - ``t0_ns``).

    All in whole ns; session times are absolute. ``known`` is False where the file was only moved to be seen. ``held``
    is empty for a clock that runs evenly; for one that was set step by step it holds (file time from which, offset),
    ascending, and the offset of the step that a time lies in counts instead of the line.
    """

    base_ns: int = 0
    offset_ns: int = 0
    drift_ppb: int = 0
    t0_ns: int = 0
    known: bool = True
    held: tuple[tuple[int, int], ...] = ()
    given: bool = False
    """A person gave the offset."""

    def to_session(self, raw_ns: int) -> int:
        """Raw time of the file -> session time."""
        time = raw_ns + self.base_ns
        if self.held:
            return time - self._held_at(time)
        time -= self.offset_ns
        if not self.drift_ppb:
            return time
        return self.t0_ns + _rounded((time - self.t0_ns) * _BILLION, _BILLION + self.drift_ppb)

    def many_to_session(self, raw_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """As :meth:`to_session` for an array (ties of the rounding may fall to the other side)."""
        import numpy as np

        time = raw_ns + self.base_ns
        if self.held:
            begins = np.array([b for b, _ in self.held], np.int64)
            offsets = np.array([o for _, o in self.held], np.int64)
            out: NDArray[np.int64] = time - offsets[np.maximum(np.searchsorted(begins, time, "right") - 1, 0)]
            return out
        time -= self.offset_ns
        if self.drift_ppb:
            share = self.drift_ppb / (_BILLION + self.drift_ppb)
            time -= np.rint((time - self.t0_ns) * share).astype(np.int64)
        return time

    def to_raw(self, session_ns: int) -> int:
        """Session time -> raw time of the file; to_session gives it back to within 1 ns."""
        if self.held:
            guess = session_ns + self._held_at(session_ns + self.offset_ns)
            return session_ns + self._held_at(guess) - self.base_ns
        drifted = _rounded((session_ns - self.t0_ns) * self.drift_ppb, _BILLION) if self.drift_ppb else 0
        return session_ns + self.offset_ns + drifted - self.base_ns

    def _held_at(self, time: int) -> int:
        at = bisect.bisect_right(self.held, time, key=lambda step: step[0]) - 1
        return self.held[max(at, 0)][1]


@dataclass(frozen=True, slots=True)
class GivenClock:
    """What a person says of a file's clock. Without a drift that of the method in force stays, and its ``t0_ns``."""

    offset_ns: int
    drift_ppb: int | None = None
    t0_ns: int | None = None

    def upon(self, clock: Clock, base_ns: int) -> Clock:
        """The clock of a file with base time ``base_ns`` that has ``clock`` under the method in force."""
        if self.drift_ppb is not None:
            return Clock(base_ns, self.offset_ns, self.drift_ppb, self.t0_ns or 0, given=True)
        moved = self.offset_ns - clock.offset_ns
        held = tuple((begin + moved, offset + moved) for begin, offset in clock.held)
        if not clock.known:
            return Clock(base_ns, self.offset_ns, given=True)
        return replace(clock, offset_ns=self.offset_ns, held=held, given=True)


def _rounded(numerator: int, denominator: int) -> int:
    """The nearest whole number, halves up."""
    return (2 * numerator + denominator) // (2 * denominator)
