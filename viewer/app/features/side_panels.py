"""The panels beside the lanes: made when the lanes are on the screen, one per turn of the event loop."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal

from viewer.app import collector
from viewer.app.features.base import Feature
from viewer.app.features.saving_rows import save_rows
from viewer.app.panel_table import PANELS, PanelSpec

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.open_job import Ending
    from viewer.app.workspace import Workspace
    from viewer.base.errors import InputError
    from viewer.base.findings import Finding
    from viewer.panels.files import FilesPanel

MOST_HELD_MS: Final = 1000
"""Nobody waits longer for lanes that are not painted: the window may be hidden."""


def load_panels() -> None:
    """Import what the panels are made of. For a worker thread: the window turns meanwhile."""
    import viewer.panels.clocks
    import viewer.panels.compare
    import viewer.panels.files
    import viewer.panels.findings
    import viewer.panels.fingerprint
    import viewer.panels.job_card
    import viewer.panels.kept_panel
    import viewer.panels.memory.panel
    import viewer.panels.range_table
    import viewer.panels.run_history
    import viewer.panels.stragglers  # noqa: F401

    for spec in PANELS:
        if spec.make:
            importlib.import_module(spec.make.partition(":")[0])


class SidePanels(Feature):
    """Fills the docks of one window.

    Signals:
        filled(): all panels are there. Emitted once.
    """

    filled = Signal()

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._left: list[Callable[[Workspace], None]] | None = None
        self._files: FilesPanel | None = None
        self._failures: tuple[Sequence[InputError], Sequence[Finding]] = (), ()
        self._shows = False  # whether files of the job that opens are open
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._make_next)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(MOST_HELD_MS)
        self._patience.timeout.connect(self._go_on)
        window.warm_up.expect_panels()
        window.warm_up.engine_loaded.connect(self._compiled, Qt.ConnectionType.QueuedConnection)
        self.filled.connect(self._all_made)
        window.controller.opening.connect(self._opening)
        window.controller.snapshot.connect(self._snapshot)
        window.controller.ended.connect(self._ended)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {f"show_{p.name}": partial(self._show, p.name) for p in PANELS if p.text}

    def _show(self, name: str) -> None:
        if self.window.has_job:
            self.window.docks.show_panel(name)
            self.window.docks[name].widget().setFocus()

    @property
    def are_filled(self) -> bool:
        """Whether all panels are there."""
        return self._left == []

    def attach(self, workspace: Workspace) -> None:
        """Go on when the lanes are on the screen."""
        workspace.work.hold()
        workspace.timeline.canvas.shown.connect(self._go_on, Qt.ConnectionType.QueuedConnection)
        if not self.window.controller.running and not self._shows:
            self._go_on()
        elif self._shows:
            self._patience.start()

    def fill(self) -> None:
        """Begin, once the timeline is there; a second call does nothing."""
        if self._left is None:
            home, features = (
                [feature.attach_panel for feature in self.window.features if feature.home is first]
                for first in (True, False)
            )
            shown = [partial(self._make, spec) for spec in PANELS if spec.make and spec.shown]
            hidden = [partial(self._make, spec) for spec in PANELS if spec.make and not spec.shown]
            self._left = [*home, *shown, self._make_files, *features, *hidden]
            self._timer.start()

    def _opening(self, _: object) -> None:
        self._shows = False
        if self.window.workspace is None:
            self.window.warm_up.hold()

    def _snapshot(self, _: object) -> None:
        self._shows = True
        if self.window.workspace is not None:
            self._patience.start()

    def _ended(self, ending: Ending) -> None:
        self._shows |= ending.session is not None
        if ending.session is not None or self.window.has_job:
            self.set_failures(ending.failures, ending.skipped)
        if self.window.workspace is not None or not self._shows:
            self._go_on()

    def _go_on(self) -> None:
        """Lanes are on the screen, or there are none."""
        self._patience.stop()
        collector.set_apart()
        self.window.warm_up.go_on()
        self.window.warm_up.step_back()
        if self.window.workspace is not None:  # what the lanes asked for is computed here when helpers compiled it
            self.window.workspace.work.go_on(held=not self.window.warm_up.is_compiling)

    def _compiled(self) -> None:
        """Make the panels; then compute what the lanes asked for: beside each other both would hold up the window."""
        if self.are_filled:
            self._all_made()
        else:
            self.fill()

    def _all_made(self) -> None:
        self.window.warm_up.panels_made()
        if self.window.workspace is not None:
            self.window.workspace.work.go_on()

    def set_failures(self, failures: Sequence[InputError], skipped: Sequence[Finding]) -> None:
        """Tell the Import panel, now or when it is there, what did not open and what is no trace."""
        self._failures = failures, skipped
        if self._files is not None:
            self._files.set_failures(failures, skipped)

    def shutdown(self) -> None:
        """The window closes: make no more."""
        self._left = []
        self.window.warm_up.panels_made()
        self._timer.stop()
        self._patience.stop()

    def _make_next(self) -> None:
        workspace = self.window.workspace
        if workspace is None or not self._left:
            return
        self._left.pop(0)(workspace)
        if self._left:
            self._timer.start()
        else:
            self.filled.emit()

    def _make(self, spec: PanelSpec, workspace: Workspace) -> None:
        module, _, name = spec.make.partition(":")
        make = getattr(importlib.import_module(module), name)
        panel = make(workspace.context, self.window)
        self.window.docks.fill({spec.name: panel})
        if hasattr(panel, "save_requested"):
            panel.save_requested.connect(partial(save_rows, self.window, spec.name))

    def _make_files(self, workspace: Workspace) -> None:
        from viewer.panels.files import FilesPanel

        self._files = FilesPanel(workspace.context, self.window)
        self._files.set_failures(*self._failures)
        self.window.docks.fill({"files": self._files})
