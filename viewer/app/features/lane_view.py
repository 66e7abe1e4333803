"""How the lanes look and which of them show: colours, patterns, filter, hidden lanes; their arrangement undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app.features.base import Feature
from viewer.app.settings import COLORINGS
from viewer.base.session_file import SavedColors

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace


class LaneView(Feature):
    """Binds the View menu to the lanes, remembers the choices, and makes every change of the arrangement undoable."""

    _paths: frozenset[Path] = frozenset()

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "filter_lanes": self.on_job(lambda w: w.timeline.lane_tools.focus_filter()),
            "show_hidden": self.on_job(self._show_hidden),
            "paints_usual": partial(self._choose, safe_paints=False),
            "paints_safe": partial(self._choose, safe_paints=True),
            "patterns_off": partial(self._choose, patterns=False),
            "patterns_on": partial(self._choose, patterns=True),
            **{f"color_{name}": partial(self._choose, coloring=name) for name in COLORINGS},
        }

    def attach(self, workspace: Workspace) -> None:
        """Use what was chosen last time."""
        workspace.timeline.lanes.commit = self.window.undo.push
        workspace.colors_changed.connect(self._check)
        self._apply(workspace)

    @staticmethod
    def _show_hidden(workspace: Workspace) -> None:
        lanes = workspace.timeline.lanes
        lanes.change("Show All", replace(lanes.arrangement, hidden=frozenset()))

    def _choose(self, **choices: object) -> None:
        for name, value in choices.items():
            setattr(self.window.settings, name, value)
        if self.window.workspace is not None:
            now = self.window.workspace.colors
            self.window.workspace.set_colors(
                SavedColors(
                    str(choices.get("coloring", now.coloring)),
                    bool(choices.get("safe_paints", now.safe)),
                    bool(choices.get("patterns", now.patterns)),
                )
            )

    def job_shown(self, paths: list[Path]) -> None:
        """Another job begins with the person's own colours; a session may then say others."""
        now = frozenset(paths)
        if self.window.workspace is not None and not (self._paths and self._paths <= now):
            self._apply(self.window.workspace)
        self._paths = now

    def _apply(self, workspace: Workspace) -> None:
        settings = self.window.settings
        workspace.set_colors(SavedColors(settings.coloring, settings.safe_paints, settings.patterns))

    def _check(self, colors: SavedColors) -> None:
        for action in (
            f"color_{colors.coloring}",
            "patterns_on" if colors.patterns else "patterns_off",
            "paints_safe" if colors.safe else "paints_usual",
        ):
            self.window.actions_[action].setChecked(True)
