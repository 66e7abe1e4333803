"""Members of a tar archive, one header after another: ustar, GNU and pax names and sizes, everything bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

BLOCK: Final = 512
MAX_MEMBERS: Final = 20_000
_MAX_NAME: Final = 64 << 10
_MAX_PAX: Final = 1 << 20
_FILE: Final = b"0\x007"
_NAMES: Final = b"LK"
_PAX: Final = b"xg"


@dataclass(frozen=True, slots=True)
class TarEntry:
    """One member. ``is_file`` is False for folders, links, devices and sparse files."""

    name: str
    size: int
    is_file: bool


def is_tar(head: bytes) -> bool:
    """Whether bytes begin with a member's header whose checksum holds."""
    return len(head) >= BLOCK and head[0] != 0 and _sum_holds(head[:BLOCK])


def _sum_holds(header: bytes) -> bool:
    try:
        stated = _number(header[148:156])
    except ValueError:
        return False
    return stated == sum(header) - sum(header[148:156]) + 8 * 32


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    text = field.split(b"\0")[0].strip()
    return int(text, 8) if text else 0


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("utf-8", "replace")


class TarHeaders:
    """Walks over the headers; the caller passes over, or reads, what lies between.

    Args:
        read: gives exactly so many bytes, fewer at the end of the archive.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._count = 0

    def next(self) -> TarEntry | None:
        """The next member; its data follow, then zeros up to a whole block. None at the end.

        Raises:
            EOFError: the archive is cut off.
            ValueError: it is damaged, or has too many members.
        """
        name, size = "", -1
        while True:
            header = self._read(BLOCK)
            if not header or header == bytes(BLOCK):
                return None
            if len(header) < BLOCK:
                raise EOFError("it is cut off")
            if not _sum_holds(header):
                raise ValueError("a header's checksum does not fit")
            self._count += 1
            if self._count > 3 * MAX_MEMBERS:
                raise ValueError(f"it holds more than {MAX_MEMBERS:,} files")
            kind, stated = header[156:157], _number(header[124:136])
            if stated < 0 or stated > 1 << 50:
                raise ValueError("a header states an absurd size")
            if kind in _NAMES or kind in _PAX:
                body = self._body(stated, _MAX_NAME if kind in _NAMES else _MAX_PAX)
                if kind == b"L":
                    name = _text(body)
                elif kind == b"x":
                    found = _pax(body)
                    name, size = found.get("path", name), _decimal(found.get("size"), size)
                continue
            if not name:
                prefix = _text(header[345:500]) if header[257:262] == b"ustar" and header[262:264] != b"  " else ""
                name = f"{prefix}/{_text(header[:100])}" if prefix else _text(header[:100])
            regular = kind in _FILE and not name.endswith("/")
            # Links and devices have no data, whatever their size says.
            return TarEntry(name, 0 if kind in b"123456" else size if size >= 0 else stated, regular)

    def _body(self, size: int, most: int) -> bytes:
        if size > most:
            raise ValueError("a name in it is absurdly long")
        whole = -(-size // BLOCK) * BLOCK
        body = self._read(whole)
        if len(body) < whole:
            raise EOFError("it is cut off")
        return body[:size]


def _decimal(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 16 else default


def _pax(body: bytes) -> dict[str, str]:
    """Records ``LENGTH KEY=VALUE`` with a line break; what makes no sense ends the list."""
    found = {}
    at = 0
    while at < len(body):
        digits, space, _ = body[at : at + 8].partition(b" ")
        if not space or not digits.isdigit() or int(digits) <= len(digits) + 1:
            break
        record = body[at + len(digits) + 1 : at + int(digits)]
        key, sign, value = record.partition(b"=")
        if sign:
            found[key.decode("utf-8", "replace")] = value.removesuffix(b"\n").decode("utf-8", "replace")
        at += int(digits)
    return found
