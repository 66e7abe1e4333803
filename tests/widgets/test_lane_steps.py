"""Names of steps in little room."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QApplication

from widgets.lane_steps import fitting


def test_a_step_keeps_its_number_where_its_name_has_no_room(qapp: QApplication) -> None:
    metrics = QFontMetricsF(QFont())
    name, number = metrics.horizontalAdvance("step 128"), metrics.horizontalAdvance("128")
    assert fitting("step 128", metrics, name) == "step 128"
    assert fitting("step 128", metrics, name - 1) == "128"
    assert fitting("step 128", metrics, number - 1) == ""
