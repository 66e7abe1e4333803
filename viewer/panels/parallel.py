"""The Parallel panel: pipeline stages by replicas along one step, with the bubble held against theory."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.base.frames import Swatch
from viewer.base.pipeline_frame import CELL_NAMES, CELL_PAINTS
from viewer.base.selection import GroupRef, Selection
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, Request
from viewer.views.parallel import ParallelView, parallel, step_of
from viewer.views.parallel_words import SHARES
from widgets.legend import Legend
from widgets.pipeline_chart import PipelineChart
from widgets.theming import color, set_tip
from widgets.wrap_label import WrapLabel

HANDS = "Ctrl+wheel zooms · drag moves · double click shows all"


Asked = tuple[int | None, bool | None]
"""(number of the step, whether replicas are folded); None where the job decides."""


class ParallelPanel(FollowingPanel[Asked, ParallelView]):
    """Follows session and selected step."""

    KEY = "parallel"
    SUBJECT = "The parallel view"
    HINT = "Open the traces of a pipeline-parallel job: this panel shows its stages, micro-batches and bubble."
    COMPUTING = "Looking for stages and passes…"

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._step: int | None = None
        self._folded: bool | None = None
        self.view: ParallelView | None = None
        self.setAccessibleName("Parallel view")
        self._build()
        self.steps.activated.connect(self._choose_step)
        self.before.clicked.connect(lambda: self._move(-1))
        self.after.clicked.connect(lambda: self._move(1))
        self.fold.clicked.connect(self._choose_fold)
        self.chart.cell_chosen.connect(self._cell)
        self.chart.row_chosen.connect(self._row)
        context.selection_changed.connect(self._selected)
        self.follow()

    def _build(self) -> None:
        self.sentence = WrapLabel(self)
        self.note = WrapLabel(self, max_lines=1)
        self.steps = QComboBox(self)
        self.steps.setAccessibleName("Step")
        set_tip(self.steps, "The step that is shown; it follows the step that is selected in the lanes")
        self.before, self.after = QToolButton(self), QToolButton(self)
        for button, arrow, tip in (
            (self.before, Qt.ArrowType.LeftArrow, "The step before"),
            (self.after, Qt.ArrowType.RightArrow, "The step after"),
        ):
            button.setArrowType(arrow)
            button.setAutoRaise(True)
            button.setAccessibleName(tip)
            set_tip(button, tip)
        self.fold = QCheckBox("One row per stage", self)
        set_tip(self.fold, "Show one replica, the one with the median bubble, with the figures of all of them")
        self.chart = PipelineChart(self._context.theme, self)
        self.legend = Legend(self._context.theme, self)
        self.legend.set_hint(HANDS)
        self.step_label = QLabel("Step", self)
        tools = QHBoxLayout()
        tools.setSpacing(4)
        for part in (self.step_label, self.before, self.steps, self.after):
            tools.addWidget(part)
        tools.addSpacing(8)
        tools.addWidget(self.fold)
        tools.addSpacing(8)
        tools.addWidget(self.note, 1, Qt.AlignmentFlag.AlignVCenter)
        self.scrolled = QScrollArea(self)
        self.scrolled.setWidgetResizable(True)
        self.scrolled.setAccessibleName("Schedule and figures")
        self.scrolled.setFrameShape(QFrame.Shape.NoFrame)
        self.scrolled.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.chart)
        column.addStretch(1)
        self.scrolled.setWidget(inner)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 0)
        layout.setSpacing(4)
        layout.addWidget(self.sentence)
        layout.addLayout(tools)
        layout.addWidget(self.scrolled, 1)
        layout.addWidget(self.legend)
        layout.addStretch(0)

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self.chart.set_theme(theme)
        self.legend.set_theme(theme)
        self.note.set_color(color(theme, "muted"))
        self._explain()
        self._color_sentence()

    def _explain(self) -> None:
        """The legend: only what the chart shows."""
        theme = self._context.theme
        frame = self.view.frame if self.view is not None else None
        kinds = sorted({int(k) for k in frame.kind}) if frame is not None else range(len(CELL_NAMES))
        swatches = [Swatch(CELL_NAMES[k], theme.paints[CELL_PAINTS[k]]) for k in kinds]
        self.legend.set_swatches([*swatches, Swatch("bubble: no compute", theme["gap"], 0)], {0: 1})

    def _color_sentence(self) -> None:
        token = {"warning": "warning", "muted": "muted"}.get(self.view.tone if self.view else "", "text")
        self.sentence.set_color(color(self._context.theme, token))

    def showEvent(self, event: QShowEvent) -> None:
        """Take the step that was selected while the panel was hidden."""
        self._follow(self._context.selection)
        super().showEvent(event)

    def say(self, text: str) -> None:
        """Instead of all the rest."""
        self.view = None
        self.sentence.set_text(text)
        self._color_sentence()
        self._show_parts(False)

    def _show_parts(self, shown: bool) -> None:
        for part in (self.steps, self.before, self.after, self.step_label, self.note, self.scrolled, self.legend):
            part.setVisible(shown)
        self.fold.setVisible(shown and self.view is not None and self.view.can_fold)

    def forget(self) -> None:
        """Another session has other steps."""
        self.view = None
        self._step = None

    def question(self) -> Asked:
        """Which step, and how."""
        return self._step, self._folded

    def compute(self, request: Request[Asked, ParallelView]) -> ParallelView:
        """The view of a step."""
        return parallel(request.session, *request.question)

    def show_answer(self, answer: ParallelView) -> None:
        """Draw it; the same step keeps the zoom."""
        view = answer
        kept = self.view is not None and self.view.step == view.step and self.view.folded == view.folded
        self.view = view
        self.sentence.set_text(view.sentence)
        set_tip(self.sentence, SHARES if view.frame is not None else "")
        self._color_sentence()
        self.note.set_text(view.note)
        set_tip(self.note, view.note)
        self._show_parts(view.frame is not None)
        if view.frame is None:
            return
        if [self.steps.itemData(i) for i in range(self.steps.count())] != list(view.steps):
            self.steps.clear()
            for number in view.steps:
                self.steps.addItem(f"{number:,}", number)
        at = self.steps.findData(view.step)
        self.steps.setCurrentIndex(at)
        self.before.setEnabled(at > 0)
        self.after.setEnabled(at < self.steps.count() - 1)
        self.fold.setChecked(view.folded)
        if not kept:
            self.chart.set_frame(view.frame)
        self._explain()

    def _choose_step(self, index: int) -> None:
        number = self.steps.itemData(index)
        if number is not None:
            self.steps.setCurrentIndex(index)  # the arrows go on from here, shown yet or not
            self._step = int(number)
            self.refresh()

    def _move(self, by: int) -> None:
        at = self.steps.currentIndex() + by
        if 0 <= at < self.steps.count():
            self._choose_step(at)

    def _choose_fold(self, checked: bool) -> None:
        self._folded = checked
        self.refresh()

    def _selected(self, selection: Selection) -> None:
        if self.isVisible() and self.view is not None and self._follow(selection):
            self.refresh()

    def _follow(self, selection: Selection) -> bool:
        """Take the step of a selected range; whether it is another one."""
        if self.view is None or selection.range is None:
            return False
        number = step_of(self._context.session, selection.range)
        if number is None or number == self.view.step:
            return False
        self._step = number
        return True

    def _cell(self, cell: int) -> None:
        if self.view is not None and self.view.frame is not None:
            self._context.jump(self.view.frame.refs[cell])

    def _row(self, row: int) -> None:
        if self.view is None or self.view.frame is None:
            return
        target = self.view.frame.rows[row].target
        if target is None:
            return
        self._context.jump(GroupRef(target.group))
        if self.view.span is not None:
            self._context.jump(self.view.span)
