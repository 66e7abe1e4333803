"""How much larger than usual the person's font is: what is painted in px follows it."""

from __future__ import annotations

from typing import Final

from PySide6.QtGui import QFont, QFontInfo, QGuiApplication

USUAL_PX: Final = 13.0
"""A system's font of usual size is about so tall; the px of rows and small texts are made for it."""
_SLACK: Final = 1.15
"""Desktops differ by this much without anybody having asked for larger texts."""
MOST: Final = 2.5


def text_scale() -> float:
    """1.0 for a font of usual size, else how much larger it is."""
    ratio = QFontInfo(QGuiApplication.font()).pixelSize() / USUAL_PX
    return 1.0 if ratio <= _SLACK else min(ratio, MOST)


def scaled(px: float) -> int:
    """So many px at the usual size of the font, in whole px at the one in use."""
    return max(1, round(px * text_scale()))


def resized(font: QFont, factor: float) -> QFont:
    """The same font so many times as large, whether its size is told in points or in px."""
    made = QFont(font)
    if font.pointSizeF() > 0:
        made.setPointSizeF(font.pointSizeF() * factor)
    else:
        made.setPixelSize(max(1, round(font.pixelSize() * factor)))
    return made
