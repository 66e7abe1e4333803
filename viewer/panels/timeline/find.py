"""Finding names on the timeline: the find bar, its search in the background, and the marks of the hits everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QObject

from viewer.analyses.query import QueryError
from viewer.analyses.search import Hits, Wanted, search
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.store.session import Session
from viewer.views.lanes.hit import time_of
from viewer.views.timeline import viewport
from widgets.find_bar import FindBar

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel

BINS: Final = 4_096
"""Parts of the job in each of which the minimap tells whether there is a hit."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought: hits, their number per lane of the session, and the parts of the job with any."""

    session: Session
    wanted: Wanted
    hits: Hits
    per_lane: dict[tuple[int, int], int]
    shares: tuple[float, ...]


def find(session: Session, wanted: Wanted, cancel: CancelToken) -> Found:
    """Search, and prepare everything that shows it. For a worker."""
    hits = search(session, wanted, cancel)
    extent = session.extent()
    shares: tuple[float, ...] = ()
    if extent is not None and hits.count:
        filled = np.flatnonzero(hits.density(viewport.fitted(extent), BINS))
        shares = tuple(((filled + 0.5) / BINS).tolist())
    cancel.check()
    return Found(session, wanted, hits, hits.per_lane(session), shares)


class FindPanel(QObject):
    """Drives a find bar above a timeline. Hidden until it is asked for."""

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes
        self.bar = FindBar(context.theme)
        self.bar.hide()
        self.found: Found | None = None
        self.current: SliceRef | None = None
        self._step_when_found = 0
        self.bar.wanted.connect(lambda *_: self.search())
        self.bar.stepped.connect(self.step)
        self.bar.closed.connect(self.close)
        context.session_changed.connect(self._session_changed)
        context.theme_changed.connect(self._set_theme)
        lanes.placed.connect(self._show_counts)
        panel.steps.changed.connect(self._shifted)

    @property
    def _session(self) -> Session:
        """The job as it is shown: steps may be stacked."""
        return self._lanes.session if self._context.shifts else self._context.session

    def open(self, text: str | None = None, *, regex: bool = False, case: bool = False) -> None:
        """Show the bar with its last text, or with this one, ready to be typed over."""
        self.bar.show()
        self.bar.edit.setFocus()
        if text is not None:
            self.bar.set_text(text, regex=regex, case=case)
        self.bar.edit.selectAll()
        if self.found is None:
            self.search()

    def close(self) -> None:
        """Hide the bar and everything that it marked; its text is kept for the next time."""
        self._context.work.cancel("find")
        self._step_when_found = 0
        self.bar.hide()
        self._show(None)
        self._panel.canvas.setFocus()

    def search(self) -> None:
        """Search for what the bar says, in the background; a search that still runs is dropped."""
        wanted = Wanted(*self.bar.state())
        session, work = self._session, self._context.work
        self._step_when_found = 0
        if not wanted.text or not session.inputs or self.bar.isHidden():
            work.cancel("find")
            self._show(None)
            return
        try:
            wanted.check()
        except QueryError as error:
            work.cancel("find")
            self._show(None)
            self.bar.show_count(str(error), "warning")
            return
        self.found = None
        self.bar.show_count("Searching…")
        work.submit("find", lambda cancel: find(session, wanted, cancel), self._show, self._failed)

    def step(self, direction: int) -> None:
        """Go to the next (1) or the previous (-1) hit; the first time to the first one in or after the view."""
        if self.bar.isHidden():
            self.open()
        found = self.found
        if found is None:
            if self.bar.state()[0]:
                self._step_when_found = direction  # it goes there as soon as the search is done
            return
        target = self._next(found.hits, direction)
        if target is None:
            return
        self.current = target
        self._context.jump(target)
        self._show_place()

    def _next(self, hits: Hits, direction: int) -> SliceRef | None:
        window = self._panel.window()
        at = self._context.selection.slice
        if at is not None and at.input < len(self._context.session.inputs):
            time = self._time(at)
            if window is None or (time.end_ns >= window.start_ns and time.start_ns <= window.end_ns):
                return hits.step(time.start_ns, at, direction)
        if window is None:
            return hits.from_time(0)
        if direction > 0:
            return hits.from_time(window.start_ns)
        return hits.step(window.end_ns, SliceRef(-1, -1), -1)

    def _time(self, ref: SliceRef) -> TimeRange:
        return time_of(self._session.inputs[ref.input], ref.index)

    def _show(self, found: Found | None) -> None:
        if found is not None and found.session is not self._session:
            return  # of a session that is gone; another search runs
        self.found = found
        self.current = None
        self._lanes.set_found(found.hits.rows_by_input() if found is not None else None)
        self._panel.minimap.set_marks("found", found.shares if found is not None else ())
        self._show_counts()
        self._show_place()
        direction, self._step_when_found = self._step_when_found, 0
        if found is not None and direction:
            self.step(direction)

    def _show_counts(self) -> None:
        counts: dict[str, int] = {}
        if self.found is not None:
            for group in self._lanes.groups:
                for row in group.lanes:
                    number = sum(self.found.per_lane.get(part, 0) for part in row.parts)
                    if number:
                        counts[row.key] = number
        self._panel.headers.set_counts(counts)

    def _show_place(self) -> None:
        if self.found is None:
            self.bar.show_count("")
            return
        count = self.found.hits.count
        if not count:
            self.bar.show_count("No hits", "warning")
        elif self.current is None:
            self.bar.show_count(f"{count:,} hit{'' if count == 1 else 's'}")
        else:
            place = self.found.hits.position(self._time(self.current).start_ns, self.current)
            self.bar.show_count(f"{place:,} of {count:,}")

    def _session_changed(self, _: Session) -> None:
        self.found = None
        self._lanes.set_found(None)
        self._panel.minimap.set_marks("found", ())
        if not self.bar.isHidden():
            self.search()

    def _shifted(self) -> None:
        """Hits are walked in the order in which the lanes show them."""
        if self.found is not None and self.found.session is not self._session:
            current = self.current
            self.search()
            self.current = current

    def _failed(self, error: Exception) -> None:
        self.bar.show_count(f"The search failed: {error}", "warning")

    def _set_theme(self, theme: Theme) -> None:
        self.bar.set_theme(theme)
