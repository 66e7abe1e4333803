"""The main window: start page or timeline in the middle, panels at the right, menus from the action table.

Importing this loads Qt alone; the engine comes with ``workspace`` after the first frame, the
panels after the lanes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from viewer.app import collector, dialogs
from viewer.app.actions import Actions
from viewer.app.docks import Docks
from viewer.app.dropping import DropTarget
from viewer.app.features.comparing import Comparing
from viewer.app.features.registry import FEATURES
from viewer.app.icons import application_icon
from viewer.app.keys_dialog import KeysDialog
from viewer.app.logs import log_path
from viewer.app.menus import Menus
from viewer.app.message_bar import Message, MessageBar
from viewer.app.messages import apart_message, ending_messages
from viewer.app.note_editing import Keeper
from viewer.app.open_job import Ending, JobController, OpenerFactory
from viewer.app.opened_job import OpenedJob
from viewer.app.opening_state import Overview
from viewer.app.options import JobOptions
from viewer.app.palette import Appearance
from viewer.app.placing import place_window
from viewer.app.progress_view import ProgressView
from viewer.app.recent_jobs import RecentJobs
from viewer.app.settings import SettingsFile, pack_bytes, unpack_bytes
from viewer.app.start_page import StartPage
from viewer.app.status import Status
from viewer.app.undo import UndoStack
from viewer.app.warm_up import WarmUp
from viewer.base.theme import Theme

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.selection import Selection
    from viewer.store.session import Session

log = logging.getLogger(__name__)

WARM_UP_DELAY_MS: Final = 30
"""The first frame is on the screen before the engine is loaded."""
PREPARING: Final = "Preparing the engine (once after an installation)…"
COMPILING_AFTER_SECONDS: Final = 2.0
"""When nothing was read by then, loops are being compiled."""


class MainWindow(QMainWindow):
    """One window, one job.

    Signals:
        new_window(list[Path]): open another job beside this one.
        closed()
    """

    new_window = Signal(object)
    closed = Signal()

    def __init__(
        self,
        appearance: Appearance,
        settings: SettingsFile | None = None,
        options: JobOptions | None = None,
        make_opener: OpenerFactory | None = None,
    ) -> None:
        super().__init__()
        self.setWindowIcon(application_icon())
        self._file = settings or SettingsFile()
        self.settings = self._file.load()
        self._appearance = appearance
        self.options = options or JobOptions()
        self._closing = False
        self.job = self._next_job = OpenedJob()
        self.asks = True
        self._pending: Session | None = None
        self._shown_run = -1
        self._run_number = 0
        self.workspace: Workspace | None = None
        self._made: Workspace | None = None
        theme = appearance.theme
        self.messages = MessageBar(theme)
        self.progress = ProgressView(theme)
        self.start_page = StartPage(theme)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.start_page)
        self._waiting = QWidget()
        self.stack.addWidget(self._waiting)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        column.addWidget(self.progress)
        column.addWidget(self.stack, 1)
        self.setCentralWidget(centre)
        self.docks = Docks(self, theme)
        self.drops = DropTarget(theme, self, lambda: self.has_job)
        self.undo = UndoStack(self)
        self.kept = Keeper(lambda text: dialogs.ask_note(self, text), self.undo, self)
        self.warm_up = WarmUp(self)
        self.controller = JobController(make_opener, self, self.warm_up.wait_for)
        self.features = [make(self) for make in FEATURES]
        self.actions_ = Actions(self, self._handlers(), theme)
        self.menus = Menus(self, self.actions_, self.undo.stack, self.docks, self.settings)
        self.recent = RecentJobs(self)
        self.menus.recent_chosen.connect(self.recent.open)
        self.menus.clear_chosen.connect(self.recent.clear)
        self.actions_[f"theme_{appearance.choice}"].setChecked(True)
        self.status = Status(self.statusBar())
        self._connect()
        self.show_title()
        self._update_actions()
        place_window(self, unpack_bytes(self.settings.geometry))
        self.docks.adopt(unpack_bytes(self.settings.layout))
        self.recent.show()

    # -- building ------------------------------------------------------------------------------------------------------

    def _handlers(self) -> dict[str, Callable[[], None]]:
        return {
            "open": lambda: self.open_paths(dialogs.ask_files(self, self.settings.last_folder)),
            "open_folder": lambda: self.open_paths(dialogs.ask_folder(self, self.settings.last_folder)),
            "add_files": lambda: self.add_paths(dialogs.ask_files(self, self.settings.last_folder)),
            "demo": self.open_demo,
            "close_job": self.close_job,
            "quit": self._quit,
            "clear_selection": self._on_job(lambda w: w.clear_selection()),
            "fit": self._on_job(lambda w: w.timeline.fit()),
            "fit_selection": self._on_job(lambda w: w.timeline.focus_selection()),
            "zoom_in": self._on_job(lambda w: w.zoom(2.0)),
            "zoom_out": self._on_job(lambda w: w.zoom(0.5)),
            "theme_system": partial(self.choose_theme, "system"),
            "theme_light": partial(self.choose_theme, "light"),
            "theme_dark": partial(self.choose_theme, "dark"),
            "reset_layout": self.docks.reset,
            "next_run": self._on_job(lambda w: w.go_to_run("next")),
            "previous_run": self._on_job(lambda w: w.go_to_run("previous")),
            "slowest_run": self._on_job(lambda w: w.go_to_run("slowest")),
            "keys": lambda: KeysDialog(self).open(),
            "log": lambda: self.say("info", f"The log is {log_path()}."),
            "about": lambda: dialogs.about_dialog(self, log_path()).open(),
            **{name: run for feature in self.features for name, run in feature.handlers().items()},
        }

    def _quit(self) -> None:
        self.close()

    def _on_job(self, run: Callable[[Workspace], None]) -> Callable[[], None]:
        def handler() -> None:
            if self.workspace is not None and self.has_job:
                run(self.workspace)

        return handler

    def _connect(self) -> None:
        self._appearance.changed.connect(self._set_theme)
        self.drops.dropped.connect(self.open_paths)
        self.drops.dropped_beside.connect(self.add_paths)
        self.start_page.open_files.connect(self.actions_["open"].trigger)
        self.start_page.open_folder.connect(self.actions_["open_folder"].trigger)
        self.start_page.open_demo.connect(self.open_demo)
        self.start_page.open_recent.connect(self.recent.open)
        self.start_page.clear_recent.connect(self.recent.clear)
        self.progress.cancel_all.connect(self.cancel_opening)
        self.progress.cancel_file.connect(self.controller.cancel_file)
        self.controller.opening.connect(self._opening)
        self.controller.advanced.connect(self._advanced)
        self.controller.snapshot.connect(self._snapshot)
        self.controller.ended.connect(self._ended)
        self.warm_up.imported.connect(self._make_workspace, Qt.ConnectionType.QueuedConnection)
        self.warm_up.ready.connect(self._build_workspace, Qt.ConnectionType.QueuedConnection)
        self.kept.refused.connect(partial(self.say, "warning"))

    def _make_workspace(self) -> None:
        """Make the timeline while its loops are compiled: so a first frame waits for less, and in shorter turns."""
        if self._made is None and self.workspace is None and not self._closing:
            from viewer.app.workspace import Workspace

            self._made = Workspace(self._appearance.theme, self)

    def _build_workspace(self) -> None:
        """Use the timeline from now on, and show what was opened meanwhile in the next turn."""
        if self.workspace is not None or self._closing:
            return
        self._make_workspace()
        workspace, self._made = self._made, None
        assert workspace is not None
        self.workspace = workspace
        self.stack.addWidget(workspace.centre)
        workspace.hovered.connect(self.status.show_hovered)
        workspace.visible_changed.connect(self.status.show_window)
        workspace.selection_changed.connect(self._selected)
        workspace.failed.connect(partial(self.say, "error"))
        for feature in self.features:
            feature.attach(workspace)
        QTimer.singleShot(0, self, self._show_pending)

    def _show_pending(self) -> None:
        if self._closing:
            return
        if self._pending is not None:
            self._snapshot(self._pending)
        if not self.controller.running:
            self.progress.hide()

    # -- opening -------------------------------------------------------------------------------------------------------

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return self._appearance.theme

    @property
    def has_job(self) -> bool:
        """Whether a job is shown."""
        return self.workspace is not None and bool(self.workspace.session.inputs)

    def open_paths(
        self, paths: Sequence[Path], prepare: Callable[[], None] | None = None, options: JobOptions | None = None
    ) -> None:
        """Open files and folders as one job in this window, in place of what is shown, unless the person stays."""
        found = [Path(p) for p in paths]
        if not found or any(feature.opens(found) for feature in self.features) or not self.may_leave():
            return
        self.load(OpenedJob(tuple(found), options or self.options), prepare)

    def load(self, job: OpenedJob, prepare: Callable[[], None] | None = None) -> None:
        """Open a job without asking."""
        if self.has_job:
            collector.look_at_all()
        self.messages.clear(all_of_them=False)
        self._next_job = job
        self.settings.last_folder = str(job.named[0].absolute().parent)
        self.controller.open(job.paths, job.options, prepare)

    def may_leave(self) -> bool:
        """Whether the job may go; what is not saved is asked about."""
        return all(feature.may_leave() for feature in self.features)

    def add_paths(self, paths: Sequence[Path]) -> None:
        """Open further files beside those of the job; those that are open come from the cache."""
        base = self._next_job if self.controller.running else self.job
        if not base.paths:
            self.open_paths(paths)
        elif paths and not any(feature.opens(list(paths)) for feature in self.features):
            self.load(base.with_more(paths))

    def compare_with(self, paths: Sequence[Path]) -> None:
        """Open a second run beside the job, once that is open."""
        for feature in self.features:
            if isinstance(feature, Comparing):
                feature.begin(paths)

    def open_demo(self) -> None:
        """Make the demo job (once) and open it."""
        from viewer.app.demo.command import demo_folder, make_demo

        folder = demo_folder()
        self.open_paths([folder], lambda: make_demo(folder))

    def cancel_opening(self) -> None:
        """Stop opening; what is open stays."""
        self.progress.say("Cancelling…")
        self.controller.cancel()

    def close_job(self) -> None:
        """Show the start page again."""
        if not self.has_job or self.workspace is None or not self.may_leave():
            return
        from viewer.store.session import Session

        collector.look_at_all()
        self.docks.leave_job()
        self.job = OpenedJob()
        self.messages.clear(all_of_them=False)
        self.workspace.show_session(Session(), same_job=False)
        self.stack.setCurrentWidget(self.start_page)
        self._tell_job([])
        self.show_title()
        self._update_actions()

    def _opening(self, _: list[Path]) -> None:
        self._run_number += 1
        self._pending = None
        self.progress.begin(f"Opening {self._next_job.title}", expanded=not self.has_job)
        if not self.has_job:
            self.stack.setCurrentWidget(self._waiting)
        if self.workspace is None:
            self.warm_up.start()

    def _advanced(self, view: Overview) -> None:
        if not view.done_bytes and not self.warm_up.is_done and view.seconds > COMPILING_AFTER_SECONDS:
            self.progress.prepare(PREPARING, self.warm_up.share, view)
        else:
            self.progress.update_view(view)

    def _snapshot(self, session: Session) -> None:
        if self.workspace is None:
            self._pending = session
            return
        self._pending = None
        first = self._shown_run != self._run_number
        self._shown_run = self._run_number
        if first:
            self.job = self._next_job
        self.workspace.show_session(session, same_job=not first)
        if first:
            self.stack.setCurrentWidget(self.workspace.centre)
            self.docks.enter_job()
            self.progress.set_expanded(False)
            self.workspace.timeline.setFocus()
            self._tell_job(list(self.job.paths))
        self.show_title()
        self._update_actions()

    def _tell_job(self, paths: list[Path]) -> None:
        for feature in self.features:
            feature.job_shown(paths)

    def _ended(self, ending: Ending) -> None:
        if self.workspace is None and (ending.session is not None or self._pending is not None):
            self.progress.wait_for(PREPARING)
        else:
            self.progress.hide()
        if ending.session is not None:
            self._snapshot(ending.session)
            self.recent.remember(self._next_job.named)
        elif not self.has_job and self._pending is None:
            self.stack.setCurrentWidget(self.start_page)
        if len(ending.jobs) > 1:
            self.messages.show_message(apart_message(ending.jobs, self.open_paths, self.new_window.emit))
        for message in ending_messages(ending):
            self.messages.show_message(message)
            log.info("%s: %s", message.severity, message.text)

    # -- appearance ----------------------------------------------------------------------------------------------------

    def choose_theme(self, choice: str) -> None:
        """Use another theme, now and from now on."""
        self.settings.theme = choice
        self.actions_[f"theme_{choice}"].setChecked(True)
        self._appearance.choose(choice)
        self.save_settings()

    def _set_theme(self, theme: Theme) -> None:
        for part in (self.messages, self.progress, self.start_page, self.drops.sheet, self.docks):
            part.set_theme(theme)
        self.actions_.recolor(theme)
        self.actions_[f"theme_{self._appearance.choice}"].setChecked(True)
        for feature in self.features:
            feature.set_theme(theme)
        for workspace in (self.workspace, self._made):
            if workspace is not None:
                workspace.set_theme(theme)

    def say(self, severity: str, text: str) -> None:
        """Show one sentence above the timeline."""
        self.messages.show_message(Message(severity, text))

    def _selected(self, selection: Selection) -> None:
        self._update_actions()
        self.docks.selection_changed(selection)

    def _update_actions(self) -> None:
        job = self.has_job
        selected = job and self.workspace is not None and self.workspace.context.selection.slice is not None
        self.actions_.enable(job=job, selected=selected)
        for action in self.docks.toggle_actions():
            action.setEnabled(job)

    def show_title(self) -> None:
        """Name the job in the title, with Qt's sign where not all is saved."""
        shown = self.job if self.has_job else OpenedJob()
        self.setWindowTitle(shown.window_title(self.workspace.session if self.workspace else None))

    # -- life ----------------------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        """Load the engine once the first frame is out."""
        super().showEvent(event)
        QTimer.singleShot(WARM_UP_DELAY_MS, self, self.warm_up.start)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about what is not saved; then stop all work, remember the layout, go."""
        if self._closing:
            event.accept()
            return
        if self.asks and not self.may_leave():
            event.ignore()
            return
        self._closing = True
        self.settings.geometry = pack_bytes(bytes(self.saveGeometry().data()))
        self.settings.layout = pack_bytes(self.docks.state())
        self.save_settings()
        self.hide()
        made = [w for w in (self.workspace, self._made) if w is not None]
        for workspace in made:
            workspace.work.drop()  # before helpers end: or what waits for their work would begin it itself
        self.warm_up.stop(0.0)
        self.controller.shutdown()
        for feature in self.features:
            feature.shutdown()
        for workspace in made:
            workspace.shutdown()
        event.accept()
        self.closed.emit()

    def save_settings(self) -> None:
        """Write the settings, keeping jobs that another window opened meanwhile."""
        self._file.save(self.settings)
