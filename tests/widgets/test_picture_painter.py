from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np
import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

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
from widgets import picture_painter
from widgets.picture_painter import encode, font_family, measure, png_of, scene_image

RED, BLUE, WHITE, BLACK = "#ff0000", "#0000ff", "#ffffff", "#000000"


def scene(*items: object, scale: float = 1.0, width: int = 200, height: int = 100) -> PictureScene:
    return PictureScene(width, height, scale, WHITE, tuple(items), "Title & more", "Where from")  # type: ignore[arg-type]


def text(words: str = "Mfg", size: int = 20) -> SceneText:
    font = Font(size)
    return SceneText(20, 60, words, font, BLACK, "title", measure(words, font))


def color(image: QImage, x: int, y: int) -> str:
    return image.pixelColor(x, y).name()


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_a_png_has_size_times_scale_pixels_and_says_its_resolution_and_texts(qtbot: QtBot, scale: int) -> None:
    image = QImage.fromData(encode(scene(scale=scale), "png"))
    assert (image.width(), image.height()) == (200 * scale, 100 * scale)
    assert image.dotsPerMeterX() == image.dotsPerMeterY() == round(96 * scale / 0.0254)
    assert image.text("Title") == "Title & more"
    assert image.text("Description") == "Where from"


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_shapes_lie_where_they_are_told_at_every_scale(qtbot: QtBot, scale: int) -> None:
    pixels = np.full((10 * scale, 20 * scale), 0xFF0000FF, np.uint32)
    image = scene_image(
        scene(
            SceneRect(10, 10, 20, 20, RED),
            SceneImage(Bounds(50, 10, 20, 10), pixels),
            SceneLine(100, 10, 100, 50, BLUE, 2.0),
            ScenePolygon(((120, 10), (160, 10), (120, 50)), RED),
            scale=scale,
        )
    )
    for (x, y), expected in {
        (9, 9): WHITE, (10, 10): RED, (29, 29): RED, (30, 30): WHITE,
        (49, 12): WHITE, (50, 10): BLUE, (69, 19): BLUE, (70, 19): WHITE,
        (100, 30): BLUE, (125, 15): RED, (158, 45): WHITE,
    }.items():  # fmt: skip
        assert color(image, x * scale + scale // 2, y * scale + scale // 2) == expected, (x, y)


def test_text_is_drawn_inside_its_bounds_and_nowhere_else(qtbot: QtBot) -> None:
    item = text("Quick gypsum", 24)
    image = scene_image(scene(item, width=400))
    b = item.bounds
    dark = [(x, y) for y in range(image.height()) for x in range(image.width()) if color(image, x, y) != WHITE]
    assert len(dark) > 200
    assert all(b.x - 1 <= x <= b.right + 1 and b.y - 1 <= y <= b.bottom + 1 for x, y in dark)
    assert max(x for x, _ in dark) > b.right - 4


def test_opacity_blends_and_hatches_stay_inside(qtbot: QtBot) -> None:
    image = scene_image(scene(SceneRect(0, 0, 50, 50, BLACK, opacity=0.5), SceneHatch(Bounds(100, 20, 50, 50), RED, 6)))
    assert image.pixelColor(20, 20).red() == pytest.approx(128, abs=1)
    inked = {(x, y) for y in range(100) for x in range(60, 200) if color(image, x, y) != WHITE}
    assert len(inked) > 100
    assert all(100 <= x < 150 and 20 <= y < 70 for x, y in inked)


def test_what_follows_a_blended_shape_is_opaque_again(qtbot: QtBot) -> None:
    image = scene_image(scene(SceneRect(0, 0, 50, 50, BLACK, opacity=0.5), SceneRect(60, 0, 20, 20, RED)))
    assert color(image, 65, 5) == RED


def test_the_same_scene_gives_the_same_png_bytes(qtbot: QtBot) -> None:
    assert encode(scene(text(), SceneRect(1, 2, 3, 4, RED, BLUE, radius=2)), "png") == encode(
        scene(text(), SceneRect(1, 2, 3, 4, RED, BLUE, radius=2)), "png"
    )


def test_painting_off_the_gui_thread_gives_the_same_picture(qtbot: QtBot) -> None:
    here = encode(scene(text()), "png")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: encode(scene(text()), "png")).result() == here


def test_one_thread_at_a_time_paints(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0
    together = threading.Barrier(2)

    def slow(*_: object) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        gate.wait(0.05)
        inside -= 1

    def paint() -> None:
        together.wait(10)
        scene_image(scene(text()))

    gate = threading.Event()
    monkeypatch.setattr(picture_painter, "_paint_item", slow)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(paint), pool.submit(paint)]:
            done.result()
    assert most == 1


def test_preparing_paints_every_kind_of_item(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: set[type] = set()
    real = picture_painter._paint_item
    monkeypatch.setattr(picture_painter, "_paint_item", lambda p, item: (kinds.add(type(item)), real(p, item)))
    picture_painter.prepare.cache_clear()
    picture_painter.prepare()
    assert kinds == set(get_args(Item))


def test_a_pdf_is_one_page_of_the_pictures_size_with_embedded_fonts(qtbot: QtBot) -> None:
    data = encode(scene(text()), "pdf")
    assert data.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox \[([^\]]*)\]", data)
    assert box is not None
    assert [float(n) for n in box[1].split()] == [0, 0, 150, 75]
    assert b"/FontFile2" in data
    assert len(re.findall(rb"/Type /Page\b(?!s)", data)) == 1


def test_an_unknown_kind_is_refused(qtbot: QtBot) -> None:
    with pytest.raises(ValueError, match="gif"):
        encode(scene(), "gif")


def test_widths_do_not_depend_on_the_scale(qtbot: QtBot) -> None:
    assert font_family()
    assert measure("kernel name", Font(22)) == pytest.approx(2 * measure("kernel name", Font(11)), rel=0.01)
    assert measure("kernel name", Font(11, bold=True)) > measure("kernel name", Font(11))


def test_images_can_be_encoded_without_texts(qtbot: QtBot) -> None:
    assert QImage.fromData(png_of(scene_image(scene()))).textKeys() == []
