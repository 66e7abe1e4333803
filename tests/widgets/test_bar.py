from __future__ import annotations

import itertools

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import BarFrame
from viewer.base.ids import Paint
from widgets.bar import BAR_HEIGHT, StackedBar

FRAME = BarFrame(
    (("compute", 600, Paint.COMPUTE), ("comm", 100, Paint.COMM), ("memory", 0, Paint.MEMORY), ("idle", 300, None)), 1000
)


@pytest.fixture
def bar(qtbot: QtBot) -> StackedBar:
    widget = StackedBar()
    qtbot.addWidget(widget)
    widget.set_theme(theme())
    widget.set_frame(FRAME)
    widget.resize(501, 80)
    widget.show()
    return widget


def test_parts_lie_side_by_side_in_proportion(bar: StackedBar) -> None:
    rects = bar.part_rects()
    assert [r.width() for r in rects] == pytest.approx([300, 50, 0, 150])
    assert rects[0].left() == 0
    assert rects[-1].right() == pytest.approx(500)
    assert all(a.right() == pytest.approx(b.left()) for a, b in itertools.pairwise(rects))


def test_classes_have_their_colours_and_idle_is_hatched(bar: StackedBar) -> None:
    image = bar.grab().toImage()
    assert image.pixelColor(20, 5) == QColor(theme().paints[Paint.COMPUTE])
    assert image.pixelColor(310, 5) == QColor(theme().paints[Paint.COMM])
    idle = {image.pixelColor(x, 5).name() for x in range(360, 400)}
    assert len(idle) > 1
    assert not idle & set(theme().paints)


def test_the_accessible_name_tells_every_part(bar: StackedBar) -> None:
    assert bar.accessibleName() == (
        "Of 1.000 us: compute 600 ns (60.0 %), comm 100 ns (10.0 %), memory 0 ns (0.0 %), idle 300 ns (30.0 %)"
    )


def test_a_narrow_bar_wraps_its_legend(bar: StackedBar) -> None:
    assert bar.heightForWidth(150) > bar.heightForWidth(900) > BAR_HEIGHT


def test_nothing_to_show_paints_nothing_and_does_not_fail(qtbot: QtBot) -> None:
    widget = StackedBar()
    qtbot.addWidget(widget)
    widget.set_theme(theme("dark"))
    widget.set_frame(BarFrame((), 0))
    assert widget.part_rects() == []
    assert not widget.grab().isNull()
