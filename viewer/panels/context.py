"""What all panels of a window share: session, selection, visible window, theme, and a way to run work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from viewer.base.frames import Jump
from viewer.base.selection import EMPTY, GapRef, GroupRef, Selection, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.panels.work import WorkRunner
from viewer.store.session import Session


class JobContext(QObject):
    """Shared state of one window. Panels read it, ask it to change, and listen.

    Attributes:
        shifts: per rank group the ns by which the timeline shows it later than it was; mostly empty. Only ``window`` is
            in shown time; selections are in the job's own.

    Signals:
        session_changed(Session): one more file opened, or another job.
        selection_changed(Selection)
        window_changed(TimeRange): the visible range of session time moved.
        theme_changed(Theme)
        instant_chosen(LaneRow, int): an instant (the job's own time) of a memory lane was clicked.
        reveal_requested(object): bring a SliceRef, GapRef, TimeRange or GroupRef into view (the timeline listens).
    """

    session_changed = Signal(object)
    selection_changed = Signal(object)
    window_changed = Signal(object)
    theme_changed = Signal(object)
    reveal_requested = Signal(object)
    instant_chosen = Signal(object, object)

    def __init__(self, theme: Theme, work: WorkRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.work = work
        self._theme = theme
        self._session = Session()
        self._selection = EMPTY
        self._window: TimeRange | None = None
        self.shifts: Mapping[int, int] = {}

    @property
    def session(self) -> Session:
        """The job; an empty session before anything is open."""
        return self._session

    @property
    def selection(self) -> Selection:
        """The current selection."""
        return self._selection

    @property
    def window(self) -> TimeRange | None:
        """The visible range of session time, None before anything is open."""
        return self._window

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return self._theme

    def set_session(
        self, session: Session, *, keep_selection: bool = False, selection: Selection | None = None
    ) -> None:
        """Show another session.

        Args:
            session: what to show from now on.
            keep_selection: the selection survives as it is; only while the inputs keep their indexes.
            selection: what is selected in the new session, where more files of a job gave its inputs other indexes.
        """
        before = self._selection
        self.shifts = {}
        self._session = session
        if selection is not None:
            self._selection = selection
        elif not keep_selection:
            self._selection = EMPTY
        self.session_changed.emit(session)
        if self._selection != before or not (keep_selection or selection is not None):
            self.selection_changed.emit(self._selection)

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self._theme = theme
        self.theme_changed.emit(theme)

    def select(self, selection: Selection) -> None:
        """Change the selection."""
        if selection != self._selection:
            self._selection = selection
            self.selection_changed.emit(selection)

    def set_window(self, window: TimeRange) -> None:
        """Called by the timeline when the visible range moved."""
        if window != self._window:
            self._window = window
            self.window_changed.emit(window)

    def jump(self, target: Jump) -> None:
        """Select what a row points at and bring it into view; a range and chosen lanes stay where they can."""
        now = replace(self._selection, slice=None, gap=None)
        if isinstance(target, SliceRef):
            self.select(replace(now, slice=target, group=self._session.group_of(target.input).id))
        elif isinstance(target, GapRef):
            self.select(replace(now, gap=target, group=self._session.group_of(target.input).id))
        elif isinstance(target, TimeRange):
            self.select(replace(now, range=target))
        elif isinstance(target, GroupRef):
            self.select(replace(now, group=target.group, lanes=frozenset()))
        elif isinstance(target, Selection):
            self.select(target)
            if target.range is not None:
                self.reveal_requested.emit(target.range)
            return
        else:
            return
        self.reveal_requested.emit(target)
