"""The panels at the right: where they stand, when they show, and which one comes to the front."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QByteArray, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QDockWidget, QLabel, QMainWindow, QTabBar, QTabWidget, QWidget

from viewer.app.icons import icon
from viewer.app.panel_table import PANELS, panel_spec
from widgets.theming import set_tip

if TYPE_CHECKING:
    from viewer.base.selection import Selection
    from viewer.base.theme import Theme

BELOW: Final = tuple(p for p in PANELS if p.place == "below")
SHOWN: Final = tuple(p for p in PANELS if p.shown)
"""What is there from the first."""
WIDTH: Final = 400
HOME: Final = "findings"
"""The panel that shows first."""
STACK_FROM_HEIGHT: Final = 980
"""A window at least this high shows Findings above Breakdown; a lower one shows them as tabs."""
LEAST_SIZE: Final = {"right": (240, 120), "below": (240, 110)}
"""px, width and height, that a panel can be made as small as."""
LAYOUT_VERSION: Final = 1
BUTTONS: Final = {
    "qt_dockwidget_floatbutton": ("float", "Float or dock"),
    "qt_dockwidget_closebutton": ("close", "Close"),
}
"""Qt's names of the buttons of a title bar: their icon and what they do."""


def _placeholder() -> QWidget:
    """What stands in a dock until its panel is made: panels wait for the lanes."""
    label = QLabel("Loading…")
    label.setAlignment(Qt.AlignmentFlag.AlignTop)
    label.setMargin(10)
    label.setEnabled(False)
    return label


class Docks:
    """The dock widgets of a window; hidden while no job is open."""

    def __init__(self, window: QMainWindow, theme: Theme) -> None:
        self._window, self._theme = window, theme
        self._in_job = False
        self._layout = b""
        self._docks: dict[str, QDockWidget] = {}
        window.setDockNestingEnabled(True)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        for spec in PANELS:
            dock = QDockWidget(spec.title, window)
            dock.setObjectName(spec.name)
            dock.setWidget(_placeholder())
            window.addDockWidget(_area(spec.name), dock)
            dock.hide()
            dock.toggleViewAction().triggered.connect(partial(self._toggled, spec.name))
            dock.topLevelChanged.connect(self._later)
            dock.visibilityChanged.connect(self._later)
            dock.dockLocationChanged.connect(self._later)
            self._docks[spec.name] = dock
        self._settle = QTimer(window)
        self._settle.setSingleShot(True)
        self._settle.setInterval(0)
        self._settle.timeout.connect(self.update_titles)

    def __getitem__(self, name: str) -> QDockWidget:
        return self._docks[name]

    def _toggled(self, name: str) -> None:
        """A panel of Qt's own menu goes where the others are, too: by itself it would stand beside them."""
        if self._docks[name].toggleViewAction().isChecked() and not self._docks[name].isFloating():
            self._docks[name].hide()
            self.show_panel(name)

    def _later(self, *_: object) -> None:
        self._settle.start()

    def update_titles(self) -> None:
        """A panel whose tab names it needs no title bar of its own; tabs show their whole names."""
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)
        for dock in self._docks.values():
            tabbed = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            bare = dock.titleBarWidget() is not None
            if tabbed and not bare:
                dock.setTitleBarWidget(QWidget(dock))
            elif bare and not tabbed:
                old = dock.titleBarWidget()
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]
                old.deleteLater()
        self._dress()

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self._theme = theme
        self._dress()

    def _dress(self) -> None:
        """The style's own icons of title bars are dark, also in a dark window."""
        for dock in self._docks.values():
            for name, (drawn, told) in BUTTONS.items():
                button = dock.findChild(QAbstractButton, name, Qt.FindChildOption.FindDirectChildrenOnly)
                if button is not None:
                    button.setIcon(icon(drawn, self._theme["text"]))
                    set_tip(button, f"{told} {dock.windowTitle()}")

    def fill(self, panels: dict[str, QWidget]) -> None:
        """Put the panels into their docks."""
        for name, panel in panels.items():
            old = self._docks[name].widget()
            # What a panel would like to have must not make the window larger than the screen.
            panel.setMinimumSize(*LEAST_SIZE[panel_spec(name).place])
            self._docks[name].setWidget(panel)
            if old is not None:
                old.deleteLater()

    def toggle_actions(self) -> list[QAction]:
        """Show or hide each panel."""
        return [dock.toggleViewAction() for dock in self._docks.values()]

    def adopt(self, layout: bytes) -> None:
        """Use a remembered layout when the next job is shown."""
        self._layout = layout

    def state(self) -> bytes:
        """The layout to remember."""
        if self._in_job:
            self._layout = bytes(self._window.saveState(LAYOUT_VERSION).data())
        return self._layout

    def enter_job(self) -> None:
        """Show the panels as they were last time."""
        if self._in_job:
            return
        self._in_job = True
        if not self._layout or not self._window.restoreState(QByteArray(self._layout), LAYOUT_VERSION):
            self.reset()
        else:
            self._place_new()
        home = self._docks[HOME]
        if home.isVisibleTo(self._window) and self._window.tabifiedDockWidgets(home):
            home.raise_()  # nothing is selected yet: the panel that says what to look at goes first

    def _place_new(self) -> None:
        """A layout that was kept before a panel existed does not name it: it goes to the tabs at the right."""
        for name in (p.name for p in SHOWN):
            if name.encode("utf-16-be") not in self._layout:
                dock, beside = self._docks[name], self._docks["files"]
                self._window.addDockWidget(_area(name), dock)
                if not beside.isFloating() and beside.isVisibleTo(self._window):
                    self._window.tabifyDockWidget(beside, dock)
                    beside.raise_()
                dock.show()

    def leave_job(self) -> None:
        """Hide the panels; the start page has the window to itself."""
        self.state()
        self._in_job = False
        for name, dock in self._docks.items():
            if panel_spec(name).needs_job:
                dock.hide()

    def reset(self) -> None:
        """The first arrangement: tabs in a low window; in a high one Findings and Attribution above the others."""
        home, attribution, breakdown = (self._docks[n] for n in (HOME, "attribution", "breakdown"))
        others = [self._docks[p.name] for p in SHOWN if p.name not in (HOME, "attribution", "breakdown")]
        for dock in self._docks.values():
            dock.setFloating(False)
            dock.hide()  # all at once below each other they would need more than the screen
        for name, dock in self._docks.items():
            self._window.addDockWidget(_area(name), dock)
        if self._window.height() >= STACK_FROM_HEIGHT:
            self._window.splitDockWidget(home, breakdown, Qt.Orientation.Vertical)
            self._window.tabifyDockWidget(home, attribution)
        else:
            self._window.tabifyDockWidget(home, attribution)
            self._window.tabifyDockWidget(attribution, breakdown)
        for dock in others:
            self._window.tabifyDockWidget(breakdown, dock)
        for name, dock in self._docks.items():
            dock.setVisible(self._in_job and panel_spec(name).shown)
        self._window.resizeDocks([home], [WIDTH], Qt.Orientation.Horizontal)
        home.raise_()
        if self._window.height() >= STACK_FROM_HEIGHT:
            breakdown.raise_()

    def selection_changed(self, selection: Selection) -> None:
        """Bring the panel that answers to the front of its tabs: Breakdown for a slice or gap, else Attribution."""
        name = "breakdown" if selection.slice is not None or selection.gap is not None else "attribution"
        if selection.slice is None and selection.gap is None and selection.range is None and selection.group is None:
            return
        dock, home = self._docks[name], self._docks[HOME]
        focus = self._window.focusWidget()
        if focus is not None and home.isAncestorOf(focus) and home in self._window.tabifiedDockWidgets(dock):
            return  # whoever goes through the evidence of a finding goes on there
        if self._in_job and dock.isVisibleTo(self._window) and self._window.tabifiedDockWidgets(dock):
            dock.raise_()

    def in_front(self, name: str) -> bool:
        """Whether a panel shows. One behind another one's tab counts as visible for Qt, which puts it out of sight."""
        dock = self._docks[name]
        return dock.isVisible() and (dock.isFloating() or self._window.rect().intersects(dock.geometry()))

    def show_panel(self, name: str) -> None:
        """Show a panel in front of those that share its place."""
        dock = self._docks[name]
        if not self._in_job and panel_spec(name).needs_job:
            return
        if panel_spec(name).place == "below":
            self.show_below(name, front=True)
        elif not dock.isVisibleTo(self._window):
            beside = next(
                (d for p in PANELS if p.place == "right" and (d := self._docks[p.name]).isVisibleTo(self._window)), None
            )
            self._window.addDockWidget(_area(name), dock)
            if beside is not None and not beside.isFloating():
                self._window.tabifyDockWidget(beside, dock)
            dock.show()
            if beside is None:
                self._window.resizeDocks([dock], [WIDTH], Qt.Orientation.Horizontal)
        dock.raise_()

    def show_below(self, name: str, *, front: bool = False) -> None:
        """Show a panel below the lanes, which keep most of the window; behind another one there unless ``front``."""
        dock = self._docks[name]
        if (not self._in_job and panel_spec(name).needs_job) or dock.isVisibleTo(self._window):
            return
        other = next(
            (d for p in BELOW if p.name != name and (d := self._docks[p.name]).isVisibleTo(self._window)), None
        )
        if other is not None and not other.isFloating() and not dock.isFloating():
            self._window.tabifyDockWidget(other, dock)
            dock.show()
            dock.raise_()
            if not front:
                QTimer.singleShot(0, other.raise_)  # once the tabs stand
            return
        dock.show()
        if not dock.isFloating():
            self._window.resizeDocks(
                [dock], [min(panel_spec(name).height, self._window.height() * 2 // 5)], Qt.Orientation.Vertical
            )


def _area(name: str) -> Qt.DockWidgetArea:
    right = panel_spec(name).place == "right"
    return Qt.DockWidgetArea.RightDockWidgetArea if right else Qt.DockWidgetArea.BottomDockWidgetArea
