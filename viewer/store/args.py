"""Args of single events, read on demand from the source text or from compressed blocks beside the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from viewer.base.ids import ABSENT
from viewer.store.meta import TraceMeta


class ArgsText:
    """Bytes of args objects by (offset, length)."""

    problem: str = ""

    @classmethod
    def open(cls, folder: Path, meta: TraceMeta) -> ArgsText:
        """Args of a trace folder."""
        raise NotImplementedError

    @classmethod
    def none(cls) -> ArgsText:
        """For traces without args."""
        return cls()

    @classmethod
    def of_bytes(cls, text: bytes) -> ArgsText:
        """Args inside a text held in memory."""
        args = cls()
        args._text = text
        return args

    _text: bytes = b""

    def read(self, offset: int, length: int) -> bytes:
        """The text of one args object, b"" when out of reach."""
        return self._text[offset : offset + length]

    def parse(self, offset: int, length: int) -> dict[str, Any]:
        """One args object as a dict; {} when there is none or it is out of reach."""
        if offset == ABSENT or length <= 0:
            return {}
        value = msgspec.json.decode(self.read(offset, length))
        return value if isinstance(value, dict) else {}
