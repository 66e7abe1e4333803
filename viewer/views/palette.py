"""A theme's colours as the arrays that the raster loop reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.theme import Theme

GROUNDS: Final = ("base", "alternate", "group")
"""Backgrounds by number: even rows, odd rows, group headers."""

_WEAKEST = 0.34
"""How strongly a pixel with hardly any coverage is drawn: visible, but lighter than a full one."""
_EDGE = 0.74
"""Brightness of a slice's left border relative to its fill."""


@dataclass(frozen=True, slots=True)
class Palette:
    """``fills`` uint32[grounds, paints, 256] by coverage, ``edges`` uint32[paints], ``grounds`` and ``grid`` uint32."""

    fills: NDArray[np.uint32]
    edges: NDArray[np.uint32]
    grounds: NDArray[np.uint32]
    grid: NDArray[np.uint32]


def rgb(color: str) -> tuple[int, int, int]:
    """``"#rrggbb"`` -> (r, g, b)."""
    value = int(color.removeprefix("#"), 16)
    return value >> 16 & 255, value >> 8 & 255, value & 255


def palette(theme: Theme) -> Palette:
    """Colours of one theme: each paint blended over each background by coverage."""
    grounds = np.array([rgb(theme[g]) for g in GROUNDS], np.float64)
    paints = np.array([rgb(p) for p in theme.paints], np.float64)
    cover = np.linspace(0.0, 1.0, 256)
    alpha = (_WEAKEST + (1 - _WEAKEST) * cover)[None, None, :, None]
    fills = _pack(grounds[:, None, None, :] * (1 - alpha) + paints[None, :, None, :] * alpha)
    grid = np.array([rgb(theme["grid"])] * 2 + [rgb(theme["group"])], np.float64)
    return Palette(fills, _pack(paints * _EDGE), _pack(grounds), _pack(grid))


def _pack(colors: NDArray[np.float64]) -> NDArray[np.uint32]:
    """float[..., 3] of 0..255 -> uint32[...] of 0xffRRGGBB."""
    c = np.clip(np.rint(colors), 0, 255).astype(np.uint32)
    packed = 0xFF000000 | c[..., 0] << 16 | c[..., 1] << 8 | c[..., 2]
    return np.ascontiguousarray(packed, np.uint32)
