"""``rankscope watch`` from the command line."""

import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import numpy as np
import pytest

from viewer.app.cli import main
from viewer.base.run_record import RUN_SCHEMA, RunFigure, RunRecord
from viewer.store.baseline import BaselineStore, new_id, time_text


def write_log(path, per_hour, hours=24):
    rng = np.random.default_rng(1)
    start = datetime(2026, 5, 1, tzinfo=UTC)
    lines = []
    for i in range(hours * 12):
        value = 100.0 * np.exp(per_hour * i / 12 + rng.normal(0.0, 0.005))
        time = (start + timedelta(minutes=5 * i)).isoformat()
        lines.append(json.dumps({"time": time, "step_ms": value, "loss": 1 / (i + 1), "samples": 512 * i}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_drift_is_told_and_plotted(tmp_path, capsys):
    log = write_log(tmp_path / "log.jsonl", 0.001)
    words = ["--svg", str(tmp_path / "svg"), "--markdown", str(tmp_path / "o.md"), "--json", str(tmp_path / "o.json")]
    assert main(["watch", str(log), *words]) == 1
    out = capsys.readouterr().out
    assert "! log.jsonl: step_ms" in out
    assert "per h" in out
    assert "loss" not in out
    assert "samples" not in out, "a counter is no figure"
    (row,) = json.loads((tmp_path / "o.json").read_text())["series"]
    assert row["kind"] == "drift"
    assert row["per_hour"] == pytest.approx(0.001, rel=0.2)
    (svg,) = (tmp_path / "svg").iterdir()
    assert 'class="worse"' in svg.read_text()
    assert "**drifts" in (tmp_path / "o.md").read_text()


def test_a_steady_log_and_a_better_one_are_fine(tmp_path, capsys):
    assert main(["watch", str(write_log(tmp_path / "a.jsonl", 0.0))]) == 0
    assert "steady over 23.9 h" in capsys.readouterr().out
    faster = write_log(tmp_path / "b.jsonl", -0.001)
    assert main(["watch", str(faster)]) == 0
    assert "gets better" in capsys.readouterr().out
    assert main(["watch", str(faster), "--better", "step_ms=higher"]) == 1


def test_the_runs_of_a_store_are_a_series_with_weeks(tmp_path, capsys):
    store = BaselineStore(tmp_path / "store")
    start = datetime(2026, 1, 5, tzinfo=UTC)
    for day in range(40):
        now = start + timedelta(days=day)
        figure = RunFigure(0.48 - 0.001 * day + 0.0005 * (day % 3), "share", "higher")
        store.add(RunRecord(RUN_SCHEMA, new_id(now), time_text(now), "train", {"mfu": figure}))
    assert main(["watch", str(tmp_path / "store"), "--json", "-"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["series"]
    assert (row["source"], row["name"], row["kind"], row["worse"]) == ("train", "mfu", "drift", True)
    assert [w["week"] for w in row["weeks"]][:2] == ["2026-W02", "2026-W03"]
    assert row["weeks"][0]["runs"] == 7


def test_hostile_names_stay_text(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    name = "a</text><script>\x1b[31m_ms"
    log.write_text("\n".join(json.dumps({name: i}) for i in [3, 1, 2] * 10))
    main(["watch", str(log), "--svg", str(tmp_path / "svg")])
    (svg,) = (tmp_path / "svg").iterdir()
    assert "<script>" not in svg.read_text()
    assert "\x1b" not in capsys.readouterr().out


def test_too_few_values_are_no_verdict_and_said(tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("time,step_ms,fwd_ms\n" + "".join(f"{i},{i},1\n" for i in range(3)))
    assert main(["watch", str(log)]) == 2
    told = capsys.readouterr()
    assert told.err == "rankscope: no verdict: 3 values at most, and drift is told from 12 on\n"
    assert "3 values: too few to tell" in told.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.log"], "cannot be read"),
        (["log.jsonl", "--metric", "none"], "has none of the metrics"),
        (["log.jsonl", "--better", "x=up"], "NAME=lower"),
        (["log.jsonl", "--least", "0"], "--least"),
        (["."], "no baseline store"),
    ],
)
def test_a_wrong_call_is_one_sentence(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text('{"a_ms": 1}\n')
    assert main(["watch", *words]) == 2
    assert said in capsys.readouterr().err


def test_names_with_control_characters_make_a_plot_that_is_xml(tmp_path):
    name = "loss_ms<script>\x1b[31m\x07"
    log = tmp_path / "log.csv"
    log.write_text(f"time,{name}\n" + "".join(f"{i},{i}\n" for i in range(300)))
    assert main(["watch", str(log), "--metric", name, "--svg", str(tmp_path / "svg")]) == 1
    (svg,) = (tmp_path / "svg").iterdir()
    text = svg.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("numbers", [("1e308", "-1e308"), ("1e308", "1", "nan", "inf")])
def test_numbers_that_no_figure_has_are_left_out(tmp_path, capsys, numbers):
    log = tmp_path / "log.csv"
    log.write_text("time,step_ms\n" + "".join(f"{i},{numbers[i % len(numbers)]}\n" for i in range(300)))
    assert main(["watch", str(log), "--svg", str(tmp_path / "svg")]) in (0, 2)
    assert "defect" not in capsys.readouterr().err
