"""The runs of a baseline store: their panel, and opening the traces that are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app import dialogs
from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.panels.run_history import RunHistoryPanel


class RunHistory(Feature):
    """Binds the History panel to the window; it needs no open job."""

    panel: RunHistoryPanel | None = None
    _waiting: Path | None = None

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"run_history": self.show_panel}

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel and take what it asks for."""
        from viewer.panels.run_history import RunHistoryPanel

        panel = self.panel = RunHistoryPanel(workspace.context, self.window)
        self.window.docks.fill({"history": panel})
        panel.folder_wanted.connect(self.ask_folder)
        panel.trace_wanted.connect(lambda path: self.window.new_window.emit([path]))
        panel.comparison_wanted.connect(self._compare)
        if self._waiting is not None:
            folder, self._waiting = self._waiting, None
            self.show_folder(folder)

    def _compare(self, pair: tuple[Path, Path]) -> None:
        """Show a run beside the good one before it, in place of the job."""
        base, test = pair
        self.window.open_paths([base])
        if self.window.controller.running:  # or the person stays with the job
            self.window.compare_with([test])

    def opens(self, paths: list[Path]) -> bool:
        """A baseline store is shown in the panel."""
        if len(paths) != 1 or not is_store(paths[0]):
            return False
        self.show_folder(paths[0])
        return True

    def show_panel(self) -> None:
        """Show the panel; the first time it asks for a folder, or shows the one of last time."""
        self.window.docks.show_panel("history")
        if self.panel is None or self.panel.frame_shown is not None:
            return
        last = self.window.settings.baseline
        if last and Path(last).is_dir():
            self.panel.show_folder(Path(last))
        else:
            self.ask_folder()

    def ask_folder(self) -> None:
        """Let the person choose a store."""
        folder = dialogs.ask_baseline(self.window, self.window.settings.baseline or self.window.settings.last_folder)
        if folder is not None:
            self.show_folder(folder)

    def show_folder(self, folder: Path) -> None:
        """Show a store, now or when the panel is there."""
        self.window.settings.baseline = str(folder)
        if self.panel is None:
            self._waiting = folder
            return
        self.window.docks.show_panel("history")
        self.panel.show_folder(folder)


def is_store(path: Path) -> bool:
    """Whether a folder is a baseline store: it has runs, each a file in the folder of its load."""
    try:
        runs = path / "runs"
        if not runs.is_dir():
            return False
        return any(p.name.endswith(".json") and "Z-" in p.name for load in runs.iterdir() for p in load.glob("2*.json"))
    except OSError:
        return False
