"""A picture scene as SVG text: texts stay texts, names are escaped, the same scene gives the same bytes.

Written without Qt: its generator knows no clipping to a title, tooltips, edge rendering or text lengths.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from viewer.base.scene import (
    Item,
    PictureScene,
    SceneHatch,
    SceneImage,
    SceneLine,
    ScenePolygon,
    SceneRect,
    SceneText,
)

FAMILIES: Final = "'DejaVu Sans', Verdana, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
_NOT_XML: Final = dict.fromkeys(
    (*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)), "\ufffd"
)


def svg_text(scene: PictureScene, family: str = "") -> str:
    """The scene as an SVG document.

    Args:
        scene: what to write.
        family: name of the font that the texts were measured with, put before the usual ones.
    """
    families = f"'{_plain(family).replace(chr(39), '')}', {FAMILIES}" if family else FAMILIES
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scene.width}" height="{scene.height}" '
        f'viewBox="0 0 {scene.width} {scene.height}" role="img" font-family={quoteattr(families)}>',
        f"<title>{_text(scene.title)}</title>",
        f"<desc>{_text(scene.description)}</desc>",
    ]
    hatches = {(i.color, i.step): f"hatch{n}" for n, i in enumerate(_hatches(scene))}
    out.extend(_pattern(name, *key) for key, name in hatches.items())
    out.append(f'<rect width="{scene.width}" height="{scene.height}" fill="{_color(scene.background)}"/>')
    out.extend(_element(item, hatches) for item in scene.items)
    out.append("</svg>\n")
    return "\n".join(out)


def png_bytes(pixels: NDArray[np.uint32]) -> bytes:
    """Pixels of 0xffRRGGBB as a PNG file without alpha and without metadata."""
    height, width = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    for channel, shift in enumerate((16, 8, 0)):
        rows[:, 1 + channel :: 3] = pixels >> np.uint32(shift) & np.uint32(0xFF)
    # Filter "up": lanes repeat from line to line.
    rows[1:, 1:] -= rows[:-1, 1:].copy()
    rows[:, 0] = 2
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _hatches(scene: PictureScene) -> list[SceneHatch]:
    seen: dict[tuple[str, float], SceneHatch] = {}
    for item in scene.items:
        if isinstance(item, SceneHatch):
            seen.setdefault((item.color, item.step), item)
    return list(seen.values())


def _pattern(name: str, color: str, step: float) -> str:
    return (
        f'<pattern id="{name}" patternUnits="userSpaceOnUse" width="{_n(step)}" height="{_n(step)}" '
        f'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="{_n(step)}" stroke="{_color(color)}" '
        'stroke-width="2"/></pattern>'
    )


def _element(item: Item, hatches: dict[tuple[str, float], str]) -> str:
    match item:
        case SceneText():
            return _text_element(item)
        case SceneRect():
            return _rect(item)
        case SceneLine():
            dash = f' stroke-dasharray="{" ".join(_n(d) for d in item.dash)}"' if item.dash else ""
            shape = ' shape-rendering="crispEdges"' if item.x1 == item.x2 or item.y1 == item.y2 else ""
            return (
                f'<line x1="{_n(item.x1)}" y1="{_n(item.y1)}" x2="{_n(item.x2)}" y2="{_n(item.y2)}" '
                f'stroke="{_color(item.color)}" stroke-width="{_n(item.width)}"{dash}{_opacity(item.opacity)}{shape}/>'
            )
        case ScenePolygon():
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in item.points)
            return f'<polygon points="{points}"{_paint(item.fill, item.stroke, item.stroke_width)}/>'
        case SceneHatch():
            b = item.bounds
            name = hatches[(item.color, item.step)]
            return (
                f'<rect x="{_n(b.x)}" y="{_n(b.y)}" width="{_n(b.width)}" height="{_n(b.height)}" fill="url(#{name})"/>'
            )
        case SceneImage():
            b = item.bounds
            data = base64.b64encode(png_bytes(item.pixels)).decode("ascii")
            return (
                f'<image x="{_n(b.x)}" y="{_n(b.y)}" width="{_n(b.width)}" height="{_n(b.height)}" '
                f'preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
            )


def _rect(item: SceneRect) -> str:
    radius = f' rx="{_n(item.radius)}"' if item.radius else ""
    shape = ' shape-rendering="crispEdges"' if item.crisp and not item.radius else ""
    head = (
        f'<rect x="{_n(item.x)}" y="{_n(item.y)}" width="{_n(item.width)}" height="{_n(item.height)}"{radius}'
        f"{_paint(item.fill, item.stroke, item.stroke_width)}{_opacity(item.opacity)}{shape}"
    )
    return f"{head}><title>{_text(item.tip)}</title></rect>" if item.tip else f"{head}/>"


def _text_element(item: SceneText) -> str:
    anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
    weight = ' font-weight="bold"' if item.font.bold else ""
    # The length that was laid out holds even where another font is found.
    length = f' textLength="{_n(item.width)}" lengthAdjust="spacingAndGlyphs"' if item.width > 0 else ""
    return (
        f'<text x="{_n(item.x)}" y="{_n(item.y)}" font-size="{item.font.size}"{weight}{anchor}{length} '
        f'fill="{_color(item.color)}" xml:space="preserve">{_text(item.text)}</text>'
    )


def _paint(fill: str | None, stroke: str | None, width: float) -> str:
    shown = f' fill="{_color(fill)}"' if fill else ' fill="none"'
    return shown + (f' stroke="{_color(stroke)}" stroke-width="{_n(width)}"' if stroke else "")


def _opacity(value: float) -> str:
    return f' opacity="{_n(value)}"' if value < 1 else ""


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _color(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _plain(text: str) -> str:
    return text.translate(_NOT_XML)


def _text(text: str) -> str:
    return escape(_plain(text))
