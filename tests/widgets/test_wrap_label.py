from __future__ import annotations

from pytestqt.qtbot import QtBot

from widgets.wrap_label import WrapLabel

NAME = "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists,void>::type" * 4


def label(qtbot: QtBot, text: str, lines: int = 0) -> WrapLabel:
    widget = WrapLabel(max_lines=lines)
    qtbot.addWidget(widget)
    widget.set_text(text)
    return widget


def test_a_name_without_spaces_is_broken_into_lines_that_fit(qtbot: QtBot) -> None:
    widget = label(qtbot, NAME)
    lines = widget.lines(200)
    assert len(lines) > 3
    assert "".join(lines) == NAME
    assert all(widget.fontMetrics().horizontalAdvance(line) <= 201 for line in lines)
    assert widget.heightForWidth(200) == len(lines) * widget.fontMetrics().lineSpacing()
    assert widget.heightForWidth(400) < widget.heightForWidth(200)


def test_more_lines_than_allowed_are_elided_and_told_in_full_by_the_tooltip(qtbot: QtBot) -> None:
    widget = label(qtbot, NAME, 2)
    lines = widget.lines(200)
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert widget.fontMetrics().horizontalAdvance(lines[1]) <= 200
    assert "&lt;(((8)&gt;(0)))" in widget.toolTip()
    widget.set_text("short")
    assert widget.lines(200) == ["short"]
    assert widget.toolTip() == ""


def test_line_breaks_are_kept_and_markup_is_text(qtbot: QtBot) -> None:
    assert label(qtbot, "<b>a</b>\nb\n\nc").lines(300) == ["<b>a</b>", "b", "", "c"]


def test_a_number_stays_on_the_line_of_its_unit(qtbot: QtBot) -> None:
    widget = label(qtbot, "The GPU waits 12.5 ms per step for data (6.6 %) on 3 of 8 ranks")
    least = widget.fontMetrics().horizontalAdvance("12.5 ms ") + 2
    for width in range(least, 400, 7):
        lines = widget.lines(width)
        assert not [x for x in lines if x.strip().startswith(("ms", "%"))], lines
    assert widget.text().count(" ") == "".join(widget.lines(2000)).replace("\u00a0", " ").count(" ")
