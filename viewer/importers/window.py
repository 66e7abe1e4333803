"""The part of a source's text that is in memory: a padded buffer that slides over the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.importers.source import TextStream
from viewer.jit.scan_load import PAD

CHUNK: Final = 8 << 20
"""Bytes in memory at a time, unless one value is longer."""
LARGEST: Final = 128 << 20
"""The buffer grows no further: a value that takes more than half of it is refused."""


class TextWindow:
    """Bytes [origin, origin + filled) of the text; ``position`` (relative to origin) is where reading stands."""

    cross: Callable[[], int | None] = staticmethod(lambda: None)
    """Called when the border is crossed: tells the next one, None without one. It may raise."""

    def __init__(self, stream: TextStream, chunk: int = CHUNK, origin: int = 0, border: int | None = None) -> None:
        """``stream`` begins at ``origin``; at ``border`` the window halts until it is asked to cross it."""
        self._stream = stream
        self._data = np.zeros(chunk + PAD, np.uint8)
        self.origin = origin
        self.filled = 0
        self.position = 0
        self.ended = False
        self.border = border

    @classmethod
    def over(cls, room: NDArray[np.uint8], filled: int, stream: TextStream, origin: int, border: int) -> TextWindow:
        """A window over text that is in memory already: ``filled`` bytes of ``room``, and PAD bytes of zeros.

        Until its border is crossed it leaves the room as it is; what ``stream`` gives comes behind it.
        """
        window = cls(stream, 0, origin, border)
        window._data, window.filled = room, filled
        return window

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(self._data.ctypes.data)

    @property
    def room(self) -> int:
        """How many bytes fit."""
        return len(self._data) - PAD

    @property
    def at_border(self) -> bool:
        """Whether everything up to the border has been used."""
        return self.border is not None and self.origin + self.position == self.border

    def more(self) -> bool:
        """Let go of what lies before ``position`` and bring more text; False when there is no more.

        Where the text up to the border is not enough, the border is crossed.

        Raises:
            OverflowError: a single value takes more than half of LARGEST.
        """
        if self.ended:
            return False
        if self.border is not None and self.origin + self.filled >= self.border:
            self.border = self.cross()
        rest = self.filled - self.position
        if rest > self.room // 2:
            if self.room >= LARGEST:
                raise OverflowError(f"a value of more than {LARGEST // 2 >> 20} MiB")
            grown = np.zeros(min(4 * self.room, LARGEST) + PAD, np.uint8)
            grown[:rest] = self._data[self.position : self.filled]
            self._data = grown
        elif self.position:
            self._data[:rest] = self._data[self.position : self.filled].copy()
        self.origin += self.position
        self.position = 0
        self.filled = rest
        brought = 0
        most = self.room if self.border is None else min(self.room, self.border - self.origin)
        with memoryview(self._data) as view:  # type: ignore[arg-type]
            while self.filled < most:
                count = self._stream.read_into(view[self.filled : most])
                if count == 0:
                    self.ended = True
                    break
                self.filled += count
                brought += count
        self._data[self.filled : self.filled + PAD] = 0
        return brought > 0

    def view(self) -> NDArray[np.uint8]:
        """What is in memory, without a copy; good until the next :meth:`more`."""
        return self._data[: self.filled]

    def text(self, begin: int, end: int) -> bytes:
        """A copy of bytes [begin, end) relative to origin."""
        return self._data[begin:end].tobytes()

    def find(self, part: bytes, begin: int) -> int:
        """Where ``part`` begins at or after ``begin`` in what is in memory, -1 when it does not."""
        with memoryview(self._data) as view:  # type: ignore[arg-type]
            return bytes(view[begin : self.filled]).find(part)
