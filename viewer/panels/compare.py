"""The Compare panel: what changed from the job to a second run of it, as a waterfall and as tables of changes."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QPushButton, QSplitter, QVBoxLayout, QWidget

from viewer.analyses.comparison.compare import Comparison
from viewer.base.scene import PictureScene
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.views.comparison.table import KINDS, CompareView, compare_view, step_title
from viewer.views.comparison.waterfall import sentence, waterfall_scene
from widgets.picture_painter import measure
from widgets.scene_view import SceneView
from widgets.table import DataTable
from widgets.theming import color, palette_of, set_tip
from widgets.wrap_label import WrapLabel

HINT: Final = (
    "Open a second run of this job beside it: this panel says what changed, by how much, and whether that is more than "
    "the runs' own noise. The job that is open is the base."
)
SETTLE_MS: Final = 120


class ComparePanel(QWidget):
    """Shows a comparison that it is given.

    Signals:
        run_wanted(): choose the second run.
        ended(): show the job alone again.
        chosen(object, object): a row's places in the base and in the test run.
        step_chosen(int): lay the k-th pair of steps over each other.
    """

    run_wanted = Signal()
    ended = Signal()
    chosen = Signal(object, object)
    step_chosen = Signal(int)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._found: Comparison | None = None
        self._view: CompareView | None = None
        self.setAccessibleName("Compare")
        self._build()
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(SETTLE_MS)
        self._typed.timeout.connect(self._fill)
        self.filter.textChanged.connect(lambda _: self._typed.start())
        self.kind.currentIndexChanged.connect(self._fill)
        self.only.toggled.connect(self._fill)
        self.step.activated.connect(self.step_chosen)
        self.table.row_chosen.connect(self._row)
        self.open_button.clicked.connect(self.run_wanted)
        self.close_button.clicked.connect(self.ended)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self.say(HINT)

    def _build(self) -> None:
        self.text = WrapLabel(self)
        self.open_button = QPushButton("Compare with…", self)
        set_tip(self.open_button, "Open a second run of this job beside it")
        self.close_button = QPushButton("End", self)
        set_tip(self.close_button, "Show the job alone again")
        self.kind = QComboBox(self)
        for key, name in KINDS:
            self.kind.addItem(name, key)
        self.kind.setAccessibleName("What the table lists")
        self.filter = QLineEdit(self)
        self.filter.setPlaceholderText("Filter names")
        self.filter.setClearButtonEnabled(True)
        self.filter.setMaximumWidth(220)
        self.filter.setAccessibleName("Filter the rows")
        self.only = QCheckBox("Changes only", self)
        set_tip(self.only, "Leave out what lies within the noise of the runs' own steps")
        self.step = QComboBox(self)
        self.step.setAccessibleName("Steps that lie over each other")
        set_tip(self.step, "Lay this step of both runs over each other on the lanes")
        self.note = WrapLabel(self, max_lines=1)
        self.picture = SceneView(self, QSize(460, 200))
        self.picture.setAccessibleName("From the base run's step to the test run's")
        self.table = DataTable(self, max_rows=400, min_rows=3)
        head = QHBoxLayout()
        head.addWidget(self.text, 1)
        head.addWidget(self.open_button)
        head.addWidget(self.close_button)
        tools = QHBoxLayout()
        tools.setSpacing(6)
        for part in (self.kind, self.filter, self.only, self.step):
            tools.addWidget(part)
        tools.addWidget(self.note, 1)
        right = QWidget(self)
        column = QVBoxLayout(right)
        column.setContentsMargins(4, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(tools)
        column.addWidget(self.table, 1)
        column.addStretch(0)
        self.parts = QSplitter(Qt.Orientation.Horizontal, self)
        self.parts.addWidget(self.picture)
        self.parts.addWidget(right)
        self.parts.setSizes([430, 810])
        self.parts.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.parts, 1)
        layout.addStretch(0)

    @property
    def comparison(self) -> Comparison | None:
        """What is shown."""
        return self._found

    def say(self, text: str, *, comparing: bool = False) -> None:
        """Show a sentence and no comparison. ``comparing``: a second run is (being) opened."""
        self._found = self._view = None
        self.text.set_text(text)
        self.picture.set_composer(None)
        self.parts.hide()
        self.close_button.setVisible(comparing)

    def show_comparison(self, found: Comparison, names: tuple[str, str]) -> None:
        """Show what changed; ``names`` are those of the base and the test run."""
        if not found.comparable or found.waterfall is None:
            self.say(f"{names[0]} and {names[1]} cannot be compared: {found.reason}.", comparing=True)
            return
        self._found = found
        said = [sentence(found, found.waterfall), *found.pairing.notes]
        self.text.set_text(f"{names[0]} → {names[1]}: " + " ".join(f"{s[0].upper()}{s[1:].rstrip('.')}." for s in said))
        self.step.clear()
        for row in found.figures.steps if found.figures else ():
            self.step.addItem(step_title(row.base_number, row.test_number))
        self.step.setVisible(found.pairing.by_step and self.step.count() > 1)
        self.picture.set_composer(partial(self._compose, found))
        self.close_button.show()
        self.parts.show()
        self._fill()

    def update_comparison(self, found: Comparison) -> None:
        """More is known of the comparison that is shown."""
        if self._found is not None:
            self._found = found
            if str(self.kind.currentData()) == "findings":
                self._fill()

    def show_step(self, k: int) -> None:
        """Say which pair of steps lies over each other (-1: none)."""
        self.step.setCurrentIndex(k)

    def _compose(self, found: Comparison, width: int, height: int) -> PictureScene:
        return waterfall_scene(found, self._context.theme, (width, height), measure=measure)

    def _fill(self, *_: object) -> None:
        if self._found is None:
            return
        kind = str(self.kind.currentData())
        self._view = compare_view(self._found, kind, self.filter.text(), changes_only=self.only.isChecked())
        self.only.setEnabled(kind not in ("ranks", "steps", "figures", "findings"))
        self.table.setVisible(self._view.table is not None)
        if self._view.table is not None:
            self.table.set_frame(self._view.table)
        self.note.set_text(self._view.note or ("" if self._view.table is not None else "nothing changed"))

    def _row(self, row: int) -> None:
        if self._view is None or row >= len(self._view.targets):
            return
        base, test = self._view.targets[row]
        if str(self.kind.currentData()) == "steps":
            self.show_step(row)
            self.step_chosen.emit(row)
        elif base is not None or test is not None:
            self.chosen.emit(base, test)

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.table.set_theme(theme)
        self.text.set_color(color(theme, "text"))
        self.note.set_color(color(theme, "muted"))
        if self._found is not None:
            self.picture.set_composer(partial(self._compose, self._found))
