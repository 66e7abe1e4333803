"""The pixels of a frame of lanes on their way to the screen, with the names upon them.

While the lanes move, every frame is shown once: it is written straight into the memory that the window shows, which
spares a copy of all its pixels. What is painted again (the pointer moved over a frame that rests) comes from an image.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QImage, QPainter

from viewer.base.frames import LaneFrame, Names, Pixels
from widgets.font_scale import scaled
from widgets.labels import NameMasks

Stamp = Callable[..., None]
"""(Pixels, Names, masks of whole names, masks of short ones, coverage, places, padding, fewest pixels)."""

_TEXT_PAD: Final = 5.0
_SMALL_ROW: Final = 16
_TEXT: Final = 11
_SMALL_TEXT: Final = 10
_OPAQUE: Final = (QImage.Format.Format_RGB32, QImage.Format.Format_ARGB32_Premultiplied)
"""Formats in which an opaque pixel is 0xffRRGGBB."""
_NEAR: Final = 1e-6


def memory_of(painter: QPainter, frame: LaneFrame) -> Pixels | None:
    """The memory that a painter writes to, from the painter's origin on, as large as a frame; None where it is none.

    That is so while a painter paints something else than an image, with pixels of another kind, another scale than the
    frame's, or from the middle of a pixel on.
    """
    engine = painter.paintEngine()
    device = engine.paintDevice() if engine is not None else None
    if not isinstance(device, QImage) or device.format() not in _OPAQUE:
        return None
    to_device = painter.deviceTransform()
    x, y = round(to_device.dx()), round(to_device.dy())
    rows, columns = frame.shape
    wanted = (frame.dpr, 0.0, 0.0, frame.dpr, x, y)
    now = (to_device.m11(), to_device.m12(), to_device.m21(), to_device.m22(), to_device.dx(), to_device.dy())
    if max(abs(a - b) for a, b in zip(wanted, now, strict=True)) > _NEAR:
        return None
    if x < 0 or y < 0 or x + columns > device.width() or y + rows > device.height():
        return None
    # Not bits(): that would give the image other memory than the painter's where something else shares it.
    seen = np.frombuffer(cast(Any, device.constBits()), np.uint32)
    whole = (ctypes.c_uint32 * len(seen)).from_address(seen.ctypes.data)
    pitch = device.bytesPerLine() // 4
    return Pixels(np.ctypeslib.as_array(whole), y * pitch + x, pitch, columns, rows)


def draw_image(painter: QPainter, image: NDArray[np.uint32], dpr: float) -> None:
    """Draw an image of device pixels at the painter's origin, pixel by pixel whatever the scale."""
    rows, columns = image.shape
    shown = QImage(image.data, columns, rows, columns * 4, QImage.Format.Format_RGB32)
    to_device = painter.deviceTransform()
    painter.save()
    x, y = (round(at) - at for at in (to_device.dx(), to_device.dy()))
    painter.translate(x / dpr, y / dpr)
    painter.scale(1 / dpr, 1 / dpr)
    painter.drawImage(QPointF(0, 0), shown)
    painter.restore()


class LanePixels:
    """Shows frames, and draws names into them.

    Attributes:
        missing: whether some names of the last frame have no mask yet: they follow when it is shown again.
    """

    def __init__(self, stamp: Stamp | None = None) -> None:
        self._stamp = stamp
        self._font = QFont()
        self._masks: dict[tuple[int, float], NameMasks] = {}
        self._frame: LaneFrame | None = None
        self._named = False  # whether the image of the frame has its names
        self._unnamed: Names | None = None

    @property
    def missing(self) -> bool:
        """Whether the frame is to be shown once more."""
        return self._unnamed is not None

    def set_stamp(self, stamp: Stamp | None) -> None:
        """Use something else to blend names."""
        self._stamp = stamp

    def set_font(self, font: QFont) -> None:
        """Write names in another font."""
        self._font = QFont(font)
        self._masks = {}
        self._frame = None

    def show(self, painter: QPainter, frame: LaneFrame, *, whole: bool) -> None:
        """Paint a frame; ``whole`` says that no part of it keeps what it shows already."""
        if frame is not self._frame:
            self._frame, self._named, self._unnamed = frame, False, None
            target = memory_of(painter, frame) if whole else None
            if target is not None:
                frame.draw(target)
                self._unnamed = self._write(target, frame, frame.names)
                return
        image = frame.image
        if not self._named or self._unnamed is not None:
            names = self._unnamed if self._named and self._unnamed is not None else frame.names
            self._named, self._unnamed = True, self._write(Pixels.of(image), frame, names)
        draw_image(painter, image, frame.dpr)

    def _write(self, pixels: Pixels, frame: LaneFrame, names: Names) -> Names | None:
        """Blend names into pixels; those that have to wait because a frame makes only a few masks."""
        if self._stamp is None or not len(names.text):
            return None
        dpr = frame.dpr
        small = names.height < scaled(_SMALL_ROW) * dpr
        left: list[NDArray[np.bool_]] = []
        for px, chosen in ((scaled(_TEXT), ~small), (scaled(_SMALL_TEXT), small)):
            if not chosen.any():
                continue
            some = names if chosen.all() else names.where(chosen)
            masks = self._masks_for(px, dpr)
            full, short = masks.find(some.text, some.texts)
            pad = round(_TEXT_PAD * dpr)
            self._stamp(pixels, some, full, short, masks.masks, masks.places, pad, masks.least)
            if masks.missing:
                chosen[chosen] = full == 0
                left.append(chosen)
        return names.where(np.logical_or.reduce(left)) if left else None

    def _masks_for(self, px: int, dpr: float) -> NameMasks:
        key = (px, dpr)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = NameMasks(self._font, round(px * dpr))
        return found
