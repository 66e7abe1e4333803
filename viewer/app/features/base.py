"""What every feature of the window offers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.workspace import Workspace
    from viewer.base.theme import Theme


class Feature(QObject):
    """One feature of one window; every method does nothing unless a feature needs it.

    Attributes:
        window: the window it belongs to. Made first, filled with panels later.
        home: whether its panel is the one that shows first, and is therefore made before all others.
    """

    home = False

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window = window

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action of the table, by the action's id. Called once, while the window is built."""
        return {}

    def on_job(self, run: Callable[[Workspace], None]) -> Callable[[], None]:
        """A handler that runs while a job is open."""

        def handler() -> None:
            if self.window.workspace is not None and self.window.has_job:
                run(self.window.workspace)

        return handler

    def attach(self, workspace: Workspace) -> None:
        """The timeline is there: connect to it. Called once."""

    def attach_panel(self, workspace: Workspace) -> None:
        """The lanes are on the screen: make the feature's panel, if it has one. Called once, after :meth:`attach`."""

    def opens(self, paths: list[Path]) -> bool:
        """Whether the feature opens these paths in its own way, and does so (a session file)."""
        return bool(paths) and False

    def may_leave(self) -> bool:
        """Whether the job may go: another is to be opened, or the window closes. May ask the person."""
        return True

    def job_shown(self, paths: list[Path]) -> None:
        """Another job is shown, or more files of it: [] for none."""

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""

    def shutdown(self) -> None:
        """The window closes: stop what runs, keep what must be kept."""
