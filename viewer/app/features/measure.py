"""Measuring between edges of slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.panels.timeline.measure import TimelineMeasure


class Measuring(Feature):
    """Binds the actions of measuring to the timeline."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"measure": self._toggle, "copy_measure": self._copy, "clear_measures": self._clear}

    @property
    def _measure(self) -> TimelineMeasure | None:
        workspace = self.window.workspace
        return workspace.timeline.measure if workspace is not None and self.window.has_job else None

    def _toggle(self) -> None:
        if self._measure is not None:
            self._measure.toggle()

    def _copy(self) -> None:
        text = self._measure.text() if self._measure is not None else ""
        if text:
            QGuiApplication.clipboard().setText(text)
            self.window.statusBar().showMessage("Measurement copied", 2_000)

    def _clear(self) -> None:
        if self._measure is not None:
            self._measure.clear()
