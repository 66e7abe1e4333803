"""The rows of a table as Qt's model: sorted by keys, with tooltips, and as tab-separated values."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from viewer.base.frames import TableFrame
from viewer.base.theme import PAINT_NAMES, Theme
from viewer.base.time import format_exact
from viewer.base.units import plain_signs
from widgets.theming import color, safe_tip

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
INDENT = "\u2002"
"""Before texts that follow a column of numbers, which end where they begin."""
CHIP_ROLE = Qt.ItemDataRole.UserRole + 1
"""The colour of a row's class; None without one."""
_NUMBER = (int, float, type(None))
_UNITS = (" ns", " us", " ms", " s")


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers before texts before nothing, so that mixed columns still have an order."""
    if value is None:
        return (2, 0)
    return (1, value.lower()) if isinstance(value, str) else (0, value)


class TableModel(QAbstractTableModel):
    """A :class:`TableFrame` behind Qt's interface; ``order`` maps shown rows to rows of the frame."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.frame = TableFrame((), [], [])
        self.order: list[int] = []
        self.sorted_by: tuple[int, Qt.SortOrder] | None = None
        self.numeric: list[bool] = []
        self.exact: list[bool] = []
        self.theme: Theme | None = None

    def set_frame(self, frame: TableFrame) -> None:
        """Show other rows; the order chosen by the user is kept while the headers stay."""
        self.beginResetModel()
        if frame.headers != self.frame.headers:
            self.sorted_by = None
        self.frame = frame
        columns = range(len(frame.headers))
        self.numeric = [
            any(k[c] is not None for k in frame.keys) and all(isinstance(k[c], _NUMBER) for k in frame.keys)
            for c in columns
        ]
        self.exact = [self._holds_ns(c) for c in columns]
        self._reorder()
        self.endResetModel()

    def _holds_ns(self, column: int) -> bool:
        """Whether a column shows durations whose keys are whole nanoseconds."""
        seen = False
        for row, keys in zip(self.frame.rows, self.frame.keys, strict=True):
            if keys[column] is None:
                continue
            if not isinstance(keys[column], int) or not row[column].endswith(_UNITS):
                return False
            seen = True
        return seen

    def _reorder(self) -> None:
        self.order = list(range(len(self.frame.rows)))
        if self.sorted_by is not None:
            column, direction = self.sorted_by
            down = direction == Qt.SortOrder.DescendingOrder
            keys = [_sort_key(k[column]) for k in self.frame.keys]
            present = [i for i in self.order if keys[i][0] != 2]
            absent = [i for i in self.order if keys[i][0] == 2]
            self.order = sorted(present, key=keys.__getitem__, reverse=down) + absent

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by the keys of a column; rows without a value stay at the end."""
        if not 0 <= column < len(self.frame.headers):
            return
        self.layoutAboutToBeChanged.emit()
        self.sorted_by = (column, order)
        self._reorder()
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = ROOT) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.frame.headers)

    def class_name(self, row: int) -> str:
        """Name of the class of a row of the frame, "" without one."""
        paint = self.frame.paints[row] if row < len(self.frame.paints) else None
        return PAINT_NAMES[paint] if paint is not None else ""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, alignment, tooltip and colour of a cell."""
        row, column = self.order[index.row()], index.column()
        text = self.frame.rows[row][column]
        if role == Qt.ItemDataRole.DisplayRole:
            return text if self.numeric[column] or not column else INDENT + text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self.numeric[column] else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return safe_tip(self._tip(row, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            named = self.class_name(row)
            return f"{text}, {named}" if column == 0 and named else text
        if role == Qt.ItemDataRole.ForegroundRole and self.theme is not None and text == "–":
            return color(self.theme, "muted")
        if role == CHIP_ROLE and self.theme is not None:
            paint = self.frame.paints[row] if row < len(self.frame.paints) else None
            return None if paint is None else QColor(self.theme.paints[paint])
        return None

    def _tip(self, row: int, column: int) -> str:
        text, key = self.frame.rows[row][column], self.frame.keys[row][column]
        if self.exact[column] and key is not None:
            return format_exact(int(key))
        named = self.class_name(row)
        return f"{text}\n{named}" if column == 0 and named else text

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, tooltip and alignment of a header."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self.frame.headers):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            head = self.frame.headers[section]
            return head if self.numeric[section] or not section else INDENT + head
        if role == Qt.ItemDataRole.ToolTipRole and section < len(self.frame.how):
            return safe_tip(self.frame.how[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self.numeric[section] else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def tsv(self, rows: list[int]) -> str:
        """Shown rows with headers as tab-separated values; durations as whole ns, the class as a last column."""
        classes = any(p is not None for p in self.frame.paints)
        heads = [f"{h} (ns)" if e else h for h, e in zip(self.frame.headers, self.exact, strict=True)]
        lines = [[*heads, "class"] if classes else heads]
        for shown in rows:
            row = self.order[shown]
            cells = []
            for c, text in enumerate(self.frame.rows[row]):
                key = self.frame.keys[row][c]
                cells.append(str(int(key)) if self.exact[c] and key is not None else "" if text == "–" else text)
            lines.append([*cells, self.class_name(row)] if classes else cells)
        return "\n".join("\t".join(plain_signs(" ".join(cell.split())) for cell in line) for line in lines) + "\n"
