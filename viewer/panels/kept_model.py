"""Notes, marks and bookmarks behind Qt's table interface: sorted, filtered, their texts edited in place."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor

from viewer.base.theme import Theme
from viewer.views.kept.kept_list import HEADERS, KeptRow
from widgets.theming import safe_tip

Index = QModelIndex | QPersistentModelIndex
TEXT: Final = HEADERS.index("Text")
_TIME: Final = HEADERS.index("Time")
_LENGTH: Final = HEADERS.index("Length")
_ROOT: Final = QModelIndex()
SORT_ROLE: Final = Qt.ItemDataRole.UserRole
_MOST_EDITED: Final = 500


class KeptModel(QAbstractTableModel):
    """The rows.

    Signals:
        edited(str kind, int id, str text): another text was written.
    """

    edited = Signal(str, int, str)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[KeptRow] = []
        self.theme = theme

    def set_rows(self, rows: list[KeptRow]) -> None:
        """Show other rows."""
        if rows != self.rows:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Texts of the headers."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Texts can be edited."""
        plain = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return plain | Qt.ItemFlag.ItemIsEditable if index.column() == TEXT else plain

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, colour and sort key of a cell."""
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return row.cells[column]
        if role == Qt.ItemDataRole.EditRole:
            return row.text
        if role == SORT_ROLE:
            return row.keys[column]
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and row.token:
            return QColor(self.theme[row.token])
        if role == Qt.ItemDataRole.ToolTipRole:
            return safe_tip(row.text if column == TEXT else row.cells[column])
        if role == Qt.ItemDataRole.TextAlignmentRole and column in (_TIME, _LENGTH):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell of a text that was written; the owner changes the rows."""
        row = self.rows[index.row()]
        text = str(value)[: 4 * _MOST_EDITED]
        if role != Qt.ItemDataRole.EditRole or index.column() != TEXT or text == row.text:
            return False
        self.edited.emit(row.kind, row.id, text)
        return True


class KeptFilter(QSortFilterProxyModel):
    """Sorts by keys; shows the rows that have all the words that are typed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSortRole(SORT_ROLE)

    def set_words(self, text: str) -> None:
        """Show only rows with all these words."""
        self._words = text.casefold().split()
        self.invalidate()

    def filterAcceptsRow(self, source_row: int, _: Index) -> bool:
        """Whether a row has all the words."""
        model = self.sourceModel()
        assert isinstance(model, KeptModel)
        said = " ".join(model.rows[source_row].cells).casefold()
        return all(word in said for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:
        """Compare exact keys: Qt's own comparison knows no whole numbers beyond 64 bits, and no mixed ones."""
        model = self.sourceModel()
        a, b = model.data(left, SORT_ROLE), model.data(right, SORT_ROLE)
        return bool(a < b)
