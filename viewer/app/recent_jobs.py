"""Jobs that were opened before: listed on the start page and in the File menu, opened again, forgotten."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow


class RecentJobs:
    """The recent jobs of the settings, as a window shows them."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def show(self) -> None:
        """Fill the start page."""
        settings = self._window.settings
        self._window.start_page.set_recent(settings.recent, settings.about)

    def open(self, paths: list[str]) -> None:
        """Open a job again."""
        found = [Path(p) for p in paths]
        if not any(os.path.exists(p) for p in found):
            self._window.settings.forget(paths)
            self.show()
            self._window.say("error", f"{paths[0]}: is not there any more. It was taken off the recent jobs.")
            return
        self._window.open_paths(found)

    def remember(self, paths: Sequence[Path]) -> None:
        """Put a job at the head."""
        workspace = self._window.workspace
        ranks = len(workspace.session.groups) if workspace is not None else 0
        self._window.settings.remember([str(p.absolute()) for p in paths], ranks, int(time.time()))
        self.show()
        self._window.save_settings()

    def clear(self) -> None:
        """Forget all of them."""
        self._window.settings.forget_all()
        self.show()
        self._window.save_settings()
