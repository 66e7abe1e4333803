"""Cancellation and progress of long work, independent of any thread or GUI library."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from viewer.base.errors import Cancelled


class CancelToken:
    """A flag that long loops poll; setting it is safe from any thread."""

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._event = threading.Event()
        self._parent = parent

    def cancel(self) -> None:
        """Ask the work to stop."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether this token or a parent was cancelled."""
        return self._event.is_set() or (self._parent is not None and self._parent.cancelled)

    def check(self) -> None:
        """Raise :class:`Cancelled` when a stop was asked for."""
        if self.cancelled:
            raise Cancelled("cancelled")


@dataclass(frozen=True, slots=True)
class Progress:
    """State of one file's import. ``total_bytes`` and ``done_bytes`` count the file on disk (compressed if it is)."""

    path: str
    stage: str
    done_bytes: int
    total_bytes: int
    events: int
    seconds: float


ProgressSink = Callable[[Progress], None]


def no_progress(_: Progress) -> None:
    """A sink for callers that show nothing."""
