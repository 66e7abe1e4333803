from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import HistogramFrame
from widgets.histogram import Histogram, is_wide

NARROW = HistogramFrame(np.linspace(10.0, 20.0, 6), np.array([1, 2, 0, 4, 1]), "us", 12.0)
WIDE = HistogramFrame(np.geomspace(1.0, 1000.0, 4), np.array([5, 1, 1]), "ms", 40.0)


@pytest.fixture
def histogram(qtbot: QtBot) -> Histogram:
    widget = Histogram()
    qtbot.addWidget(widget)
    widget.set_theme(theme())
    return widget


def show(histogram: Histogram, qtbot: QtBot) -> None:
    histogram.show()
    qtbot.waitUntil(lambda: histogram.loaded, timeout=60_000)


def test_nothing_is_built_before_it_is_shown(histogram: Histogram, qtbot: QtBot) -> None:
    histogram.set_frame(NARROW)
    assert not histogram.loaded
    assert not histogram.loaded
    histogram.show()
    qtbot.waitUntil(lambda: histogram.loaded, timeout=60_000)


def test_importing_the_widget_does_not_import_pyqtgraph() -> None:
    code = "import sys, widgets.histogram; sys.exit('pyqtgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_bars_marker_and_unit_of_a_narrow_range(histogram: Histogram, qtbot: QtBot) -> None:
    histogram.set_frame(NARROW)
    show(histogram, qtbot)
    assert list(histogram._bars.opts["height"]) == [1, 2, 0, 4, 1]
    assert list(histogram._bars.opts["x0"]) == [10, 12, 14, 16, 18]
    assert histogram._marker.value() == 12.0
    assert histogram._marker.isVisible()
    assert histogram._bottom.labelText == "duration (us)"


def test_a_wide_range_has_a_logarithmic_axis_with_plain_numbers(histogram: Histogram, qtbot: QtBot) -> None:
    histogram.set_frame(WIDE)
    show(histogram, qtbot)
    assert is_wide(WIDE)
    assert not is_wide(NARROW)
    assert histogram._marker.value() == pytest.approx(np.log10(40))
    axis = histogram._bottom
    assert axis.labelText == "duration (ms), logarithmic"
    assert axis.tickStrings([0.0, 1.0, 3.0, 4.0], 1.0, 1.0) == ["1", "10", "1,000", "10,000"]
    counts = [len(axis.tickValues(0.0, decades, 1.0)[0][1]) for decades in (1.0, 2.5, 5.0)]
    assert counts == [4, 6, 6]  # few enough to stand beside one another


def test_without_a_marker_none_is_shown(histogram: Histogram, qtbot: QtBot) -> None:
    show(histogram, qtbot)
    histogram.set_frame(HistogramFrame(NARROW.edges, NARROW.counts, "us"))
    assert not histogram._marker.isVisible()


def test_the_accessible_name_sums_it_up(histogram: Histogram) -> None:
    histogram.set_frame(NARROW)
    assert histogram.accessibleName() == "Histogram of 8 values from 10 to 20 us, the selected one at 12 us"


def test_themes_change_in_place(histogram: Histogram, qtbot: QtBot) -> None:
    histogram.set_frame(NARROW)
    show(histogram, qtbot)
    histogram.set_theme(theme("dark"))
    assert histogram._bars.opts["brush"].name() == theme("dark")["muted"]
