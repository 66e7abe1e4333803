"""The command palette: one line to type in, and what fits below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from viewer.app.commands import Command, choose

_MOVES: Final = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_SHOWN: Final = 120
"""Characters of a line; names from files may be far longer."""


class CommandDialog(QDialog):
    """Lists commands and runs the chosen one after it is closed.

    Signals:
        chosen(Command): what is to be run.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget, commands: Sequence[Command], recent: Sequence[str]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self._commands, self._recent = list(commands), list(recent)
        self._jumps: list[Command] = []
        self.edit = QLineEdit()
        self.edit.setAccessibleName("Type a command, a rank, a lane or a kernel")
        self.edit.setPlaceholderText("Type a command, a rank, a lane or a kernel")
        self.edit.installEventFilter(self)
        self.list = QTreeWidget()
        self.list.setAccessibleName("Commands that fit")
        self.list.setColumnCount(3)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        self.list.itemClicked.connect(self._run)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.edit)
        layout.addWidget(self.list)
        self.edit.textChanged.connect(self.refresh)
        line = self.fontMetrics().height()
        width = min(max(38 * line, 420), max(parent.width() - 40, 300))
        self.resize(width, min(26 * line, max(parent.height() - 60, 200)))
        corner = parent.mapToGlobal(parent.rect().topLeft())
        self.move(corner.x() + (parent.width() - width) // 2, corner.y() + 48)
        self.refresh()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A border, which the window has none of."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(self.palette().mid().color())
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def set_jumps(self, jumps: Sequence[Command]) -> None:
        """Places of the job that can be gone to."""
        self._jumps = list(jumps)
        self.refresh()

    def refresh(self) -> None:
        """List what fits what is typed."""
        self.list.clear()
        for command in choose(self.edit.text(), self._commands, self._jumps, self._recent):
            text = command.text if len(command.text) <= _SHOWN else f"{command.text[: _SHOWN - 1]}…"
            item = QTreeWidgetItem([text, command.why or command.sort, command.keys])
            item.setData(0, Qt.ItemDataRole.UserRole, command)
            item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setForeground(1, self.palette().placeholderText())
            if command.why:
                for column in range(3):
                    item.setForeground(column, self.palette().placeholderText())
            self.list.addTopLevelItem(item)
        first = self.list.topLevelItem(0)
        if first is not None:
            self.list.setCurrentItem(first)

    def shown(self) -> list[Command]:
        """What is listed now."""
        items = (self.list.topLevelItem(k) for k in range(self.list.topLevelItemCount()))
        return [item.data(0, Qt.ItemDataRole.UserRole) for item in items if item is not None]

    def _run(self, item: QTreeWidgetItem | None) -> None:
        command: Command | None = item.data(0, Qt.ItemDataRole.UserRole) if item is not None else None
        if command is None or command.why:
            return
        self.accept()
        self.chosen.emit(command)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up and Down go through the list, Enter runs; the rest is typed."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
            if event.key() in _MOVES:
                page = max(self.list.viewport().height() // max(self.list.sizeHintForRow(0), 1) - 1, 1)
                step = {_MOVES[0]: -1, _MOVES[1]: 1, _MOVES[2]: -page, _MOVES[3]: page}[Qt.Key(event.key())]
                now, last = self.list.currentItem(), self.list.topLevelItemCount() - 1
                at = (self.list.indexOfTopLevelItem(now) if now is not None else 0) + step
                item = self.list.topLevelItem(min(max(at, 0), last))
                if item is not None:
                    self.list.setCurrentItem(item)
                    self.list.scrollToItem(item, QAbstractItemView.ScrollHint.EnsureVisible)
                return True
        return super().eventFilter(watched, event)
