"""Pickles of plain containers to columns: drives the machine of ``viewer.jit.pickle_machine`` over a sliding window.

Nothing in a pickle is executed: opcodes that would import or call something end the reading, with what they asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.errors import on_one_line
from viewer.importers.source import TextStream
from viewer.importers.window import CHUNK, TextWindow
from viewer.jit import pickle_layout as machine
from viewer.jit.pickle_machine import run
from viewer.jit.scan_intern import StringTable
from viewer.store.growing import GrowingColumns

MOST_STACK: Final = 1 << 22
"""Values that wait for their container."""
MOST_NESTED: Final = 8
"""Levels of containers that :meth:`PickleColumns.value` follows."""
MOST_PLAIN: Final = 1 << 20
"""Items in all that it makes."""

_SMALL: Final = 1 << 10
_ENTRIES: Final[dict[str, Any]] = {
    "key": np.int64, "value": np.int64, "owner": np.int32, "key_tag": np.uint8, "tag": np.uint8,
}  # fmt: skip


class PickleError(Exception):
    """A pickle that is not read: ``problem`` in words, and the byte where."""

    def __init__(self, problem: str, at: int, damaged: bool = True) -> None:
        super().__init__(problem)
        self.problem, self.at, self.damaged = problem, at, damaged


class PickleColumns:
    """A pickle, read to its end by :meth:`run`: ``rows[kind]`` are the columns of each of the machine's KINDS.

    ``frames`` int64[n, 3] are (name, file, line), texts as numbers; ``stack(i)`` its frames; ``texts`` all texts.
    """

    def __init__(self, stream: TextStream, folder: Path | None = None, chunk: int = CHUNK) -> None:
        self._window = TextWindow(stream, chunk)
        self._texts, self._frames = StringTable(), StringTable(1 << 10, 1 << 16)
        self._stacks, self._pairs = StringTable(1 << 10, 1 << 18), StringTable(1 << 6, 1 << 12)
        for key in machine.KEYS:
            self._texts.add(key.encode())
        pair: dict[str, Any] = {"value": np.int64, "tag": np.uint8}
        self._values = GrowingColumns(pair, None, _SMALL)
        self._memo = GrowingColumns(pair, folder)
        self._objects = GrowingColumns({"ref": np.int32, "kind": np.uint8}, folder)
        self._entries = GrowingColumns(_ENTRIES, folder, _SMALL)
        self.rows = [
            GrowingColumns(machine.columns_of(k), folder, 1 << 16 if k == 0 else _SMALL)
            for k in range(len(machine.KINDS))
        ]
        self._state = np.zeros(machine.STATE_WORDS + len(machine.KINDS), np.int64)
        self._by_owner: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None
        self.texts: list[str] = []

    def run(self, tell: Callable[[int], None]) -> None:
        """Read everything; ``tell`` hears how many events there are so far, and may raise.

        Raises:
            PickleError: it is cut off, damaged, or no pickle of plain containers.
        """
        window, state = self._window, self._state
        marks = np.zeros(machine.MOST_MARKS, np.int64)
        scratch = np.zeros(machine.MOST_FRAMES, np.int64)
        field, width = machine.fields(), machine.widths()
        window.more()
        while True:
            state[machine.POSITION], state[machine.ORIGIN] = window.position, window.origin
            status = run(
                window.address, window.filled, state, self._room(), self._values.addresses, marks,
                self._memo.addresses, self._objects.addresses, self._entries.addresses, self._tables(), field, width,
                self._texts.address, self._frames.address, self._stacks.address, self._pairs.address, scratch,
            )  # fmt: skip
            window.position = int(state[machine.POSITION])
            self._count()
            if status == machine.DONE:
                break
            if status == machine.ROOM:
                self._grow()
            elif status == machine.GROW:
                for table in (self._texts, self._frames, self._stacks, self._pairs):
                    table.grow()
            elif status == machine.BAD:
                raise self._error()
            else:
                self._more()
            tell(int(state[machine.STATE_WORDS]))
        self._memo = self._values = GrowingColumns({"value": np.int64, "tag": np.uint8}, None, _SMALL)
        self.texts = [text.decode("utf-8", "replace") for text in self._texts.texts()]

    def _more(self) -> None:
        window = self._window
        at = window.origin + window.position
        try:
            brought = window.more()
        except OverflowError as error:
            raise PickleError(f"states {error}", at) from None
        if not brought:
            raise PickleError("is cut off", window.origin + window.filled)

    def _room(self) -> NDArray[np.int64]:
        held = (self._values, self._memo, self._objects, self._entries, *self.rows)
        return np.array([c.room for c in held], np.int64)

    def _tables(self) -> NDArray[np.int64]:
        out = np.zeros((len(self.rows), machine.MOST_COLUMNS), np.int64)
        for k, columns in enumerate(self.rows):
            out[k, : len(columns.addresses)] = columns.addresses
        return out

    def _count(self) -> None:
        state = self._state
        self._values.rows, self._memo.rows = int(state[machine.DEPTH]), int(state[machine.MEMO])
        self._objects.rows, self._entries.rows = int(state[machine.OBJECTS]), int(state[machine.ENTRIES])
        for k, columns in enumerate(self.rows):
            columns.rows = int(state[machine.STATE_WORDS + k])

    def _grow(self) -> None:
        """Make room where there is little, for as much as is wanted at once."""
        wanted = int(self._state[machine.CLAIMED]) + 8
        self._state[machine.CLAIMED] = 0
        for columns in (self._values, self._memo, self._objects, self._entries, *self.rows):
            most = max(columns.rows + 8, wanted if columns is self._memo else 0)
            if columns is self._entries:
                most = columns.rows + wanted
            if most > columns.room:
                columns.reserve(most)
        if self._values.rows > MOST_STACK:
            raise PickleError("leaves millions of values without a container", self._window.origin)

    def _error(self) -> PickleError:
        state, window = self._state, self._window
        at = int(state[machine.ERROR_AT])
        place, what = window.origin + at, int(state[machine.ERROR])
        claim = int(state[machine.CLAIMED])
        if what == machine.CODE:
            return PickleError(f"asks to run code{self._asked(at)}, which is never done here", place, damaged=False)
        problem = {
            machine.UNKNOWN: f"holds the opcode {window.text(at, at + 1)!r}, which no snapshot has",
            machine.UNDERFLOW: "takes values that are not there",
            machine.DEEP: f"nests deeper than {machine.MOST_MARKS} levels or holds an endless stack",
            machine.CLAIM: f"states a value of {claim & (2**64 - 1):,} bytes",
            machine.MEMO_LOST: "uses a value that it never kept",
            machine.MEMO_FAR: "keeps a value under an absurd number",
            machine.SHAPE: "puts a value where it does not belong",
            machine.PROTOCOL: f"states protocol {claim}; 2 to 5 are known",
        }[what]
        return PickleError(problem, place)

    def _asked(self, at: int) -> str:
        """What is to be imported, in brackets; "" when it does not say."""
        window = self._window
        if window.text(at, at + 1) == b"c":
            parts = window.text(at + 1, at + 400).split(b"\n")[:2]
            names = [p.decode("utf-8", "replace") for p in parts]
        elif window.text(at, at + 1) == b"\x93" and self._values.rows >= 2:
            texts = list(self._texts.texts())
            tags, values = self._values.column("tag")[-2:], self._values.column("value")[-2:]
            if not (tags == machine.TEXT).all():
                return ""
            names = [texts[v].decode("utf-8", "replace") for v in values.tolist()]
        else:
            return ""
        return f" ({on_one_line('.'.join(names), 120)})"

    # What was read ---------------------------------------------------------------------------------------------------

    @property
    def frames(self) -> NDArray[np.int64]:
        """(name, file, line) of each frame."""
        return self._frames.numbers(3)

    def stacks(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(int64[n + 1] where each stack begins, int32 the frames of one after another, innermost first)."""
        entries = self._stacks._entries[: len(self._stacks)]
        begins = np.append(entries[:, 1], int(self._stacks.state[6])) // 8
        used = self._stacks._arena[: int(self._stacks.state[6])].view(np.int64).astype(np.int32)
        return begins, used

    @property
    def pairs(self) -> NDArray[np.int64]:
        """int64[n, 2]."""
        return self._pairs.numbers(2)

    def root(self) -> Any:
        """The outermost value as :meth:`items` takes it: (tag, value)."""
        return int(self._state[machine.RESULT_TAG]), int(self._state[machine.RESULT])

    def items(self, number: int) -> list[tuple[Any, int, int]]:
        """(key, tag, value) of a generic dict's members or a list's items (key None)."""
        if self._by_owner is None:
            owner = self._entries.column("owner")
            order = np.argsort(owner, kind="stable")
            self._by_owner = order, owner[order]
        order, owners = self._by_owner
        a, b = np.searchsorted(owners, [number, number + 1])
        rows = order[a:b]
        columns = {name: self._entries.column(name)[rows].tolist() for name in _ENTRIES}
        out = []
        for key_tag, key, tag, value in zip(
            columns["key_tag"], columns["key"], columns["tag"], columns["value"], strict=True
        ):
            out.append((self._plain(key_tag, key) if key_tag != machine.NOTHING else None, tag, value))
        return out

    def _plain(self, tag: int, value: int) -> Any:
        if tag == machine.TEXT:
            return self.texts[value]
        if tag == machine.INT:
            return value
        if tag == machine.BOOL:
            return bool(value)
        if tag == machine.FLOAT:
            return float(np.int64(value).view(np.float64))
        return None

    def kind_of(self, number: int) -> int:
        """The kind of an object."""
        return int(self._objects.column("kind")[number])

    def value(self, tag: int, value: int) -> Any:
        """A small value as plain Python objects; deeper or larger parts are None."""
        left = [MOST_PLAIN]

        def plain(tag: int, value: int, level: int) -> Any:
            left[0] -= 1
            if tag == machine.PAIR:
                return tuple(self.pairs[value].tolist())
            if tag != machine.OBJECT:
                return self._plain(tag, value)
            if level > MOST_NESTED or left[0] < 0:
                return None
            kind = self.kind_of(value)
            if kind == machine.EMPTY_DICT:
                return {}
            if kind in (machine.LIST, machine.TUPLE, machine.EMPTY_LIST):
                return [plain(t, v, level + 1) for _, t, v in self.items(value)]
            if kind == machine.DICT:
                return {k: plain(t, v, level + 1) for k, t, v in self.items(value)}
            return None

        return plain(tag, value, 0)
