"""A tar inside a compression: its members can only be read one after another, from the beginning.

One pass unpacks in a thread and imports each trace as it comes by; nothing is spooled to disk. What the archive holds
is noted in the cache, so that reopening needs no pass at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from viewer.importers.archive import inner_name, is_trace_name, member_stamp
from viewer.importers.inflate import PIECE, ByteSource, codec_of
from viewer.importers.source import HEAD, AheadStream, FileSource
from viewer.importers.tar_headers import BLOCK, TarHeaders
from viewer.store.meta import SourceStamp

MAX_PASSED: Final = 1 << 40
"""Bytes that are unpacked at most."""


@dataclass
class StreamMember:
    """A member that goes by, as a Source. It can be opened once, until the stream goes on."""

    path: Path
    size: int
    identity: SourceStamp
    _stream: TarStream
    _head: bytes
    direct: bool = field(default=False, init=False)

    def stamp(self) -> SourceStamp:
        """See Source."""
        return self.identity

    def head(self) -> bytes:
        """See Source."""
        return self._head

    def open(self) -> ByteSource:
        """See Source."""
        return _MemberBytes(self._stream, self._head)


class _MemberBytes:
    """The bytes of the member that goes by, its head first."""

    def __init__(self, stream: TarStream, head: bytes) -> None:
        self._stream, self._head = stream, head

    @property
    def used(self) -> int:
        return self._stream.position

    def read(self, most: int) -> bytes:
        if self._head:
            data, self._head = self._head[:most], self._head[most:]
            return data
        return self._stream.of_member(most)

    def close(self) -> None:
        pass


class TarStream:
    """One pass over a compressed tar. Raises OSError when the file cannot be read."""

    def __init__(self, path: Path, stamp: SourceStamp) -> None:
        self._path, self._stamp = path, stamp
        source = FileSource(path)
        self._text = AheadStream(source.open(), codec_of(source.head()))
        self._left = 0
        self._padding = 0
        self._passed = 0
        self._room = memoryview(bytearray(PIECE))

    @property
    def position(self) -> int:
        """Bytes of the file that were read so far."""
        return self._text.position

    def close(self) -> None:
        """Stop unpacking."""
        self._text.close()

    def members(self) -> Iterator[StreamMember]:
        """Members that may be traces; each has to be used before the next one is asked for.

        Raises:
            EOFError, ValueError: the archive is cut off or damaged; what came before was whole.
        """
        headers = TarHeaders(self._exactly)
        names: set[str] = set()
        while entry := headers.next():
            self._left, self._padding = entry.size, -entry.size % BLOCK
            if entry.is_file and is_trace_name(entry.name):
                name, number = inner_name(entry.name), 2
                plain = name
                while name in names:
                    name, number = f"{plain} ({number})", number + 1
                names.add(name)
                identity = member_stamp(self._stamp, name, entry.size, "")
                try:
                    head = self._exactly_of_member(HEAD)
                except (EOFError, ValueError):
                    head = b""
                yield StreamMember(self._path / name, entry.size, identity, self, head)
            while self._left:
                self.of_member(PIECE)
            self._exactly(self._padding)
        # What was written behind the end, up to that of the compression: a cut there loses nothing.

    def _exactly_of_member(self, most: int) -> bytes:
        data = b""
        while len(data) < most and (piece := self.of_member(most - len(data))):
            data += piece
        return data

    def of_member(self, most: int) -> bytes:
        """The next bytes of the member, b"" behind its last. Raises EOFError, ValueError."""
        if not self._left:
            return b""
        count = self._text.read_into(self._room[: min(most, self._left, len(self._room))])
        if not count:
            self._broken()
        self._left -= count
        self._count(count)
        return bytes(self._room[:count])

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            count = self._text.read_into(self._room[: min(size - len(data), len(self._room))])
            if not count:
                if self._text.damage:
                    self._broken()
                break
            data += self._room[:count]
        self._count(len(data))
        return bytes(data)

    def _count(self, count: int) -> None:
        self._passed += count
        if self._passed > MAX_PASSED:
            raise ValueError("it unpacks to more than a terabyte")

    def _broken(self) -> None:
        if self._text.damage and "cut off" not in self._text.damage:
            raise ValueError(self._text.damage)
        raise EOFError("it is cut off")
