"""The ruler and the overview of a timeline: what they say of the window that shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.panels.context import JobContext
from viewer.panels.timeline.overlay import View
from viewer.views.lanes.hit import time_at
from viewer.views.timeline import viewport
from viewer.views.timeline.ticks import Axis, exact, ticks
from widgets.minimap import HEIGHT as MINIMAP_HEIGHT

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel


class TimelineAxis:
    """Keeps ruler, base label and minimap of a panel true."""

    def __init__(self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes) -> None:
        self._panel, self._context, self._lanes = panel, context, lanes
        self._overview_key: tuple[Any, ...] | None = None

    def forget(self) -> None:
        """The overview is to be painted anew."""
        self._overview_key = None

    def ticks(self) -> Axis | None:
        """The ticks of the window; None before anything is open."""
        window = self._panel.window()
        return None if window is None else ticks(window, self._panel.zero.at_ns, self._panel.canvas.width())

    def update(self) -> None:
        """Write the axis and the cursor's time."""
        panel, axis, window = self._panel, self.ticks(), self._panel.window()
        if axis is None or window is None:
            panel.ruler.set_ticks((), None)
            panel.base_label.clear()
            return
        width, cursor = panel.canvas.width(), panel.pointer.cursor
        view = View(self._lanes.painter, window, width, 0, 0)
        chosen = panel.pointer.dragging or self._context.selection.range
        span = (view.x(chosen.start_ns), view.x(chosen.end_ns)) if chosen is not None else None
        panel.ruler.set_ticks(axis.ticks, span)
        since = f"since {panel.zero.label}" if panel.zero.label else ""
        panel.base_label.setText("  ".join(t for t in (since, f"{axis.base} +" if axis.base else "") if t))
        if cursor is not None:
            at = time_at(window, width, cursor.x())
            panel.ruler.set_cursor((cursor.x(), exact(at - panel.zero.at_ns)))
        else:
            panel.ruler.set_cursor(None)

    def update_minimap(self) -> None:
        """Show the window upon the overview; paint that where it is old."""
        panel, window, extent = self._panel, self._panel.window(), self._panel.extent
        if window is None or extent is None:
            panel.minimap.set_image(None, 1.0)
            return
        whole = viewport.fitted(extent)
        length = whole.length_ns
        panel.minimap.set_window((window.start_ns - whole.start_ns) / length, (window.end_ns - whole.start_ns) / length)
        key = (panel.minimap.width(), panel.devicePixelRatioF(), whole)
        if self._lanes.ready and key != self._overview_key and panel.minimap.width() > 0:
            self._overview_key = key
            height = MINIMAP_HEIGHT - 8
            panel.minimap.set_image(self._lanes.painter.overview(whole, key[0], height, key[1]), key[1])
