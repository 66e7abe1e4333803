"""How often each duration occurs, with the selected one marked. pyqtgraph is loaded when the first one is shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from viewer.base.frames import HistogramFrame
from viewer.base.theme import Theme
from viewer.base.units import format_count
from widgets.theming import color

LOG_RATIO = 12.0
"""Ranges wider than this get a logarithmic axis (their bins are expected to be geometric)."""


def is_wide(frame: HistogramFrame) -> bool:
    """Whether the axis is logarithmic."""
    return len(frame.edges) > 1 and frame.edges[0] > 0 and bool(frame.edges[-1] / frame.edges[0] > LOG_RATIO)


class Histogram(QWidget):
    """Bars over ``frame.edges`` in ``frame.unit``; nothing is imported or built before the widget is first shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame: HistogramFrame | None = None
        self._theme: Theme | None = None
        self._plot: Any = None
        self._box: Any = None
        self._bottom: Any = None
        self._left: Any = None
        self._bars: Any = None
        self._marker: Any = None
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._load)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def loaded(self) -> bool:
        """Whether the plot was built."""
        return self._plot is not None

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self._draw()

    def set_frame(self, frame: HistogramFrame) -> None:
        """Show other counts."""
        self._frame = frame
        told = f"Histogram of {format_count(int(frame.counts.sum()))} values"
        if len(frame.edges):
            told += f" from {frame.edges[0]:.4g} to {frame.edges[-1]:.4g} {frame.unit}"
        if frame.marker is not None:
            told += f", the selected one at {frame.marker:.4g} {frame.unit}"
        self.setAccessibleName(told)
        self._draw()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(260, 140)

    def minimumSizeHint(self) -> QSize:
        """Least size."""
        return QSize(120, 140)

    def showEvent(self, event: QShowEvent) -> None:
        """Prepare for being shown."""
        super().showEvent(event)
        if self._plot is None:
            # The figures around it are painted first: loading pyqtgraph takes a third of a second.
            self._later.start()

    def _load(self) -> None:
        if self._plot is None:
            self._build()
            self._draw()

    def _build(self) -> None:
        import pyqtgraph as pg

        # Not a PlotWidget: that builds context menus which nobody owns.
        plot = pg.GraphicsView(self, background=None)
        plot.setFrameShape(plot.Shape.NoFrame)
        plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        plot.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # the panel scrolls, not the plot
        grid = pg.GraphicsLayout(border=None)
        grid.setContentsMargins(0, 4, 4, 0)
        grid.setSpacing(0)
        plot.setCentralItem(grid)
        self._box = pg.ViewBox(enableMenu=False, enableMouse=False)
        self._bottom, self._left = _value_axis(pg)("bottom"), pg.AxisItem("left")
        self._left.setWidth(44)
        grid.addItem(self._left, 0, 0)
        grid.addItem(self._box, 0, 1)
        grid.addItem(self._bottom, 1, 1)
        for axis in (self._bottom, self._left):
            axis.linkToView(self._box)
            axis.enableAutoSIPrefix(False)
        self._bars = pg.BarGraphItem(x0=[], x1=[], height=[])
        self._marker = pg.InfiniteLine(angle=90, movable=False)
        self._box.addItem(self._bars)
        self._box.addItem(self._marker)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(plot)
        self._plot = plot

    def _draw(self) -> None:
        if self._plot is None or self._frame is None or self._theme is None or not len(self._frame.counts):
            return
        import pyqtgraph as pg

        frame, theme = self._frame, self._theme
        wide = is_wide(frame)
        edges = np.log10(frame.edges) if wide else frame.edges
        self._bars.setOpts(
            x0=edges[:-1],
            x1=edges[1:],
            height=frame.counts,
            brush=color(theme, "muted"),
            pen=pg.mkPen(color(theme, "window"), width=1),
        )
        self._bottom.set_log(wide)
        self._bottom.setLabel(f"duration ({frame.unit})" + (", logarithmic" if wide else ""))
        self._left.setLabel("runs")
        for axis in (self._bottom, self._left):
            axis.setPen(color(theme, "line"))
            axis.setTextPen(color(theme, "muted"))
        low, high = float(edges[0]), float(edges[-1])
        if frame.marker is not None and (not wide or frame.marker > 0):
            at = math.log10(frame.marker) if wide else frame.marker
            low, high = min(low, at), max(high, at)
            self._marker.setPen(pg.mkPen(color(theme, "accent"), width=2))
            self._marker.setValue(at)
            self._marker.show()
        else:
            self._marker.hide()
        self._box.setXRange(low, high if high > low else low + 1, padding=0.02)
        self._box.setYRange(0, max(1, int(frame.counts.max())), padding=0.05)


def _value_axis(pg: Any) -> Any:
    """An axis class whose ticks are read as powers of ten when the data are logarithms."""

    class ValueAxis(pg.AxisItem):  # type: ignore[misc]
        log = False

        def set_log(self, on: bool) -> None:
            self.log = on
            self.picture = None
            self.update()

        def tickValues(self, low: float, high: float, size: float) -> Any:
            if not self.log:
                return super().tickValues(low, high, size)
            first, last = math.floor(low), math.ceil(high)
            marks = [1.0] if high - low > 3 else [1.0, 3.0] if high - low > 1.2 else [1.0, 2.0, 5.0]
            values = [d + math.log10(m) for d in range(first, last + 1) for m in marks]
            return [(1.0, [v for v in values if low <= v <= high])]

        def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
            if not self.log:
                texts: list[str] = super().tickStrings(values, scale, spacing)
                return texts
            return [f"{10**v:,.0f}" if v >= 3 else f"{10**v:.4g}" for v in values]

    return ValueAxis
