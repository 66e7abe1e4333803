"""Bytes of a source file as one stream of UTF-8 text: plain, gzip (any number of members), or UTF-16."""

from __future__ import annotations

import codecs
import contextlib
import queue
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from isal import isal_zlib

from viewer.base.errors import InputError

PIECE: Final = 2 << 20
"""Bytes that are read or inflated at a time."""
HEAD: Final = 64 << 10
"""Bytes by which a file's format is told."""

_INFLATE_ERRORS: Final[Any] = (isal_zlib.error, zlib.error)
_GZIP: Final = b"\x1f\x8b"


class TextStream(Protocol):
    """Text in pieces. ``damage`` says, once the stream has ended, why it ended early ("" when it did not)."""

    @property
    def damage(self) -> str:
        """One clause without a full stop."""

    @property
    def position(self) -> int:
        """Bytes of the file on disk that were used so far."""

    def read_into(self, room: memoryview) -> int:
        """Put the next bytes at the front of ``room``; how many, 0 at the end."""

    def close(self) -> None:
        """Let go of the file."""


class PlainStream:
    """The file as it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.position = 0
        self.damage = ""

    def read_into(self, room: memoryview) -> int:
        """See TextStream. A disk error ends the text, with a damage."""
        try:
            count: int = self._file.readinto(room[:PIECE])  # type: ignore[attr-defined]
        except OSError as error:
            self.damage = f"the file cannot be read to its end ({error.strerror or error})"
            return 0
        self.position += count
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Pieces:
    """Hands out pieces of any size in parts that fit."""

    def __init__(self) -> None:
        self._rest = memoryview(b"")

    def _next_piece(self) -> bytes:
        raise NotImplementedError

    def read_into(self, room: memoryview) -> int:
        """See TextStream."""
        if not self._rest:
            self._rest = memoryview(self._next_piece())
        count = min(len(self._rest), len(room))
        room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def inflate(file: BinaryIO, tell: list[int]) -> Iterator[bytes]:
    """Inflate gzip members one after another, at most PIECE bytes at a time; ``tell[0]`` counts compressed bytes.

    Everything that can be decoded is yielded. Raises EOFError when the file ends inside a member, ValueError when it
    is damaged; bytes behind the last member that are no gzip are left alone.
    """
    member = isal_zlib.decompressobj(wbits=31)
    fresh = True
    while block := file.read(PIECE // 4):
        tell[0] += len(block)
        while block:
            if fresh and not block.startswith(_GZIP[: len(block)]):
                return
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
            except _INFLATE_ERRORS as error:
                raise ValueError(str(error)) from None
            block = b""
            if member.eof:
                block = member.unused_data.lstrip(b"\0")
                member = isal_zlib.decompressobj(wbits=31)
                fresh = True
    if not fresh:
        with contextlib.suppress(*_INFLATE_ERRORS):
            if piece := member.flush():
                yield piece
        raise EOFError("the compressed data is cut off")


class GzipStream(_Pieces):
    """Inflates in a thread of its own, a few pieces ahead of the reader."""

    def __init__(self, file: BinaryIO, ahead: int = 4) -> None:
        super().__init__()
        self._file = file
        self._tell = [0]
        self._pieces: queue.Queue[bytes] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._ended = False
        self.damage = ""
        self._thread = threading.Thread(target=self._run, name="inflate", daemon=True)
        self._thread.start()

    @property
    def position(self) -> int:
        """Compressed bytes that were read so far."""
        return self._tell[0]

    def _run(self) -> None:
        try:
            for piece in inflate(self._file, self._tell):
                if not self._put(piece):
                    return
        except EOFError:
            self.damage = "the compressed data is cut off"
        except Exception as error:  # whatever it is, the reader must not wait for ever
            self.damage = f"the compressed data is damaged ({error})"
        finally:
            self._put(b"")

    def _put(self, piece: bytes) -> bool:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._pieces.put(piece, timeout=0.1)
                return True
        return False

    def _next_piece(self) -> bytes:
        if self._ended:
            return b""
        piece = self._pieces.get()
        self._ended = not piece
        return piece

    def close(self) -> None:
        """Stop the thread and close the file."""
        self._stop.set()
        self._thread.join()
        self._file.close()


class RecodedStream(_Pieces):
    """UTF-16 or UTF-32 text of another stream as UTF-8; bad units become U+FFFD."""

    def __init__(self, inner: TextStream, encoding: str) -> None:
        super().__init__()
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._room = bytearray(PIECE)
        self._ended = False

    @property
    def damage(self) -> str:
        """As the inner stream says."""
        return self._inner.damage

    @property
    def position(self) -> int:
        """As the inner stream says."""
        return self._inner.position

    def _next_piece(self) -> bytes:
        text = ""
        while not text and not self._ended:
            count = self._inner.read_into(memoryview(self._room))
            self._ended = count == 0
            text = self._decoder.decode(bytes(self._room[:count]), self._ended)
        return text.encode("utf-8", "replace")

    def close(self) -> None:
        """Close the inner stream."""
        self._inner.close()


def is_gzip(head: bytes) -> bool:
    """Whether a file begins like gzip (by content, whatever its name)."""
    return head.startswith(_GZIP)


def wide_encoding(head: bytes) -> str | None:
    """The encoding of a text whose characters have two or four bytes, None for UTF-8 and ASCII."""
    for mark, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return encoding
    if len(head) >= 4:
        if head[0] in b"{[ \n\r\t" and head[1:4:2] == b"\0\0" and head[2] != 0:
            return "utf-16-le"
        if head[0] == 0 and head[1] in b"{[ \n\r\t" and head[2] == 0 and head[3] != 0:
            return "utf-16-be"
    return None


def raw_head(path: Path) -> bytes:
    """The first HEAD bytes of a source, inflated. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        if not is_gzip(head):
            return head
        file.seek(0)
        text = b""
        with contextlib.suppress(EOFError, ValueError):
            for piece in inflate(file, [0]):
                text += piece
                if len(text) >= HEAD:
                    break
    return text[:HEAD]


def text_head(path: Path) -> bytes:
    """The first HEAD bytes of a source's text: inflated, as UTF-8. Raises OSError."""
    head = raw_head(path)
    encoding = wide_encoding(head)
    return head.decode(encoding, "replace").encode("utf-8", "replace") if encoding else head


def open_text(path: Path) -> tuple[TextStream, bool]:
    """The text of a source, and whether its bytes are those of the file on disk. Raises OSError."""
    file = path.open("rb")
    try:
        head = file.read(HEAD)
        file.seek(0)
        encoding = wide_encoding(raw_head(path) if is_gzip(head) else head)
    except BaseException:
        file.close()
        raise
    plain = not is_gzip(head)
    stream: TextStream = PlainStream(file) if plain else GzipStream(file)
    if encoding:
        return RecodedStream(stream, encoding), False
    return stream, plain


def explain_os_error(path: Path, error: OSError) -> InputError:
    """An operating system's refusal as a sentence."""
    if isinstance(error, FileNotFoundError):
        return InputError(str(path), "there is no such file", next_step="Check the spelling of the path.")
    if isinstance(error, PermissionError):
        return InputError(
            str(path),
            "you have no permission to read it",
            next_step="Ask its owner for read access, or copy it to a place where you may read it.",
        )
    if isinstance(error, IsADirectoryError):
        return InputError(str(path), "is a folder, not a file", next_step="Give the folder itself, it is walked.")
    reason = error.strerror or type(error).__name__
    return InputError(str(path), f"cannot be read ({reason})", next_step="Check the disk or the network folder.")


def whole_text(path: Path, most: int) -> tuple[bytes, str]:
    """All text of a source, for formats that cannot be read in pieces, and the damage at its end ("" without).

    Raises:
        InputError: it is longer than ``most`` bytes.
        OSError: it cannot be read.
    """
    stream, _ = open_text(path)
    text = bytearray()
    room = memoryview(bytearray(PIECE))
    try:
        while count := stream.read_into(room):
            text += room[:count]
            if len(text) > most:
                raise InputError(
                    str(path),
                    f"holds more than {most >> 20:,} MiB of JSON in a format that has to be read as a whole",
                    "",
                    "Record a shorter part of the run.",
                )
    finally:
        stream.close()
    return bytes(text), stream.damage
