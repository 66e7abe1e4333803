"""Where the time axis counts from: the job's start, or an instant of the user's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, Signal
from PySide6.QtWidgets import QMenu

from viewer.analyses.steps import steps
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.timeline.overlay import selected_range
from viewer.store.session import Session
from viewer.views.lanes.hit import time_at
from viewer.views.timeline.ticks import exact

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel


class TimelineZero(QObject):
    """Zero of the ruler, the cursor and the tooltips of a timeline.

    Signals:
        changed(): times are to be written anew.
        said(str): why nothing changed.
    """

    changed = Signal()
    said = Signal(str)

    def __init__(self, panel: TimelinePanel, context: JobContext) -> None:
        super().__init__(panel)
        self._panel, self._context = panel, context
        self._chosen: int | None = None
        self._of_step = False
        self._known: frozenset[object] = frozenset()
        self.label = ""
        panel.ruler.menu_requested.connect(self.show_menu)
        context.session_changed.connect(self._session_changed)
        context.selection_changed.connect(self._selection_changed)
        panel.steps.changed.connect(self._steps_changed)

    @property
    def at_ns(self) -> int:
        """Session time of 0."""
        return self._panel.origin_ns if self._chosen is None else self._chosen

    def reset(self) -> None:
        """Count from the start of the job."""
        self._set(None, "")

    def choose(self, at_ns: int, label: str) -> None:
        """Count from an instant; ``label`` says which one it is."""
        self._set(at_ns, label)

    def since_selection(self) -> None:
        """Count from the start of what is selected."""
        target = selected_range(self._context.session, self._context.selection)
        if target is None:
            self.said.emit("Select a slice, a gap or a range first.")
        else:
            self.choose(target.start_ns, "selection")

    def since_step(self, at_ns: int) -> None:
        """Count from the start of the step that runs at an instant, on the first rank that has one there."""
        session = self._context.session

        def find(cancel: CancelToken) -> tuple[int, str] | None:
            return step_at(session, at_ns, cancel)

        def done(found: tuple[int, str] | None) -> None:
            if session is not self._context.session:
                return
            if found is None:
                self.said.emit("No step is known there.")
            else:
                self.choose(*found)
                self._of_step = True

        self._context.work.submit("zero", find, done)

    def _selection_changed(self, _: object) -> None:
        """Counting from a step goes with the selected one."""
        step = self._panel.steps.selected if self._of_step else None
        if step is not None and self._panel.steps.stacked is None:
            self.choose(step.mark.start_ns, step.title)
            self._of_step = True

    def _steps_changed(self) -> None:
        """Ranks at one start count from there."""
        if self._panel.steps.stacked is not None:
            self.reset()

    def _session_changed(self, session: Session) -> None:
        """An instant of another job means nothing here."""
        now = frozenset(item.path for item in session.inputs)
        if self._chosen is not None and not now & self._known:
            self.reset()
        self._known = now

    def show_menu(self, at: QPointF) -> None:
        """What the axis may count from, at a point of the ruler."""
        window = self._panel.window()
        if window is not None:
            instant = time_at(window, self._panel.canvas.width(), at.x())
            menu = self.menu(instant)
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(self._panel.ruler.mapToGlobal(QPoint(round(at.x()), self._panel.ruler.height())))

    def menu(self, instant: int) -> QMenu:
        """Choices for a click at an instant."""
        menu = QMenu(self._panel)
        menu.setAccessibleName("What the axis counts from")
        whole = menu.addAction("Time since the Start of the Job", self.reset)
        whole.setCheckable(True)
        whole.setChecked(self._chosen is None)
        menu.addAction("Time since the Start of This Step", lambda: self.since_step(instant))
        menu.addAction("Time since the Start of the Selection", self.since_selection)
        here = exact(instant - self._panel.origin_ns)
        menu.addAction(f"Time since Here ({here})", lambda: self.choose(instant, here))
        return menu

    def _set(self, at_ns: int | None, label: str) -> None:
        self._chosen, self.label, self._of_step = at_ns, label, False
        self.changed.emit()


def step_at(session: Session, at_ns: int, cancel: CancelToken) -> tuple[int, str] | None:
    """(session time of its start, "step 3") of the step that runs then, of the first input that has one there."""
    for item in session.inputs:
        cancel.check()
        raw = item.clock.to_raw(at_ns)
        for step in steps(item.trace):
            if step.start_ns <= raw < step.end_ns:
                return item.clock.to_session(step.start_ns), f"step {step.index}"
    return None
