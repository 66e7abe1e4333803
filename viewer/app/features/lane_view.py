"""How the lanes look and which of them show: colours, patterns, filter, hidden lanes; their arrangement undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from viewer.app.features.base import Feature
from viewer.app.settings import COLORINGS

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace


class LaneView(Feature):
    """Binds the View menu to the lanes, remembers the choices, and makes every change of the arrangement undoable."""

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
        self._apply(workspace)

    @staticmethod
    def _show_hidden(workspace: Workspace) -> None:
        lanes = workspace.timeline.lanes
        lanes.change("Show All", replace(lanes.arrangement, hidden=frozenset()))

    def _choose(self, **choices: object) -> None:
        for name, value in choices.items():
            setattr(self.window.settings, name, value)
        if self.window.workspace is not None:
            self._apply(self.window.workspace)

    def _apply(self, workspace: Workspace) -> None:
        from viewer.views.lane_looks import Coloring

        settings, looks = self.window.settings, workspace.timeline.lanes.looks
        workspace.set_safe_paints(settings.safe_paints)
        looks.set_patterned(settings.patterns)
        if looks.coloring != settings.coloring:
            looks.set_coloring(Coloring(settings.coloring))
        for action in (
            f"color_{settings.coloring}",
            "patterns_on" if settings.patterns else "patterns_off",
            "paints_safe" if settings.safe_paints else "paints_usual",
        ):
            self.window.actions_[action].setChecked(True)
