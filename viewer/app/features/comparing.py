"""Compare with…: a second run of the job beside the first, its lanes on linked axes, and what changed between them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from viewer.app import dialogs
from viewer.app.features.base import Feature
from viewer.app.open_job import Ending, JobController
from viewer.app.opened_job import OpenedJob
from viewer.base.work import CancelToken

if TYPE_CHECKING:
    from viewer.analyses.comparison.compare import Comparison
    from viewer.app.main_window import MainWindow
    from viewer.app.workspace import Workspace
    from viewer.panels.compare import ComparePanel
    from viewer.panels.timeline.linked_lanes import LinkedLanes
    from viewer.store.session import Session
    from viewer.views.comparison.table import Target

log = logging.getLogger(__name__)


class Comparing(Feature):
    """The second run of one window.

    Attributes:
        panel: the Compare panel, None before the lanes are on the screen.
        linked: the second run's lanes, None while there is none.
        paths: what the second run was opened from.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.panel: ComparePanel | None = None
        self.linked: LinkedLanes | None = None
        self.paths: tuple[Path, ...] = ()
        self._waiting = False
        self._found: Comparison | None = None
        self._said = ""
        self._controller: JobController | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._open_waiting)
        window.controller.ended.connect(self._base_opened)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {
            "compare_files": lambda: self._ask(dialogs.ask_files),
            "compare_folder": lambda: self._ask(dialogs.ask_folder),
            "end_compare": self.end,
        }

    def attach(self, workspace: Workspace) -> None:
        """Follow the job that is shown."""
        workspace.context.session_changed.connect(self._session_changed)

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel."""
        from viewer.panels.compare import ComparePanel

        self.panel = ComparePanel(workspace.context, self.window)
        self.panel.run_wanted.connect(lambda: self._ask(dialogs.ask_files))
        self.panel.ended.connect(self.end)
        self.panel.chosen.connect(self._go)
        self.panel.step_chosen.connect(self._align)
        self.window.docks.fill({"compare": self.panel})
        if self._said:
            self._show_panel()
            self._say(self._said)
        if self._found is not None:
            self._show(self._found)

    def job_shown(self, _: list[Path]) -> None:
        """Another job: the second run was one of the old."""
        if self._waiting:
            self._soon.start()
        else:
            self.end()

    def shutdown(self) -> None:
        """The window closes."""
        self._stop()

    def begin(self, paths: Sequence[Path]) -> None:
        """Open a second run; when a job is being opened, once that is done."""
        self._stop()
        self.paths = tuple(paths)
        if self.window.controller.running or not self.window.has_job:
            self._waiting = True
            return
        self._open()

    def end(self) -> None:
        """Show the job alone again."""
        if self.panel is not None and self._said:
            from viewer.panels.compare import HINT

            self.panel.say(HINT)
        self._stop()

    def _stop(self) -> None:
        self._waiting = False
        self._found = None
        self._said = ""
        self.paths = ()
        if self._controller is not None:
            self._controller.shutdown()
            self._controller.deleteLater()
            self._controller = None
        workspace = self.window.workspace
        if workspace is not None:
            workspace.work.cancel("compare")
        if self.linked is not None and workspace is not None:
            workspace.name_run("")
            self.linked.shutdown()
            self.linked = None

    def _ask(self, ask: Callable[..., list[Path]]) -> None:
        if self.window.has_job:
            found = ask(self.window, self.window.settings.last_folder)
            if found:
                self.begin(found)

    def _base_opened(self, ending: Ending) -> None:
        self._waiting &= ending.session is not None
        if self._waiting:
            self._soon.start()

    def _open_waiting(self) -> None:
        """The job is shown and all of it is open, or that will be told once more."""
        if self._waiting and self.window.has_job and not self.window.controller.running:
            self._waiting = False
            self._open()

    def _open(self) -> None:
        controller = self._controller = JobController(parent=self, wait_for=self.window.warm_up.wait_for)
        controller.ended.connect(self._opened)
        self._say(f"Opening {self._name()}…")
        self._show_panel()
        controller.open(self.paths, self.window.job.options)

    def _name(self) -> str:
        return OpenedJob(self.paths).title

    def _say(self, text: str) -> None:
        self._said = text
        if self.panel is not None:
            self.panel.say(text, comparing=True)

    def _show_panel(self) -> None:
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("compare")

    def _opened(self, ending: Ending) -> None:
        workspace = self.window.workspace
        for failure in ending.failures:
            self.window.say("warning", failure.sentence())
        if ending.session is None or workspace is None:
            if ending.error:
                self.window.say("error", ending.error)
            self._say(f"{self._name()} did not open: there is nothing to compare with.")
            return
        self._beside(workspace, ending.session)
        self._compare(workspace)

    def _beside(self, workspace: Workspace, test: Session) -> None:
        """Put the second run's lanes below the first's."""
        from viewer.panels.timeline.linked_lanes import LinkedLanes

        linked = self.linked = LinkedLanes(workspace.context, workspace.timeline, self.window)
        linked.timeline.hovered.connect(workspace.hovered)
        linked.aligned.connect(self._aligned)
        workspace.name_run(f"Base run: {self.window.job.title}")
        workspace.centre.addWidget(linked.lanes)
        half = workspace.centre.height() // 2
        workspace.centre.setSizes([half, half])
        linked.show(test, f"Test run: {self._name()}")

    def _go(self, base: Target, test: Target) -> None:
        if self.linked is not None:
            self.linked.go(base, test)

    def _align(self, k: int) -> None:
        if self.linked is not None:
            self.linked.align(k)

    def _aligned(self, k: int) -> None:
        if self.panel is not None:
            self.panel.show_step(k)

    def _session_changed(self, session: Session) -> None:
        """More files, or other clocks, of the base run."""
        if self.linked is not None and self.window.workspace is not None and session.inputs:
            self._compare(self.window.workspace)

    def _compare(self, workspace: Workspace) -> None:
        if self.linked is None:
            return
        base, test = workspace.session, self.linked.context.session
        self._say("Comparing…")

        def run(cancel: CancelToken) -> Comparison:
            from viewer.analyses.comparison.compare import compare

            return compare(base, test, cancel, findings=False)

        workspace.work.submit("compare", run, self._show, self._failed, long=True)

    def _show(self, found: Comparison) -> None:
        self._found = found
        if self.linked is None:
            return
        self.linked.compare(found)
        if self.panel is not None:
            self.panel.show_comparison(found, (self.window.job.title, self._name()))
            self.panel.show_step(0)
        workspace = self.window.workspace
        if found.comparable and workspace is not None:

            def run(cancel: CancelToken) -> Comparison:
                from viewer.analyses.comparison.compare import with_findings

                return with_findings(found, cancel)

            workspace.work.submit("compare", run, self._add_findings, self._no_findings, long=True)

    def _add_findings(self, found: Comparison) -> None:
        if self.panel is not None and self.linked is not None:
            self._found = found
            self.panel.update_comparison(found)

    def _no_findings(self, error: Exception) -> None:
        log.error("findings of the runs failed", exc_info=error)

    def _failed(self, error: Exception) -> None:
        log.error("comparing failed", exc_info=error)
        self._say(f"The runs could not be compared: {error}.")
