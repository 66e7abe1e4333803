"""The History panel's content: places, points, bands, texts, kept traces."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from viewer.analyses.gate.history import judge_run, with_verdict
from viewer.base.errors import InputError
from viewer.base.run_record import RUN_SCHEMA, Commit, RunFigure, RunRecord
from viewer.store.baseline import BaselineStore, new_id, time_text
from viewer.views.run_history import baseline_trace, history_frame, read_history, text_of


def fill(folder, values, *, load="train", name="step_ns", unit="ns", note=""):
    store, runs = BaselineStore(folder), []
    for number, value in enumerate(values):
        now = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=number)
        figures = {"zz": RunFigure(1.0, "x"), name: RunFigure(value, unit, "lower", True)}
        commit = Commit(f"{number // 5:040x}", "main", "a <b> commit", dirty=number == 1)
        record = RunRecord(
            RUN_SCHEMA, new_id(now), time_text(now), load, figures, machine="m", commit=commit, note=note
        )
        record = with_verdict(record, judge_run(runs, record))
        runs.append(record)
        store.add(record)
    return runs


GOOD = [100e6, 100.3e6, 99.8e6, 100.1e6, 99.9e6, 100.2e6, 99.7e6, 100e6, 100.1e6, 99.9e6]


def test_each_run_is_a_point_with_the_band_it_was_judged_by(tmp_path):
    runs = fill(tmp_path, [*GOOD, 140e6])
    history = read_history(tmp_path)
    (place,) = history.runs
    assert (place.text, history.figures(place)) == ("train · m", ["step_ns", "zz"])
    frame = history_frame(history, place, "step_ns")
    assert [p.tone for p in frame.plot.points] == ["new"] * 8 + ["", "", "bad"]
    last = frame.plot.points[-1]
    assert last.low is not None
    assert last.low < 100e6
    assert frame.plot.high > 140e6
    assert "140.000 ms (+40" in last.tip
    assert "band" in last.tip
    assert frame.sentence.startswith("Last run: 140.000 ms, +40")
    assert "1 judged as regressions" in frame.sentence
    assert frame.tone == "bad"
    assert frame.runs[0] == runs[-1].id
    value, time, change, verdict, *_ = frame.table.rows[0]
    assert (value, time, verdict) == ("140.000 ms", "2026-03-01 10:00", "regression")
    assert change.startswith("+40.")
    assert [v for v, _ in frame.plot.ticks] == sorted(v for v, _ in frame.plot.ticks)
    assert 2 <= len(frame.plot.ticks) <= 8


def test_loads_and_figures_of_their_own_and_hostile_texts(tmp_path):
    fill(tmp_path, GOOD[:2], load="a\x1b[31m", note="n\x07")
    fill(tmp_path, [0.5, 0.4], load="b", name="mfu", unit="share")
    history = read_history(tmp_path)
    assert len(history.runs) == 2
    place = next(p for p in history.runs if p.load != "b")
    assert "\x1b" not in place.text
    frame = history_frame(history, place, "step_ns")
    assert "\x07" not in frame.table.rows[0][-1]
    assert len(frame.table.headers) == 7, "notes have a column where there are some"
    other = history_frame(history, next(p for p in history.runs if p.load == "b"), "mfu")
    assert other.table.rows[0][0] == "40.00 %"
    assert len(other.table.headers) == 6


def test_the_nearest_good_run_with_a_trace_is_the_one_to_compare_with(tmp_path):
    runs = fill(tmp_path, [*GOOD, 140e6])
    store = BaselineStore(tmp_path)
    history = read_history(tmp_path)
    (place,) = history.runs
    assert baseline_trace(history, place, runs[-1].id) is None
    kept = {}
    for number in (2, 4, 10):
        path = store.trace_path("train", runs[number].id)
        path.write_bytes(b"pack")
        kept[number] = path
        old = next((tmp_path / "runs" / "train").glob(f"{runs[number].id}.json"))
        old.write_bytes(msgspec.json.encode(msgspec.structs.replace(runs[number], trace=path.name)))
    assert baseline_trace(read_history(tmp_path), place, runs[-1].id) == (kept[4], kept[10])


def test_what_cannot_be_read_is_said(tmp_path):
    fill(tmp_path, GOOD[:2])
    (tmp_path / "runs" / "train" / "20260101T000000000000Z-00000000.json").write_bytes(b"{")
    assert "cannot be read" in read_history(tmp_path).problems[0]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
        read_history(tmp_path / "file")
    assert read_history(tmp_path / "none").runs == {}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ns", "–"),
        (2e6, "ns", "2.000 ms"),
        (0.4183, "share", "41.83 %"),
        (1.5, "", "1.5"),
        (12.5, "ms", "12.5 ms"),
    ],
)
def test_values_with_their_units(value, unit, text):
    assert text_of(value, unit) == text
