"""Archives whose members open like the files of a folder: zip, tar, and tar inside any compression.

Nothing is written to disk by a member's name: the name only says how the member is shown. Members of a zip or a plain
tar are read at their place, each on its own; a compressed tar has to be read from its beginning
(``viewer.importers.tar_stream``).
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from viewer.base.errors import InputError
from viewer.importers.inflate import ByteSource, codec_of
from viewer.importers.source import HEAD, FileBytes, decoded_head
from viewer.importers.tar_headers import BLOCK, TarHeaders, is_tar
from viewer.importers.zip_directory import ZipEntry, open_entry, read_directory
from viewer.store.cache import stamp_of
from viewer.store.meta import SourceStamp

Kind = Literal["zip", "tar", "tar stream"]
ARCHIVE_SUFFIXES: Final = (
    ".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".rankpack",
)  # fmt: skip
TRACE_SUFFIXES: Final = (
    ".json", ".json.gz", ".json.zst", ".json.bz2", ".json.xz", ".hatchet", ".pickle", ".pickle.gz", ".pkl", ".pkl.gz",
)  # fmt: skip
_AGAIN: Final = "Copy the archive again, or unpack it and give the files."
_BAD: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]|[\ud800-\udfff]")


def is_trace_name(name: str) -> bool:
    """Whether a file of a folder or an archive is looked at."""
    return name.lower().endswith(TRACE_SUFFIXES) and not name.rpartition("/")[2].startswith(".")


def archive_kind(path: Path) -> Kind | None:
    """What kind of archive a file is, by its content; None when it is none or cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError):
        return None
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return "zip"
    if is_tar(head):
        return "tar"
    return "tar stream" if codec_of(head) is not None and is_tar(decoded_head(head)) else None


def inner_name(name: str) -> str:
    """A member's name as the rest of a path: no root, no drive, no way up, nothing that does not print."""
    parts = [p for p in re.split(r"[/\\]", _BAD.sub("�", name)) if p not in ("", ".", "..")]
    if parts and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts = parts[1:]
    return "/".join(p[:200] for p in parts[-20:]) or "unnamed"


def unique_names(names: list[str]) -> list[str]:
    """The same names, those that come again numbered."""
    taken: set[str] = set()
    out = []
    for name in names:
        tried, number = name, 2
        while tried in taken:
            tried, number = f"{name} ({number})", number + 1
        taken.add(tried)
        out.append(tried)
    return out


def member_stamp(archive: SourceStamp, name: str, size: int, mark: str) -> SourceStamp:
    """Identity of a member: that of its archive, its name, and ``mark`` (a checksum, a place)."""
    digest = hashlib.sha256("\0".join([archive.digest, name, str(size), mark]).encode("utf-8", "replace")).hexdigest()
    return SourceStamp(f"{archive.path}/{name}", size, archive.mtime_ns, digest)


@dataclass
class ZipMember:
    """A member of a zip archive as a Source."""

    path: Path
    archive: Path
    archive_stamp: SourceStamp
    entry: ZipEntry
    direct: bool = field(default=False, init=False)

    @property
    def size(self) -> int:
        """See Source."""
        return self.entry.packed

    def stamp(self) -> SourceStamp:
        """See Source."""
        name = str(self.path.relative_to(self.archive))
        return member_stamp(self.archive_stamp, name, self.size, f"{self.entry.crc:08x} {self.entry.header}")

    def head(self) -> bytes:
        """See Source."""
        file = self.open()
        try:
            return _up_to(file, HEAD)
        finally:
            file.close()

    def open(self) -> ByteSource:
        """See Source."""
        return open_entry(self.archive, self.entry)


@dataclass
class TarMember:
    """A member of an uncompressed tar archive as a Source."""

    path: Path
    archive: Path
    archive_stamp: SourceStamp
    offset: int
    size: int
    direct: bool = field(default=False, init=False)

    def stamp(self) -> SourceStamp:
        """See Source."""
        name = str(self.path.relative_to(self.archive))
        return member_stamp(self.archive_stamp, name, self.size, str(self.offset))

    def head(self) -> bytes:
        """See Source."""
        file = self.open()
        try:
            return _up_to(file, HEAD)
        finally:
            file.close()

    def open(self) -> ByteSource:
        """See Source."""
        return _Whole(FileBytes(self.archive, self.offset, self.size), self.size)


class _Whole:
    """Bytes that must not end early."""

    def __init__(self, inner: FileBytes, size: int) -> None:
        self._inner, self._size = inner, size

    @property
    def used(self) -> int:
        return self._inner.used

    def read(self, most: int) -> bytes:
        data = self._inner.read(most)
        if not data and most and self._inner.used < self._size:
            raise EOFError("the archive is cut off")
        return data

    def close(self) -> None:
        self._inner.close()


def _up_to(file: ByteSource, most: int) -> bytes:
    data = b""
    try:
        while len(data) < most and (piece := file.read(most - len(data))):
            data += piece
    except (EOFError, ValueError):
        if not data:
            raise
    return data


Member = ZipMember | TarMember


@dataclass
class Listing:
    """What an archive holds: traces to try, members that cannot be read, and why the list ends early ("" if not)."""

    members: list[Member] = field(default_factory=list)
    refused: list[InputError] = field(default_factory=list)
    damage: str = ""


def list_archive(path: Path, kind: Kind) -> Listing:
    """Members of a zip or an uncompressed tar that may be traces.

    Raises:
        InputError: the archive cannot be read.
        OSError: the file cannot be read.
    """
    archive_stamp = stamp_of(path)
    try:
        return _list_zip(path, archive_stamp) if kind == "zip" else _list_tar(path, archive_stamp)
    except ValueError as error:
        raise InputError(str(path), f"is an archive that cannot be read: {error}", "", _AGAIN) from None


def _list_zip(path: Path, stamp: SourceStamp) -> Listing:
    listing = Listing()
    entries = [e for e in read_directory(path) if is_trace_name(e.name)]
    for entry, name in zip(entries, unique_names([inner_name(e.name) for e in entries]), strict=True):
        if entry.problem:
            listing.refused.append(InputError(str(path / name), entry.problem, "", "Unpack it and give the file."))
        else:
            listing.members.append(ZipMember(path / name, path, stamp, entry))
    return listing


def _list_tar(path: Path, stamp: SourceStamp) -> Listing:
    listing = Listing()
    found: list[tuple[str, int, int]] = []
    with path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        headers = TarHeaders(file.read)
        try:
            while entry := headers.next():
                offset = file.tell()
                if entry.is_file and is_trace_name(entry.name):
                    found.append((inner_name(entry.name), offset, entry.size))
                after = offset + -(-entry.size // BLOCK) * BLOCK
                if offset + entry.size > total:
                    listing.damage = "it is cut off"
                    break
                file.seek(after)
        except (EOFError, ValueError) as error:
            listing.damage = str(error)
    for (_, offset, size), name in zip(found, unique_names([f[0] for f in found]), strict=True):
        listing.members.append(TarMember(path / name, path, stamp, offset, size))
    return listing
