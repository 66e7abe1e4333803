"""Opening the inputs of a pack: unpacked into the cache, checked in every byte and every index, then like any other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from isal import isal_zlib

from viewer.base.errors import InputError
from viewer.base.work import CancelToken
from viewer.importers.archive import inner_name, member_stamp, unique_names
from viewer.importers.inflate import CODECS, PIECE, ByteSource, bounded
from viewer.importers.zip_directory import ZipEntry, open_entry, read_directory
from viewer.store.args import BLOCKS_FILE, INDEX_FILE, ArgsText
from viewer.store.cache import stamp_of
from viewer.store.files import decode_meta, write_meta
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.pack import (
    FILES,
    LARGEST_MANIFEST,
    MANIFEST,
    MARK,
    MARK_NAME,
    META,
    PackedFile,
    check_values,
    damage_of,
    member_name,
    read_manifest,
)
from viewer.store.schema import FORMAT_VERSION
from viewer.store.trace import Trace

STEP: Final = "Copy the pack again, or write it again with rankscope pack."
_ZSTD: Final = next(c for c in CODECS if c.name == "zstd")
DAMAGED: Final = (ValueError, EOFError, IndexError, pa.ArrowException, msgspec.MsgspecError)
"""What reading a damaged pack may raise."""


def is_pack(path: Path) -> bool:
    """Whether a zip archive begins as packs do. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(30 + len(MARK_NAME))
    return head[30:] == MARK_NAME.encode()


@dataclass(frozen=True)
class PackedInput:
    """One input of a pack. ``size`` is its bytes in the pack."""

    path: Path
    pack: Path
    stamp: SourceStamp
    item: PackedFile
    entries: dict[str, ZipEntry]

    @property
    def size(self) -> int:
        """Bytes in the pack."""
        return sum(e.packed for e in self.entries.values())


def list_pack(path: Path) -> list[PackedInput]:
    """The inputs of a pack. Raises InputError when it is damaged or of another version, OSError."""
    try:
        entries = {e.name: e for e in read_directory(path)}
        mark = b"".join(_pieces(path, entries, MARK_NAME, len(MARK)))
        if mark != MARK:
            shown = mark[:40].decode("ascii", "replace").strip()
            raise ValueError(f"it was written by another version of Rankscope ({shown!r})")
        manifest = read_manifest(b"".join(_pieces(path, entries, MANIFEST, LARGEST_MANIFEST)))
        stamp = stamp_of(path)
        names = unique_names([inner_name(item.name) for item in manifest.inputs])
        found = []
        for number, (item, name) in enumerate(zip(manifest.inputs, names, strict=True)):
            held = {file: _entry(entries, member_name(number, file)) for file in FILES}
            sums = " ".join(f"{item.files[f].size}:{item.files[f].crc32}" for f in FILES)
            own = member_stamp(stamp, name, sum(e.packed for e in held.values()), sums)
            found.append(PackedInput(path / name, path, own, item, held))
    except DAMAGED as error:
        raise InputError(str(path), f"is a pack that cannot be read: {damage_of(error)}", "", STEP) from None
    return found


def _entry(entries: dict[str, ZipEntry], name: str) -> ZipEntry:
    if name not in entries:
        raise ValueError(f"it lacks {name}")
    return entries[name]


def _pieces(path: Path, entries: dict[str, ZipEntry], name: str, most: int) -> Iterator[bytes]:
    """A stored member in pieces, at most so many bytes."""
    file = open_entry(path, _entry(entries, name))
    with contextlib.closing(file):
        while piece := file.read(PIECE):
            most -= len(piece)
            if most < 0:
                raise ValueError(f"{name} is longer than it may be")
            yield piece


def _unpacked(packed: PackedInput, name: str) -> Iterator[bytes]:
    """A file of an input as it was packed; its sum is checked at the end. Raises what DAMAGED lists."""
    stated = packed.item.files[name]
    file: ByteSource = open_entry(packed.pack, packed.entries[name])
    size = crc = 0
    with contextlib.closing(file):
        source = _ZSTD.pieces(file) if name.endswith(".arrow") else iter(lambda: file.read(PIECE), b"")
        for piece in bounded(source, file):
            size += len(piece)
            if size > stated.size:
                raise ValueError(f"{name} is longer than the manifest states")
            crc = isal_zlib.crc32(piece, crc)
            yield piece
    if (size, crc) != (stated.size, stated.crc32):
        raise ValueError(f"the checksum of {name} does not fit")


def unpack(packed: PackedInput, folder: Path, cancel: CancelToken) -> None:
    """Write the tables of an input into an empty folder, as an import would have, and check them.

    Raises:
        OSError: the folder cannot be written, or the pack not be read.
        Cancelled: on request.
        DAMAGED: the pack is damaged; ``damage_of`` says how.
    """
    for name in FILES:
        if name == META:
            continue
        with (folder / name).open("wb") as out:
            for piece in _unpacked(packed, name):
                cancel.check()
                out.write(piece)
    write_meta(folder, _meta(packed))
    check_values(Trace.open(folder))


def unpack_in_memory(packed: PackedInput, cancel: CancelToken) -> Trace:
    """The same without any folder to write to."""
    files: dict[str, bytes] = {}
    for name in FILES:
        if name != META:
            data = bytearray()
            for piece in _unpacked(packed, name):
                cancel.check()
                data += piece
            files[name] = bytes(data)
    args = ArgsText.of_blocks(files[INDEX_FILE], files[BLOCKS_FILE])
    trace = Trace.of_files(_meta(packed), {n: pa.py_buffer(d) for n, d in files.items()}, args)
    check_values(trace)
    return trace


def _meta(packed: PackedInput) -> TraceMeta:
    """meta.json of an input, its identity that in the pack."""
    meta = decode_meta(b"".join(_unpacked(packed, META)))
    meta.version = FORMAT_VERSION
    meta.origin = meta.imported
    meta.source = packed.stamp
    meta.args_in_source = False
    if not meta.ledger.balanced():
        raise ValueError("its ledger does not add up")
    return meta
