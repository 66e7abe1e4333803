"""The directory of a zip archive, read with bounds: what it says of its members is checked against the file.

The standard library's reader takes a directory of any size; this one stops at a number of members, refuses members
that overlap (a small file that unpacks to petabytes), and hands out data by compiled decoders.
"""

from __future__ import annotations

import itertools
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from isal import isal_zlib

from viewer.importers.inflate import CODECS, INFLATE_ERRORS, PIECE, ByteSource
from viewer.importers.source import FileBytes

MAX_MEMBERS: Final = 20_000
MAX_DIRECTORY: Final = 16 << 20
_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
STORED, DEFLATED, BZIP2, ZSTD, XZ = 0, 8, 12, 93, 95
METHODS: Final = {STORED: "", DEFLATED: "deflate", BZIP2: "bzip2", ZSTD: "zstd", XZ: "xz"}


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One member: where its local header is, and what the directory says of it (sizes are claims)."""

    name: str
    method: int
    encrypted: bool
    crc: int
    packed: int
    size: int
    header: int

    @property
    def problem(self) -> str:
        """Why it cannot be read, "" when it can."""
        if self.encrypted:
            return "is encrypted in the archive"
        if self.method not in METHODS:
            return f"is packed in the archive by a method that is not read here ({self.method})"
        return ""


def read_directory(path: Path) -> list[ZipEntry]:
    """All members in the order of the directory, folders left out.

    Raises:
        ValueError: the archive is damaged, too large, or a bomb; the text says it.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        total = file.seek(0, os.SEEK_END)
        begin, size, moved = _find_directory(file, total)
        if size > MAX_DIRECTORY:
            raise ValueError(f"its directory of {size:,} bytes is too large")
        file.seek(begin)
        data = file.read(size)
    entries = []
    at = 0
    while at + _ENTRY.size <= len(data):
        fields = _ENTRY.unpack_from(data, at)
        if fields[0] != b"PK\x01\x02":
            break
        _, _, _, flags, method, _, _, crc, packed, size, named, extra, comment, _, _, _, header = fields
        at += _ENTRY.size
        raw, more = data[at : at + named], data[at + named : at + named + extra]
        at += named + extra + comment
        if at > len(data):
            raise ValueError("its directory is cut off")
        size, packed, header = _wide(more, size, packed, header)
        header += moved
        name = raw.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        if name.endswith("/") or not name:
            continue
        if header + _LOCAL.size + packed > begin:
            raise ValueError("its directory points outside of the file")
        entries.append(ZipEntry(name, method, bool(flags & 1), crc, packed, size, header))
        if len(entries) > MAX_MEMBERS:
            raise ValueError(f"it holds more than {MAX_MEMBERS:,} files")
    if at != len(data):
        raise ValueError("its directory is damaged")
    by_place = sorted(entries, key=lambda e: e.header)
    for one, following in itertools.pairwise(by_place):
        if one.header + _LOCAL.size + one.packed > following.header:
            raise ValueError("its members overlap")
    return entries


def _find_directory(file: BinaryIO, total: int) -> tuple[int, int, int]:
    """(begin, size, bytes in front of the archive) of the directory."""
    tail_at = max(0, total - 22 - 0xFFFF)
    file.seek(tail_at)
    tail = file.read(22 + 0xFFFF)
    at = tail.rfind(_END)
    while at >= 0 and len(tail) - at < 22:
        at = tail.rfind(_END, 0, at)
    if at < 0:
        raise ValueError("it ends before its directory (a copy that was cut off?)")
    size, begin = struct.unpack_from("<2L", tail, at + 12)
    end = tail_at + at
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR:
        (place,) = struct.unpack_from("<Q", tail, at - 12)
        for end64 in (place, end - 20 - 56):  # the second where something stands in front of the archive
            file.seek(min(max(end64, 0), total))
            record = file.read(56)
            if len(record) == 56 and record.startswith(_END64):
                size, begin = struct.unpack_from("<2Q", record, 40)
                end = end64
                break
        else:
            raise ValueError("its directory is damaged")
    moved = end - size - begin
    if moved < 0 or size > end:
        raise ValueError("its directory points outside of the file")
    return begin + moved, size, moved


def _wide(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """Sizes and place with the 64-bit values of the extra field where the plain ones say so."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            values = list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
            try:
                size = values.pop(0) if size == 0xFFFFFFFF else size
                packed = values.pop(0) if packed == 0xFFFFFFFF else packed
                header = values.pop(0) if header == 0xFFFFFFFF else header
            except IndexError:
                raise ValueError("its directory is damaged") from None
        at += 4 + length
    return size, packed, header


def data_offset(path: Path, entry: ZipEntry) -> int:
    """Where a member's data begins. Raises OSError, ValueError."""
    with path.open("rb") as file:
        file.seek(entry.header)
        local = file.read(_LOCAL.size)
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise ValueError("the archive is damaged where this member should be")
    named, extra = _LOCAL.unpack(local)[-2:]
    return int(entry.header + _LOCAL.size + named + extra)


def open_entry(path: Path, entry: ZipEntry) -> ByteSource:
    """A member's bytes, unpacked and checked at their end. Raises OSError, ValueError."""
    if entry.problem:
        raise ValueError(entry.problem)
    packed = FileBytes(path, data_offset(path, entry), entry.packed)
    return Unpacked(packed, entry)


class Unpacked:
    """Unpacks one member; its sum and size are checked when the end is reached."""

    def __init__(self, packed: FileBytes, entry: ZipEntry) -> None:
        self._packed, self._entry = packed, entry
        self._crc = self._size = 0
        method = METHODS[entry.method]
        self._inflater = isal_zlib.decompressobj(wbits=-15) if method == "deflate" else None
        self._pieces = next((c.pieces(packed) for c in CODECS if c.name == method), None)
        self._rest = b""
        self._waiting = b""
        self._full = False
        self._ended = False

    @property
    def used(self) -> int:
        """See ByteSource."""
        return self._packed.used

    def read(self, most: int) -> bytes:
        """See ByteSource."""
        if not self._rest and not self._ended:
            self._rest = self._more(min(most, PIECE))
            self._crc = isal_zlib.crc32(self._rest, self._crc)
            self._size += len(self._rest)
            if not self._rest:
                self._ended = True
                self._check()
        data, self._rest = self._rest[:most], self._rest[most:]
        return data

    def _more(self, most: int) -> bytes:
        if self._pieces is not None:
            return next(self._pieces, b"")
        if self._inflater is None:
            return self._packed.read(most)
        try:
            while not self._inflater.eof:
                if not self._waiting and not self._full:
                    self._waiting = self._packed.read(PIECE // 4)
                    if not self._waiting:
                        raise EOFError("the compressed data is cut off")
                piece: bytes = self._inflater.decompress(self._waiting, most)
                self._waiting = self._inflater.unconsumed_tail
                self._full = len(piece) == most  # the decoder may hold more
                if piece:
                    return piece
        except INFLATE_ERRORS as error:
            raise ValueError(str(error)) from None
        return b""

    def _check(self) -> None:
        if self._size < self._entry.size and self._entry.method == STORED:
            raise EOFError("the archive is cut off")
        if self._crc != self._entry.crc or self._size != self._entry.size:
            raise ValueError("its checksum in the archive does not fit")

    def close(self) -> None:
        """See ByteSource."""
        self._packed.close()
