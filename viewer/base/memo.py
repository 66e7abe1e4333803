"""Values that are built once and kept, shared by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Built values by key. A builder may ask for other keys; nothing is built twice, nothing is ever dropped."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """The value of ``key``, built by ``build`` the first time."""
        with self._lock:
            if key not in self._values:
                self._values[key] = build()
            value: T = self._values[key]
            return value
