"""Steps: to the next and the one before, and one step of every rank at one start."""

from __future__ import annotations

from collections.abc import Callable

from viewer.app.features.base import Feature


class Steps(Feature):
    """Binds the step actions to the timeline."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "next_step": lambda: self._go(True),
            "previous_step": lambda: self._go(False),
            "stack_step": self._stack,
        }

    def _go(self, forward: bool) -> None:
        workspace = self.window.workspace
        if workspace is not None and self.window.has_job:
            steps = workspace.timeline.steps
            steps.go(forward)
            self._say_none(any(steps.bands.values()))

    def _stack(self) -> None:
        workspace = self.window.workspace
        if workspace is not None and self.window.has_job:
            steps = workspace.timeline.steps
            steps.toggle_stack()
            self._say_none(any(steps.bands.values()))

    def _say_none(self, found: bool) -> None:
        if not found:
            self.window.say("info", "No steps are marked in this job (ProfilerStep, iteration ranges, serving marks).")
