"""The Job card panel: a form of what no trace says of a job, with what the traces do say filled in and marked."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.base.card_checks import card_problems
from viewer.base.card_fields import CardField
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.store.card_templates import templates, with_model
from viewer.views.job_card import CardRow, card_parts, card_sentence, suggestions, value_of
from widgets.theming import color, palette_of, set_tip
from widgets.wrap_label import WrapLabel

NOTHING: Final = "–"
LABELS: Final = 116
"""Width of the column of labels, px."""


class _Choices(QComboBox):
    """A list that the wheel does not change: the form scrolls below the pointer."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave it to the form."""
        event.ignore()


class CardEdit(QWidget):
    """One field: label, line or list, and a sentence where what was typed is wrong.

    Signals:
        edited(): the person is done with it.
    """

    edited = Signal()

    def __init__(self, row: CardRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field: CardField = row.field
        self.label = QLabel(row.field.label)
        self.label.setFixedWidth(LABELS)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.problem = WrapLabel()
        self.problem.hide()
        choices = ("yes", "no") if row.field.kind == "bool" else row.field.choices
        self.list = _Choices() if choices else None
        self.line = None if choices else QLineEdit()
        editor: QWidget
        if self.list is not None:
            self.list.addItem(NOTHING, "")
            for choice in choices:
                self.list.addItem(choice, choice)
            self.list.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            self.list.activated.connect(self._done)
            self.list.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            editor = self.list
        else:
            assert self.line is not None
            self.line.editingFinished.connect(self._done)
            self.line.setMaxLength(100_000)
            known = suggestions(row.field)
            if known:
                completer = QCompleter(known, self.line)
                completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
                completer.setFilterMode(Qt.MatchFlag.MatchContains)
                self.line.setCompleter(completer)
            editor = self.line
        editor.setAccessibleName(row.field.label)
        self.editor = editor
        self.label.setBuddy(editor)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(1)
        grid.addWidget(self.label, 0, 0)
        grid.addWidget(editor, 0, 1)
        grid.addWidget(self.problem, 1, 1)
        grid.setColumnStretch(1, 1)

    def _done(self, _: object = None) -> None:
        self.edited.emit()

    def text(self) -> str:
        """What stands in it."""
        if self.list is not None:
            return str(self.list.currentData())
        assert self.line is not None
        return self.line.text()

    def show_row(self, row: CardRow) -> None:
        """Show a value; what is wrong and still being typed stays."""
        for widget in (self.label, self.editor):
            set_tip(widget, row.tip)
        if self.list is not None:
            with QSignalBlocker(self.list):
                self.list.setItemText(0, row.filled or NOTHING)
                self.list.setCurrentIndex(max(0, self.list.findData(row.text)))
            return
        assert self.line is not None
        if self.line.placeholderText() != (row.filled or row.example):
            self.line.setPlaceholderText(row.filled or row.example)
        if self.problem.isHidden() or not self.line.isModified():
            if self.line.text() != row.text:
                self.line.setText(row.text)
            self.set_problem("")

    def set_problem(self, text: str) -> None:
        """Say what is wrong, "" for nothing."""
        self.problem.set_text(text)
        self.problem.setVisible(bool(text))

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self.problem.set_color(color(theme, "error"))


class JobCardPanel(QWidget):
    """Shows the card of the session; asks for changes, which the window makes.

    Signals:
        wished(JobCard, str): what the person now says of the job, and what changed in words.
        load_wanted()
        save_wanted()
    """

    wished = Signal(object, str)
    load_wanted = Signal()
    save_wanted = Signal()

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._missing = ""
        self.edits: dict[str, CardEdit] = {}
        self.titles: list[QLabel] = []
        self.setAccessibleName("Job card")
        self._build()
        context.session_changed.connect(self._refresh)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._refresh()

    def _build(self) -> None:
        self.sentence = WrapLabel()
        self.sentence.clicked.connect(lambda: self.show_field(self._missing))
        self.template = QToolButton()
        self.template.setText("Model")
        set_tip(self.template, "Fill in the shape of a published model")
        self.template.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.template.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        menu = QMenu(self.template)
        for name, model, source in templates():
            action = menu.addAction(name)
            action.setToolTip(source)
            action.triggered.connect(partial(self._use_template, name, model))
        menu.setToolTipsVisible(True)
        self.template.setMenu(menu)
        self.load = QPushButton("Load…")
        set_tip(self.load, "Read a job card from a TOML file")
        self.save = QPushButton("Save…")
        set_tip(self.save, "Write the job card as TOML, for --job and for other jobs")
        self.clear = QPushButton("Clear")
        set_tip(self.clear, "Forget what was said; what the traces tell stays")
        self.load.clicked.connect(self.load_wanted)
        self.save.clicked.connect(self.save_wanted)
        self.clear.clicked.connect(lambda: self._wish(EMPTY_CARD, "Clear job card"))
        tools = QHBoxLayout()
        tools.setContentsMargins(10, 6, 10, 2)
        tools.setSpacing(6)
        for button in (self.template, self.load, self.save, self.clear):
            tools.addWidget(button)
        tools.addStretch(1)
        told = QHBoxLayout()
        told.setContentsMargins(10, 0, 10, 2)
        told.addWidget(self.sentence)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(10, 0, 10, 10)
        column.setSpacing(3)
        for part in card_parts(EMPTY_CARD):
            title = QLabel(part.title)
            font = title.font()
            font.setBold(True)
            title.setFont(font)
            title.setContentsMargins(0, 8, 0, 1)
            self.titles.append(title)
            column.addWidget(title)
            for row in part.rows:
                edit = CardEdit(row)
                edit.edited.connect(partial(self._edited, row.field))
                self.edits[row.field.path] = edit
                column.addWidget(edit)
        column.addStretch(1)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setAccessibleName("Fields of the job card")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(tools)
        layout.addLayout(told)
        layout.addWidget(self.area, 1)

    @property
    def card(self) -> JobCard:
        """The card that is shown, with what was filled in."""
        return self._context.session.card

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        for edit in self.edits.values():
            edit.set_theme(theme)
        self._color_sentence()

    def _color_sentence(self) -> None:
        token = "accent" if self._missing else "error" if card_problems(self.card) else "muted"
        self.sentence.set_color(color(self._context.theme, token))

    def _refresh(self, _: object = None) -> None:
        has_job = bool(self._context.session.inputs)
        for widget in (self.area, self.template, self.load, self.save, self.clear):
            widget.setEnabled(has_job)
        for part in card_parts(self.card):
            for row in part.rows:
                self.edits[row.field.path].show_row(row)
        text, self._missing = card_sentence(self.card)
        if not has_job:
            text, self._missing = "Open a job: this card then holds what its traces do not say.", ""
        self.sentence.set_text(text)
        self.sentence.set_link(bool(self._missing))
        self._color_sentence()

    def _edited(self, field: CardField) -> None:
        edit = self.edits[field.path]
        try:
            value = value_of(field, edit.text())
        except ValueError as error:
            edit.set_problem(f"It {error}.")
            return
        edit.set_problem("")
        said = self.card.stated()
        if said.value(field.path) != value:
            self._wish(said.with_value(field.path, value), f"Job card: {field.label}")

    def _use_template(self, name: str, model: object, _: bool = False) -> None:
        self._wish(with_model(self.card, model), f"Model {name}")  # type: ignore[arg-type]

    def _wish(self, card: JobCard, text: str) -> None:
        for edit in self.edits.values():
            if edit.line is not None:
                edit.line.setModified(False)
        if card != self.card.stated():
            self.wished.emit(card, text)

    def show_field(self, path: str) -> None:
        """Bring a field ("part.field") into view and give it the focus."""
        edit = self.edits.get(path)
        if edit is not None:
            self.area.ensureWidgetVisible(edit, 0, 60)
            edit.editor.setFocus()
