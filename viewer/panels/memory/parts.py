"""The parts of the Memory panel and where they are: which of them are seen, their texts and colours."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.base.allocator import CATEGORY_NAMES, Category
from viewer.base.frames import Swatch
from viewer.base.theme import Theme
from viewer.panels.section_view import SectionView
from viewer.views.memory.lanes import ORDER
from viewer.views.memory.map import KIND_NAMES
from viewer.views.memory.paint import category_colors
from widgets.choice_box import choice_box
from widgets.heatmap import HeatMap
from widgets.legend import Legend
from widgets.memory_map import MemoryMapView
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_shown, set_tip
from widgets.wrap_label import WrapLabel

BLOCKS, FIGURES, RANKS = range(3)
HANDS: Final = "Ctrl+wheel zooms · drag moves · double click shows all · click chooses"


class MemoryParts(QWidget):
    """Controls above, a sentence, then a map beside what is told of an instant. Knows nothing of sessions."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Memory")
        self._warns = False
        self._make(theme)
        self._lay_out()

    def _make(self, theme: Theme) -> None:
        self.device = choice_box("Device", "The device, and the source that tells of it", self)
        self.kind = choice_box("Map", "Size or address against time, or the segments at the instant", self)
        for kind, name in KIND_NAMES.items():
            self.kind.addItem(name, kind)
        self.what = choice_box("List", "Blocks that are held, all figures, or the ranks beside each other", self)
        for number, name in ((BLOCKS, "Blocks held"), (FIGURES, "Figures"), (RANKS, "Ranks")):
            self.what.addItem(name, number)
        self.peak = QPushButton("Peak", self)
        set_tip(self.peak, "Go to the instant at which most is allocated (P)")
        self.linked = QCheckBox("With the lanes", self)
        self.linked.setChecked(True)
        set_tip(self.linked, "Zoom and move the map together with the lanes")
        self.sentence = WrapLabel(self, max_lines=2)
        self.canvas = MemoryMapView(theme, self)
        self.legend = Legend(theme, self)
        self.legend.set_hint(HANDS)
        self.blocks = DataTable(self, max_rows=400, min_rows=3)
        self.figures = SectionView(theme, self)
        self.heat = HeatMap(theme, self)
        self.table = DataTable(self, max_rows=400, min_rows=2)
        self.rank_sentence = WrapLabel(self, max_lines=2)

    def _lay_out(self) -> None:
        self.rank_page = QWidget(self)
        column = QVBoxLayout(self.rank_page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        beside = QHBoxLayout()
        beside.setSpacing(8)
        beside.addWidget(self.table, 3, Qt.AlignmentFlag.AlignTop)
        beside.addWidget(self.heat, 2)
        column.addWidget(self.rank_sentence)
        column.addLayout(beside, 1)
        self.pages = QStackedWidget(self)
        for page in (self.blocks, self.figures, self.rank_page):
            self.pages.addWidget(page)
        self.left = QWidget(self)
        column = QVBoxLayout(self.left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.canvas, 1)
        column.addWidget(self.legend)
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.left)
        self.parts.addWidget(self.pages)
        self.parts.setChildrenCollapsible(False)
        self.parts.setSizes([640, 560])
        tools = QHBoxLayout()
        tools.setSpacing(6)
        for part in (self.device, self.kind, self.peak, self.linked):
            tools.addWidget(part)
        tools.addStretch(1)
        tools.addWidget(self.what)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 2)
        layout.setSpacing(3)
        layout.addLayout(tools)
        layout.addWidget(self.sentence)
        layout.addWidget(self.parts, 1)
        layout.addStretch(0)

    def sizeHint(self) -> QSize:
        """Wide and low."""
        return QSize(1100, 340)

    def set_parts_theme(self, theme: Theme, seen: frozenset[Category]) -> None:
        """Use a theme's colours; ``seen`` as in :meth:`explain`."""
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        for part in (self.canvas, self.legend, self.blocks, self.figures, self.heat, self.table):
            part.set_theme(theme)
        self.explain(theme, seen)
        self.rank_sentence.set_color(color(theme, "muted"))
        self._color_sentence(theme)

    def explain(self, theme: Theme, seen: frozenset[Category]) -> None:
        """The legend: categories that occur in the map."""
        colors = category_colors(theme)
        self.legend.set_swatches(
            [Swatch(CATEGORY_NAMES[c], f"#{colors[c] & 0xFFFFFF:06x}") for c in ORDER if c in seen]
        )

    def tell(self, theme: Theme, text: str, *, warns: bool = False) -> None:
        """The sentence above the map."""
        self._warns = warns
        self.sentence.set_text(text)
        self._color_sentence(theme)

    def _color_sentence(self, theme: Theme) -> None:
        self.sentence.set_color(color(theme, "warning" if self._warns else "text"))

    def show_only_sentence(self) -> None:
        """Nothing but the sentence."""
        set_shown(self.sentence, True)
        for part in (self.device, self.kind, self.what, self.peak, self.linked, self.parts):
            set_shown(part, False)

    def show_map_parts(self, *, linkable: bool) -> None:
        """The ranks need the whole width, and no map is of all of them."""
        one = int(self.what.currentData()) != RANKS
        for part in (self.left, self.sentence, self.device, self.kind, self.peak):
            set_shown(part, one)
        set_shown(self.linked, one and linkable)
