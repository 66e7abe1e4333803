"""Steps on the timeline: bands over each rank's lanes, going from step to step, one step of all ranks at one start."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from viewer.base.frames import PlacedRow
from viewer.base.ids import LaneKind
from viewer.base.selection import GroupRef, Selection, TimeRange
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.panels.timeline.overlay import View
from viewer.store.session import Session
from viewer.views.lanes.steps import Bands, StepBand, neighbour, stack_shifts, step_at, step_bands, within
from viewer.views.timeline import viewport
from widgets.lane_overlay import Overlay
from widgets.lane_steps import Band
from widgets.theming import color, palette_of

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

log = logging.getLogger(__name__)

FEWEST_PX: Final = 8.0
"""Steps that are narrower than this on average are not drawn: there would be more stripes than lanes."""


class TimelineSteps(QObject):
    """Knows the steps of every rank of the panel's job, found in the background.

    Signals:
        changed(): other steps are known, or ranks are shifted or not.
    """

    changed = Signal()

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes = panel, context, lanes
        self.bands: Mapping[int, Bands] = {}
        self.stacked: StepBand | None = None
        self.banner = Banner(context.theme, panel)
        self.banner.back.clicked.connect(self.unstack)
        self.banner.hide()
        context.session_changed.connect(self._session_changed)
        context.theme_changed.connect(self.banner.set_theme)
        panel.picture.decorators.append(self.decorate)
        if context.session.inputs:
            self._session_changed(context.session)

    def _session_changed(self, session: Session) -> None:
        self.bands = {}
        self.stacked = None
        self.banner.hide()

        def find(cancel: CancelToken) -> dict[int, Bands]:
            out = {}
            for group in session.groups:
                cancel.check()
                out[group.id] = step_bands(session, group)
            return out

        def done(found: dict[int, Bands]) -> None:
            if session is self._context.session:
                self.bands = found
                self._panel.canvas.update()
                self.changed.emit()

        def failed(error: Exception) -> None:
            log.error("finding the steps failed", exc_info=error)

        self._context.work.submit("steps", find, done, failed)

    # drawing

    def decorate(self, view: View, overlay: Overlay) -> None:
        """Add the bands in sight: a strip with its name in the rank's header, shade over its lanes."""
        if not any(self.bands.values()):
            return
        chosen, collapsed = self.selected, self._lanes.collapsed
        shown: dict[int, list[StepBand]] = {}
        for row, place in view.rows():
            group = row.group.id
            if group not in shown:
                shown[group] = self._in_sight(view, group)
            header = row.lane is None and not row.section
            folded = header and group in collapsed
            for band in shown[group]:
                span = band.span if row.lane is None or row.lane.kind is LaneKind.STREAM else band.mark
                span = TimeRange(span.start_ns + self.shift(group), span.end_ns + self.shift(group))
                overlay.bands.append(
                    Band(
                        view.x(span.start_ns),
                        view.x(span.end_ns),
                        *place,
                        band.title if header and not folded else "",
                        odd=bool(band.place & 1),
                        header=header,
                        selected=band == chosen,
                    )
                )

    def _in_sight(self, view: View, group: int) -> list[StepBand]:
        by = self.shift(group)
        window = TimeRange(view.window.start_ns - by, view.window.end_ns - by)
        found = within(self.bands.get(group, ()), window)
        return list(found) if len(found) * FEWEST_PX <= view.width else []

    def shift(self, group: int) -> int:
        """What is added to the times of a rank for display, ns."""
        return self._lanes.shifts.get(group, 0)

    # choosing

    @property
    def selected(self) -> StepBand | None:
        """The step whose span is the selected range of the selected rank."""
        selection = self._context.selection
        if selection.range is None or selection.group is None:
            return None
        return next((b for b in self.bands.get(selection.group, ()) if b.span == selection.range), None)

    def at(self, row: PlacedRow, y_content: float, time_ns: int) -> StepBand | None:
        """The step whose strip in a rank's header lies at a point (shown time)."""
        if row.lane is not None or y_content > row.y + row.height or row.group.id in self._lanes.collapsed:
            return None
        return step_at(self.bands.get(row.group.id, ()), time_ns - self.shift(row.group.id))

    def select(self, band: StepBand) -> None:
        """Select the step's span on its rank."""
        self._context.select(Selection(range=band.span, group=band.group, lanes=self._context.selection.lanes))

    def go(self, forward: bool) -> None:
        """Select the next or previous step of the selected rank (else of the first that has steps)."""
        window, extent = self._panel.window(), self._panel.extent
        group = self._context.selection.group
        if not self.bands.get(group if group is not None else -1, ()):
            group = next((g for g, bands in self.bands.items() if bands), None)
        if window is None or extent is None or group is None:
            return
        by = self.shift(group)
        here = TimeRange(window.start_ns - by, window.end_ns - by)
        band = neighbour(self.bands[group], self._context.selection.range, here, forward)
        if band is None:
            return
        before = self.selected
        self.select(band)
        self._panel.reveal(GroupRef(band.group))
        target = TimeRange(band.span.start_ns + by, band.span.end_ns + by)
        inside = window.start_ns <= target.start_ns and target.end_ns <= window.end_ns
        focused = before is not None and window.length_ns < 2 * before.span.length_ns
        if target.length_ns > window.length_ns or focused:
            self._panel.set_window(viewport.focused(target, extent))
        elif not inside:
            start = target.start_ns + target.length_ns // 2 - window.length_ns // 2
            self._panel.set_window(viewport.clamped(TimeRange(start, start + window.length_ns), extent))

    # one step of all ranks at one start

    def toggle_stack(self) -> None:
        """Move every rank so that its step of the selected number starts where the selected one does; again: back."""
        if self.stacked is not None:
            self.unstack()
            return
        window = self._panel.window()
        if window is None:
            return
        band = self.selected
        if band is None:
            group = self._context.selection.group
            steps = self.bands.get(group, ()) if group is not None else ()
            steps = steps or next((b for b in self.bands.values() if b), ())
            band = neighbour(steps, None, window, True)
        if band is not None:
            self.stack(band)

    def stack(self, band: StepBand) -> None:
        """Show this step of every rank from one start on."""
        shifts = stack_shifts(self.bands, band)
        self.stacked = band
        self._context.shifts = shifts
        self._lanes.set_shifts(shifts)
        self._panel.origin_ns = band.span.start_ns
        self._panel.extent = self._lanes.session.extent()
        self.select(band)
        without = len(self.bands) - len(shifts)
        note = "" if not without else f" {without} of {len(self.bands)} ranks have no such step and stay in place."
        self.banner.say(
            f"{band.title} of every rank starts at 0: the ranks are shifted against each other for display.{note}"
        )
        self.changed.emit()
        longest = max(
            b.span.length_ns for g, bands in self.bands.items() if g in shifts for b in bands if b.index == band.index
        )
        if self._panel.extent is not None:
            target = TimeRange(band.span.start_ns, band.span.start_ns + longest)
            self._panel.set_window(viewport.focused(target, self._panel.extent))
        self._panel.refresh()

    def unstack(self) -> None:
        """Back to the job's own time, at the selected step where there is one."""
        if self.stacked is None:
            return
        band, self.stacked = self.stacked, None
        self.banner.hide()
        self._context.shifts = {}
        self._lanes.set_shifts({})
        session = self._context.session
        self._panel.origin_ns, self._panel.extent = session.origin_ns(), session.extent()
        self.changed.emit()
        if self._panel.extent is not None:
            self._panel.set_window(viewport.focused((self.selected or band).span, self._panel.extent))
        self._panel.refresh()


class Banner(QWidget):
    """Says that times are shifted, with the way back."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("shift-banner")
        self.text = QLabel(self)
        self.back = QPushButton("Back to Job Time", self)
        line = QHBoxLayout(self)
        line.setContentsMargins(10, 3, 10, 3)
        line.addWidget(self.text, 1)
        line.addWidget(self.back)
        self.setAutoFillBackground(True)
        self.set_theme(theme)

    def say(self, text: str) -> None:
        """Show a sentence."""
        self.text.setText(text)
        self.setAccessibleName(text)
        self.show()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        palette = palette_of(theme)
        palette.setColor(palette.ColorRole.Window, color(theme, "selection_fill"))
        self.setPalette(palette)
