"""The Flame graph panel: where the GPU's or the CPU's time went by stack."""

from __future__ import annotations

from typing import Final

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QWidget

from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.panels.context import JobContext
from viewer.panels.following import KeptRank, Request, ScopedPanel
from viewer.panels.table_tools import ScopeLabel, lay_out
from viewer.views.flame import FRAME_TEXT, HOW, WEIGHT_TEXT, FlameView
from viewer.views.op_table import OpScope, op_scope
from widgets.flame_graph import FlameGraph
from widgets.theming import set_tip

COUNTING: Final = "Merging stacks…"
KEYS: Final = "Click: zoom · click again or Escape: back · Ctrl+click or Return: go to the longest · arrows walk"

Asked = tuple[OpScope, str, str]
"""(scope, what the width means, which frames)."""


class FlamePanel(ScopedPanel[Asked, FlameView]):
    """Follows rank and range of the selection."""

    KEY = "flame"
    SUBJECT = "The flame graph"
    HINT = "Open a trace: this panel shows by stack where the time of the GPU, or of the CPU, went."

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._view: FlameView | None = None
        self._rank = KeptRank()
        self._found_text = ""
        self.setAccessibleName("Flame graph")
        self._build()
        context.selection_changed.connect(self.refresh)
        for box in (self.weight, self.frames):
            box.currentIndexChanged.connect(self.refresh)
        self.search.textChanged.connect(self._search)
        self.back.clicked.connect(lambda: self.graph.zoom_to(0))
        self.graph.hovered.connect(self._hovered)
        self.graph.zoomed.connect(self._zoomed)
        self.graph.chosen.connect(self._go)
        self.follow()

    def _build(self) -> None:
        self.weight = QComboBox(self)
        for key, text in WEIGHT_TEXT.items():
            self.weight.addItem(text, key)
        self.weight.setAccessibleName("What the width of a frame means")
        self.frames = QComboBox(self)
        for key, text in FRAME_TEXT.items():
            self.frames.addItem(text, key)
        self.frames.setAccessibleName("Which frames stacks have")
        self.search = QLineEdit(self)
        self.search.setPlaceholderText("Highlight: attention")
        self.search.setAccessibleName("Highlight frames")
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(260)
        self.back = QPushButton("Show All", self)
        set_tip(self.back, "Zoom out to all stacks (Home)")
        self.scope = ScopeLabel(self._context.theme, self)
        self.graph = FlameGraph(self)
        self.line = ScopeLabel(self._context.theme, self)
        self.line.setContentsMargins(6, 1, 6, 2)
        tools = [(self.weight, 0), (self.frames, 0), (self.search, 1), (self.scope, 2), (self.back, 0)]
        lay_out(self, tools, (self.graph, 1), (self.line, 0))

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 320)

    @property
    def shown(self) -> FlameView | None:
        """What is drawn; None before there is anything."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        for part in (self.graph, self.scope, self.line):
            part.set_theme(theme)

    def forget(self) -> None:
        """Nothing of the session before stays."""
        self._view = None
        self.graph.set_frame(None)

    def question(self) -> Asked:
        """Scope, width and frames."""
        scope = op_scope(self._context.session, self._rank.selection(self._context))
        return scope, str(self.weight.currentData()), str(self.frames.currentData())

    def compute(self, request: Request[Asked, FlameView]) -> FlameView:
        """The merged stacks."""
        from viewer.views.flame import compute  # compiled loops load off the GUI thread

        return compute(request.session, *request.question, request.cancel)

    def say_waiting(self) -> None:
        """Name what is merged."""
        scope, weight, _ = self.asked
        self.scope.say(f"{scope.text} · {COUNTING}")
        set_tip(self.weight, HOW[weight])

    def show_answer(self, answer: FlameView) -> None:
        """Draw it, zoomed to the frame that was looked at before."""
        kept = self._names_of_focus()
        self._view = answer
        self.graph.set_frame(answer.frame)
        self._zoom_by_names(kept)
        self._search(self.search.text())
        scope = self.asked[0].text
        self.scope.say(f"{scope} · {answer.note}" if answer.note else scope)

    def _names_of_focus(self) -> list[str]:
        """The way to the zoomed frame, so that another range or rank shows the same."""
        frame = self.graph.frame
        return [frame.names[n] for n in frame.path(self.graph.focus)[1:]] if frame is not None and len(frame) else []

    def _zoom_by_names(self, names: list[str]) -> None:
        frame, at = self.graph.frame, 0
        if frame is None:
            return
        for name in names:
            inner = [int(n) for n in np.flatnonzero(frame.parent == at) if frame.names[int(n)] == name]
            if not inner:
                break
            at = inner[0]
        if at:
            self.graph.zoom_to(at)

    def _search(self, text: str) -> None:
        frame = self.graph.frame
        if frame is None or not text.strip():
            self._found_text = ""
            self.graph.set_found(None)
            self._hovered(-1)
            return
        wanted = text.strip().lower()
        found = np.array([wanted in name.lower() for name in frame.names], np.bool_)
        self.graph.set_found(found)
        # Frames inside a frame that was found are in its weight already.
        inside = np.zeros(len(frame), np.bool_)
        for node in range(1, len(frame)):  # parents come first
            above = int(frame.parent[node])
            inside[node] = inside[above] or found[above]
        weight, whole = int(frame.total[found & ~inside].sum()), max(1, int(frame.total[0]))
        self._found_text = f"Highlighted: {format_duration(weight)}, {100 * weight / whole:.1f} % of {frame.weight}"
        self._hovered(-1)

    def _hovered(self, node: int) -> None:
        text = self.graph.text_of(node) if node >= 0 else ""
        if not text:
            text = self._found_text or (self.graph.text_of(self.graph.focus) if self.graph.focus else KEYS)
        self.line.setText(text)
        set_tip(self.line, KEYS)

    def _zoomed(self, node: int) -> None:
        self.back.setEnabled(node > 0)
        self._hovered(-1)

    def _go(self, node: int) -> None:
        view = self._view
        if view is not None and view.session is self._context.session:
            target = view.target(node)
            if target is not None:
                self._context.jump(target)
