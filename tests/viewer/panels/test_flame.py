"""The Flame graph panel."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from tests.support.build import call, kernel, make_session, make_trace, op, python
from tests.support.panels import settle
from viewer.base.selection import Selection
from viewer.panels.context import JobContext
from viewer.panels.flame import FlamePanel
from viewer.store.session import Session


def job() -> Session:
    def rank(number: int, length: int) -> object:
        return make_trace(
            python("nn.Module: Block_0", 0, 100),
            op("aten::mm", 10, 50),
            call("cudaLaunchKernel", 20, 5, corr=1),
            kernel("gemm", 100, length, corr=1),
            rank=number,
            path=f"{number}.json",
        )

    return make_session(rank(0, 100), rank(1, 300))  # type: ignore[arg-type]


@pytest.fixture
def panel(qtbot: QtBot, context: JobContext) -> FlamePanel:
    made = FlamePanel(context)
    qtbot.addWidget(made)
    made.resize(1000, 320)
    made.show()
    return made


def test_weights_frames_ranks_and_the_kept_zoom(qtbot: QtBot, context: JobContext, panel: FlamePanel) -> None:
    assert panel.scope.text() == FlamePanel.HINT
    context.set_session(job())
    settle(qtbot, context)
    frame = panel.graph.frame
    assert frame is not None
    assert frame.names == ["all", "Block_0", "aten::mm", "gemm"]
    assert frame.total.tolist() == [400] * 4
    panel.graph.zoom_to(2)
    assert panel.back.isEnabled()
    context.select(Selection(group=1))
    settle(qtbot, context)
    assert panel.graph.frame is not None
    assert int(panel.graph.frame.total[0]) == 300
    assert panel.graph.focus == 2, "another rank is zoomed alike"
    panel.weight.setCurrentIndex(panel.weight.findData("cpu"))
    settle(qtbot, context)
    assert panel.graph.frame.weight == "CPU self time"
    panel.back.click()
    assert panel.graph.focus == 0


def test_highlight_adds_what_it_found_once_and_jumps(qtbot: QtBot, context: JobContext, panel: FlamePanel) -> None:
    context.set_session(job())
    settle(qtbot, context)
    panel.search.setText("MM")
    assert panel.line.text() == "Highlighted: 400 ns, 100.0 % of GPU time"
    panel.graph.chosen.emit(3)
    chosen = context.selection.slice
    assert chosen is not None
    assert chosen.input == 1, "the longest run is on the other rank"
