from __future__ import annotations

import base64
import zlib
from xml.etree import ElementTree

import numpy as np

from tests.picture_job import HOSTILE
from viewer.base.scene import (
    Bounds,
    Font,
    PictureScene,
    SceneHatch,
    SceneImage,
    SceneLine,
    ScenePolygon,
    SceneRect,
    SceneText,
    plain_measure,
)
from viewer.exporters.svg import png_bytes, svg_text

NS = {"s": "http://www.w3.org/2000/svg"}


def text(words: str) -> SceneText:
    return SceneText(10, 20, words, Font(12, bold=True), "#112233", "slice", plain_measure(words, Font(12)), "end")


def scene(*items: object, title: str = "T") -> PictureScene:
    return PictureScene(200, 100, 2.0, "#ffffff", tuple(items), title, "D")  # type: ignore[arg-type]


def parse(scene: PictureScene, family: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(svg_text(scene, family))


def test_texts_are_texts_with_place_font_and_length() -> None:
    root = parse(scene(text("aten::mm")), "Inter")
    (found,) = root.findall("s:text", NS)
    assert found.text == "aten::mm"
    assert found.attrib["text-anchor"] == "end"
    assert found.attrib["font-weight"] == "bold"
    assert (found.attrib["x"], found.attrib["y"], found.attrib["font-size"]) == ("10", "20", "12")
    assert float(found.attrib["textLength"]) > 0
    assert root.attrib["font-family"].startswith("'Inter', ")
    assert root.attrib["viewBox"] == "0 0 200 100"


def test_hostile_names_are_text_and_nothing_else() -> None:
    hostile = HOSTILE + "\ud800\x00]]>"
    svg = svg_text(scene(text(hostile), SceneRect(0, 0, 1, 1, "#000000", tip=hostile), title=hostile), "x' onload='y")
    root = ElementTree.fromstring(svg)
    assert "<script" not in svg
    shown = hostile.replace("\x07", "\ufffd").replace("\ud800", "\ufffd").replace("\x00", "\ufffd")
    assert [e.text for e in root.findall("s:text", NS)] == [shown]
    assert [e.text for e in root.iterfind(".//s:title", NS)] == [shown, shown]
    assert {e.tag.split("}")[1] for e in root.iter()} == {"svg", "title", "desc", "rect", "text"}
    assert set(root.attrib) == {"width", "height", "viewBox", "role", "font-family"}
    svg.encode("utf-8")


def test_title_and_description_are_set() -> None:
    root = parse(scene(title="A & B"))
    assert root.find("s:title", NS).text == "A & B"  # type: ignore[union-attr]
    assert root.find("s:desc", NS).text == "D"  # type: ignore[union-attr]


def test_every_kind_of_item_is_written() -> None:
    root = parse(
        scene(
            SceneRect(1, 2, 3, 4, "#ff0000", "#00ff00", 2.0, 1.5, 0.5),
            SceneLine(0, 0, 5, 5, "#0000ff", 1.5, (4.0, 3.0)),
            ScenePolygon(((0, 0), (1, 0), (0, 1.25)), "#ff0000"),
            SceneHatch(Bounds(1, 1, 9, 9), "#cccccc", 7),
            SceneHatch(Bounds(20, 1, 9, 9), "#cccccc", 7),
            SceneImage(Bounds(0, 0, 2, 1), np.array([[0xFF010203, 0xFF040506]], np.uint32)),
        )
    )
    rect = root.findall("s:rect", NS)[1]
    assert {k: rect.attrib[k] for k in ("fill", "stroke", "stroke-width", "rx", "opacity")} == {
        "fill": "#ff0000",
        "stroke": "#00ff00",
        "stroke-width": "2",
        "rx": "1.5",
        "opacity": "0.5",
    }
    assert root.find("s:line", NS).attrib["stroke-dasharray"] == "4 3"  # type: ignore[union-attr]
    assert root.find("s:polygon", NS).attrib["points"] == "0,0 1,0 0,1.25"  # type: ignore[union-attr]
    (pattern,) = root.findall("s:pattern", NS)
    used = [e.attrib["fill"] for e in root.findall("s:rect", NS) if e.attrib["fill"].startswith("url")]
    assert used == [f"url(#{pattern.attrib['id']})"] * 2
    assert root.find("s:image", NS).attrib["href"].startswith("data:image/png;base64,")  # type: ignore[union-attr]


def test_the_same_scene_gives_the_same_text() -> None:
    assert svg_text(scene(text("a"))) == svg_text(scene(text("a")))


def test_images_inside_are_lossless() -> None:
    pixels = np.arange(48, dtype=np.uint32).reshape(6, 8) * np.uint32(0x01F3A7) | np.uint32(0xFF000000)
    href = parse(scene(SceneImage(Bounds(0, 0, 8, 6), pixels))).find("s:image", NS).attrib["href"]  # type: ignore[union-attr]
    data = base64.b64decode(href.partition(",")[2])
    assert data == png_bytes(pixels)
    at, parts = 8, {}
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        parts[kind] = data[at + 8 : at + 8 + length]
        assert int.from_bytes(data[at + 8 + length : at + 12 + length], "big") == zlib.crc32(kind + parts[kind])
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(6, 25)
    assert set(rows[:, 0]) == {2}
    channels = np.cumsum(rows[:, 1:].astype(np.uint64), axis=0).astype(np.uint8).reshape(6, 8, 3).astype(np.uint32)
    assert np.array_equal(channels[..., 0] << 16 | channels[..., 1] << 8 | channels[..., 2], pixels & 0xFFFFFF)
