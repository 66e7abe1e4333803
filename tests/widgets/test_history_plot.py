"""The plot of runs: choosing, opening, and a picture of every kind of point."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from tests.support.themes import theme as shipped
from viewer.base.run_history import RunPlotFrame, RunPoint
from widgets.history_plot import TOKENS, HistoryPlot


def frame_of(tones):
    points = tuple(
        RunPoint(f"r{i}", 10.0 + i % 3, 8.0, 13.0, 10.0, tone, f"c{i // 2}", f"run {i} <b>", f"2026-01-{i + 1:02}")
        for i, tone in enumerate(tones)
    )
    return RunPlotFrame("step_ns", points, ((8.0, "8"), (12.0, "12")), 7.0, 14.0)


def test_clicks_and_keys_choose_and_open_runs(qtbot):
    plot = HistoryPlot(shipped())
    qtbot.addWidget(plot)
    plot.resize(600, 200)
    plot.show()
    plot.set_frame(frame_of(["", "bad", "good", "", "new"]))
    chosen, opened = [], []
    plot.chosen.connect(chosen.append)
    plot.opened.connect(opened.append)
    at = plot.place(1).toPoint()
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=at + QPoint(3, 20))
    assert chosen == [1]
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    assert chosen == [1, 2, 1, 0]
    qtbot.keyClick(plot, Qt.Key.Key_Return)
    qtbot.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=plot.place(4).toPoint())
    assert opened == [0, 4]
    plot.set_frame(None)
    assert plot.current == -1
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=at)
    assert chosen[-1] == 4


def test_each_kind_of_run_has_a_colour_in_both_themes(qtbot):
    for theme in (shipped("light"), shipped("dark")):
        plot = HistoryPlot(theme)
        qtbot.addWidget(plot)
        plot.resize(600, 220)
        plot.set_frame(frame_of(["", "bad", "good", "suspect", "new"]))
        image = plot.grab().toImage()
        scale = image.width() / plot.width()
        for number, tone in enumerate(("", "bad", "good")):
            place = plot.place(number)
            seen = image.pixelColor(int(place.x() * scale), int(place.y() * scale))
            assert seen == QColor(theme[TOKENS[tone]]), tone
