from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.rank_bars import RankBar, RankBarsFrame
from viewer.base.selection import SliceRef
from widgets.rank_bars import FEW, RankBars


def bars(count: int = 3) -> RankBarsFrame:
    return RankBarsFrame(
        tuple(
            RankBar(
                f"rank {i}",
                10 * i,
                100,
                max(0, 60 - 10 * i),
                f"rank {i}\ntold",
                SliceRef(i, 7),
                "last" if i == 2 else "",
            )
            for i in range(count)
        ),
        100,
        60,
        5,
    )


def shown(qtbot: QtBot, frame: RankBarsFrame) -> RankBars:
    widget = RankBars()
    qtbot.addWidget(widget)
    widget.set_theme(theme())
    widget.set_frame(frame)
    widget.resize(400, widget.sizeHint().height())
    widget.show()
    return widget


def test_bars_lie_in_proportion_and_a_click_goes_to_the_kernel(qtbot: QtBot) -> None:
    widget = shown(qtbot, bars())
    first, third = widget.bar_rect(0), widget.bar_rect(2)
    assert first.right() == third.right()
    assert abs(third.width() / first.width() - 0.8) < 0.01
    with qtbot.waitSignal(widget.jump_requested) as caught:
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=QPoint(390, int(third.center().y())))
    assert caught.args == [SliceRef(2, 7)]
    assert "rank 2, told" in widget.accessibleName()


def test_keys_choose_a_bar(qtbot: QtBot) -> None:
    widget = shown(qtbot, bars())
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up):
        qtbot.keyClick(widget, key)
    with qtbot.waitSignal(widget.jump_requested) as caught:
        qtbot.keyClick(widget, Qt.Key.Key_Return)
    assert caught.args == [SliceRef(0, 7)]


def test_waiting_is_hatched_and_the_transfer_solid(qtbot: QtBot) -> None:
    widget = shown(qtbot, bars())
    image = widget.grab().toImage()
    ratio = image.devicePixelRatio()
    rect = widget.bar_rect(0)
    y = int(rect.center().y() * ratio)

    def colours(x0: float, x1: float) -> set[str]:
        return {image.pixelColor(int(x * ratio), y).name() for x in range(int(x0), int(x1))}

    middle = rect.left() + 0.6 * rect.width()
    assert len(colours(rect.left() + 3, middle - 6)) > 1
    assert len(colours(middle + 4, rect.right() - 3)) == 1


def test_many_bars_are_lower(qtbot: QtBot) -> None:
    few, many = shown(qtbot, bars(FEW)), shown(qtbot, bars(FEW + 1))
    assert many.sizeHint().height() < few.sizeHint().height()
    assert not many.grab().isNull()
