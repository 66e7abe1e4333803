"""The lanes of launch queues: computed counters below the streams, shown when they are asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app.features.base import Feature

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.work import CancelToken

log = logging.getLogger(__name__)


class LaunchQueues(Feature):
    """Shows and hides them; while they are shown, files that open later get theirs too."""

    _on = False

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"launch_queues": self.on_job(self._toggle)}

    def _toggle(self, workspace: Workspace) -> None:
        self._on = not self._on
        self._apply(workspace)

    def job_shown(self, paths: list[Path]) -> None:
        """Keep them while files of a job open."""
        if not paths:
            self._on = False
        elif self._on and self.window.workspace is not None:
            self._apply(self.window.workspace)

    def _apply(self, workspace: Workspace) -> None:
        session, on = workspace.session, self._on
        if session.queue_lanes == on:
            return

        def count(cancel: CancelToken) -> None:
            from viewer.analyses.idleness.queue_length import queue_devices, queue_lengths

            for item in session.inputs:
                for device in queue_devices(item.trace) if on else ():
                    cancel.check()
                    queue_lengths(item.trace, device)

        def done(_: None) -> None:
            if workspace.session is not session:
                self._apply(workspace)  # another session came meanwhile: more files, or other clocks
            else:
                workspace.show_session(session.with_queue_lanes(on), same_job=True)

        workspace.work.submit("launch queues", count, done, self._failed)

    def _failed(self, error: Exception) -> None:
        log.error("counting launch queues failed", exc_info=error)
        self.window.say("error", "The launch queues cannot be counted; the log says why.")
