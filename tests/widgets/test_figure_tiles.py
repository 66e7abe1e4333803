"""Tiles and the waterfall: what is drawn where, what a click chooses, and that nothing overflows at 240 px."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.figure_tiles import FigureTile, WaterfallRow
from viewer.base.ids import Paint
from widgets.figure_tiles import FigureTiles
from widgets.waterfall import Waterfall

TILE = FigureTile(
    "Step gap", "6.2 %", "bad", "worse than theory", 0.062, 0.0, None, 0.01, 0.1, (0.05, 0.08), (0.06, 0.07, 0.06),
    "usual up to 1 %", False, "How: <b>counted</b>.",
)  # fmt: skip
NONE = replace(TILE, title="MFU", text="–", tone="unknown", word="", value=None, trend=(), line="needs x " * 30)


@pytest.fixture
def tiles(qtbot: QtBot) -> FigureTiles:
    made = FigureTiles(theme())
    qtbot.addWidget(made)
    made.set_tiles((NONE, TILE))
    made.resize(400, made.heightForWidth(400))
    made.show()
    return made


def test_tiles_stand_one_below_the_other_and_fill_their_height(tiles: FigureTiles) -> None:
    first, second = tiles.rects()
    assert first.bottom() == second.top()
    assert second.bottom() <= tiles.height()
    assert second.height() < 90  # all of it can be read at a glance
    assert tiles.heightForWidth(240) >= tiles.heightForWidth(800)


def test_the_marker_stands_where_the_value_lies(tiles: FigureTiles) -> None:
    image = tiles.grab().toImage()
    second = tiles.rects()[1]
    red = QColor(theme()["error"])
    scale = image.width() / tiles.width()
    found = [
        x / scale
        for x in range(image.width())
        for y in range(int((second.top() + 28) * scale), int((second.bottom() - 18) * scale))
        if image.pixelColor(x, y) == red
    ]
    bar = (400 - 20) * 0.68
    assert sum(found) / len(found) == pytest.approx(10 + bar * 0.62, abs=2)


def test_click_and_keys_choose(qtbot: QtBot, tiles: FigureTiles) -> None:
    chosen: list[int] = []
    tiles.chosen.connect(chosen.append)
    qtbot.mouseClick(tiles, Qt.MouseButton.LeftButton, pos=tiles.rects()[1].center().toPoint())
    qtbot.keyClick(tiles, Qt.Key.Key_Up)
    qtbot.keyClick(tiles, Qt.Key.Key_Return)
    qtbot.keyClick(tiles, Qt.Key.Key_Up)
    qtbot.keyClick(tiles, Qt.Key.Key_Space)
    assert chosen == [1, 0, 0]
    assert tiles.tile_at(QPointF(5, 10_000)) == -1
    assert "Step gap 6.2 % worse than theory" in tiles.accessibleDescription()


def test_every_tone_and_a_value_beyond_the_bar_can_be_drawn(qtbot: QtBot, tiles: FigureTiles) -> None:
    looks = tuple(replace(TILE, tone=tone, value=7.0, word="x" * 80) for tone in ("ok", "outside", "bad", "grey"))
    tiles.set_tiles(looks)  # type: ignore[arg-type]
    tiles.resize(240, tiles.heightForWidth(240))
    assert not tiles.grab().isNull()
    tiles.set_theme(theme("dark"))
    assert not tiles.grab().isNull()
    tiles.set_tiles(())
    qtbot.keyClick(tiles, Qt.Key.Key_Down)
    assert tiles.current == -1


def test_the_waterfall_draws_each_part_at_its_place(qtbot: QtBot) -> None:
    made = Waterfall(theme())
    qtbot.addWidget(made)
    made.set_rows(
        (
            WaterfallRow("Peak", "100 %", 1.0, 0.0, Paint.OTHER, True, "whole"),
            WaterfallRow("Exposed", "40 %", 0.4, 0.6, Paint.COMM, False, "part"),
            WaterfallRow("MFU", "60 %", 0.6, 0.0, Paint.COMPUTE, True, "rest"),
        )
    )
    made.resize(400, made.sizeHint().height())
    image = made.grab().toImage()
    scale = image.width() / made.width()
    spans = {}
    for paint, row in ((Paint.COMM, 1), (Paint.COMPUTE, 2)):
        y = int((3 + (row + 0.5) * (made.sizeHint().height() - 6) / 3) * scale)
        hit = [x for x in range(image.width()) if image.pixelColor(x, y) == QColor(theme().paints[paint])]
        spans[paint] = min(hit) / scale, max(hit) / scale
    assert spans[Paint.COMPUTE][1] == pytest.approx(spans[Paint.COMM][0], abs=2)
    share = (spans[Paint.COMM][1] - spans[Paint.COMM][0]) / (spans[Paint.COMPUTE][1] - spans[Paint.COMPUTE][0])
    assert share == pytest.approx(0.4 / 0.6, abs=0.05)
    assert (made.row_at(1), made.row_at(5), made.row_at(10_000)) == (-1, 0, -1)
    assert made.accessibleDescription() == "Peak 100 %; Exposed 40 %; MFU 60 %"
    made.set_rows(())
    assert not made.grab().isNull()
    assert made.childAt(QPoint(1, 1)) is None
