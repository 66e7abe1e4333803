"""A few lines of a source around a byte, to look at what a finding speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from viewer.base.errors import InputError
from viewer.base.work import CancelToken
from viewer.importers.inflate import PIECE
from viewer.importers.source import explain_os_error, open_text
from viewer.store.cache import enclosing_file, stamp_of
from viewer.store.meta import SourceStamp

BEFORE: Final = 160
AFTER: Final = 480


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text of a source: ``before`` the byte at ``offset``, and ``after`` from it on. Bytes that are no text: U+FFFD.

    ``begins`` and ``ends`` say whether the text begins and ends at the excerpt's borders.
    """

    offset: int
    before: str
    after: str
    begins: bool
    ends: bool


def excerpt(stamp: SourceStamp, offset: int, cancel: CancelToken) -> Excerpt:
    """Read the text around a byte; of a compressed source everything before it is unpacked first.

    Args:
        stamp: the source as it was imported.
        offset: byte of its text (unpacked, as UTF-8).
        cancel: looked at between pieces.

    Raises:
        InputError: the source is gone, changed, or ends before the byte.
        Cancelled: on request.
    """
    path = Path(stamp.path)
    if enclosing_file(path) is not None:
        problem = "is in an archive: its text is not looked up"
        raise InputError(stamp.path, problem, "", "Unpack it and open the file to see the place.")
    try:
        if stamp_of(path) != stamp:
            raise InputError(stamp.path, "changed since it was imported", "", "Open it again.")
        text, start, ends = _around(path, max(0, offset - BEFORE), offset + AFTER, cancel)
    except OSError as error:
        raise explain_os_error(path, error) from None
    if start + len(text) <= offset and not ends:
        raise InputError(stamp.path, "ends before that place", f"byte {offset}", "Open it again.")
    at = offset - start
    before, after = (part.decode("utf-8", "replace") for part in (text[:at], text[at:]))
    return Excerpt(offset, before, after, start == 0, ends)


def _around(path: Path, begin: int, end: int, cancel: CancelToken) -> tuple[bytes, int, bool]:
    """(bytes [begin, end) or fewer, begin, whether the text ends there)."""
    stream, plain = open_text(path)
    try:
        if plain:
            with path.open("rb") as file:
                file.seek(begin)
                text = file.read(end - begin + 1)
            return text[: end - begin], begin, len(text) <= end - begin
        room = memoryview(bytearray(PIECE))
        kept = bytearray()
        at = 0
        while count := stream.read_into(room):
            cancel.check()
            if at + count > begin:
                kept += room[max(0, begin - at) : min(count, end + 1 - at)]
            at += count
            if at > end:
                return bytes(kept[: end - begin]), begin, False
        return bytes(kept), begin, True
    finally:
        stream.close()
