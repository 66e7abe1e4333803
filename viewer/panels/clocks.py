"""The Clocks panel: how sure the common clock is, and the ways to set it by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.base.clock import GivenClock
from viewer.base.errors import RankscopeError
from viewer.base.frames import Jump, PanelFrame
from viewer.base.selection import GroupRef, SliceRef
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.section_view import SectionView
from viewer.store.session import Session
from widgets.theming import color, palette_of, set_shown, set_tip
from widgets.wrap_label import WrapLabel

HINT: Final = (
    "Open traces of several ranks: this panel says how their clocks were brought together, and how sure that is."
)
COMPUTING: Final = "Comparing the clocks of the ranks…"
CHOICES: Final = (("auto", "Aligned by collectives"), ("base", "Base times"), ("none", "As written"))
ALIGN_HELP: Final = (
    "Select a slice of the rank that is to move. Without an anchor it is brought to the same operation on the "
    "reference rank; with one, to the slice that was taken as the anchor. Durations never change."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants of the clocks: a method ("auto", "base", "none"; "" keeps it), and offsets per rank group.

    None as the clock of a group takes back what was given.
    """

    text: str
    method: str = ""
    given: tuple[tuple[int, GivenClock | None], ...] = ()


class ClocksPanel(QWidget):
    """Shows the clocks of a :class:`JobContext`; asks for others by signals.

    Signals:
        wished(object Wish): change the clocks.
        raw_toggled(): show base times, or go back to what was before.
        load_wanted(), save_wanted(): offsets from or to a file.
        refused(str): why nothing changed.
    """

    wished = Signal(object)
    raw_toggled = Signal()
    load_wanted = Signal()
    save_wanted = Signal()
    refused = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._anchor: SliceRef | None = None
        self._group: int | None = None
        self.setAccessibleName("Clocks")
        self.view = SectionView(context.theme, self)
        self.view.jump_requested.connect(self._jump)
        self.tools = QWidget(self)
        self._build_method()
        self._build_adjust()
        column = QVBoxLayout(self.tools)
        column.setContentsMargins(8, 6, 8, 4)
        column.setSpacing(4)
        column.addLayout(self._method_row)
        column.addWidget(self.adjust)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.tools)
        layout.addWidget(self.view, 1)
        context.session_changed.connect(self._session_changed)
        context.selection_changed.connect(self._selection_changed)
        context.theme_changed.connect(self.set_theme)
        self.set_theme(context.theme)
        self._session_changed(context.session)

    def _build_method(self) -> None:
        self.method = QComboBox(self.tools)
        self.method.setAccessibleName("Method")
        self.method.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for choice, text in CHOICES:
            self.method.addItem(text, choice)
        set_tip(self.method, "How the clocks of the files are brought together")
        self.method.activated.connect(self._choose_method)
        self.raw = QPushButton("Base Times", self.tools)
        self.raw.setCheckable(True)
        set_tip(self.raw, "Show the raw base times; once more goes back to the clocks that were in force")
        self.raw.clicked.connect(self.raw_toggled)
        self.more = QToolButton(self.tools)
        self.more.setText("By hand")
        self.more.setCheckable(True)
        self.more.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more.setArrowType(Qt.ArrowType.RightArrow)
        set_tip(self.more, "Set the offset of a rank, align on a slice, load or save offsets")
        self.more.toggled.connect(self._show_adjust)
        self._method_row = QHBoxLayout()
        self._method_row.addWidget(self.method, 1)
        self._method_row.addWidget(self.raw)
        self._method_row.addWidget(self.more)

    def _build_adjust(self) -> None:
        self.adjust = QWidget(self.tools)
        self.rank = QComboBox(self.adjust)
        self.rank.setAccessibleName("Rank whose offset is set")
        self.rank.activated.connect(self._choose_rank)
        self.offset = QLineEdit(self.adjust)
        self.offset.setPlaceholderText("12.5us, -3ms")
        self.offset.setAccessibleName("Offset")
        self.offset.setMaxLength(40)
        set_tip(self.offset, "Offset of the rank's clock at t0: its times are shown earlier by so much")
        self.offset.returnPressed.connect(self._set_offset)
        self.set_button = self._button("Set", "Use this offset", self._set_offset)
        self.reset_button = self._button("Reset", "Use what the method says for this rank again", self._reset_offset)
        self.anchor_button = self._button(
            "Take as Anchor", "Other slices are brought to the slice that is selected now", self._take_anchor
        )
        self.left_button = self._button(
            "Align Starts", "Bring the start of the selected slice to that of the anchor", lambda: self._align("start")
        )
        self.right_button = self._button(
            "Align Ends", "Bring the end of the selected slice to that of the anchor", lambda: self._align("end")
        )
        self.load_button = self._button("Load…", "Offsets from a report or a file", self.load_wanted.emit)
        self.save_button = self._button("Save…", "Write the offsets in force to a file", self.save_wanted.emit)
        self.help = WrapLabel(self.adjust)
        self.help.set_text(ALIGN_HELP)
        grid = QGridLayout(self.adjust)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(4)
        for place, part in enumerate((self.rank, self.offset, self.set_button, self.reset_button)):
            grid.addWidget(part, 0, place)
        grid.addWidget(self.help, 1, 0, 1, 4)
        row = QHBoxLayout()
        row.setSpacing(4)
        for part in (self.anchor_button, self.left_button, self.right_button):
            row.addWidget(part)
        row.addStretch(1)
        grid.addLayout(row, 2, 0, 1, 4)
        files = QHBoxLayout()
        files.setSpacing(4)
        files.addWidget(self.load_button)
        files.addWidget(self.save_button)
        files.addStretch(1)
        grid.addLayout(files, 3, 0, 1, 4)
        grid.setColumnStretch(1, 1)
        self.adjust.hide()

    def _button(self, text: str, tip: str, run: Callable[[], None]) -> QPushButton:
        button = QPushButton(text, self.adjust)
        button.setAutoDefault(False)
        set_tip(button, tip)
        button.clicked.connect(lambda _=False: run())
        return button

    def _show_adjust(self, on: bool) -> None:
        self.more.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow)
        self.adjust.setVisible(on)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.help.set_color(color(theme, "muted"))
        self.view.set_theme(theme)

    # what is shown

    def _session_changed(self, session: Session) -> None:
        if self._anchor is not None and self._anchor.input >= len(session.inputs):
            self._anchor = None
        set_shown(self.tools, len(session.inputs) > 1)
        method = "base" if session.clock_method == "given" else session.clock_method
        place = self.method.findData({"collectives": "auto"}.get(method, method))
        self.method.setCurrentIndex(max(place, 0))
        raw = session.clock_method == "base" and not any(i.clock.given for i in session.inputs)
        self.raw.setChecked(raw)
        self.raw.setText("Go Back" if raw else "Base Times")
        self.rank.clear()
        for group in session.groups:
            self.rank.addItem(group.label[:40], group.id)
        if self._group is not None and self._group >= len(session.groups):
            self._group = None
        self._show_rank()
        self._show_anchor()
        self._refresh()

    def _selection_changed(self, _: object = None) -> None:
        group = self._context.selection.group
        self._show_anchor()
        if group != self._group and group is not None:
            self._group = group
            self._show_rank()
            self._refresh()

    def _show_rank(self) -> None:
        """The chosen rank in the box, and its offset as it is now."""
        session = self._context.session
        place = self.rank.findData(self._group)
        self.rank.setCurrentIndex(max(place, 0))
        group = self.rank.currentData()
        if group is None or group >= len(session.groups):
            self.offset.clear()
            return
        item = session.inputs[session.groups[group].inputs[0]]
        self.offset.setText(f"{item.clock.offset_ns} ns" if item.clock.known else "")
        self.reset_button.setEnabled(item.clock.given)

    def _show_anchor(self) -> None:
        chosen = self._context.selection.slice
        for button in (self.anchor_button, self.left_button, self.right_button):
            button.setEnabled(chosen is not None)
        if self._anchor is None:
            self.help.set_text(ALIGN_HELP)
            return
        from viewer.views.clock_moves import told

        self.help.set_text(f"Anchor: {told(self._context.session, self._anchor)}. {ALIGN_HELP}")

    def _refresh(self) -> None:
        session, group = self._context.session, self._group
        if not session.inputs:
            self._context.work.cancel("clocks")
            self.view.set_message(HINT)
            return
        if self.view.frame is None:
            self.view.set_message(COMPUTING)
        else:
            self.view.set_stale()
        self._context.work.submit(
            "clocks", lambda cancel: self._compute(session, group, cancel), self.view.set_frame, self._failed
        )

    @staticmethod
    def _compute(session: Session, group: int | None, cancel: CancelToken) -> PanelFrame:
        cancel.check()
        from viewer.views.clocks import clock_frame  # compiled loops load off the GUI thread

        return clock_frame(session, group)

    def _failed(self, error: Exception) -> None:
        self.view.set_message(error_sentence("The clocks", error), warning=True)

    # what a person asks for

    def _jump(self, target: Jump) -> None:
        self._context.jump(target)
        if isinstance(target, GroupRef) and target.group != self._group:
            self._group = target.group
            self._show_rank()
            self._refresh()

    def _choose_method(self, index: int) -> None:
        choice, text = CHOICES[index]
        self.wished.emit(Wish(f"Clocks: {text}", choice))

    def _choose_rank(self, _: int) -> None:
        self._jump(GroupRef(self.rank.currentData()))

    def _set_offset(self) -> None:
        from viewer.views.clock_moves import typed_offset

        group = self.rank.currentData()
        if group is None:
            return
        try:
            offset = typed_offset(self.offset.text())
        except RankscopeError as error:
            self.refused.emit(str(error))
            return
        self.wished.emit(Wish(f"Offset of {self.rank.currentText()}", given=((group, GivenClock(offset)),)))

    def _reset_offset(self) -> None:
        group = self.rank.currentData()
        if group is not None:
            self.wished.emit(Wish(f"Reset offset of {self.rank.currentText()}", given=((group, None),)))

    def _take_anchor(self) -> None:
        self._anchor = self._context.selection.slice
        self._show_anchor()

    def _align(self, edge: str) -> None:
        session, chosen = self._context.session, self._context.selection.slice
        if chosen is None:
            return
        from viewer.views.clock_moves import offset_that_aligns, partner_of

        try:
            anchor = self._anchor if self._anchor is not None else partner_of(session, chosen)
            offset = offset_that_aligns(session, chosen, anchor, "start" if edge == "start" else "end")
        except RankscopeError as error:
            self.refused.emit(str(error))
            return
        group = session.group_of(chosen.input)
        self.wished.emit(Wish(f"Align {group.label} on a slice", given=((group.id, GivenClock(offset)),)))
