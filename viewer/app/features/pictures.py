"""Export and copy of what the window shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from viewer.app.features.base import Feature


class PictureActions(Feature):
    """Binds the actions to ``viewer.app.pictures``, which loads what paints."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"export": partial(self._make, "export"), "copy": partial(self._make, "copy")}

    def _make(self, what: str) -> None:
        window = self.window
        if window.workspace is None or not window.has_job:
            return
        from viewer.app.pictures import Pictures

        pictures = Pictures(window, window.workspace, window.settings)
        pictures.said.connect(window.status.tell)
        pictures.failed.connect(partial(window.say, "error"))
        run = pictures.export if what == "export" else pictures.copy
        run(window.job.title, window.kept)
