"""Values that are built once and kept, shared by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_ABSENT: Final = object()
_guard = threading.Lock()
"""Held for the bookkeeping below alone, never while anything is built."""
_awaited: dict[int, _Building] = {}
"""By thread: what it waits for."""


class _Building:
    """A value that a thread is about to build."""

    __slots__ = ("done", "thread")

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.done = threading.Event()


class Memo:
    """Built values by key. Nothing is built twice, nothing is ever dropped.

    Threads that ask for different keys do not wait for each other, those that ask for the same key wait for the one
    that builds it. A builder may ask for other keys, of this or of other memos, but not for its own.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._building: dict[Hashable, _Building] = {}

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """The value of ``key``, built by ``build`` the first time.

        What ``build`` raises is raised here, and whoever asks next builds again.

        Raises:
            RuntimeError: building it asks for itself, in this thread or through what another one builds.
        """
        me = threading.get_ident()
        while True:
            value = self._values.get(key, _ABSENT)
            if value is not _ABSENT:
                found: T = value
                return found
            with _guard:
                if key in self._values:
                    continue
                other = self._building.get(key)
                if other is None:
                    mine = self._building[key] = _Building(me)
                    break
                if _waits_for(other, me):
                    raise RuntimeError(f"building {key!r} asks for itself")
                _awaited[me] = other
            try:
                other.done.wait()
            finally:
                with _guard:
                    del _awaited[me]
        try:
            built = build()
            self._values[key] = built
            return built
        finally:
            with _guard:
                del self._building[key]
            mine.done.set()

    def peek(self, key: Hashable) -> Any:
        """The value of ``key`` if it is there, else None; never waits."""
        return self._values.get(key)

    def __contains__(self, key: Hashable) -> bool:
        """Whether it is built: then :meth:`get` answers at once."""
        return key in self._values


def _waits_for(building: _Building, thread: int) -> bool:
    """Whether what is being built waits, through any number of others, for ``thread``. With the guard held."""
    while building.thread != thread:
        further = _awaited.get(building.thread)
        if further is None or further.done.is_set():
            return False
        building = further
    return True
