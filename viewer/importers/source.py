"""Bytes of a source as one stream of UTF-8 text: a file or a member of an archive, compressed or not, or UTF-16."""

from __future__ import annotations

import codecs
import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from viewer.base.errors import InputError, UnreadableError
from viewer.importers.inflate import PIECE, ByteSource, Codec, bounded, codec_of
from viewer.store.cache import stamp_of
from viewer.store.meta import SourceStamp

HEAD: Final = 64 << 10
"""Bytes by which a file's format is told."""


class TextStream(Protocol):
    """Text in pieces. ``damage`` says, once the stream has ended, why it ended early ("" when it did not)."""

    @property
    def damage(self) -> str:
        """One clause without a full stop."""

    @property
    def behind(self) -> bool:
        """Once it has ended: whether bytes that are nothing compressed follow the last compressed member."""

    @property
    def position(self) -> int:
        """Bytes of the file on disk that were used so far."""

    def read_into(self, room: memoryview) -> int:
        """Put the next bytes at the front of ``room``; how many, 0 at the end."""

    def close(self) -> None:
        """Let go of the file."""


class FileBytes:
    """A file on disk, or the part [offset, offset + size) of one, as it is. Raises OSError."""

    def __init__(self, path: Path, offset: int = 0, size: int | None = None) -> None:
        self._file: BinaryIO = path.open("rb", buffering=0)
        self._left = size
        self.used = 0
        if offset:
            self._file.seek(offset)

    def read(self, most: int) -> bytes:
        """See ByteSource."""
        data = self._file.read(most if self._left is None else min(most, self._left)) or b""
        self._count(len(data))
        return data

    def read_into(self, room: memoryview) -> int:
        """Put the next bytes at the front of ``room``; how many, 0 at the end."""
        count: int = self._file.readinto(room if self._left is None else room[: self._left])  # type: ignore[attr-defined]
        self._count(count)
        return count

    def _count(self, count: int) -> None:
        self.used += count
        if self._left is not None:
            self._left -= count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Source(Protocol):
    """One trace's bytes: a file, or a member of an archive.

    ``path`` is how it is shown (a member: the archive and its name inside), ``size`` its bytes on disk. ``direct``: the
    bytes are those of the file at ``path``, so that args can be read there later.
    """

    @property
    def path(self) -> Path:
        """As it is shown."""

    @property
    def size(self) -> int:
        """Bytes on disk, compressed if they are."""

    @property
    def direct(self) -> bool:
        """Whether offsets count in the file at ``path``."""

    def stamp(self) -> SourceStamp:
        """Its identity. Raises OSError."""

    def head(self) -> bytes:
        """The first HEAD bytes. Raises OSError; EOFError or ValueError when an archive is damaged."""

    def open(self) -> ByteSource:
        """All bytes. Raises like ``head``."""


class FileSource:
    """A file on disk."""

    direct = True

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def size(self) -> int:
        """See Source; 0 when it cannot be told."""
        try:
            return self.path.stat().st_size
        except (OSError, ValueError):
            return 0

    def stamp(self) -> SourceStamp:
        """See Source."""
        return stamp_of(self.path)

    def head(self) -> bytes:
        """See Source."""
        with self.path.open("rb") as file:
            return file.read(HEAD)

    def open(self) -> FileBytes:
        """See Source."""
        return FileBytes(self.path)


def as_source(given: Source | Path) -> Source:
    """A path is a file."""
    return FileSource(given) if isinstance(given, Path) else given


class PlainStream:
    """The file as it is."""

    def __init__(self, file: FileBytes) -> None:
        self._file = file
        self.damage = ""
        self.behind = False

    @property
    def position(self) -> int:
        """See TextStream."""
        return self._file.used

    def read_into(self, room: memoryview) -> int:
        """See TextStream. A disk error ends the text, with a damage."""
        try:
            return self._file.read_into(room[:PIECE])
        except OSError as error:
            self.damage = f"the file cannot be read to its end ({error.strerror or error})"
            return 0

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


def as_pieces(file: ByteSource) -> Generator[bytes, None, bool]:
    """All bytes, at most PIECE at a time."""
    while piece := file.read(PIECE):
        yield piece
    return False


class AheadStream(_Pieces):
    """Decodes in a thread of its own, a few pieces ahead of the reader."""

    def __init__(self, file: ByteSource, codec: Codec | None, ahead: int = 4) -> None:
        super().__init__()
        self._file = file
        self._decoded = bounded(self._to_the_end((codec.pieces if codec else as_pieces)(file)), file)
        self._pieces: queue.Queue[bytes] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._ended = False
        self._damage = ""
        self._behind = False
        self._thread = threading.Thread(target=self._run, name="inflate", daemon=True)
        self._thread.start()

    def _to_the_end(self, pieces: Generator[bytes, None, bool]) -> Iterator[bytes]:
        self._behind = yield from pieces

    @property
    def damage(self) -> str:
        """See TextStream. Nothing is told of what nobody read: how far ahead the thread is depends on the time."""
        return self._damage if self._ended else ""

    @property
    def behind(self) -> bool:
        """See TextStream."""
        return self._ended and self._behind

    @property
    def position(self) -> int:
        """Compressed bytes that were read so far."""
        return self._file.used

    def _run(self) -> None:
        try:
            for piece in self._decoded:
                if not self._put(piece):
                    return
        except EOFError:
            self._damage = "the compressed data is cut off"
        except OSError as error:
            self._damage = f"the file cannot be read to its end ({error.strerror or error})"
        except Exception as error:  # whatever it is, the reader must not wait for ever
            self._damage = f"the compressed data is damaged ({error})"
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
    def behind(self) -> bool:
        """As the inner stream says."""
        return self._inner.behind

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


class _Memory:
    """Bytes in memory as a ByteSource."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.used = 0

    def read(self, most: int) -> bytes:
        data = self._data[self.used : self.used + most]
        self.used += len(data)
        return data

    def close(self) -> None:
        pass


def decoded_head(head: bytes) -> bytes:
    """What the first bytes of a file say once they are unpacked, at most HEAD bytes."""
    codec = codec_of(head)
    if codec is None:
        return head
    text = b""
    with contextlib.suppress(EOFError, ValueError):
        for piece in codec.pieces(_Memory(head)):
            text += piece
            if len(text) >= HEAD:
                break
    return text[:HEAD]


def text_head(source: Source | Path) -> bytes:
    """The first HEAD bytes of a source's text: inflated, as UTF-8. Raises OSError; EOFError, ValueError: an archive."""
    head = decoded_head(as_source(source).head())
    encoding = wide_encoding(head)
    return head.decode(encoding, "replace").encode("utf-8", "replace") if encoding else head


def open_text(given: Source | Path) -> tuple[TextStream, bool]:
    """The text of a source, and whether its bytes are those of the file on disk. Raises like text_head."""
    source = as_source(given)
    head = source.head()
    codec = codec_of(head)
    encoding = wide_encoding(decoded_head(head))
    file = source.open()
    plain = codec is None and source.direct and isinstance(file, FileBytes)
    stream: TextStream = PlainStream(file) if plain else AheadStream(file, codec)  # type: ignore[arg-type]
    if encoding:
        return RecodedStream(stream, encoding), False
    return stream, plain


def explain_os_error(path: Path, error: OSError) -> InputError:
    """An operating system's refusal as a sentence."""
    if isinstance(error, FileNotFoundError):
        return InputError(str(path), "there is no such file", next_step="Check the spelling of the path.")
    if isinstance(error, PermissionError):
        return UnreadableError(
            str(path),
            "you have no permission to read it",
            next_step="Ask its owner for read access, or copy it to a place where you may read it.",
        )
    if isinstance(error, IsADirectoryError):
        return InputError(str(path), "is a folder, not a file", next_step="Give the folder itself, it is walked.")
    reason = error.strerror or type(error).__name__
    return UnreadableError(str(path), f"cannot be read ({reason})", next_step="Check the disk or the network folder.")


def whole_text(given: Source | Path, most: int) -> tuple[bytes, str]:
    """All text of a source, for formats that cannot be read in pieces, and the damage at its end ("" without).

    Raises:
        InputError: it is longer than ``most`` bytes.
        OSError: it cannot be read.
    """
    stream, _ = open_text(given)
    text = bytearray()
    room = memoryview(bytearray(PIECE))
    try:
        while count := stream.read_into(room):
            text += room[:count]
            if len(text) > most:
                raise InputError(
                    str(as_source(given).path),
                    f"holds more than {most >> 20:,} MiB of JSON in a format that has to be read as a whole",
                    "",
                    "Record a shorter part of the run.",
                )
    finally:
        stream.close()
    return bytes(text), stream.damage
