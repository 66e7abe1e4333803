"""Messages above the timeline: non-modal, one sentence each, collected while several arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QToolButton, QVBoxLayout, QWidget

from viewer.app.icons import icon
from viewer.base.theme import Theme
from widgets.theming import color

MAX_SHOWN: Final = 100
MAX_HEIGHT: Final = 132
_RANK: Final = {"info": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True)
class Message:
    """One sentence for the user. ``buttons`` are (text, what it does); a click also dismisses the message.

    One that ``stays`` outlives the opening of a job: it waits for an answer.
    """

    severity: str
    text: str
    buttons: tuple[tuple[str, Callable[[], None]], ...] = field(default=(), compare=False)
    stays: bool = False


class MessageBar(QFrame):
    """Shows one message in full, several as a short scrolled list; hidden while there is none.

    Signals:
        count_changed(int): how many messages are shown.
    """

    count_changed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messages")
        self._theme = theme
        self._messages: list[Message] = []
        self._unshown = 0
        self._list = QWidget()
        self._rows = QVBoxLayout(self._list)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(2)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName("Messages")
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._list)
        self._scroll.viewport().setAutoFillBackground(False)
        self._list.setAutoFillBackground(False)
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setAccessibleName("Dismiss messages")
        self._close.setToolTip("Dismiss")
        self._close.clicked.connect(self.clear)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 5, 6, 5)
        layout.addWidget(self._scroll, 1)
        layout.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        self.set_theme(theme)
        self.hide()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is shown, worst first."""
        return tuple(self._messages)

    def show_message(self, message: Message) -> None:
        """Add a message; the same one is not shown twice."""
        if message in self._messages:
            return
        if len(self._messages) >= MAX_SHOWN:
            self._unshown += 1
        else:
            self._messages.append(message)
            self._messages.sort(key=lambda m: -_RANK[m.severity])
        self._rebuild()

    def clear(self, *_: object, all_of_them: bool = True) -> None:
        """Dismiss everything, or all that does not wait for an answer."""
        self._messages = [] if all_of_them else [m for m in self._messages if m.stays]
        self._unshown = 0
        self._rebuild()

    def dismiss(self, message: Message) -> None:
        """Dismiss one message."""
        if message in self._messages:
            self._messages.remove(message)
            self._rebuild()

    def set_theme(self, theme: Theme) -> None:
        """Use another theme's colours."""
        self._theme = theme
        self._close.setIcon(icon("close", theme["text"]))
        self._rebuild()

    def _rebuild(self) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        rows: list[QWidget] = [self._row(message) for message in self._messages]
        if self._unshown:
            rows.append(QLabel(f"and {self._unshown} more; the log has them all."))
        for row in rows:
            self._rows.addWidget(row)
            row.show()  # a layout shows new rows later, and until then they have no height
        self.setVisible(bool(self._messages))
        self.updateGeometry()
        self._fit()
        self.count_changed.emit(len(self._messages))

    def _row(self, message: Message) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 1, 0, 1)
        layout.setSpacing(8)
        sign = QLabel()
        token = {"info": "accent", "warning": "warning", "error": "error"}[message.severity]
        sign.setPixmap(icon(message.severity, self._theme[token]).pixmap(QSize(16, 16)))
        sign.setAccessibleName(message.severity)
        text = QLabel(message.text)
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text, 1)
        for label, run in message.buttons:
            button = QPushButton(label)
            button.clicked.connect(partial(self._pressed, message, run))
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _pressed(self, message: Message, run: Callable[[], None], _checked: bool = False) -> None:
        self.dismiss(message)
        run()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrapped text has another height at another width."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _: QPaintEvent) -> None:
        """A strip of its own colour with a hairline below."""
        painter = QPainter(self)
        try:
            painter.fillRect(self.rect(), color(self._theme, "group"))
            painter.setPen(color(self._theme, "line"))
            painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())
        finally:
            painter.end()

    def _fit(self) -> None:
        width = max(self.width() - 60, 200)
        height = 0
        for i in range(self._rows.count()):
            item = self._rows.itemAt(i)
            if item is not None:
                tall = item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
                height += tall + self._rows.spacing()
        self._scroll.setFixedHeight(min(max(height, 22), MAX_HEIGHT))
