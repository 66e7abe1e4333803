"""The timeline of one job and what panels share. Made after the window's first frame: importing it loads the engine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from viewer.app.remap import remap_selection
from viewer.base.selection import EMPTY, SliceRef
from viewer.base.session_file import SavedColors
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.timeline.panel import TimelinePanel
from viewer.panels.work import WorkRunner
from viewer.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger(__name__)


class Workspace(QObject):
    """Context and timeline of one window.

    Signals:
        hovered(str): what is under the pointer.
        visible_changed(str): the length of the visible window and of the selected range.
        selection_changed(Selection)
        busy_changed(int): background jobs that run or wait.
        failed(str): a sentence.
        colors_changed(SavedColors): the lanes are coloured otherwise.
    """

    hovered = Signal(str)
    visible_changed = Signal(str)
    selection_changed = Signal(object)
    busy_changed = Signal(int)
    failed = Signal(str)
    colors_changed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.work = WorkRunner(self)
        self._theme, self._safe_paints = theme, False
        self.context = JobContext(theme, self.work, self)
        self.timeline = TimelinePanel(self.context, parent)
        self.centre = QSplitter(Qt.Orientation.Vertical, parent)
        """The lanes, and below them those of a second run while there is one."""
        self.centre.setChildrenCollapsible(False)
        self._run_name = QLabel()
        self._run_name.setContentsMargins(10, 3, 10, 3)
        self._run_name.hide()
        self._dress(theme)
        top = QWidget()
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._run_name)
        column.addWidget(self.timeline, 1)
        self.centre.addWidget(top)
        self.timeline.hovered.connect(self.hovered)
        self.work.busy_changed.connect(self.busy_changed)
        self.context.window_changed.connect(self._tell_visible)
        self.context.selection_changed.connect(self._tell_visible)
        self.context.selection_changed.connect(self.selection_changed)

    @property
    def session(self) -> Session:
        """The job that is shown."""
        return self.context.session

    def show_session(self, session: Session, *, same_job: bool) -> None:
        """Show a session; within one job the selection and the visible window stay."""
        if same_job:
            kept = remap_selection(self.context.selection, self.context.session, session)
            self.context.set_session(session, selection=kept)
        else:
            self.context.set_session(session)

    def name_run(self, name: str) -> None:
        """Name the run above its lanes, "" for no name: there is no second one."""
        self._run_name.setText(name)
        self._run_name.setVisible(bool(name))

    def clear_selection(self) -> None:
        """Select and emphasise nothing."""
        self.timeline.lane_tools.emphasise("")
        self.context.select(EMPTY)

    def zoom(self, factor: float) -> None:
        """Zoom at the pointer, else at the middle of the timeline; more than 1 zooms in."""
        self.timeline.zoom(factor)

    def go_to_run(self, which: str) -> None:
        """Select another run of the selected slice's name: "next", "previous" or "slowest"."""
        chosen = self.context.selection.slice
        if chosen is None:
            self.timeline.walk.said.emit("Select a slice first.")
            return
        session = self.session

        def done(found: SliceRef | None) -> None:
            if session is not self.session:
                return  # its files may have other indexes now
            if found is not None:
                self.context.jump(found)
            else:
                place = "last" if which == "next" else "first"
                self.timeline.walk.said.emit(f"This is the {place} run of this name in its trace.")

        def find(cancel: CancelToken) -> SliceRef | None:
            cancel.check()
            from viewer.analyses.kernels import runs_of

            trace = session.inputs[chosen.input].trace
            row = pick_run(runs_of(trace, chosen.index), trace.slices.dur_ns, chosen.index, which)
            return None if row is None else SliceRef(chosen.input, row)

        self.work.submit("go", find, done, self._go_failed)

    def _go_failed(self, error: Exception) -> None:
        log.error("finding another run failed", exc_info=error)
        self.failed.emit(f"The other runs cannot be found: {error}.")

    def _dress(self, theme: Theme) -> None:
        palette = self._run_name.palette()
        palette.setColor(palette.ColorRole.Window, theme["group"])
        palette.setColor(palette.ColorRole.WindowText, theme["text"])
        self._run_name.setPalette(palette)
        self._run_name.setAutoFillBackground(True)

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self._theme = theme
        self._dress(theme)
        self.context.set_theme(theme.with_safe_paints() if self._safe_paints else theme)

    def set_safe_paints(self, safe: bool) -> None:
        """Use colours of classes that can be told apart without red or green, or the usual ones."""
        if safe != self._safe_paints:
            self._safe_paints = safe
            self.set_theme(self._theme)

    @property
    def colors(self) -> SavedColors:
        """How the lanes are coloured."""
        looks = self.timeline.lanes.looks
        return SavedColors(str(looks.coloring), self._safe_paints, looks.patterned)

    def set_colors(self, colors: SavedColors) -> None:
        """Colour the lanes like that; what is unknown counts as by class."""
        from viewer.views.lanes.looks import Coloring

        looks = self.timeline.lanes.looks
        self.set_safe_paints(colors.safe)
        looks.set_patterned(colors.patterns)
        known = colors.coloring in list(Coloring)
        coloring = Coloring(colors.coloring) if known else Coloring.CLASS
        if looks.coloring != coloring:
            self.timeline.lane_tools.emphasise("")
            looks.set_coloring(coloring)
        self.colors_changed.emit(self.colors)

    def shutdown(self) -> None:
        """Cancel all work and wait for it."""
        self.work.shutdown()

    def _tell_visible(self, _: object = None) -> None:
        window = self.context.window
        if window is None or not self.session.inputs:
            self.visible_changed.emit("")
            return
        text = f"Window {format_duration(window.length_ns)}"
        chosen = self.context.selection.range
        if chosen is not None:
            text = f"Range {format_duration(chosen.length_ns)} · {text}"
        self.visible_changed.emit(text)


def pick_run(rows: Sequence[int] | Any, durations: Any, current: int, which: str) -> int | None:
    """The row to go to among ``rows`` (all runs of one name by start); None when there is no further one."""
    order = [int(r) for r in rows]
    if not order:
        return None
    if which == "slowest":
        return max(order, key=lambda r: int(durations[r]))  # the first of equals
    if current not in order:
        return order[0]
    place = order.index(current) + (1 if which == "next" else -1)
    return order[place] if 0 <= place < len(order) else None
