"""The icon set: monochrome SVGs in ``resources/icons``, coloured by the theme."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

SIZES: Final = (16, 20, 24, 32, 48, 64)
APP_SIZES: Final = (16, 24, 32, 48, 64, 128, 256)


@cache
def _source(name: str) -> str:
    return (resources.files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def _icon(svg: str, sizes: tuple[int, ...]) -> QIcon:
    renderer = QSvgRenderer(QByteArray(svg.encode("utf-8")))
    icon = QIcon()
    for size in sizes:
        pixmap = QPixmap(size, size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter, QRectF(0, 0, size, size))
        painter.end()
        icon.addPixmap(pixmap)
    return icon


@cache
def icon(name: str, color: str) -> QIcon:
    """An icon in a colour (``#rrggbb``), sharp up to a scale of 3."""
    return _icon(_source(name).replace("currentColor", color), SIZES)


@cache
def swatch(color: str) -> QIcon:
    """A square of a colour, for a list of colours."""
    pixmap = QPixmap(32, 32)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    painter.drawRoundedRect(QRectF(5, 5, 22, 22), 4, 4)
    painter.end()
    return QIcon(pixmap)


@cache
def application_icon() -> QIcon:
    """The coloured icon of the window."""
    return _icon(_source("rankscope"), APP_SIZES)
