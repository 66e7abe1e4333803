"""The row of panels beside the menus; there while a job is open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt

from viewer.app.features.base import Feature
from viewer.app.panel_bar import PanelBar
from viewer.app.panel_table import panel_spec

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow


class PanelButtons(Feature):
    """Puts a :class:`PanelBar` into the corner of the menu bar and gives it the room that the menus leave."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        menus = window.menuBar()
        self.bar = PanelBar(window.docks, self._show, menus)
        menus.setCornerWidget(self.bar, Qt.Corner.TopRightCorner)
        self.bar.hide()
        window.installEventFilter(self)

    def job_shown(self, paths: list[Path]) -> None:
        """Without a job there is nothing to show."""
        self.bar.setVisible(bool(paths))
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the buttons to the window."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.FontChange):
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        menus = self.window.menuBar()
        actions = menus.actions()
        taken = menus.actionGeometry(actions[-1]).right() + 1 if actions else 0
        self.bar.fit(max(0, self.window.width() - taken - 12))
        menus.setCornerWidget(self.bar, Qt.Corner.TopRightCorner)  # lays the corner out anew

    def _show(self, name: str) -> None:
        spec = panel_spec(name)
        self.window.actions_[spec.action or f"show_{name}"].trigger()
