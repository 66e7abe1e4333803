"""Names inside slices: shortened sensibly, and drawn once as masks that frames blend into their image."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from viewer.base.names import short_name

_MOST_BYTES: Final = 1 << 24
_MOST_LETTERS: Final = 120
_NEW_PER_FRAME: Final = 48
_FEWEST: Final = 4
"""A name of which fewer letters would show says nothing and is not drawn."""


class NameMasks:
    """Names as coverage, drawn once per font and scale; frames blend them into their image.

    Attributes:
        masks: uint8[...] coverage of all masks, row by row.
        places: int64[3, masks] offset, width and height of each.
        missing: names of the last call that have no mask yet, because a frame makes only a few.
    """

    def __init__(self, font: QFont, px: int) -> None:
        self.font = QFont(font)
        self.font.setPixelSize(px)
        self._metrics = QFontMetricsF(self.font)
        self.least = math.ceil(self._metrics.averageCharWidth() * _FEWEST)
        self._height = math.ceil(self._metrics.height())
        self._forget()

    def _forget(self) -> None:
        self.masks = np.zeros(1 << 16, np.uint8)
        self.places = np.zeros((3, 64), np.int64)
        self._count, self._used = 2, 0
        self.places[1, 1] = 1 << 30  # mask 0 is empty, mask 1 never fits
        self._of = np.zeros((2, 0), np.int64)
        self.missing = 0

    def find(self, ids: NDArray[np.int64], texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Masks of the whole names and of their telling parts; a few of those not seen before are drawn now."""
        if self._used > _MOST_BYTES:
            self._forget()
        if self._of.shape[1] < len(texts):
            grown = np.full((2, 2 * len(texts)), -1, np.int64)
            grown[:, : self._of.shape[1]] = self._of
            self._of = grown
        full, short = self._of[0][ids], self._of[1][ids]
        unknown = np.unique(ids[full < 0])
        if len(unknown):
            for text in unknown[:_NEW_PER_FRAME].tolist():
                name = texts[text].replace("\n", " ")
                whole = self._draw(name[:_MOST_LETTERS])
                brief = short_name(name[:400])[:_MOST_LETTERS]
                self._of[0, text] = whole if len(name) <= _MOST_LETTERS else 1
                self._of[1, text] = whole if brief == name else self._draw(brief)
            full, short = np.maximum(self._of[0][ids], 0), np.maximum(self._of[1][ids], 0)
        self.missing = max(len(unknown) - _NEW_PER_FRAME, 0)
        return full, short

    def _draw(self, text: str) -> int:
        wide = math.ceil(self._metrics.horizontalAdvance(text))
        if not wide:
            return 0
        image = QImage(wide, self._height, QImage.Format.Format_Grayscale8)
        image.fill(0)
        painter = QPainter(image)
        painter.setFont(self.font)
        painter.setPen(QColor("white"))
        painter.drawText(QPointF(0, self._metrics.ascent()), text)
        painter.end()
        size = wide * self._height
        while self._used + size > len(self.masks):
            self.masks = np.append(self.masks, np.zeros_like(self.masks))
        if self._count == self.places.shape[1]:
            self.places = np.ascontiguousarray(np.append(self.places, np.zeros_like(self.places), axis=1))
        pixels = np.frombuffer(image.constBits(), np.uint8).reshape(self._height, image.bytesPerLine())[:, :wide]
        self.masks[self._used : self._used + size] = pixels.reshape(-1)
        self.places[:, self._count] = self._used, wide, self._height
        self._used += size
        self._count += 1
        return self._count - 1
