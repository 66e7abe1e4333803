"""The History panel over a real store."""

import pytest

from tests.support.themes import theme
from tests.viewer.views.test_run_history import GOOD, fill
from viewer.panels.context import JobContext
from viewer.panels.run_history import RunHistoryPanel
from viewer.panels.work import WorkRunner
from viewer.store.baseline import BaselineStore


@pytest.fixture
def panel(qtbot):
    work = WorkRunner()
    found = RunHistoryPanel(JobContext(theme(), work))
    qtbot.addWidget(found)
    found.resize(1_000, 300)
    found.show()
    yield found
    work.shutdown()


def shown(qtbot, panel, folder):
    panel.show_folder(folder)
    qtbot.waitUntil(lambda: panel.frame_shown is not None)
    return panel.frame_shown


def test_a_store_is_shown_and_its_figures_are_chosen(qtbot, panel, tmp_path):
    fill(tmp_path, [*GOOD, 140e6])
    frame = shown(qtbot, panel, tmp_path)
    assert panel.sentence.text().startswith("Last run: 140.000 ms")
    assert panel.plot.current == len(frame.runs) - 1, "the latest run is chosen"
    assert [panel.figure.itemText(i) for i in range(panel.figure.count())] == ["step_ns", "zz"]
    panel.figure.setCurrentIndex(1)
    assert panel.frame_shown.plot.title.startswith("zz")
    panel.table.row_chosen.emit(3)
    assert panel.plot.current == len(frame.runs) - 4


def test_only_kept_traces_open_and_compare(qtbot, panel, tmp_path):
    import msgspec

    runs = fill(tmp_path, GOOD[:3])
    for run in (runs[0], runs[2]):
        path = BaselineStore(tmp_path).trace_path("train", run.id)
        path.write_bytes(b"pack")
        (tmp_path / "runs" / "train" / f"{run.id}.json").write_bytes(
            msgspec.json.encode(msgspec.structs.replace(run, trace=path.name))
        )
    shown(qtbot, panel, tmp_path)
    assert panel.open.isEnabled()
    assert panel.compare.isEnabled()
    with qtbot.waitSignal(panel.trace_wanted) as opened:
        panel.open.click()
    assert opened.args[0].stem == runs[2].id
    with qtbot.waitSignal(panel.comparison_wanted) as compared:
        panel.compare.click()
    assert [p.stem for p in compared.args[0]] == [runs[0].id, runs[2].id]
    panel.plot.chosen.emit(1)
    assert not panel.open.isEnabled()
    panel.plot.chosen.emit(0)
    assert panel.open.isEnabled()
    assert not panel.compare.isEnabled()


def test_what_is_no_store_is_a_sentence(qtbot, panel, tmp_path):
    panel.show_folder(tmp_path)
    qtbot.waitUntil(lambda: "holds no runs" in panel.sentence.text())
    (tmp_path / "file").write_text("")
    panel.show_folder(tmp_path / "file")
    qtbot.waitUntil(lambda: "is no folder" in panel.sentence.text())


def test_new_runs_are_read_again_and_the_choice_stays(qtbot, panel, tmp_path):
    fill(tmp_path, GOOD[:3])
    shown(qtbot, panel, tmp_path)
    panel.figure.setCurrentIndex(1)
    fill(tmp_path, GOOD[:2], load="other")
    panel.again.click()
    qtbot.waitUntil(lambda: panel.place.count() == 2)
    assert panel.figure.currentText() == "zz"
    assert panel.place.currentText() == "train · m"
