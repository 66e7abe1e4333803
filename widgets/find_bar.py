"""A slim bar to find things by name: text, two switches, a count, and the way from hit to hit."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QToolButton, QWidget

from viewer.base.theme import Theme
from widgets.theming import color, palette_of

_TEXT_CHARS = 34
_LONGEST = 1_000


class FindBar(QWidget):
    """What is wanted, and where one is among the hits. It searches nothing itself.

    Signals:
        wanted(str text, bool regex, bool case): another text or switch.
        stepped(int): to the next (1) or the previous (-1) hit.
        closed(): Escape or the cross.
    """

    wanted = Signal(str, bool, bool)
    stepped = Signal(int)
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("find-bar")
        self.setAccessibleName("Find")
        self.setAutoFillBackground(True)
        self.edit = QLineEdit()
        self.edit.setObjectName("find-text")
        self.edit.setAccessibleName("Find slices by name")
        self.edit.setPlaceholderText("Find a name on all ranks, or rank:3 dur:>1ms nccl")
        self.edit.setMaxLength(_LONGEST)
        self.edit.setClearButtonEnabled(True)
        self.edit.setMinimumWidth(self.edit.fontMetrics().averageCharWidth() * _TEXT_CHARS)
        self.case = self._switch("Aa", "Letters' case matters")
        self.regex = self._switch(".*", "The text is a regular expression (RE2)")
        self.before = self._button(Qt.ArrowType.UpArrow, "Previous hit (Shift+Enter)", lambda: self.stepped.emit(-1))
        self.after = self._button(Qt.ArrowType.DownArrow, "Next hit (Enter)", lambda: self.stepped.emit(1))
        self.count = QLabel()
        self.count.setObjectName("find-count")
        self.count.setAccessibleName("Hits")
        self.count.setTextFormat(Qt.TextFormat.PlainText)
        self.count.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.close_button = QToolButton()
        self.close_button.setText("\N{MULTIPLICATION SIGN}")
        self.close_button.setAutoRaise(True)
        self.close_button.setToolTip("Close (Esc)")
        self.close_button.setAccessibleName("Close the find bar")
        self.close_button.clicked.connect(self.closed)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 3, 8, 3)
        row.setSpacing(4)
        row.addWidget(self.edit, 2)
        for part in (self.case, self.regex, self.before, self.after):
            row.addWidget(part)
        row.addSpacing(6)
        row.addWidget(self.count, 3)
        row.addWidget(self.close_button)
        self.edit.textChanged.connect(self._tell)
        self.edit.installEventFilter(self)
        self._tone = ""
        self.set_theme(theme)

    def _switch(self, text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setCheckable(True)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setAutoRaise(True)
        button.toggled.connect(self._tell)
        return button

    def _button(self, arrow: Qt.ArrowType, tip: str, run: Callable[[], None]) -> QToolButton:
        button = QToolButton()
        button.setArrowType(arrow)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setAutoRaise(True)
        button.clicked.connect(run)
        return button

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.setPalette(palette_of(theme))
        self._show_tone()

    def set_text(self, text: str, *, regex: bool = False, case: bool = False) -> None:
        """Put a text in, as if it had been typed; nothing is told when it is what stands there already."""
        same = (text, regex, case) == self.state()
        with QSignalBlocker(self.edit), QSignalBlocker(self.regex), QSignalBlocker(self.case):
            self.edit.setText(text)
            self.regex.setChecked(regex)
            self.case.setChecked(case)
        if not same:
            self._tell()

    def state(self) -> tuple[str, bool, bool]:
        """(text, regex, case) as they stand."""
        return self.edit.text(), self.regex.isChecked(), self.case.isChecked()

    def show_count(self, text: str, tone: str = "") -> None:
        """Say where one is among the hits; ``tone`` "warning" for what is wrong."""
        self.count.setText(text)
        self.count.setToolTip(text if tone else "")
        self.count.setAccessibleDescription(text)
        self._tone = tone
        self._show_tone()

    def _show_tone(self) -> None:
        palette = self.count.palette()
        palette.setColor(QPalette.ColorRole.WindowText, color(self._theme, "warning" if self._tone else "muted"))
        self.count.setPalette(palette)

    def _tell(self, *_: object) -> None:
        self.wanted.emit(*self.state())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter walks, Escape closes."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.stepped.emit(-1 if back else 1)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.closed.emit()
                return True
        return super().eventFilter(watched, event)
