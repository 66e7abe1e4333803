"""The way of a frame to the screen: straight into what the window shows, or as an image; the same picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import LaneFrame, Names, Pixels
from viewer.base.selection import TimeRange
from viewer.views.lanes.painter import stamp_names
from widgets.lane_overlay import Overlay, Tip
from widgets.lane_pixels import LanePixels, draw_image, memory_of
from widgets.lanes_canvas import LanesCanvas

WIDTH, HEIGHT = 60, 24


class Source:
    """Frames of random pixels with names; counts how often each way is taken."""

    def __init__(self, names: int = 1) -> None:
        self.names, self.drawn, self.rooms = names, 0, 0

    def frame(self, width: int = WIDTH, height: int = HEIGHT, dpr: float = 1.0) -> LaneFrame:
        shape = round(height * dpr), round(width * dpr)
        pixels = np.random.default_rng(3).integers(0, 1 << 24, shape).astype(np.uint32) | 0xFF000000

        def draw(target: Pixels) -> None:
            self.drawn += 1
            target.array[...] = pixels

        def room(shape: tuple[int, int]) -> np.ndarray:
            self.rooms += 1
            return np.zeros(shape, np.uint32)

        many = np.zeros(self.names, np.int64)
        box = np.zeros(self.names), np.full(self.names, width * dpr), many, many + round(20 * dpr), many
        texts = [f"kernel {k}" for k in range(self.names)]
        names = Names(*box, np.arange(self.names), np.full(self.names, 0xFFFFFFFF, np.uint32), texts)
        return LaneFrame(shape, dpr, TimeRange(0, 100), 0, names, draw, room)


def shown(frame: LaneFrame, dpr: float, *, whole: bool, at: tuple[float, float] = (8, 4)) -> QImage:
    """What a frame looks like in the middle of a window of a scale."""
    image = QImage(round(80 * dpr), round(40 * dpr), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(dpr)
    image.fill(Qt.GlobalColor.black)
    painter = QPainter(image)
    painter.translate(*at)
    LanePixels(stamp_names).show(painter, frame, whole=whole)
    painter.end()
    return image


@pytest.mark.parametrize("dpr", [1.0, 1.25, 1.5, 2.0])
def test_both_ways_show_the_same_pixels(qtbot: QtBot, dpr: float) -> None:
    source = Source()
    straight = shown(source.frame(dpr=dpr), dpr, whole=True)
    assert (source.drawn, source.rooms) == (1, 0), "no image was made"
    copied = shown(source.frame(dpr=dpr), dpr, whole=False)
    assert source.rooms == 1
    assert straight == copied


@pytest.mark.parametrize("dpr", [1.0, 1.25, 1.5, 2.0])
def test_every_pixel_of_the_image_is_one_of_the_screen(qtbot: QtBot, dpr: float) -> None:
    source = Source(names=0)
    frame = source.frame(dpr=dpr)
    image = shown(frame, dpr, whole=False)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    x, y = round(8 * dpr), round(4 * dpr)
    rows, columns = frame.shape
    np.testing.assert_array_equal(pixels[y : y + rows, x : x + columns], frame.image)


def test_only_an_image_of_the_same_pixels_is_written_to(qtbot: QtBot) -> None:
    def taken(kind: QImage.Format, dpr: float, x: float, width: int = 80) -> bool:
        image = QImage(round(width * dpr), round(40 * dpr), kind)
        image.setDevicePixelRatio(dpr)
        painter = QPainter(image)
        painter.translate(x, 4)
        found = memory_of(painter, Source().frame(dpr=1.25))
        painter.end()
        return found is not None

    rgb = QImage.Format.Format_RGB32
    assert taken(rgb, 1.25, 8)
    assert taken(QImage.Format.Format_ARGB32_Premultiplied, 1.25, 8)
    assert not taken(QImage.Format.Format_RGB16, 1.25, 8)
    assert not taken(rgb, 1.0, 8), "another scale"
    assert not taken(rgb, 1.25, 9), "from the middle of a pixel on"
    assert not taken(rgb, 1.25, 24), "it would reach beyond the border"
    assert not taken(rgb, 1.25, -4)


def test_names_without_a_mask_follow_until_none_is_missing(qtbot: QtBot) -> None:
    source = Source(names=120)
    pixels = LanePixels(stamp_names)
    image = QImage(80, 40, QImage.Format.Format_RGB32)
    frame, rounds = source.frame(), 0
    while rounds == 0 or pixels.missing:
        painter = QPainter(image)
        pixels.show(painter, frame, whole=True)
        painter.end()
        rounds += 1
        assert rounds < 9
    assert rounds == 3
    assert source.rooms == 1, "the frame is drawn once more, not three times"
    full = QImage(80, 40, QImage.Format.Format_RGB32)
    painter = QPainter(full)
    pixels.show(painter, source.frame(), whole=False)
    painter.end()
    area = QRect(0, 0, WIDTH, HEIGHT)
    assert image.copy(area) == full.copy(area)


@pytest.fixture
def canvas(qtbot: QtBot) -> Iterator[LanesCanvas]:
    top = QWidget()
    qtbot.addWidget(top)
    top.resize(90, 60)
    made = LanesCanvas(theme(), top)
    made.setMinimumSize(1, 1)
    made.setGeometry(13, 7, WIDTH, HEIGHT)
    top.show()
    yield made
    made.set_source(lambda *_: None)


def screen_of(canvas: LanesCanvas) -> QImage:
    """What the window shows of a canvas."""
    store = canvas.window().backingStore().paintDevice()
    assert isinstance(store, QImage)
    return store.copy(QRect(canvas.pos(), canvas.size()))


def test_a_moving_canvas_writes_into_its_window_and_a_resting_one_repaints_parts(canvas: LanesCanvas) -> None:
    source = Source()
    frames = [source.frame()]
    canvas.set_source(lambda *_: (frames[0], Overlay()), stamp_names)
    canvas.repaint()
    assert (source.drawn, source.rooms) == (1, 0)
    fresh = screen_of(canvas)
    assert len({fresh.pixel(x, 20) for x in range(WIDTH)}) > 9
    canvas.repaint(QRegion(5, 5, 4, 4))
    assert (source.drawn, source.rooms) == (2, 1), "a part comes from an image"
    canvas.repaint()
    assert source.drawn == 2, "the frame is there"
    assert screen_of(canvas) == fresh
    frames[0] = source.frame()
    canvas.repaint()
    assert (source.drawn, source.rooms) == (3, 1)
    assert screen_of(canvas) == fresh


def test_an_image_is_drawn_where_the_painter_begins(qtbot: QtBot) -> None:
    image = QImage(40, 20, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    painter.translate(10.4, 5.4)
    draw_image(painter, np.full((4, 6), 0xFFFFFFFF, np.uint32), 1.0)
    painter.drawPoint(0, 0)  # the painter is as it was
    painter.end()
    lit = np.frombuffer(image.constBits(), np.uint32).reshape(20, 40) == 0xFFFFFFFF
    assert np.argwhere(lit).min(axis=0).tolist() == [5, 10]
    assert np.argwhere(lit).max(axis=0).tolist() == [8, 15]


def test_what_follows_the_pointer_is_painted_alone(canvas: LanesCanvas) -> None:
    canvas.window().resize(500, 300)
    canvas.resize(400, 200)
    source = Source(names=0)
    frame = [source.frame(400, 200)]
    now = [Overlay(cursor_x=10.0)]
    canvas.set_source(lambda *_: (frame[0], replace(now[0])), stamp_names)
    canvas.repaint()
    painted: list[QRegion] = []
    paint = canvas.paintEvent
    canvas.paintEvent = lambda event: (painted.append(event.region()), paint(event))  # type: ignore[method-assign, assignment]

    def pointed(overlay: Overlay) -> QImage:
        now[0] = overlay
        canvas.follow_pointer()
        QApplication.processEvents()
        return screen_of(canvas)

    tip = Tip(30.0, 4.0, "gemm", ("3 us",))
    for overlay in (
        Overlay(cursor_x=30.0, tip=tip),
        Overlay(cursor_x=31.5, tip=replace(tip, x=31.5, title="a name of another length")),
        Overlay(cursor_x=40.0, snap=QPointF(40, 10)),
        Overlay(),
        Overlay(cursor_x=399.9),
    ):
        shown = pointed(overlay)
        assert not (QRegion(canvas.rect()) - painted[-1]).isEmpty(), "not all of it"
        canvas.repaint()
        assert shown == screen_of(canvas)
    assert source.drawn == 2, "one frame, written once straight and once into an image"
    shown = pointed(Overlay(cursor_x=20.0, range=(5.0, 25.0, "2 us")))
    assert QRegion(canvas.rect()) == painted[-1], "more has changed than the pointer"
    frame[0] = source.frame(400, 200)
    assert pointed(Overlay(cursor_x=20.0, range=(5.0, 25.0, "2 us"))) == shown
    assert QRegion(canvas.rect()) == painted[-1]


def test_a_part_of_another_frame_makes_all_of_it_be_painted(canvas: LanesCanvas, qtbot: QtBot) -> None:
    frame = [Source().frame()]
    canvas.set_source(lambda *_: (frame[0], Overlay()), stamp_names)
    canvas.repaint()
    named = screen_of(canvas)
    frame[0] = Source(names=0).frame()
    canvas.repaint()
    plain = screen_of(canvas)
    assert named != plain
    frame[0] = Source().frame()
    canvas.repaint(QRegion(3, 3, 5, 5))
    qtbot.waitUntil(lambda: screen_of(canvas) == named)
