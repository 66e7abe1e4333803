"""A box that offers choices, as wide as the longest of them."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QWidget

from widgets.theming import set_tip


def choice_box(name: str, tip: str, parent: QWidget) -> QComboBox:
    """An empty box; ``name`` is what a screen reader calls it."""
    box = QComboBox(parent)
    box.setAccessibleName(name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    set_tip(box, tip)
    return box
