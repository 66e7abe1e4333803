"""The lanes of a second run below those of the first, on linked axes. Each run has its own session and selection."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from viewer.analyses.comparison.compare import Comparison
from viewer.base.selection import GapRef, SliceRef, TimeRange
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.comparison.table import Target
from widgets.theming import color, palette_of

AROUND: Final = 6
"""A chosen pair takes one part in so many of the width."""
LEAST_NS: Final = 2_000


class NamedLanes(QWidget):
    """A timeline under a strip that names its run."""

    def __init__(self, timeline: TimelinePanel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeline = timeline
        self.label = QLabel(self)
        self.label.setContentsMargins(10, 3, 10, 3)
        self.label.setAutoFillBackground(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.label)
        column.addWidget(timeline, 1)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        palette = palette_of(theme)
        palette.setColor(palette.ColorRole.Window, color(theme, "group"))
        self.label.setPalette(palette)


class LinkedLanes(QObject):
    """Keeps the windows of two timelines on the same stretch: test time = base time + ``shift_ns``.

    Only the windows are linked: nothing of one run's times, figures or selection reaches the other.

    Signals:
        aligned(int): which pair of steps lies over each other, -1 for none.
    """

    aligned = Signal(int)

    def __init__(self, context: JobContext, timeline: TimelinePanel, parent: QWidget) -> None:
        super().__init__(parent)
        self._base, self._base_lanes = context, timeline
        self._work = WorkRunner(self)
        self.context = JobContext(context.theme, self._work, self)
        self.timeline = TimelinePanel(self.context)
        self.timeline.setAccessibleName("Timeline of the test run")
        self.lanes = NamedLanes(self.timeline, context.theme)
        self.shift_ns = 0
        self._found: Comparison | None = None
        self._moving = False
        context.window_changed.connect(self._base_moved)
        context.theme_changed.connect(self._set_theme)
        self.context.window_changed.connect(self._test_moved)
        timeline.headers.width_dragged.connect(self.timeline.headers.width_dragged)
        timeline.scrollbar.valueChanged.connect(self._base_scrolled)
        self.timeline.scrollbar.valueChanged.connect(self._test_scrolled)
        timeline.lanes.arranged.connect(self._arrange)
        timeline.lanes.looks.filtered.connect(self._arrange)
        # One legend, one overview and one filter serve both: room is for lanes.
        timeline.legend.hide()
        self.timeline.minimap.hide()
        self.timeline.lane_tools.box.hide()

    def show(self, session: Session, name: str) -> None:
        """Show the lanes of the test run."""
        self.lanes.label.setText(name)
        self.context.set_session(session)
        self.timeline.headers.width_dragged.emit(self._base_lanes.headers.width())
        self._arrange()

    def compare(self, found: Comparison) -> None:
        """Lay the first pair of steps (or the whole traces) over each other."""
        self._found = found
        self.align(0)

    def align(self, k: int) -> None:
        """Lay the k-th pair of steps of the rank that holds most over each other, at the start of their GPU work."""
        found = self._found
        if found is None or not found.pairing.pairs:
            return
        pair = max(found.pairing.pairs, key=lambda p: len(p.base.spans))
        if not 0 <= k < len(pair.base.spans):
            return
        at = []
        for session, unit in ((self._base.session, pair.base), (self.context.session, pair.test)):
            here = unit.spans[k]
            at.append(session.inputs[here.input].clock.to_session(here.work_ns))
        span = pair.base.spans[k]
        end = self._base.session.inputs[span.input].clock.to_session(span.end_ns)
        self._set_shift(at[1] - at[0])
        if found.pairing.by_step:
            length = max(
                pair.base.spans[k].end_ns - span.work_ns, pair.test.spans[k].end_ns - pair.test.spans[k].work_ns
            )
            margin = max(length // 50, 1)
            self._base_lanes.set_window(TimeRange(at[0] - margin, max(end, at[0] + length) + margin))
        self.aligned.emit(k if found.pairing.by_step else -1)

    def go(self, base: Target, test: Target) -> None:
        """Select a place in either run, and lay the two over each other."""
        ranges = [_range(context.session, place) for context, place in ((self._base, base), (self.context, test))]
        self._moving = True
        try:
            if base is not None:
                self._base.jump(base)
            if test is not None:
                self.context.jump(test)
            # Where one run has no such place, the same ranks are in sight.
            if base is None:
                self._base_lanes.scrollbar.setValue(self.timeline.scrollbar.value())
            elif test is None:
                self.timeline.scrollbar.setValue(self._base_lanes.scrollbar.value())
        finally:
            self._moving = False
        one, other = ranges
        if one is not None and other is not None:
            self._set_shift(other.start_ns - one.start_ns)
            self.aligned.emit(-1)
        elif other is not None:
            one = TimeRange(other.start_ns - self.shift_ns, other.end_ns - self.shift_ns)
        if one is not None:
            length = max(r.length_ns for r in (one, other) if r is not None)
            around = max(AROUND * length, LEAST_NS)
            middle = one.start_ns + length // 2
            self._base_lanes.set_window(TimeRange(middle - around // 2, middle + around // 2))

    def shutdown(self) -> None:
        """Let go of the base's timeline and stop what runs."""
        self._base.window_changed.disconnect(self._base_moved)
        self._base.theme_changed.disconnect(self._set_theme)
        self._base_lanes.headers.width_dragged.disconnect(self.timeline.headers.width_dragged)
        self._base_lanes.scrollbar.valueChanged.disconnect(self._base_scrolled)
        self._base_lanes.lanes.arranged.disconnect(self._arrange)
        self._base_lanes.lanes.looks.filtered.disconnect(self._arrange)
        self._base_lanes.legend.show()
        self._work.shutdown()
        self.lanes.deleteLater()
        self.deleteLater()

    def _set_shift(self, shift_ns: int) -> None:
        self.shift_ns = shift_ns
        # Both axes count from the same instant.
        self.timeline.origin_ns = self._base_lanes.zero.at_ns + shift_ns
        self.timeline.refresh()
        self._base_moved(self._base.window)

    def _base_moved(self, window: TimeRange | None) -> None:
        self._follow(window, self.timeline, self._base_lanes, self.shift_ns)

    def _test_moved(self, window: TimeRange | None) -> None:
        self._follow(window, self._base_lanes, self.timeline, -self.shift_ns)

    def _follow(self, window: TimeRange | None, follower: TimelinePanel, leader: TimelinePanel, shift: int) -> None:
        if self._moving or window is None or follower.extent is None:
            return
        self._moving = True
        try:
            # One more scroll bar makes lanes narrower: a millisecond is as wide on both.
            wide, narrow = max(leader.canvas.width(), 1), max(follower.canvas.width(), 1)
            start = window.start_ns + shift
            follower.set_window(TimeRange(start, start + max(1, window.length_ns * narrow // wide)))
        finally:
            self._moving = False

    def _base_scrolled(self, value: int) -> None:
        self._scroll(self.timeline, value)

    def _test_scrolled(self, value: int) -> None:
        self._scroll(self._base_lanes, value)

    def _scroll(self, follower: TimelinePanel, value: int) -> None:
        """The same rank in both, as far as the other one reaches."""
        if not self._moving:
            self._moving = True
            follower.scrollbar.setValue(value)
            self._moving = False

    def _arrange(self) -> None:
        """Fold, hide, sort and filter as the base does: lanes of one rank and stream have one key in both."""
        now, lanes = self._base_lanes.lanes.arrangement, self.timeline.lanes
        if now.filter != lanes.arrangement.filter:
            lanes.set_filter(now.filter)
        lanes.set_arrangement(now)

    def _set_theme(self, theme: Theme) -> None:
        self.context.set_theme(theme)
        self.lanes.set_theme(theme)


def _range(session: Session, place: Target) -> TimeRange | None:
    if isinstance(place, SliceRef):
        item = session.inputs[place.input]
        start, length = (int(column[place.index]) for column in (item.trace.slices.start_ns, item.trace.slices.dur_ns))
        return TimeRange(item.clock.to_session(start), item.clock.to_session(start + length))
    return place.range if isinstance(place, GapRef) else None
