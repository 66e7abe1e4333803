"""The QActions of a window, made from the table of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from viewer.app.action_table import ACTIONS
from viewer.app.icons import icon
from viewer.base.theme import Theme


class Actions:
    """The QActions of a window, made from the table."""

    def __init__(self, owner: QWidget, handlers: Mapping[str, Callable[[], None]], theme: Theme) -> None:
        self._by_id: dict[str, QAction] = {}
        groups: dict[str, QActionGroup] = {}
        for spec in ACTIONS:
            # What follows a tab is shown where the key stands, and is no shortcut.
            action = QAction(f"{spec.text}\t{spec.timeline_key}" if spec.timeline_key else spec.text, owner)
            action.setObjectName(spec.id)
            action.setShortcuts([QKeySequence(k) for k in spec.keys])
            if spec.tip:
                action.setStatusTip(spec.tip)
            if spec.choice_of:
                action.setCheckable(True)
                if spec.choice_of not in groups:
                    groups[spec.choice_of] = QActionGroup(owner)
                groups[spec.choice_of].addAction(action)
            if spec.id == "quit":
                action.setMenuRole(QAction.MenuRole.QuitRole)
            action.triggered.connect(lambda _checked=False, run=handlers[spec.id]: run())
            self._by_id[spec.id] = action
        self.recolor(theme)
        self.enable(job=False, selected=False)

    def __getitem__(self, action_id: str) -> QAction:
        return self._by_id[action_id]

    def recolor(self, theme: Theme) -> None:
        """Paint the icons in the theme's text colour."""
        for spec in ACTIONS:
            if spec.icon:
                self._by_id[spec.id].setIcon(icon(spec.icon, theme["text"]))

    def enable(self, *, job: bool, selected: bool) -> None:
        """Grey out what cannot be done now."""
        there = {"": True, "job": job, "slice": selected}
        for spec in ACTIONS:
            self._by_id[spec.id].setEnabled(there[spec.needs])

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Build the menus; returns them by path so that the window adds what is no plain action."""
        menus: dict[str, QMenu] = {}
        for spec in ACTIONS:
            menu = self._menu(bar, menus, spec.menu)
            if spec.separated:
                menu.addSeparator()
            menu.addAction(self._by_id[spec.id])
        return menus

    def _menu(self, bar: QMenuBar, menus: dict[str, QMenu], path: str) -> QMenu:
        if path not in menus:
            parent, _, last = path.rpartition("/")
            menus[path] = self._menu(bar, menus, parent).addMenu(last) if parent else bar.addMenu(last)
        return menus[path]
