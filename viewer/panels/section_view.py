"""Shows any PanelFrame: a title that stays, and sections that scroll, fold and are updated in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.base.frames import PanelFrame, Section
from viewer.base.theme import Theme
from widgets.bar import StackedBar
from widgets.figure_list import FigureList
from widgets.histogram import Histogram
from widgets.marks import ClassChip, Veil
from widgets.rank_bars import RankBars
from widgets.residual_plot import ResidualPlot
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_shown, set_tip
from widgets.wrap_label import WrapLabel

Part = TypeVar("Part", StackedBar, RankBars, ResidualPlot, Histogram)

VEIL_DELAY_MS = 150
"""Answers that arrive sooner replace the old content without dimming it first."""


class SectionBox(QWidget):
    """One titled, foldable section. Its controls are made when first needed and kept.

    Signals:
        jump_requested(object)
        folded(str, bool): the user folded or unfolded the section of that title.
    """

    jump_requested = Signal(object)
    folded = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._section = Section("")
        self.header = QToolButton(self)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setAutoRaise(True)
        self.header.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        font = QFont(self.header.font())
        font.setBold(True)
        self.header.setFont(font)
        self.header.clicked.connect(self._fold)
        self.body = QWidget(self)
        self._inner = QVBoxLayout(self.body)
        self._inner.setContentsMargins(6, 0, 2, 4)
        self._inner.setSpacing(6)
        line = QFrame(self)
        line.setFrameShape(QFrame.Shape.HLine)
        line.setFrameShadow(QFrame.Shadow.Plain)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addWidget(line)
        layout.addWidget(self.header)
        layout.addWidget(self.body)
        self._line = line
        self._tint_line()
        self.bar: StackedBar | None = None
        self.figures: FigureList | None = None
        self.bars: RankBars | None = None
        self.residuals: ResidualPlot | None = None
        self.histogram: Histogram | None = None
        self.table: DataTable | None = None
        self.note: WrapLabel | None = None
        self._actions: QWidget | None = None
        self._slots: list[int] = []
        self._open = True
        self.buttons: list[QPushButton] = []

    @property
    def section(self) -> Section:
        """What is shown."""
        return self._section

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        for part in (self.bar, self.bars, self.residuals, self.figures, self.histogram, self.table):
            if part is not None:
                part.set_theme(theme)
        if self.note is not None:
            self.note.set_color(color(theme, "muted"))
        self._tint_line()

    def _tint_line(self) -> None:
        palette = palette_of(self._theme)
        palette.setColor(palette.ColorRole.WindowText, color(self._theme, "line"))
        self._line.setPalette(palette)

    def set_section(self, section: Section, *, open_: bool, show_how: bool) -> None:
        """Show another section."""
        self._section = section
        self.header.setText(section.title)
        set_shown(self.header, bool(section.title))
        set_shown(self._line, bool(section.title))
        self.header.setAccessibleName(f"Section {section.title}")
        self._set_open(open_)
        self._set_bar(section)
        self._set_figures(section, show_how)
        self._set_charts(section)
        self._set_actions(section)
        self._set_table(section)
        self._set_note(section)

    def set_show_how(self, on: bool) -> None:
        """Show every explanation, or only those opened one by one."""
        if self.figures is not None:
            self.figures.set_show_how(on)

    def _fold(self) -> None:
        self._set_open(not self._open)
        self.folded.emit(self._section.title, not self._open)

    def _set_open(self, open_: bool) -> None:
        self._open = open_
        self.header.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        set_shown(self.body, open_)

    def _place(self, slot: int, widget: QWidget) -> None:
        """Insert a new control so that the order stays bar, charts, figures, histogram, actions, table, note."""
        at = sum(1 for other in self._slots if other < slot)
        self._slots.append(slot)
        self._inner.insertWidget(at, widget)

    def _set_bar(self, section: Section) -> None:
        self.bar = self._set_part(self.bar, StackedBar, 0, section.bar)

    def _set_charts(self, section: Section) -> None:
        before = self.bars
        self.bars = self._set_part(self.bars, RankBars, 1, section.bars)
        if self.bars is not None and before is None:
            self.bars.jump_requested.connect(self.jump_requested)
        self.residuals = self._set_part(self.residuals, ResidualPlot, 1, section.residuals)
        self.histogram = self._set_part(self.histogram, Histogram, 3, section.histogram)

    def _set_part(self, part: Part | None, make: Callable[[QWidget], Part], slot: int, frame: Any) -> Part | None:
        """Show a frame in the control for it, which is made when first needed; without a frame it hides."""
        if frame is not None:
            if part is None:
                part = make(self.body)
                part.set_theme(self._theme)
                self._place(slot, part)
            part.set_frame(frame)
        if part is not None:
            set_shown(part, frame is not None)
        return part

    def _set_figures(self, section: Section, show_how: bool) -> None:
        if section.figures:
            if self.figures is None:
                self.figures = FigureList(self.body)
                self.figures.set_theme(self._theme)
                self.figures.jump_requested.connect(self.jump_requested)
                self._place(2, self.figures)
            self.figures.set_show_how(show_how)
            self.figures.set_figures(section.figures)
        if self.figures is not None:
            set_shown(self.figures, bool(section.figures))

    def _set_actions(self, section: Section) -> None:
        if section.actions and self._actions is None:
            self._actions = QWidget(self.body)
            grid = QGridLayout(self._actions)
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setSpacing(4)
            self._place(4, self._actions)
        if self._actions is None:
            return
        grid_layout = self._actions.layout()
        assert isinstance(grid_layout, QGridLayout)
        while len(self.buttons) < len(section.actions):
            number = len(self.buttons)
            button = QPushButton(self._actions)
            button.clicked.connect(lambda _=False, n=number: self._act(n))
            grid_layout.addWidget(button, number // 2, number % 2)
            self.buttons.append(button)
        for i, button in enumerate(self.buttons):
            shown = i < len(section.actions)
            set_shown(button, shown)
            if shown:
                text, target = section.actions[i]
                button.setText(text.replace("&", "&&"))
                button.setAccessibleName(text)
                button.setEnabled(target is not None)
        set_shown(self._actions, bool(section.actions))

    def _act(self, number: int) -> None:
        self.jump_requested.emit(self._section.actions[number][1])

    def _set_table(self, section: Section) -> None:
        if section.table is not None:
            if self.table is None:
                self.table = DataTable(self.body)
                self.table.set_theme(self._theme)
                self.table.jump_requested.connect(self.jump_requested)
                self._place(5, self.table)
            self.table.set_frame(section.table)
        if self.table is not None:
            set_shown(self.table, section.table is not None)

    def _set_note(self, section: Section) -> None:
        if section.note:
            if self.note is None:
                self.note = WrapLabel(self.body)
                self.note.set_color(color(self._theme, "muted"))
                self._place(6, self.note)
            self.note.set_text(section.note)
        if self.note is not None:
            set_shown(self.note, bool(section.note))


class SectionView(QWidget):
    """A panel's content.

    Signals:
        jump_requested(object): a SliceRef, GapRef, TimeRange or GroupRef that a row, value or button points at.
    """

    jump_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame: PanelFrame | None = None
        self._folded: set[str] = set()
        self.boxes: list[SectionBox] = []
        self.setMinimumWidth(240)
        self._build_head()
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setAccessibleName("Figures and tables")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._content = QWidget()
        self._column = QVBoxLayout(self._content)
        self._column.setContentsMargins(8, 6, 8, 10)
        self._column.setSpacing(8)
        self._column.setSizeConstraint(QLayout.SizeConstraint.SetMinimumSize)
        self.message = WrapLabel(self._content)
        self.message.hide()
        self._column.addWidget(self.message)
        self._column.addStretch(1)
        self.area.setWidget(self._content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(self.area, 1)
        self._veil = Veil(self.area.viewport())
        self._veil_timer = QTimer(self)
        self._veil_timer.setSingleShot(True)
        self._veil_timer.setInterval(VEIL_DELAY_MS)
        self._veil_timer.timeout.connect(self._veil.show)
        self.set_theme(theme)

    def _build_head(self) -> None:
        self._head = QWidget(self)
        self.title = WrapLabel(self._head, max_lines=3)
        font = QFont(self.title.font())
        font.setBold(True)
        self.title.setFont(font)
        self.subtitle = WrapLabel(self._head, max_lines=2)
        self.chip = ClassChip(self._head)
        self.how_button = QToolButton(self._head)
        self.how_button.setText("Show how")
        self.how_button.setCheckable(True)
        self.how_button.setAccessibleName("Show how every figure was computed")
        set_tip(self.how_button, "Show under every figure how it was computed")
        self.how_button.toggled.connect(self._set_show_how)
        self.tools = QHBoxLayout()
        self.tools.setSpacing(6)
        self.tools.addWidget(self.chip)
        self.tools.addStretch(1)
        self.tools.addWidget(self.how_button)
        head = QVBoxLayout(self._head)
        head.setContentsMargins(8, 6, 8, 4)
        head.setSpacing(3)
        head.addWidget(self.title)
        head.addWidget(self.subtitle)
        head.addLayout(self.tools)

    @property
    def frame(self) -> PanelFrame | None:
        """What is shown."""
        return self._frame

    @property
    def stale(self) -> bool:
        """Whether an answer is awaited."""
        return self._veil_timer.isActive() or self._veil.isVisibleTo(self.area.viewport())

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.subtitle.set_color(color(theme, "muted"))
        self.chip.set_theme(theme)
        self._veil.set_theme(theme)
        self.message.set_color(color(theme, "muted"))
        for box in self.boxes:
            box.set_theme(theme)

    def set_stale(self) -> None:
        """Say that the content is out of date: it is dimmed unless the answer comes at once."""
        if not self.stale:
            self._veil_timer.start()

    def set_frame(self, frame: PanelFrame) -> None:
        """Show another frame. Controls are reused, so nothing flickers; the scroll position stays."""
        self._fresh()
        bar = self.area.verticalScrollBar()
        at = bar.value()
        self.setUpdatesEnabled(False)
        self._frame = frame
        self.message.hide()
        self.title.set_text(frame.title)
        self.subtitle.set_text(frame.subtitle)
        self.subtitle.setVisible(bool(frame.subtitle))
        self.chip.set_paint(frame.paint)
        self._head.show()
        while len(self.boxes) < len(frame.sections):
            self._add_box()
        for i, box in enumerate(self.boxes):
            if i < len(frame.sections):
                section = frame.sections[i]
                box.set_section(section, open_=section.title not in self._folded, show_how=self.how_button.isChecked())
            set_shown(box, i < len(frame.sections))
        layout = self._content.layout()
        assert layout is not None
        layout.activate()
        self.setUpdatesEnabled(True)
        bar.setValue(min(at, bar.maximum()))

    def set_message(self, text: str, *, warning: bool = False) -> None:
        """Show one sentence instead of a frame (a hint when nothing is selected, an error)."""
        self._fresh()
        self._frame = None
        self._head.hide()
        for box in self.boxes:
            box.hide()
        self.message.set_text(text)
        self.message.set_color(color(self._theme, "warning" if warning else "muted"))
        self.message.show()

    def _fresh(self) -> None:
        self._veil_timer.stop()
        self._veil.hide()

    def _add_box(self) -> None:
        box = SectionBox(self._theme, self._content)
        box.jump_requested.connect(self.jump_requested)
        box.folded.connect(self._remember)
        self._column.insertWidget(self._column.count() - 1, box)
        self.boxes.append(box)

    def _remember(self, title: str, folded: bool) -> None:
        (self._folded.add if folded else self._folded.discard)(title)

    def _set_show_how(self, on: bool) -> None:
        for box in self.boxes:
            box.set_show_how(on)
