"""The row of panels beside the menus: one click shows a panel, another puts it away. What has no room is in a menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from viewer.app.panel_table import PANELS, PanelSpec
from widgets.theming import set_tip

if TYPE_CHECKING:
    from viewer.app.docks import Docks

ON_BAR: Final = tuple(p for p in PANELS if not p.shown)
"""Panels that are not there from the first."""
MARGIN: Final = 6


class PanelBar(QWidget):
    """Buttons for panels, in the corner of the menu bar.

    Args:
        docks: the panels' docks.
        show: shows a panel, given its name, as its action does.
        parent: the menu bar.
    """

    def __init__(self, docks: Docks, show: Callable[[str], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._docks, self._show = docks, show
        self.setAccessibleName("Panels")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, MARGIN, 0)
        row.setSpacing(1)
        self.buttons: dict[str, QToolButton] = {}
        for spec in ON_BAR:
            button = self.buttons[spec.name] = self._button(spec)
            row.addWidget(button)
        self.more = QToolButton(self)
        self.more.setAutoRaise(True)
        self.more.setText("»")
        self.more.setAccessibleName("More panels")
        set_tip(self.more, "Panels that have no room here")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.more)
        self._menu.aboutToShow.connect(self._fill)
        self.more.setMenu(self._menu)
        row.addWidget(self.more)
        self._left_out: list[PanelSpec] = []
        self._room = 0

    def _button(self, spec: PanelSpec) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setCheckable(True)
        button.setText(spec.title)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(f"Panel {spec.title}")
        if spec.tip:
            set_tip(button, spec.tip)
        button.clicked.connect(lambda _=False, name=spec.name: self.toggle(name))
        self._docks[spec.name].visibilityChanged.connect(button.setChecked)
        return button

    def toggle(self, name: str) -> None:
        """Show a panel in front of the others; put it away when it is in front."""
        dock = self._docks[name]
        if self._docks.in_front(name):
            dock.close()
        else:
            self._show(name)
        self.buttons[name].setChecked(self._docks.in_front(name))

    def fit(self, room: int) -> None:
        """Use so many px of width: buttons that have no room go into the menu."""
        self._room = room
        widths = [self.buttons[p.name].sizeHint().width() + 1 for p in ON_BAR]
        whole = sum(widths) + MARGIN
        left = room if whole <= room else room - self.more.sizeHint().width() - MARGIN
        self._left_out = []
        for spec, width in zip(ON_BAR, widths, strict=True):
            left -= width
            if left < 0:
                self._left_out.append(spec)
            self.buttons[spec.name].setVisible(left >= 0)
        self.more.setVisible(bool(self._left_out))
        self.adjustSize()

    def _fill(self) -> None:
        self._menu.clear()
        for spec in self._left_out:
            action = self._menu.addAction(spec.title)
            action.setCheckable(True)
            action.setChecked(self.buttons[spec.name].isChecked())
            action.triggered.connect(lambda _=False, name=spec.name: self.toggle(name))

    def minimumSizeHint(self) -> QSize:
        """It gives way to the menus."""
        return QSize(0, super().minimumSizeHint().height())
