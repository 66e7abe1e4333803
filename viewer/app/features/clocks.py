"""The clocks of the ranks: the panel, its changes on the window's undo stack, and a word in the status bar."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from viewer.app import dialogs
from viewer.app.clocks import Given, clocks_text, read_given, settle_clocks
from viewer.app.features.base import Feature
from viewer.base.clock import GivenClock
from viewer.base.errors import RankscopeError
from viewer.base.kept import Bookmark, Mark
from viewer.store.small_file import write_whole

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow
    from viewer.app.workspace import Workspace
    from viewer.panels.clocks import ClocksPanel, Wish
    from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class ClockChoice:
    """How the clocks are settled: the choice of ``--align``, and what a person said of single files."""

    align: str
    given: Given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClockChoice) and (self.align, dict(self.given)) == (other.align, dict(other.given))

    __hash__ = None  # type: ignore[assignment]


Change = Callable[[ClockChoice], ClockChoice]
"""What is to be in force instead of what is."""


class ClocksFeature(Feature):
    """Binds the Clocks panel to the window; the choice itself is part of the job's options."""

    panel: ClocksPanel | None = None

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._before_raw: ClockChoice | None = None
        self._waiting: list[tuple[str, Change]] = []
        self.label = QToolButton(window)
        self.label.hide()  # until it stands in the status bar
        self.label.setAutoRaise(True)
        self.label.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.label.setAccessibleName("Clocks")
        self.label.clicked.connect(self.show_panel)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"clocks": self.show_panel, "raw_times": self.on_job(lambda _: self.toggle_raw())}

    def attach(self, workspace: Workspace) -> None:
        """Say in the status bar what is in force."""
        self.window.statusBar().addPermanentWidget(self.label)
        self.label.show()
        workspace.context.session_changed.connect(self._tell)
        self._tell(workspace.session)

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panel and take what it asks for."""
        from viewer.panels.clocks import ClocksPanel

        panel = self.panel = ClocksPanel(workspace.context, self.window)
        self.window.docks.fill({"clocks": panel})
        panel.wished.connect(self.wish)
        panel.raw_toggled.connect(self.toggle_raw)
        panel.load_wanted.connect(self.ask_load)
        panel.save_wanted.connect(self.ask_save)
        panel.refused.connect(lambda text: self.window.say("warning", text))

    def show_panel(self) -> None:
        """Bring the panel to the front."""
        dock = self.window.docks["clocks"]
        if self.window.has_job:
            dock.show()
            dock.raise_()

    # the status bar

    def _tell(self, session: Session) -> None:
        workspace = self.window.workspace
        if workspace is None or len(session.groups) < 2:
            self.label.setText("")
            return

        def words(_: object) -> str:
            from viewer.views.clocks import summary_line

            return summary_line(session)

        workspace.work.submit("clock words", words, self._told, lambda _: None)

    def _told(self, text: str) -> None:
        self.label.setText(f"clocks: {text}" if text else "")

    # changes

    @property
    def choice(self) -> ClockChoice:
        """What is in force."""
        options = self.window.job.options
        return ClockChoice(options.align, options.given_clocks)

    def wish(self, wish: Wish) -> None:
        """Do what the panel asks for."""
        workspace = self.window.workspace
        if workspace is None or not self.window.has_job:
            return
        session = workspace.session
        told = {
            os.path.abspath(session.inputs[i].path): clock for g, clock in wish.given for i in session.groups[g].inputs
        }
        self.choose(wish.text, lambda now: _wished(wish.method, told, now))

    def toggle_raw(self) -> None:
        """Show base times; from base times go back to what was before."""
        now = self.choice
        raw = ClockChoice("base", {})
        workspace = self.window.workspace
        if workspace is not None and (now == raw or self._shows_base(workspace.session)):
            back = self._before_raw or ClockChoice("auto", {})
            self.choose("Clocks: back", lambda _: back)
            return
        self._before_raw = now
        self.choose("Clocks: base times", lambda _: raw)

    @staticmethod
    def _shows_base(session: Session) -> bool:
        return session.clock_method == "base" and not any(i.clock.given for i in session.inputs)

    def choose(self, text: str, change: Change) -> None:
        """Settle the clocks otherwise; computed off the GUI thread, then one step of undo.

        What is asked for while another change is computed, or while another session of the job arrives, is done upon
        that one: no choice is lost.
        """
        self._waiting.append((text, change))
        self._settle()

    def _settle(self) -> None:
        workspace = self.window.workspace
        if workspace is None or not self._waiting:
            self._waiting.clear()
            return
        before, session = self.choice, workspace.session
        after, count = before, len(self._waiting)
        text = self._waiting[-1][0]
        for _, change in self._waiting:
            after = change(after)

        def settle(_: object) -> Session:
            return settle_clocks(session, after.align, after.given)

        def done(settled: Session) -> None:
            if self.window.workspace is not workspace:
                self._waiting.clear()  # of a job that is closed
                return
            if workspace.session is not session:
                self._settle()
                return
            del self._waiting[:count]
            if settled is session and before == after:
                self._tell_unmoved(session)
                workspace.context.session_changed.emit(session)  # the panel's controls show what is
                return
            self.window.undo.push(text, before, after, self._put)
            self._tell_unmoved(workspace.session)

        workspace.work.submit("settle clocks", settle, done, self._refuse)

    def _tell_unmoved(self, session: Session) -> None:
        if self.choice.align == "auto" and session.clock_method != "collectives":
            self.window.say("info", "The traces cannot say how these clocks differ: nothing was moved.")

    def _refuse(self, error: Exception) -> None:
        self._waiting.clear()
        self.window.say("error", str(error))

    def _put(self, choice: ClockChoice) -> None:
        """Put a choice in force: the same job on other clocks; selection, view, notes and marks stay."""
        window, workspace = self.window, self.window.workspace
        if workspace is None or not window.has_job:
            return
        old = workspace.session
        window.job = replace(
            window.job, options=replace(window.job.options, align=choice.align, given_clocks=dict(choice.given))
        )
        new = settle_clocks(old, choice.align, choice.given)
        if new is old:
            workspace.context.session_changed.emit(old)
            return
        shift = _shift(old, new)
        visible = workspace.context.window
        chosen = workspace.context.selection
        workspace.show_session(new, same_job=True)
        if not shift:
            return
        self._move_kept(shift)
        if visible is not None:
            workspace.timeline.show_range(_moved(visible, shift))
        if chosen.range is not None:
            workspace.context.select(replace(workspace.context.selection, range=_moved(chosen.range, shift)))

    def _move_kept(self, shift: int) -> None:
        """Notes, marks and bookmarks stand where they stood: all times moved by as much."""
        kept = self.window.kept
        marks: list[Mark] = [replace(m, start_ns=m.start_ns + shift, end_ns=m.end_ns + shift) for m in kept.marks.book]
        kept.marks.show(replace(kept.marks.book, marks=tuple(marks)))
        notes = tuple(n if n.slice is not None else replace(n, time_ns=n.time_ns + shift) for n in kept.notes.book)
        kept.notes.show(replace(kept.notes.book, notes=notes))
        views: list[Bookmark] = [
            replace(b, start_ns=b.start_ns + shift, end_ns=b.end_ns + shift) for b in kept.bookmarks.book.bookmarks
        ]
        kept.bookmarks.show(replace(kept.bookmarks.book, bookmarks=tuple(views)))

    # files

    def ask_load(self) -> None:
        """Let the person name a file with offsets."""
        path = dialogs.ask_clock_file(self.window, self.window.settings.last_folder)
        if path is not None:
            self.load(path)

    def load(self, path: Path) -> None:
        """Use the offsets of a file for the ranks that it names; the others go on base times."""
        workspace = self.window.workspace
        if workspace is None:
            return
        try:
            told = read_given(path)
        except RankscopeError as error:
            self.window.say("error", str(error).removeprefix("--align "))
            return
        session = workspace.session
        given = {os.path.abspath(i.path): told[i.rank] for i in session.inputs if i.rank in told}
        if not given:
            self.window.say("warning", f"{path.name} names none of the ranks that are open: nothing was moved.")
            return
        self.choose(f"Clocks from {path.name}", lambda _: ClockChoice("base", given))

    def ask_save(self) -> None:
        """Let the person name a file for the offsets in force."""
        workspace = self.window.workspace
        if workspace is None:
            return
        path = dialogs.ask_clock_target(self.window, self.window.settings.last_folder)
        if path is not None:
            self.save(path, workspace.session)

    def save(self, path: Path, session: Session) -> None:
        """Write the offsets in force."""
        try:
            write_whole(path, clocks_text(session).encode("utf-8", "replace"))
        except OSError as error:
            self.window.say("error", f"{path} cannot be written: {error.strerror or error}.")
            return
        self.window.status.tell(f"Saved {path}")


def _shift(old: Session, new: Session) -> int:
    """By how much all of the job moved: base times are added or not. Moves of one rank against another are none."""
    pairs = [(a, b) for a, b in zip(old.inputs, new.inputs, strict=True) if a.clock.known and b.clock.known]
    if not pairs or all(a.clock.base_ns == b.clock.base_ns for a, b in pairs):
        return 0
    one, other = min(pairs, key=lambda p: (p[0].rank is None, p[0].rank or 0, p[0].index))
    at = one.trace.meta.gpu_first_ns if one.trace.meta.gpu_first_ns is not None else one.trace.meta.first_ns or 0
    return other.clock.to_session(at) - one.clock.to_session(at)


def _moved(span: Any, by: int) -> Any:
    return replace(span, start_ns=span.start_ns + by, end_ns=span.end_ns + by)


def _wished(method: str, told: dict[str, GivenClock | None], now: ClockChoice) -> ClockChoice:
    if method:
        return ClockChoice(method, {})
    given = dict(now.given) | told
    return ClockChoice(now.align, {path: clock for path, clock in given.items() if clock is not None})
