"""Args of single events, read on demand from the source text or from compressed blocks beside the tables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from viewer.base.ids import ABSENT
from viewer.store.loose_json import loads
from viewer.store.meta import SourceStamp, TraceMeta

BLOCK: Final = 256 << 10
"""Bytes of text per compressed block."""
KEPT_BLOCKS: Final = 32
"""Decompressed blocks that are kept."""
NEAR: Final = 16 << 10
"""Places that are no further apart are read together: skipping less than this costs more than reading it."""
MOST_AT_ONCE: Final = 1 << 20
"""Bytes that are read together at most, unless one object is longer."""
LARGEST: Final = 64 << 20
"""A longer args object is not read."""
BLOCKS_FILE: Final = "args.bin"
INDEX_FILE: Final = "args.index"
_DAMAGED: Final = "the cache of this file is damaged: clear it with rankscope cache and open it again"


class ArgsWriter:
    """Packs args text into compressed blocks of fixed text size; compression runs in a thread of its own."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._blocks: list[Future[bytes]] = []
        self._pool = ThreadPoolExecutor(1, "args")
        self.size = 0

    def write(self, text: memoryview) -> None:
        """Append text."""
        self.size += len(text)
        first = min(BLOCK - len(self._pending), len(text)) if self._pending else 0
        self._pending += text[:first]
        if len(self._pending) == BLOCK:
            self._blocks.append(self._pool.submit(_compress, bytes(self._pending)))
            self._pending.clear()
        end = first + (len(text) - first) // BLOCK * BLOCK
        for begin in range(first, end, BLOCK):
            self._blocks.append(self._pool.submit(_compress, bytes(text[begin : begin + BLOCK])))
        self._pending += text[end:]
        # Do not run far ahead of the compressor: waiting text is not compressed yet.
        if len(self._blocks) > 64:
            self._blocks[-64].result()

    def close(self) -> None:
        """Give up the thread; the blocks stay."""
        if self._pending:
            self._blocks.append(self._pool.submit(_compress, bytes(self._pending)))
            self._pending.clear()
        self._pool.shutdown()

    def blocks(self) -> list[bytes]:
        """All compressed blocks, after :meth:`close`."""
        return [block.result() for block in self._blocks]

    def save(self, folder: Path) -> None:
        """Write the blocks and their index. Raises OSError."""
        index, blocks = self.stored()
        (folder / INDEX_FILE).write_bytes(index)
        with (folder / BLOCKS_FILE).open("wb") as file:
            file.writelines(blocks)

    def stored(self) -> tuple[bytes, list[bytes]]:
        """Content of the index file, and that of the blocks file in parts; after :meth:`close`."""
        blocks = self.blocks()
        ends = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
        return np.append(ends, self.size).astype("<i8").tobytes(), blocks


def _compress(text: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd", compression_level=1).compress(text, asbytes=True)
    return packed


class _Text(Protocol):
    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the text, fewer when they are out of reach. Raises OSError."""

    def read_many(self, places: list[tuple[int, int]]) -> list[bytes]:
        """As :meth:`read` for many (offset, length), quick where offsets ascend. Raises OSError."""


class _Bytes:
    def __init__(self, text: bytes) -> None:
        self._text = text

    def read(self, offset: int, length: int) -> bytes:
        return self._text[offset : offset + length]

    def read_many(self, places: list[tuple[int, int]]) -> list[bytes]:
        return [self._text[offset : offset + length] for offset, length in places]


class _Source:
    """The source file, as long as it is what it was at import."""

    def __init__(self, stamp: SourceStamp) -> None:
        self._stamp = stamp
        self._lock = threading.Lock()

    def read(self, offset: int, length: int) -> bytes:
        return self.read_many([(offset, length)])[0]

    def read_many(self, places: list[tuple[int, int]]) -> list[bytes]:
        path = Path(self._stamp.path)
        out = []
        with self._lock, path.open("rb") as file:
            state = path.stat()
            if (state.st_size, state.st_mtime_ns) != (self._stamp.size, self._stamp.mtime_ns):
                raise OSError(f"{path.name} changed since it was imported: open it again to see arguments")
            for first, last in _stretches(places):
                start = places[first][0]
                file.seek(start)
                text = file.read(places[last - 1][0] + places[last - 1][1] - start)
                out += [text[o - start : o - start + n] for o, n in places[first:last]]
        return out


def _stretches(places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges of ``places`` that one read gets: they ascend, lie close together and are small as a whole."""
    first, end, limit = 0, 0, 0
    for i, (offset, length) in enumerate(places):
        if i == first or offset < end or offset > end + NEAR or offset + length > limit:
            if i > first:
                yield first, i
            first, limit = i, offset + MOST_AT_ONCE
        end = offset + length
    if places:
        yield first, len(places)


class _Blocks:
    """Compressed blocks, mapped or in memory; the last few are kept decompressed.

    Raises ValueError when the index does not fit the blocks.
    """

    def __init__(self, index: bytes, packed: pa.Buffer) -> None:
        numbers = np.frombuffer(index, "<i8")
        if len(numbers) < 2:
            raise ValueError("the index of args is damaged")
        self._ends, self._size = numbers[:-1], int(numbers[-1])
        if self._ends[0] != 0 or self._ends[-1] != packed.size or (np.diff(self._ends) < 0).any():
            raise ValueError("the index of args is damaged")
        if self._size < 0 or len(self._ends) - 1 != -(-self._size // BLOCK):
            raise ValueError("the index of args is damaged")
        self.index, self.packed = index, packed
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path) -> _Blocks:
        index = (folder / INDEX_FILE).read_bytes()
        # Mapped, not opened for each read: another process may remove the folder meanwhile.
        path = folder / BLOCKS_FILE
        if not path.stat().st_size:  # which cannot be mapped
            return cls(index, pa.py_buffer(b""))
        with pa.memory_map(str(path), "r") as file:
            return cls(index, file.read_buffer())

    def read(self, offset: int, length: int) -> bytes:
        parts = []
        with self._lock:
            for number in range(offset // BLOCK, (min(offset + length, self._size) - 1) // BLOCK + 1):
                block = self._block(number)
                begin = max(0, offset - number * BLOCK)
                parts.append(block[begin : offset + length - number * BLOCK])
        return b"".join(parts)

    def read_many(self, places: list[tuple[int, int]]) -> list[bytes]:
        out, number, block = [], -1, b""
        for offset, length in places:
            at = offset % BLOCK
            if at + length > BLOCK:  # it goes on in the next block
                out.append(self.read(offset, length))
                continue
            if offset // BLOCK != number:
                if offset >= self._size:
                    out.append(b"")
                    continue
                number = offset // BLOCK
                with self._lock:
                    block = self._block(number)
            out.append(block[at : at + length])
        return out

    def _block(self, number: int) -> bytes:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        begin, end = int(self._ends[number]), int(self._ends[number + 1])
        size = min(BLOCK, self._size - number * BLOCK)
        try:
            packed = self.packed.slice(begin, end - begin)
            text: bytes = pa.Codec("zstd").decompress(packed, decompressed_size=size, asbytes=True)
        except (pa.ArrowException, OSError, ValueError):
            raise OSError(_DAMAGED) from None
        self._kept[number] = text
        if len(self._kept) > KEPT_BLOCKS:
            self._kept.popitem(last=False)
        return text


class ArgsText:
    """Bytes of args objects by (offset, length). Safe from any thread."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self.problem = ""
        """One sentence once args were out of reach (the source moved or changed), else ""."""

    @classmethod
    def open(cls, folder: Path, meta: TraceMeta) -> ArgsText:
        """Args of a trace folder."""
        if meta.args_in_source:
            return cls(_Source(meta.source))
        try:
            return cls(_Blocks.open(folder))
        except OSError:
            return cls.none()
        except (ValueError, pa.ArrowException):
            damaged = cls.none()
            damaged.problem = _DAMAGED
            return damaged

    @classmethod
    def of_blocks(cls, index: bytes, blocks: bytes) -> ArgsText:
        """Args in compressed blocks that are held in memory. Raises ValueError."""
        return cls(_Blocks(index, pa.py_buffer(blocks)))

    def stored(self) -> tuple[bytes, pa.Buffer] | None:
        """Content of the index file and of the blocks file; None when the text is in the source, uncompressed."""
        return (self._text.index, self._text.packed) if isinstance(self._text, _Blocks) else None

    @classmethod
    def of_source(cls, stamp: SourceStamp) -> ArgsText:
        """Args inside an uncompressed source."""
        return cls(_Source(stamp))

    @classmethod
    def of_writer(cls, writer: ArgsWriter) -> ArgsText:
        """Args that were packed but not saved."""
        index, blocks = writer.stored()
        return cls(_Blocks(index, pa.py_buffer(b"".join(blocks))))

    @classmethod
    def none(cls) -> ArgsText:
        """For traces without args."""
        return cls(_Bytes(b""))

    @classmethod
    def of_bytes(cls, text: bytes) -> ArgsText:
        """Args inside a text held in memory."""
        return cls(_Bytes(text))

    def read(self, offset: int, length: int) -> bytes:
        """The text of one args object, b"" when out of reach (``problem`` then says why)."""
        return self.read_many([offset], [length])[0]

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """As :meth:`read` for many objects; ascending offsets are quickest."""
        places = list(zip(offsets, lengths, strict=True))
        wanted = [i for i, (o, n) in enumerate(places) if o >= 0 and 0 < n <= LARGEST]
        out = [b""] * len(offsets)
        try:
            if len(wanted) == len(places):
                return self._text.read_many(places)
            for i, text in zip(wanted, self._text.read_many([places[i] for i in wanted]), strict=True):
                out[i] = text
        except FileNotFoundError as error:
            name = Path(str(error.filename)).name
            self.problem = f"{name} is no longer where it was imported from: arguments of events cannot be shown"
        except OSError as error:
            self.problem = str(error)
        return out

    def parse(self, offset: int, length: int) -> dict[str, Any]:
        """One args object as a dict; {} when there is none, it is out of reach or makes no sense."""
        if offset == ABSENT:
            return {}
        text = self.read(offset, length)
        if not text:
            return {}
        try:
            value = loads(text)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}
