from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.residuals import ResidualFrame
from widgets.residual_plot import ResidualPlot, columns_of, scale_of, tick


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1e9, 1e9)), max_size=60), st.integers(1, 30))
def test_columns_hold_the_extremes_of_every_point(points: list[tuple[float, float]], width: int) -> None:
    x, y = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    column, least, most = columns_of(x, y, width)
    wanted: dict[int, list[float]] = {}
    for a, b in points:
        wanted.setdefault(min(int(a * width), width - 1), []).append(b)
    assert column.tolist() == sorted(wanted)
    assert least.tolist() == [min(wanted[c]) for c in sorted(wanted)]
    assert most.tolist() == [max(wanted[c]) for c in sorted(wanted)]


def test_a_few_far_points_do_not_set_the_scale() -> None:
    values = np.concatenate((np.linspace(-10, 20, 1_000), [1e9]))
    low, high = scale_of(values)
    assert -20 < low < -9
    assert 19 < high < 40
    assert scale_of(np.array([5.0])) == (-0.4, 5.4)
    assert scale_of(np.zeros(3)) == (-1.0, 1.0)
    assert scale_of(np.empty(0)) == (-1.0, 1.0)


def test_it_draws_points_of_one_rank_before_the_others(qtbot: QtBot) -> None:
    x = np.arange(100, dtype=np.float64)
    focus = x < 50
    widget = ResidualPlot()
    qtbot.addWidget(widget)
    widget.set_theme(theme())
    widget.set_frame(ResidualFrame(x, x * 1_000, x, focus, 20, "rank 1"))
    widget.resize(300, widget.sizeHint().height())
    widget.show()
    assert widget.accessibleName() == "Residuals of rank 1: 50 ends before and after the alignment"
    image = widget.grab().toImage()
    colours = {image.pixelColor(i, j).name() for i in range(image.width()) for j in range(image.height())}
    assert theme()["accent"] in colours


def test_ticks() -> None:
    assert (tick(0), tick(-1_500), tick(2_000_000)) == ("0 ns", "−1.5 us", "+2 ms")
