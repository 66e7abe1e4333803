"""Paints picture scenes with QPainter: into images (PNG), PDF pages, or a preview. Usable off the GUI thread."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Final

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLineF, QMarginsF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QImage,
    QImageWriter,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QPen,
    QPolygonF,
)

from viewer.base.scene import (
    Bounds,
    Font,
    Item,
    PictureScene,
    SceneHatch,
    SceneImage,
    SceneLine,
    ScenePolygon,
    SceneRect,
    SceneText,
)

DOTS_PER_INCH: Final = 96
_PDF_DOTS: Final = 1200
_PREFERRED: Final = ("DejaVu Sans", "Noto Sans", "Liberation Sans", "Segoe UI", "Helvetica Neue", "Arial")


@lru_cache(maxsize=1)
def font_family() -> str:
    """The family that pictures are set in, the same one everywhere if it is there; "" when no font can draw letters.

    Qt names families such as "Monospace" even where there is no font file: those draw empty boxes.
    """
    families = QFontDatabase.families()
    wanted = [f for f in _PREFERRED if f in families]
    return next((f for f in (*wanted, *families) if _draws_letters(f)), "")


def _draws_letters(family: str) -> bool:
    # The boxes that stand in for a missing font are all alike, and asking them for more crashes Qt.
    metrics = QFontMetricsF(QFont(family))
    return metrics.tightBoundingRect(".").height() < metrics.tightBoundingRect("W").height()


_ONE_AT_A_TIME: Final = threading.RLock()
"""PySide makes the types of a method's arguments when it is first called; two threads that do so at once crash it."""


@lru_cache(maxsize=1)
def prepare() -> None:
    """Call everything that painting calls, once. On the GUI thread, which takes no lock, before others paint."""
    font = Font(12, bold=False)
    measure("Mg", font)
    encode(
        PictureScene(
            width=32,
            height=32,
            scale=1.0,
            background="#ffffff",
            items=(
                SceneRect(1, 1, 9, 9, fill="#000000", stroke="#ff0000", radius=2, opacity=0.5, crisp=False),
                SceneRect(1, 1, 9, 9, fill="#000000"),
                SceneText(4, 20, "Mg", font, "#000000", "lane", 20),
                SceneLine(0, 0, 9, 9, "#000000", dash=(2.0, 2.0)),
                SceneLine(0, 4, 9, 4, "#000000"),
                ScenePolygon(((0, 0), (5, 0), (5, 5)), fill="#000000", stroke="#000000"),
                SceneHatch(Bounds(0, 0, 9, 9), "#000000", 4.0),
                SceneImage(Bounds(0, 0, 2, 2), np.zeros((2, 2), np.uint32)),
            ),
            title="",
            description="",
        ),
        "png",
    )


def measure(text: str, font: Font) -> float:
    """Width of a text in logical px, as :func:`paint_scene` will draw it."""
    with _ONE_AT_A_TIME:
        return float(_FONTS.get(font)[1].horizontalAdvance(text))


class _Fonts(threading.local):
    """Fonts and their metrics; per thread, because Qt's font engines are."""

    def __init__(self) -> None:
        self.made: dict[Font, tuple[QFont, QFontMetricsF]] = {}

    def get(self, font: Font) -> tuple[QFont, QFontMetricsF]:
        """The Qt font and its metrics."""
        found = self.made.get(font)
        if found is None:
            made = QFont(font_family())
            made.setPixelSize(font.size)
            made.setBold(font.bold)
            # Without hinting, widths are the same at every scale.
            made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
            made.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
            found = self.made[font] = made, QFontMetricsF(made)
        return found


_FONTS: Final = _Fonts()


def paint_scene(painter: QPainter, scene: PictureScene) -> None:
    """Paint everything in logical px from (0, 0); the caller has set scale and target. One thread at a time paints."""
    with _ONE_AT_A_TIME:
        painter.fillRect(QRectF(0, 0, scene.width, scene.height), QColor(scene.background))
        for item in scene.items:
            _paint_item(painter, item)


def scene_image(scene: PictureScene) -> QImage:
    """The scene as an opaque image of its size times its scale, with its resolution set. MemoryError when too large."""
    image = QImage(round(scene.width * scene.scale), round(scene.height * scene.scale), QImage.Format.Format_RGB32)
    if image.isNull():
        raise MemoryError(f"no memory for a picture of {scene.width}x{scene.height} at {scene.scale:g}x")
    image.setDotsPerMeterX(round(DOTS_PER_INCH * scene.scale / 0.0254))
    image.setDotsPerMeterY(round(DOTS_PER_INCH * scene.scale / 0.0254))
    painter = QPainter(image)
    try:
        painter.scale(scene.scale, scene.scale)
        paint_scene(painter, scene)
    finally:
        painter.end()
    return image


def png_of(image: QImage, title: str = "", description: str = "") -> bytes:
    """An image as PNG with its texts; no dates, so that the same image gives the same bytes."""
    for key, value in (("Title", title), ("Description", description)):
        if value:
            image.setText(key, value)
    return _saved(image)


def encode(scene: PictureScene, kind: str) -> bytes:
    """The scene as the bytes of a "png" or "pdf" file."""
    if kind == "png":
        return png_of(scene_image(scene), scene.title, scene.description)
    if kind == "pdf":
        return _pdf(scene)
    raise ValueError(f"no painter for {kind!r}")


def _saved(image: QImage) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(image):
        raise MemoryError(f"the picture could not be encoded as PNG: {writer.errorString()}")
    buffer.close()
    return bytes(data.data())


def _pdf(scene: PictureScene) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_PDF_DOTS)
    writer.setTitle(scene.title)
    writer.setCreator("Rankscope")
    points = QSizeF(scene.width * 72 / DOTS_PER_INCH, scene.height * 72 / DOTS_PER_INCH)
    size = QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, QMarginsF()))
    painter = QPainter(writer)
    try:
        # Lanes are sharp edges and few colours: JPEG, the default, smears them and saves nothing.
        painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
        painter.scale(_PDF_DOTS / DOTS_PER_INCH, _PDF_DOTS / DOTS_PER_INCH)
        paint_scene(painter, scene)
    finally:
        painter.end()
    buffer.close()
    return bytes(data.data())


def _paint_item(painter: QPainter, item: Item) -> None:
    match item:
        case SceneText():
            _smooth(painter, True)
            painter.setOpacity(1.0)
            painter.setFont(_FONTS.get(item.font)[0])
            painter.setPen(QColor(item.color))
            painter.drawText(QPointF(item.bounds.x, item.y), item.text)
        case SceneRect():
            _paint_rect(painter, item)
        case SceneLine():
            straight = item.x1 == item.x2 or item.y1 == item.y2
            _smooth(painter, not straight)
            painter.setOpacity(item.opacity)
            pen = _pen(item.color, item.width)
            if item.dash:
                pen.setDashPattern([d / item.width for d in item.dash])
            painter.setPen(pen)
            painter.drawLine(QLineF(item.x1, item.y1, item.x2, item.y2))
        case ScenePolygon():
            _smooth(painter, True)
            painter.setOpacity(1.0)
            painter.setPen(_pen(item.stroke, item.stroke_width))
            painter.setBrush(QColor(item.fill) if item.fill else Qt.BrushStyle.NoBrush)
            painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in item.points]))
        case SceneHatch():
            _paint_hatch(painter, item)
        case SceneImage():
            pixels = np.ascontiguousarray(item.pixels, np.uint32)
            height, width = pixels.shape
            image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)
            b = item.bounds
            painter.setOpacity(1.0)
            painter.drawImage(QRectF(b.x, b.y, b.width, b.height), image)


def _paint_rect(painter: QPainter, item: SceneRect) -> None:
    _smooth(painter, not item.crisp or item.radius > 0)
    painter.setOpacity(item.opacity)
    rect = QRectF(item.x, item.y, item.width, item.height)
    if item.stroke is None and not item.radius:
        if item.fill:
            painter.fillRect(rect, QColor(item.fill))
        return
    painter.setPen(_pen(item.stroke, item.stroke_width))
    painter.setBrush(QColor(item.fill) if item.fill else Qt.BrushStyle.NoBrush)
    if item.radius:
        painter.drawRoundedRect(rect, item.radius, item.radius)
    else:
        painter.drawRect(rect)


def _paint_hatch(painter: QPainter, item: SceneHatch) -> None:
    b = item.bounds
    painter.save()
    painter.setClipRect(QRectF(b.x, b.y, b.width, b.height), Qt.ClipOperation.IntersectClip)
    _smooth(painter, True)
    painter.setOpacity(1.0)
    painter.setPen(_pen(item.color, 1.0))
    step = item.step * 2**0.5
    x = b.x - b.height
    lines = []
    while x < b.right:
        lines.append(QLineF(x, b.bottom, x + b.height, b.y))
        x += step
    painter.drawLines(lines)
    painter.restore()


def _smooth(painter: QPainter, on: bool) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on)


def _pen(color: str | None, width: float) -> QPen:
    if color is None:
        return QPen(Qt.PenStyle.NoPen)
    pen = QPen(QColor(color), width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    return pen
