"""Lanes, headers and axis grow with the system's font, and shrink again with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import opened
from viewer.app.main_window import MainWindow
from viewer.views.lanes.names import LABEL_MIN_HEIGHT
from widgets.font_scale import MOST, USUAL_PX, scaled, text_scale
from widgets.lane_header_parts import header_font


@pytest.fixture
def set_px(qapp: QApplication) -> Iterator[Callable[[float], None]]:
    """Sets the height of the application's font, px; the old one comes back."""
    old = qapp.font()

    def use(px: float) -> None:
        font = qapp.font()
        font.setPixelSize(round(px))
        qapp.setFont(font)
        qapp.processEvents()

    yield use
    qapp.setFont(old)
    qapp.processEvents()


def test_fonts_of_usual_size_change_nothing_and_huge_ones_are_bounded(set_px: Callable[[float], None]) -> None:
    for px, scale in ((10, 1.0), (13, 1.0), (14, 1.0), (26, 2.0), (80, MOST)):
        set_px(px)
        assert text_scale() == pytest.approx(scale)
        assert scaled(11) == round(11 * scale)
    assert USUAL_PX == 13


def test_rows_headers_and_axis_have_room_for_a_font_twice_as_tall(
    qtbot: QtBot, windows: Callable[..., MainWindow], job_folder: Path, set_px: Callable[[float], None]
) -> None:
    set_px(13)
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    assert window.workspace is not None
    timeline = window.workspace.timeline

    def sizes() -> tuple[list[int], list[int]]:
        parts = (timeline.ruler, timeline.legend, timeline.minimap)
        return [r.row_height for r in timeline.placement.rows], [p.sizeHint().height() for p in parts]

    plain, width = sizes(), timeline.headers.width()
    set_px(26)
    rows, parts = sizes()
    assert rows == [2 * h for h in plain[0]]
    assert parts == [2 * h for h in plain[1]]
    assert timeline.headers.width() == 2 * width
    assert timeline.lanes.painter.text_scale == 2.0
    font = header_font(timeline.font(), 11)
    assert QFontInfo(font).pixelSize() == 22
    streams = [r for r in timeline.placement.rows if r.lane is not None and r.lane.label.startswith("stream")]
    assert all(r.height >= QFontMetricsF(font).height() for r in streams)
    assert all(r.row_height >= 2 * LABEL_MIN_HEIGHT for r in streams)  # so that names fit as they did
    set_px(13)
    assert sizes() == plain
