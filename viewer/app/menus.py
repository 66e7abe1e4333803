"""The menu bar: the action table, and what is no plain action (recent jobs, panels, undo)."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeySequence, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu

from viewer.app.actions import Actions
from viewer.app.docks import Docks
from viewer.app.settings import Settings
from viewer.app.start_page import job_title

TIP_PATHS: Final = 20


class Menus(QObject):
    """Fills a window's menu bar.

    Signals:
        recent_chosen(list[str]): paths of a job.
        clear_chosen(): the list of recent jobs is to be empty.
    """

    recent_chosen = Signal(object)
    clear_chosen = Signal()

    def __init__(
        self, window: QMainWindow, actions: Actions, undo: QUndoStack, docks: Docks, settings: Settings
    ) -> None:
        super().__init__(window)
        self._settings = settings
        menus = actions.fill(window.menuBar())
        self.recent = QMenu("Open &Recent", window)
        self.recent.setToolTipsVisible(True)
        self.recent.aboutToShow.connect(self.fill_recent)
        menus["&File"].insertMenu(actions["demo"], self.recent)
        edit = menus["&Edit"]
        first = edit.actions()[0]
        for action, keys in (
            (undo.createUndoAction(window, "&Undo"), ("Ctrl+Z",)),
            (undo.createRedoAction(window, "&Redo"), ("Ctrl+Shift+Z", "Ctrl+Y")),
        ):
            action.setShortcuts([QKeySequence(k) for k in keys])
            edit.insertAction(first, action)
        panels = QMenu("&Panels", window)
        panels.addActions(docks.toggle_actions())
        menus["&View"].insertMenu(actions["reset_layout"], panels)

    def fill_recent(self) -> None:
        """List the recent jobs as they are now."""
        self.recent.clear()
        for paths in self._settings.recent:
            action = self.recent.addAction(job_title(paths).replace("&", "&&"))
            action.setToolTip("\n".join(paths[:TIP_PATHS]))
            action.triggered.connect(lambda _=False, p=paths: self.recent_chosen.emit(p))
        if self._settings.recent:
            self.recent.addSeparator()
            self.recent.addAction("&Clear List").triggered.connect(self.clear_chosen)
        else:
            self.recent.addAction("Nothing yet").setEnabled(False)
