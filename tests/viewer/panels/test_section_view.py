from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import BarFrame, Figure, HistogramFrame, PanelFrame, Section, TableFrame
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef, TimeRange
from viewer.panels.section_view import SectionView

FULL = Section(
    "Full",
    figures=(Figure("a", "1", "how a", jump=SliceRef(0, 1)),),
    table=TableFrame(("n",), [("x",)], [("x",)], [SliceRef(0, 2)], ("",), [None]),
    histogram=HistogramFrame(np.array([1.0, 2.0, 3.0]), np.array([4, 5]), "us", 1.5),
    bar=BarFrame((("compute", 5, Paint.COMPUTE),), 5),
    note="A note.",
    actions=(("Next", SliceRef(0, 3)), ("Previous", None)),
)


@pytest.fixture
def view(qtbot: QtBot) -> SectionView:
    view = SectionView(theme())
    qtbot.addWidget(view)
    view.resize(380, 600)
    view.show()
    return view


def test_a_frame_with_everything(view: SectionView) -> None:
    view.set_frame(PanelFrame("<b>title</b>", "sub", Paint.COMM, (FULL, Section("Plain", note="Only a note."))))
    assert view.title.text() == "<b>title</b>"
    assert view.subtitle.text() == "sub"
    assert view.chip.isVisible()
    full, plain = view.boxes
    for part in (full.bar, full.figures, full.histogram, full.table, full.note):
        assert part is not None
        assert part.isVisible()
    assert [b.isEnabled() for b in full.buttons] == [True, False]
    assert plain.note is not None
    assert plain.note.text() == "Only a note."
    assert plain.table is None


def test_every_kind_of_jump_reaches_the_panel(view: SectionView, qtbot: QtBot) -> None:
    view.set_frame(PanelFrame("t", sections=(FULL,)))
    got: list[object] = []
    view.jump_requested.connect(got.append)
    box = view.boxes[0]
    assert box.figures is not None
    assert box.table is not None
    qtbot.mouseClick(box.figures.row(0)[1], Qt.MouseButton.LeftButton)
    cell = box.table.visualRect(box.table.model().index(0, 0)).center()
    qtbot.mouseClick(box.table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    box.buttons[0].click()
    assert got == [SliceRef(0, 1), SliceRef(0, 2), SliceRef(0, 3)]


def test_a_second_frame_reuses_the_controls_and_hides_what_it_lacks(view: SectionView) -> None:
    view.set_frame(PanelFrame("t", sections=(FULL, Section("Two", note="n"))))
    before = view.boxes[0]
    figures, table = before.figures, before.table
    view.set_frame(PanelFrame("u", sections=(Section("Full", figures=(Figure("a", "2", "how"),)),)))
    assert view.boxes[0] is before
    assert before.figures is figures
    assert before.table is table
    assert figures is not None
    assert figures.row(0)[1].text() == "2"
    assert table is not None
    assert not table.isVisible()
    assert not view.boxes[1].isVisible()
    assert not view.chip.isVisible()


def test_the_scroll_position_and_folded_sections_survive_another_frame(view: SectionView, qtbot: QtBot) -> None:
    sections = tuple(Section(f"S{i}", figures=tuple(Figure(f"f{j}", "v", "h") for j in range(8))) for i in range(8))
    view.set_frame(PanelFrame("t", sections=sections))
    qtbot.mouseClick(view.boxes[0].header, Qt.MouseButton.LeftButton)
    assert not view.boxes[0].body.isVisible()
    bar = view.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 150)
    bar.setValue(120)
    view.set_frame(PanelFrame("u", sections=sections))
    assert bar.value() == 120
    assert not view.boxes[0].body.isVisible()
    view.set_frame(PanelFrame("v", sections=(Section("other", note="x"), *sections)))
    assert view.boxes[0].body.isVisible()
    assert not view.boxes[1].body.isVisible()


def test_the_switch_shows_all_explanations_also_of_later_frames(view: SectionView) -> None:
    view.set_frame(PanelFrame("t", sections=(FULL,)))
    view.how_button.click()
    figures = view.boxes[0].figures
    assert figures is not None
    assert figures.row(0)[3].isVisible()
    view.set_frame(PanelFrame("t", sections=(FULL, Section("b", figures=(Figure("x", "y", "z"),)))))
    later = view.boxes[1].figures
    assert later is not None
    assert later.row(0)[3].isVisible()


def test_old_content_is_dimmed_only_when_the_answer_takes_long(view: SectionView, qtbot: QtBot) -> None:
    view.set_frame(PanelFrame("t", sections=(FULL,)))
    view.set_stale()
    assert view.stale
    assert not view._veil.isVisible()
    qtbot.waitUntil(view._veil.isVisible)
    assert view.title.text() == "t"
    assert view.boxes[0].isVisible()
    view.set_frame(PanelFrame("u"))
    assert not view.stale
    assert not view._veil.isVisible()


def test_a_message_replaces_everything_and_goes_again(view: SectionView) -> None:
    view.set_frame(PanelFrame("t", sections=(FULL,)))
    view.set_message("Nothing here.", warning=True)
    assert view.message.isVisible()
    assert view.frame is None
    assert not view.title.isVisible()
    assert not view.boxes[0].isVisible()
    view.set_frame(PanelFrame("t", sections=(FULL,)))
    assert not view.message.isVisible()
    assert view.boxes[0].isVisible()


def test_nothing_is_wider_than_the_panel(view: SectionView) -> None:
    name = "void_" * 200
    wide = Section(name, (Figure(name, name, name),), FULL.table, note=name, actions=(("Go", TimeRange(0, 1)),))
    view.set_frame(PanelFrame(name, name, None, (wide,)))
    view.how_button.setChecked(True)
    assert view._content.width() <= view.area.viewport().width()
    assert view._content.minimumSizeHint().width() <= 240


def test_themes_change_in_place(view: SectionView) -> None:
    view.set_frame(PanelFrame("t", "s", Paint.COMM, (FULL,)))
    view.set_theme(theme("dark"))
    assert view.grab().toImage().pixelColor(2, 590).name() == theme("dark")["window"]
