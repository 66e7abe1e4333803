"""A named, ordered collection of plug-in points (importers, analyses, panels, exports)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Filled by explicit ``add`` calls in one visible place, never as a side effect of an import."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Register ``item``; a name can be taken once."""
        if name in self._items:
            raise ValueError(f"{self._what} {name!r} is registered twice")
        self._items[name] = item

    def get(self, name: str) -> T:
        """The item of that name; KeyError names the known ones."""
        try:
            return self._items[name]
        except KeyError:
            raise KeyError(f"no {self._what} {name!r}; known: {', '.join(self._items)}") from None

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def names(self) -> tuple[str, ...]:
        """Names in order of registration."""
        return tuple(self._items)
