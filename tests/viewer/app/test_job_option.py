"""``--job CARD``: read before anything else, in force for the report, and kept in session files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from tests.viewer.app.conftest import trace_text
from viewer.app.cli import main
from viewer.app.options import JobOptions
from viewer.app.session_input import read_input
from viewer.base.job_card import EMPTY_CARD

Capture = pytest.CaptureFixture[str]


def test_a_wrong_card_is_one_sentence_before_any_trace_is_read(tmp_path: Path, capsys: Capture) -> None:
    card = tmp_path / "card.toml"
    card.write_text("[model]\nlayer = 3\n")
    assert main(["analyze", str(tmp_path / "no trace"), "--job", str(card)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert 'card.toml at line 2: "layer" is no field of [model]. Did you mean "layers"?' in said
    assert main([str(tmp_path), "--job", str(tmp_path / "none.toml")]) == 2
    assert "should be a job card" in capsys.readouterr().err


def test_the_card_of_a_session_file_goes_behind_the_one_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "r0.json").write_text(trace_text(0))
    path = tmp_path / "job.rankscope"
    content = {"format": "rankscope.session", "version": "1.0", "sources": [{"path": "r0.json"}]}
    content["job"] = {"plan": {"tp": 4, "of a newer version": 1}}
    path.write_text(json.dumps(content))
    found = read_input(path)
    assert found.options(JobOptions()).card == EMPTY_CARD.with_value("plan.tp", 4)
    given = EMPTY_CARD.with_value("plan.dp", 2)
    assert found.options(JobOptions(card=given)).card == given


def test_a_session_file_with_a_wrong_card_is_refused_with_the_place(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "job.rankscope"
    content = {"format": "rankscope.session", "version": "1.0", "job": {"plan": {"tp": 0}}}
    path.write_text(json.dumps(content))
    assert main(["analyze", str(path)]) == 2
    assert "plan.tp 0: it must be 1 to" in capsys.readouterr().err


def test_the_option_is_in_every_command_that_opens_a_job() -> None:
    from viewer.app.cli import _job_options, job_options

    parser = argparse.ArgumentParser()
    _job_options(parser)
    assert job_options(parser.parse_args([])).card == EMPTY_CARD


def test_a_report_holds_the_card_of_the_call_and_what_the_traces_tell(job_folder: Path, tmp_path: Path) -> None:
    card, out = tmp_path / "card.toml", tmp_path / "report.json"
    card.write_text('[model]\nparameters = "7B"\n')
    assert main(["analyze", str(job_folder), "--job", str(card), "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    told = report["job"]["card"]
    assert told["model"]["parameters"] == 7_000_000_000
    assert (told["plan"]["world_size"], told["sources"]["plan.world_size"]) == (2, "distributedInfo of the traces")
    assert report["fingerprint"]["training"]["mfu"]["needs"] == "run.tokens_per_step"
