from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from widgets.elided_label import ElidedLabel


def picture(qtbot: QtBot, text: str, width: int, mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle) -> QImage:
    label = ElidedLabel(mode=mode)
    qtbot.addWidget(label)
    label.setText(text)
    label.resize(width, 20)
    return label.grab().toImage()


def test_a_long_text_keeps_its_beginning_and_its_end_and_asks_for_no_room(qtbot: QtBot) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    label = ElidedLabel(around)
    row = QHBoxLayout(around)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(label)
    label.setText("a_kernel_with_a_very_long_name  3 us  rank 0")
    assert row.minimumSize().width() == 1
    label.resize(150, 20)
    start, dots, end = label.shown().partition("…")
    assert dots
    assert label.text().startswith(start)
    assert label.text().endswith(end)
    assert start
    assert end
    label.resize(900, 20)
    assert label.shown() == label.text()


def test_what_is_painted_is_what_there_is_room_for(qtbot: QtBot) -> None:
    text = "a kernel with a very long name, 3 us, rank 0"
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText(text)
    label.resize(150, 20)
    assert picture(qtbot, text, 150) == picture(qtbot, label.shown(), 150)
    assert picture(qtbot, text, 150) != picture(qtbot, text, 150, Qt.TextElideMode.ElideRight)
    assert picture(qtbot, "<b>x</b>", 150) != picture(qtbot, "x", 150), "a text is no markup"
