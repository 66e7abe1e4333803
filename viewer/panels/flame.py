"""The Flame graph panel: where the GPU's or the CPU's time went by stack."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from viewer.base.selection import Selection
from viewer.base.theme import Theme
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.table_tools import ScopeLabel
from viewer.store.session import Session
from viewer.views.flame import FRAME_TEXT, HOW, WEIGHT_TEXT, FlameView
from viewer.views.op_table import OpScope, op_scope
from widgets.flame_graph import FlameGraph
from widgets.theming import palette_of, set_tip

HINT: Final = "Open a trace: this panel shows by stack where the time of the GPU, or of the CPU, went."
COUNTING: Final = "Merging stacks…"
KEYS: Final = "Click: zoom · click again or Escape: back · Ctrl+click or Return: go to the longest · arrows walk"

Asked = tuple[int, OpScope, str, str]


class FlamePanel(QWidget):
    """Follows rank and range of the selection while it is shown; the newest request wins."""

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Asked | None = None
        self._view: FlameView | None = None
        self._group: int | None = None
        self._token, self._said = "muted", ""
        self.setAccessibleName("Flame graph")
        self._build()
        context.selection_changed.connect(self._refresh)
        context.session_changed.connect(self._session_changed)
        context.theme_changed.connect(self._set_theme)
        for box in (self.weight, self.frames):
            box.currentIndexChanged.connect(self._refresh)
        self.search.textChanged.connect(self._search)
        self.back.clicked.connect(lambda: self.graph.zoom_to(0))
        self.graph.hovered.connect(self._hovered)
        self.graph.zoomed.connect(self._zoomed)
        self.graph.chosen.connect(self._go)
        self._set_theme(context.theme)
        self.scope.say(HINT)

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
        tools = QHBoxLayout()
        tools.setContentsMargins(6, 4, 6, 4)
        tools.setSpacing(6)
        tools.addWidget(self.weight)
        tools.addWidget(self.frames)
        tools.addWidget(self.search, 1)
        tools.addWidget(self.scope, 2)
        tools.addWidget(self.back)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(tools)
        layout.addWidget(self.graph, 1)
        layout.addWidget(self.line)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 320)

    @property
    def shown(self) -> FlameView | None:
        """What is drawn; None before there is anything."""
        return self._view

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.graph.set_theme(theme)
        self.scope.set_theme(theme)
        self.line.set_theme(theme)

    def showEvent(self, event: QShowEvent) -> None:
        """Merge what a hidden panel did not."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """A hidden panel computes nothing."""
        super().hideEvent(event)
        self._context.work.cancel("flame")
        self._asked = None

    def _session_changed(self, _: Session) -> None:
        self._asked = self._view = None
        self.graph.set_frame(None)
        self._refresh()

    def _chosen(self) -> Selection:
        selection = self._context.selection
        if selection.slice is None and selection.gap is None:
            self._group = selection.group
        known = any(g.id == self._group for g in self._context.session.groups)
        return replace(selection, slice=None, gap=None, group=self._group if known else None)

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible():
            return
        if not session.inputs:
            self._context.work.cancel("flame")
            self._asked = None
            self.scope.say(HINT)
            return
        weight, frames = str(self.weight.currentData()), str(self.frames.currentData())
        scope = op_scope(session, self._chosen())
        asked = (id(session), scope, weight, frames)
        if asked == self._asked:
            return
        self._asked = asked
        self.scope.say(f"{scope.text} · {COUNTING}")
        set_tip(self.weight, HOW[weight])
        self._context.work.submit(
            "flame", lambda cancel: self._compute(session, asked, cancel), self._show, self._failed
        )

    @staticmethod
    def _compute(session: Session, asked: Asked, cancel: CancelToken) -> FlameView:
        cancel.check()
        from viewer.views.flame import compute  # compiled loops load off the GUI thread

        return compute(session, asked[1], asked[2], asked[3], cancel)

    def _show(self, view: FlameView) -> None:
        kept = self._names_of_focus()
        self._view = view
        self.graph.set_frame(view.frame)
        self._zoom_by_names(kept)
        self._search(self.search.text())
        scope = self._asked[1].text if self._asked is not None else ""
        self.scope.say(f"{scope} · {view.note}" if view.note else scope)

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

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self.scope.say(error_sentence("The flame graph", error), "error")

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

    _found_text = ""

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
