from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QFontMetricsF
from pytestqt.qtbot import QtBot

from viewer.base.ids import Paint
from widgets.lane_overlay import Tip, lay_out_tip
from widgets.name_wrap import wrap_name

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


def font() -> QFont:
    made = QFont()
    made.setPixelSize(12)
    return made


@pytest.mark.parametrize(
    "name",
    [NCCL, "void at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctor_add<c10::Half>>(int,float*)"],
)
def test_names_break_where_code_may_be_broken(name: str, qtbot: QtBot) -> None:
    widest = max(QFontMetricsF(font()).horizontalAdvance(part) for part in ("unsigned_", "vectorized_elementwise_"))
    for width in range(int(widest) + 1, 500, 7):
        lines, cut = wrap_name(name, font(), width)
        assert "".join(lines) == name
        assert not cut
        for line in lines[:-1]:
            assert line.endswith(("(", ",", "<", "::", "_", " ")), lines


def test_a_bracket_after_a_space_goes_to_the_next_line_with_what_it_holds(qtbot: QtBot) -> None:
    room = QFontMetricsF(font()).horizontalAdvance("thread 2590092 (pyth")
    assert wrap_name("thread 2590092 (python)", font(), room)[0] == ["thread 2590092 ", "(python)"]


@pytest.mark.parametrize("option", ["--numa-binding", "-e", "--no-overlap-p2p-communication"])
def test_an_option_of_a_command_is_never_torn_at_its_hyphens(option: str, qtbot: QtBot) -> None:
    text = f"pin them: numactl, taskset, torchrun {option}), too many threads"
    for width in range(int(QFontMetricsF(font()).horizontalAdvance(option + "),")) + 2, 500, 7):
        lines, _ = wrap_name(text, font(), width)
        assert "".join(lines) == text
        assert any(option in line for line in lines), lines


def test_a_part_that_is_too_wide_is_broken_anywhere_and_too_many_lines_are_told(qtbot: QtBot) -> None:
    lines, cut = wrap_name("x" * 300, font(), 100)
    assert len(lines) > 3
    assert not cut
    assert "".join(lines) == "x" * 300
    lines, cut = wrap_name("x" * 300, font(), 100, most=2)
    assert (len(lines), cut) == (2, True)


@pytest.mark.parametrize("y", [30.0, 100.0, 180.0, 270.0])
@pytest.mark.parametrize("x", [5.0, 300.0, 590.0])
def test_the_tooltip_never_covers_what_it_describes(x: float, y: float, qtbot: QtBot) -> None:
    area = QRectF(0, 0, 600, 300)
    box = QRectF(0, y - 8, 600, 20)
    tip = Tip(x, y, NCCL, ("17.550 us", "communication"), Paint.COMM, box)
    placed = lay_out_tip(tip, font(), area)
    assert area.contains(placed.box)
    assert not placed.box.intersects(box)
    assert not placed.box.contains(QPointF(x, y))


def test_a_tooltip_of_an_endless_name_stays_small(qtbot: QtBot) -> None:
    area = QRectF(0, 0, 500, 400)
    placed = lay_out_tip(Tip(10, 10, "name<" * 4000, ("1 us",)), font(), area)
    assert area.contains(placed.box)
    assert len(placed.title) == 6
    assert placed.title[-1].endswith("…")
