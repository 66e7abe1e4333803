"""A theme's colours as the arrays that the raster loop reads.

Colours have numbers (inks): those of the classes first, as in ``Paint``, then the theme's hues, which stand for names,
ranks or groups. The same numbers plus ``DIM`` are the pale ones of slices that a filter does not match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import Paint
from viewer.base.theme import Theme

GROUNDS: Final = ("base", "alternate", "group")
"""Backgrounds by number: even rows, odd rows, group headers."""
FIRST_HUE: Final = len(Paint)
DIM: Final = 32
INKS: Final = 64

_WEAKEST = 0.34
"""How strongly a pixel with hardly any coverage is drawn: visible, but lighter than a full one."""
_EDGE = 0.74
"""Brightness of a slice's left border relative to its fill."""
_PALE = 0.16
"""How much of its colour a slice keeps that a filter does not match."""
_PATTERN = 0.30
"""How much a pattern differs from what it lies on."""


@dataclass(frozen=True, slots=True)
class Palette:
    """``fills`` uint32[grounds, inks, 256] by coverage; ``edges``, ``texts``, ``patterns`` uint32[inks].

    ``grounds`` and ``grid`` are uint32[grounds].
    """

    fills: NDArray[np.uint32]
    edges: NDArray[np.uint32]
    texts: NDArray[np.uint32]
    patterns: NDArray[np.uint32]
    grounds: NDArray[np.uint32]
    grid: NDArray[np.uint32]


def rgb(color: str) -> tuple[int, int, int]:
    """``"#rrggbb"`` -> (r, g, b)."""
    value = int(color.removeprefix("#"), 16)
    return value >> 16 & 255, value >> 8 & 255, value & 255


def palette(theme: Theme) -> Palette:
    """Colours of one theme: each ink blended over each background by coverage."""
    grounds = np.array([rgb(theme[g]) for g in GROUNDS], np.float64)
    inks = np.zeros((INKS, 3))
    texts = np.zeros((INKS, 3))
    known = [*zip(theme.paints, theme.paint_text, strict=True), *zip(theme.hues, theme.hue_text, strict=True)]
    for ink, (fill, text) in enumerate(known):
        inks[ink], texts[ink] = rgb(fill), rgb(text)
    inks[DIM:] = grounds[0] * (1 - _PALE) + inks[:DIM] * _PALE
    texts[DIM:] = (np.array(rgb(theme["muted"])) + grounds[0]) / 2
    cover = np.linspace(0.0, 1.0, 256)
    alpha = (_WEAKEST + (1 - _WEAKEST) * cover)[None, None, :, None]
    fills = _pack(grounds[:, None, None, :] * (1 - alpha) + inks[None, :, None, :] * alpha)
    grid = np.array([rgb(theme["grid"])] * 2 + [rgb(theme["group"])], np.float64)
    edges = inks * _EDGE
    edges[DIM:] = inks[DIM:]
    patterns = inks * (1 - _PATTERN) + texts * _PATTERN
    return Palette(fills, _pack(edges), _pack(texts), _pack(patterns), _pack(grounds), _pack(grid))


def _pack(colors: NDArray[np.float64]) -> NDArray[np.uint32]:
    """float[..., 3] of 0..255 -> uint32[...] of 0xffRRGGBB."""
    c = np.clip(np.rint(colors), 0, 255).astype(np.uint32)
    packed = 0xFF000000 | c[..., 0] << 16 | c[..., 1] << 8 | c[..., 2]
    return np.ascontiguousarray(packed, np.uint32)
