"""Args of single events, read on demand from the source text or from compressed blocks beside the tables."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
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
LARGEST: Final = 64 << 20
"""A longer args object is not read."""
_BLOCKS_FILE, _INDEX_FILE = "args.bin", "args.index"


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
        self._pending += text
        while len(self._pending) >= BLOCK:
            self._blocks.append(self._pool.submit(_compress, bytes(self._pending[:BLOCK])))
            del self._pending[:BLOCK]
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
        blocks = self.blocks()
        ends = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
        (folder / _INDEX_FILE).write_bytes(np.append(ends, self.size).astype("<i8").tobytes())
        with (folder / _BLOCKS_FILE).open("wb") as file:
            file.writelines(blocks)


def _compress(text: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd", compression_level=1).compress(text, asbytes=True)
    return packed


class _Text(Protocol):
    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the text, fewer when they are out of reach. Raises OSError."""


class _Bytes:
    def __init__(self, text: bytes) -> None:
        self._text = text

    def read(self, offset: int, length: int) -> bytes:
        return self._text[offset : offset + length]


class _Source:
    """The source file, as long as it is what it was at import."""

    def __init__(self, stamp: SourceStamp) -> None:
        self._stamp = stamp
        self._lock = threading.Lock()

    def read(self, offset: int, length: int) -> bytes:
        path = Path(self._stamp.path)
        with self._lock, path.open("rb") as file:
            state = path.stat()
            if (state.st_size, state.st_mtime_ns) != (self._stamp.size, self._stamp.mtime_ns):
                raise OSError(f"{path.name} changed since it was imported: open it again to see arguments")
            file.seek(offset)
            return file.read(length)


class _Blocks:
    """Compressed blocks in a file or in memory; the last few are kept decompressed."""

    def __init__(self, ends: Sequence[int], size: int, file: Path | None, blocks: list[bytes]) -> None:
        self._ends, self._size, self._file, self._blocks = ends, size, file, blocks
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path) -> _Blocks:
        numbers = np.frombuffer((folder / _INDEX_FILE).read_bytes(), "<i8").tolist()
        return cls(numbers[:-1], numbers[-1], folder / _BLOCKS_FILE, [])

    def read(self, offset: int, length: int) -> bytes:
        parts = []
        with self._lock:
            for number in range(offset // BLOCK, (min(offset + length, self._size) - 1) // BLOCK + 1):
                block = self._block(number)
                begin = max(0, offset - number * BLOCK)
                parts.append(block[begin : offset + length - number * BLOCK])
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        if self._file is None:
            packed = self._blocks[number]
        else:
            with self._file.open("rb") as file:
                file.seek(self._ends[number])
                packed = file.read(self._ends[number + 1] - self._ends[number])
        size = min(BLOCK, self._size - number * BLOCK)
        try:
            text: bytes = pa.Codec("zstd").decompress(packed, decompressed_size=size, asbytes=True)
        except (pa.ArrowException, OSError, ValueError):
            raise OSError(
                "the cache of this file is damaged: clear it with rankscope cache and open it again"
            ) from None
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
        with contextlib.suppress(OSError, ValueError, IndexError):
            return cls(_Blocks.open(folder))
        return cls.none()

    @classmethod
    def of_source(cls, stamp: SourceStamp) -> ArgsText:
        """Args inside an uncompressed source."""
        return cls(_Source(stamp))

    @classmethod
    def of_writer(cls, writer: ArgsWriter) -> ArgsText:
        """Args that were packed but not saved."""
        blocks = writer.blocks()
        return cls(_Blocks([], writer.size, None, blocks))

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
        if offset < 0 or length <= 0 or length > LARGEST:
            return b""
        try:
            return self._text.read(offset, length)
        except FileNotFoundError as error:
            name = Path(str(error.filename)).name
            self.problem = f"{name} is no longer where it was imported from: arguments of events cannot be shown"
        except OSError as error:
            self.problem = str(error)
        return b""

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
