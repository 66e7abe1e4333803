"""The History panel: the runs of a baseline store, one figure at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.views.run_history import History, HistoryFrame, Place, baseline_trace, history_frame, read_history
from widgets.history_plot import HistoryPlot
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_tip
from widgets.wrap_label import WrapLabel

HINT: Final = (
    "Open the folder of a baseline that `rankscope check` wrote: this panel shows each figure over the runs, what was "
    "judged, and the traces that are kept."
)
READING: Final = "Reading the runs…"


class RunHistoryPanel(QWidget):
    """Shows a baseline store; what it asks for are signals.

    Signals:
        folder_wanted(): the person wants to choose a folder.
        trace_wanted(object Path): open the trace of a run.
        comparison_wanted(object (Path, Path)): compare a run with the good one before it: (base, test).
    """

    folder_wanted = Signal()
    trace_wanted = Signal(object)
    comparison_wanted = Signal(object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._history: History | None = None
        self._frame: HistoryFrame | None = None
        self.setAccessibleName("History")
        self.folder = QPushButton("Open Baseline…", self)
        self.again = QPushButton("Read Again", self)
        self.place = QComboBox(self)
        self.place.setAccessibleName("Load")
        self.place.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.place.setMinimumContentsLength(18)
        self.figure = QComboBox(self)
        self.figure.setAccessibleName("Figure")
        self.figure.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.open = QPushButton("Open Trace", self)
        self.compare = QPushButton("Compare with Baseline", self)
        set_tip(self.open, "Open the kept trace of the chosen run in a window of its own")
        set_tip(self.compare, "Compare the chosen run with the nearest good run before it whose trace is kept")
        self.sentence = WrapLabel(self, max_lines=3)
        self.plot = HistoryPlot(context.theme, self)
        self.table = DataTable(self, max_rows=12, min_rows=3)
        tools = QHBoxLayout()
        tools.setSpacing(6)
        tools.addWidget(self.place, 1)
        tools.addWidget(self.figure)
        tools.addWidget(self.open)
        tools.addWidget(self.compare)
        tools.addWidget(self.again)
        tools.addWidget(self.folder)
        tools.addStretch(0)  # takes what is left while the boxes are hidden
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.plot)
        self.parts.addWidget(_at_top(self.table))
        self.parts.setStretchFactor(0, 1)
        self.parts.setSizes([700, 520])
        self.parts.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        layout.addLayout(tools)
        layout.addWidget(self.sentence)
        layout.addWidget(self.parts, 1)
        self.folder.clicked.connect(self.folder_wanted)
        self.again.clicked.connect(self.read_again)
        self.place.currentIndexChanged.connect(self._place_chosen)
        self.figure.currentIndexChanged.connect(self._figure_chosen)
        self.plot.chosen.connect(self._point_chosen)
        self.plot.opened.connect(lambda _: self._open_trace())
        self.table.row_chosen.connect(self._row_chosen)
        self.open.clicked.connect(self._open_trace)
        self.compare.clicked.connect(self._compare)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._show_message(HINT)

    @property
    def frame_shown(self) -> HistoryFrame | None:
        """What is shown."""
        return self._frame

    def show_folder(self, folder: Path) -> None:
        """Read a store and show its latest load."""
        self._show_message(READING)

        def read(cancel: CancelToken) -> History:
            cancel.check()
            return read_history(folder)

        self._context.work.submit("history", read, self._read, self._failed)

    def read_again(self) -> None:
        """Read the same store again: other runs may have been recorded."""
        if self._history is not None:
            self.show_folder(self._history.folder)

    def _failed(self, error: Exception) -> None:
        self._show_message(error_sentence("The history", error))

    def _show_message(self, text: str) -> None:
        self._frame = None
        self.sentence.set_text(text)
        self.sentence.set_color(color(self._context.theme, "text"))
        self.parts.hide()
        for part in (self.place, self.figure, self.open, self.compare, self.again):
            part.setVisible(False)

    def _read(self, history: History) -> None:
        before = self.place.currentText(), self.figure.currentText()
        self._history = history
        if not history.runs:
            problem = f" {history.problems[0]}" if history.problems else ""
            self._show_message(f"{history.folder} holds no runs: record some with rankscope check.{problem}")
            return
        self.place.blockSignals(True)
        self.place.clear()
        for place in history.runs:
            self.place.addItem(place.text, place)
        self.place.setCurrentIndex(max(0, self.place.findText(before[0])))
        self.place.blockSignals(False)
        self._place_chosen(figure=before[1])

    def _place_chosen(self, _: int = 0, *, figure: str = "") -> None:
        if self._history is None:
            return
        names = self._history.figures(self._place())
        wanted = figure or self.figure.currentText()
        self.figure.blockSignals(True)
        self.figure.clear()
        self.figure.addItems(names)
        self.figure.setCurrentIndex(max(0, self.figure.findText(wanted)))
        self.figure.blockSignals(False)
        self._figure_chosen()

    def _place(self) -> Place:
        place = self.place.currentData()
        assert isinstance(place, Place)
        return place

    def _figure_chosen(self, _: int = 0) -> None:
        history = self._history
        if history is None or not self.figure.currentText():
            return
        frame = self._frame = history_frame(history, self._place(), self.figure.currentText())
        problem = f" {history.problems[0]}" if history.problems else ""
        self.sentence.set_text(frame.sentence + problem)
        tones = {"bad": "error", "suspect": "warning"}
        self.sentence.set_color(color(self._context.theme, tones.get(frame.tone, "text")))
        self.plot.set_frame(frame.plot)
        self.table.set_frame(frame.table)
        for part in (self.parts, self.place, self.figure, self.open, self.compare, self.again):
            part.setVisible(True)
        self._choose(len(frame.runs) - 1)

    def _point_chosen(self, number: int) -> None:
        self._choose(number)

    def _row_chosen(self, row: int) -> None:
        if self._frame is not None:
            self._choose(len(self._frame.runs) - 1 - row)

    def _choose(self, number: int) -> None:
        self.plot.choose(number)
        self.open.setEnabled(self._trace() is not None)
        self.compare.setEnabled(self._pair() is not None)

    def _run(self) -> str | None:
        if self._frame is None or self.plot.current < 0:
            return None
        return self._frame.runs[len(self._frame.runs) - 1 - self.plot.current]

    def _trace(self) -> Path | None:
        from viewer.store.baseline import BaselineStore

        run = self._run()
        if run is None or self._history is None:
            return None
        record = next(r for r in self._history.runs[self._place()] if r.id == run)
        return BaselineStore(self._history.folder).kept_trace(record)

    def _pair(self) -> tuple[Path, Path] | None:
        run = self._run()
        return None if run is None or self._history is None else baseline_trace(self._history, self._place(), run)

    def _open_trace(self) -> None:
        path = self._trace()
        if path is not None:
            self.trace_wanted.emit(path)

    def _compare(self) -> None:
        pair = self._pair()
        if pair is not None:
            self.comparison_wanted.emit(pair)

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.plot.set_theme(theme)
        self.table.set_theme(theme)
        tones = {"bad": "error", "suspect": "warning"}
        tone = tones.get(self._frame.tone, "text") if self._frame is not None else "text"
        self.sentence.set_color(color(theme, tone))


def _at_top(part: QWidget) -> QWidget:
    """A part that keeps its height, in a column of its own."""
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(part)
    layout.addStretch(1)
    return column
