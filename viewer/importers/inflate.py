"""Compressed bytes to text, by content: gzip, zstd, bzip2 and xz, any number of members or frames one after another.

What can be decoded is given out, to the last byte, before a cut or a damage is told: a truncated file keeps its exact
prefix. Output comes in pieces of bounded size, and decoders may not ask for more memory than WINDOW_LOG allows.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from isal import isal_zlib

from viewer.base.zstd import zstd

PIECE: Final = 2 << 20
"""Bytes that are read or inflated at a time."""
WINDOW_LOG: Final = 27
"""zstd frames may look back 128 MiB; what ``zstd --long=31`` writes would take 2 GiB of memory."""
XZ_MEMORY: Final = 256 << 20
BOMB_RATIO: Final = 1500
"""Nobody's trace shrinks so well: even gzip's best is 1032."""
BOMB_BYTES: Final = 4 << 30
"""Text up to this size may shrink as it likes."""

INFLATE_ERRORS: Final[Any] = (isal_zlib.error, zlib.error)
GZIP: Final = b"\x1f\x8b"
_TRAILER: Final = 8
"""Bytes of a gzip member's checksum and size."""


class ByteSource(Protocol):
    """Bytes in order. ``used`` counts those of the file on disk that were read so far."""

    @property
    def used(self) -> int:
        """Bytes of the file on disk."""

    def read(self, most: int) -> bytes:
        """At most so many bytes, b"" at the end. Raises OSError; EOFError or ValueError when an archive is damaged."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class Codec:
    """One compression. ``starts`` tells whether bytes (at least one) can be the beginning of a member.

    ``sure`` is the number of bytes that make it certain.
    """

    name: str
    sure: int
    starts: Callable[[bytes], bool]
    pieces: Callable[[ByteSource], Generator[bytes, None, bool]]
    """Returns whether bytes that are nothing compressed follow the last member."""


def _trailer_apart(file: ByteSource) -> Iterator[bytes]:
    """The bytes of a file in blocks, of which the last one holds no more than a gzip member's checksum and size.

    Where these are wrong the decoder gives nothing of what came with them. Raises as reading does, after the last.
    """
    held = b""
    try:
        while block := file.read(PIECE // 4):
            block = held + block
            held = block[-_TRAILER:]
            if len(block) > _TRAILER:
                yield block[:-_TRAILER]
    except (OSError, EOFError, ValueError):
        if held:
            yield held
        raise
    if held:
        yield held


def inflate(file: ByteSource) -> Generator[bytes, None, bool]:
    """Inflate gzip members one after another, at most PIECE bytes at a time.

    Everything that can be decoded is yielded. Raises EOFError when the file ends inside a member, ValueError when it
    is damaged; bytes behind the last member that are no gzip are left alone: it then returns True.
    """
    member = isal_zlib.decompressobj(wbits=31)
    fresh = True
    for given in _trailer_apart(file):
        block = given.lstrip(b"\0") if fresh else given
        while block:
            if fresh and not block.startswith(GZIP[: len(block)]):
                return True
            fresh = False
            try:
                rest = block
                while not member.eof:
                    piece = member.decompress(rest, PIECE)
                    if piece:
                        yield piece
                    rest = member.unconsumed_tail
                    if not rest and len(piece) < PIECE:
                        break
            except INFLATE_ERRORS as error:
                raise ValueError(str(error)) from None
            block = b""
            if member.eof:
                block = member.unused_data.lstrip(b"\0")
                member = isal_zlib.decompressobj(wbits=31)
                fresh = True
    if not fresh:
        with contextlib.suppress(*INFLATE_ERRORS):
            if piece := member.flush():
                yield piece
        raise EOFError("the compressed data is cut off")
    return False


def _frames(make: Callable[[], Any], starts: Callable[[bytes], bool], errors: Any) -> Any:
    """The same for decoders with ``decompress(data, max_length)``, ``eof``, ``needs_input`` and ``unused_data``."""

    def pieces(file: ByteSource) -> Generator[bytes, None, bool]:
        decoder, fresh = make(), True
        while block := file.read(PIECE // 4):
            while True:
                if fresh and not starts(block):
                    return True
                fresh = False
                try:
                    piece = decoder.decompress(block, PIECE)
                except errors as error:
                    raise ValueError(str(error).removeprefix("Unable to decompress Zstandard data: ")) from None
                if piece:
                    yield piece
                block = b""
                if decoder.eof:
                    block = decoder.unused_data.lstrip(b"\0")
                    decoder, fresh = make(), True
                    if not block:
                        break
                elif decoder.needs_input:
                    break
        if not fresh:
            raise EOFError("the compressed data is cut off")
        return False

    return pieces


def _begins(magic: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(magic[: len(data)])


_ZSTD = b"\x28\xb5\x2f\xfd"


def _zstd_starts(data: bytes) -> bool:
    """A frame, or one that decoders skip (pzstd begins with such)."""
    skipped = 0x50 <= data[0] <= 0x5F and b"\x2a\x4d\x18".startswith(data[1:4])
    return skipped or data.startswith(_ZSTD[: len(data)])


def _zstd() -> Any:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})


def _xz() -> Any:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)


CODECS: Final = (
    Codec("gzip", 2, _begins(GZIP), inflate),
    Codec("zstd", 4, _zstd_starts, _frames(_zstd, _zstd_starts, (zstd.ZstdError, ValueError))),
    Codec("bzip2", 3, _begins(b"BZh"), _frames(bz2.BZ2Decompressor, _begins(b"BZh"), (OSError, ValueError))),
    Codec("xz", 6, _begins(b"\xfd7zXZ\0"), _frames(_xz, _begins(b"\xfd7zXZ\0"), (lzma.LZMAError,))),
)


def codec_of(head: bytes) -> Codec | None:
    """How a file that begins so is compressed, None when it is not."""
    return next((c for c in CODECS if len(head) >= c.sure and c.starts(head[: c.sure])), None)


def bounded(pieces: Iterator[bytes], file: ByteSource) -> Iterator[bytes]:
    """The pieces, until they are far too many for what was read of the file. Raises ValueError then."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > BOMB_BYTES and total > BOMB_RATIO * max(1, file.used):
            raise ValueError(f"it unpacks to more than {BOMB_RATIO:,} times its size")
        yield piece
