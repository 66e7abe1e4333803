"""Numbering of distinct byte strings: a hash table whose strings live in an arena of its own.

The table is described by an int64 array (``StringTable.state``) whose address the kernels get. When the arena or the
table is full a kernel raises the OVERFLOW word; the caller grows the table and scans the event again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.jit.config import kernel
from viewer.jit.scan_load import (
    apart,
    differences,
    folded,
    load64,
    load_id,
    load_int,
    store8,
    store_id,
    store_int,
)

# Words of the state.
_SLOTS, _MASK, _ENTRIES, _CAPACITY, _COUNT, _ARENA, _USED, _ARENA_SIZE, OVERFLOW = (8 * k for k in range(9))

EMPTY_SLOT: Final = 0xFFFFFFFF
_AT_ONCE: Final = 1 << 14

_SEED, _LEFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xA0761D6478BD642F)
_RIGHT, _LAST = np.uint64(0xE7037ED1A0B428DB), np.uint64(0x8EBC6AF09C88C6E3)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def hash_text(p: int, size: int) -> Any:
    """A 64-bit hash of ``size`` bytes at ``p``: products of 64 by 64 bits, folded (as wyhash does it)."""
    h = _SEED ^ np.uint64(size)
    end = p + size
    if size < 8:
        return np.int64(folded((load64(p) & ((_ONE << np.uint64(8 * size)) - _ONE)) ^ _LEFT, h))
    if size <= 16:
        return np.int64(folded(load64(p) ^ _LEFT, load64(end - 8) ^ h))
    # Two chains side by side: a multiplication need not wait for the one before it.
    other = h ^ _LAST
    while end - p > 32:
        h = folded(load64(p) ^ _LEFT, load64(p + 8) ^ h)
        other = folded(load64(p + 16) ^ _RIGHT, load64(p + 24) ^ other)
        p += 32
    if end - p > 16:
        h = folded(load64(p) ^ _LEFT, load64(p + 8) ^ h)
    other = folded(load64(end - 16) ^ _RIGHT, load64(end - 8) ^ other)
    return np.int64(folded(h ^ _LAST, other))


@kernel
def same_text(a: int, b: int, size: int) -> Any:
    """Whether ``size`` bytes at two addresses are equal."""
    i = np.int64(0)
    while i + 8 <= size:
        if load64(a + i) != load64(b + i):
            return False
        i += 8
    rest = size - i
    if rest > 0:
        mask = (_ONE << np.uint64(8 * rest)) - _ONE
        return (load64(a + i) & mask) == (load64(b + i) & mask)
    return True


@kernel
def known_text(p: int, size: int, state: int) -> Any:
    """The number of the text [p, p + size), -1 when it is not found at once: intern_text tells then.

    64 bytes behind the text must be readable.
    """
    h = hash_text(p, size)
    number = load_id(load_int(state + _SLOTS) + 4 * (h & load_int(state + _MASK)))
    if number == EMPTY_SLOT:
        return np.int64(-1)
    entry = load_int(state + _ENTRIES) + 24 * number
    if load_int(entry) != h or load_int(entry + 16) != size or size == 0:
        return np.int64(-1)
    at = load_int(state + _ARENA) + load_int(entry + 8)
    rest = size
    while rest > 64:
        if differences(at, p) != _ZERO:
            return np.int64(-1)
        at += 64
        p += 64
        rest -= 64
    return np.int64(number) if (differences(at, p) << np.uint64(64 - rest)) == _ZERO else np.int64(-1)


@kernel
def intern_text(p: int, size: int, state: int) -> Any:
    """The number of the text [p, p + size); -1 with the OVERFLOW word raised when the table must grow first."""
    h = hash_text(p, size)
    slots = load_int(state + _SLOTS)
    mask = load_int(state + _MASK)
    entries = load_int(state + _ENTRIES)
    arena = load_int(state + _ARENA)
    i = h & mask
    while True:
        number = load_id(slots + 4 * i)
        if number == EMPTY_SLOT:
            break
        entry = entries + 24 * number
        if load_int(entry) == h and load_int(entry + 16) == size and same_text(arena + load_int(entry + 8), p, size):
            return number
        i = (i + 1) & mask
    number = load_int(state + _COUNT)
    used = load_int(state + _USED)
    if number >= load_int(state + _CAPACITY) or used + size > load_int(state + _ARENA_SIZE):
        store_int(state + OVERFLOW, max(size, np.int64(1)))
        return -1
    k = np.int64(0)
    while k + 8 <= size:
        store_int(arena + used + k, load_int(p + k))
        k += 8
    while k < size:
        store8(arena + used + k, np.int64(load64(p + k) & np.uint64(255)))
        k += 1
    store_int(state + _USED, used + size)
    store_int(state + _COUNT, number + 1)
    store_id(slots + 4 * i, number)
    entry = entries + 24 * number
    store_int(entry, h)
    store_int(entry + 8, used)
    store_int(entry + 16, size)
    return number


@kernel
def find_text(p: int, size: int, state: int) -> Any:
    """The number of the text [p, p + size), -1 when it is not in the table."""
    h = hash_text(p, size)
    slots = load_int(state + _SLOTS)
    mask = load_int(state + _MASK)
    i = h & mask
    number = load_id(slots + 4 * i)
    while number != EMPTY_SLOT:
        entry = load_int(state + _ENTRIES) + 24 * number
        at = load_int(state + _ARENA) + load_int(entry + 8)
        if load_int(entry) == h and load_int(entry + 16) == size and same_text(at, p, size):
            return np.int64(number)
        i = (i + 1) & mask
        number = load_id(slots + 4 * i)
    return np.int64(-1)


@kernel
def overflowed(state: int) -> Any:
    """Size of the text that found no room since the last growth, 0 when all went well."""
    return load_int(state + OVERFLOW)


@kernel
def _refill(entries: NDArray[np.int64], count: int, slots: NDArray[np.uint32]) -> None:
    mask = len(slots) - 1
    for number in range(count):
        i = entries[number, 0] & mask
        while slots[i] != EMPTY_SLOT:
            i = (i + 1) & mask
        slots[i] = number


_intern_text = apart(intern_text)


@kernel
def _add_all(
    entries: NDArray[np.int64], arena: int, begin: int, count: int, state: int, place: NDArray[np.int64]
) -> Any:
    """Number the strings [begin, count) of another table in this one; the first for which there was no room."""
    for k in range(begin, count):
        number = _intern_text(arena + entries[k, 1], entries[k, 2], state)
        if number < 0:
            return k
        place[k] = number
    return count


class StringTable:
    """Distinct byte strings numbered by first appearance. Not for use from several threads at once."""

    def __init__(self, capacity: int = 1 << 12, arena: int = 1 << 19) -> None:
        self._entries = np.empty((capacity, 3), np.int64)
        self._arena = np.zeros(arena + 64, np.uint8)
        self._slots = np.full(2 * capacity, EMPTY_SLOT, np.uint32)
        self.state = np.zeros(9, np.int64)
        self.address = int(self.state.ctypes.data)
        """What the kernels get."""
        self._describe()

    def _describe(self) -> None:
        capacity = len(self._entries)
        self.state[0] = self._slots.ctypes.data
        self.state[1] = len(self._slots) - 1
        self.state[2] = self._entries.ctypes.data
        self.state[3] = capacity
        self.state[5] = self._arena.ctypes.data
        self.state[7] = len(self._arena) - 64
        self.state[8] = 0

    def __len__(self) -> Any:
        return int(self.state[4])

    def grow(self) -> None:
        """Make room for the text that did not fit (at least twice as much), if there is one."""
        if not self.state[8]:
            return
        count, used, wanted = len(self), int(self.state[6]), int(self.state[8])
        if count * 2 > len(self._entries):
            entries = np.empty((4 * len(self._entries), 3), np.int64)
            entries[:count] = self._entries[:count]
            self._entries = entries
            self._slots = np.full(2 * len(entries), EMPTY_SLOT, np.uint32)
            _refill(entries, count, self._slots)
        if (used + wanted) * 2 > len(self._arena) - 64:
            arena = np.zeros(4 * (used + wanted) + 64, np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena
        self._describe()

    def add(self, text: bytes) -> Any:
        """The number of ``text``."""
        padded = np.zeros(len(text) + 64, np.uint8)
        padded[: len(text)] = np.frombuffer(text, np.uint8)
        while True:
            number: int = intern_text(padded.ctypes.data, len(text), self.address)
            if number >= 0:
                return number
            self.grow()

    def find(self, text: bytes) -> int:
        """The number of ``text``, -1 when it is not there."""
        padded = np.zeros(len(text) + 64, np.uint8)
        padded[: len(text)] = np.frombuffer(text, np.uint8)
        return int(find_text(padded.ctypes.data, len(text), self.address))

    def add_all(self, other: StringTable) -> NDArray[np.int64]:
        """Number all strings of another table, in its order; where each of them went."""
        place = np.empty(len(other), np.int64)
        done = 0
        while done < len(other):
            done = _add_all(other._entries, other._arena.ctypes.data, done, len(other), self.address, place)
            self.grow()
        return place

    def replace(self, numbers: NDArray[np.int64]) -> None:
        """Put others in the place of strings that are int64[len(self), width]; only :meth:`add_all` is right then."""
        self._arena[: numbers.nbytes] = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8)

    def numbers(self, width: int) -> NDArray[np.int64]:
        """All strings by number, each of which is ``width`` int64."""
        used = self._arena[: len(self) * width * 8].copy()
        return used.view(np.int64).reshape(len(self), width)

    @property
    def used_bytes(self) -> Any:
        """Bytes of all strings together."""
        return int(self.state[6])

    def text(self, number: int) -> bytes:
        """One string."""
        _, offset, size = self._entries[number].tolist()
        return self._arena[offset : offset + size].tobytes()

    def texts(self) -> Iterator[bytes]:
        """All strings by number."""
        for begin in range(0, len(self), _AT_ONCE):  # there may be millions
            spans: Any = self._entries[begin : min(begin + _AT_ONCE, len(self)), 1:].tolist()
            first = spans[0][0]
            arena = self._arena[first : sum(spans[-1])].tobytes()
            for offset, size in spans:
                yield arena[offset - first : offset - first + size]
