"""Which runs a new one is judged against, and where a figure turned."""

import pytest

from viewer.analyses.gate.history import baseline_runs, comparable, first_bad, judge_run, overall, with_verdict
from viewer.base.run_record import ACCEPT_SCHEMA, RUN_SCHEMA, Accepted, RunFigure, RunRecord


def a_run(number, value=100.0, *, machine="m", gate=True, verdict="", unit="ns"):
    from viewer.base.run_record import Judged

    return RunRecord(
        RUN_SCHEMA,
        f"run-{number:04}",
        f"2026-01-01T{number // 60:02}:{number % 60:02}:00.000000Z",
        "load",
        {"step": RunFigure(value, unit, "lower", gate)},
        machine=machine,
        verdict=verdict,
        judged={"step": Judged(verdict, agreeing=2)} if verdict else {},
    )


def follow(values, accepted=()):
    """Check runs one after another as the command does."""
    runs = []
    for number, value in enumerate(values):
        record = a_run(number, value)
        runs.append(with_verdict(record, judge_run(runs, record, accepted)))
    return runs


def test_only_runs_of_the_same_place_that_came_before_count():
    runs = [a_run(1), a_run(2, machine="other"), a_run(3), a_run(5)]
    assert [r.id for r in comparable(runs, a_run(4))] == ["run-0001", "run-0003"]


def test_regressions_in_the_middle_are_left_out_those_at_the_end_stay():
    runs = [a_run(1), a_run(2, verdict="regression"), a_run(3), a_run(4, verdict="regression")]
    assert [r.id for r in baseline_runs(runs, "step")] == ["run-0001", "run-0003", "run-0004"]


def test_another_unit_begins_another_history():
    runs = [a_run(1, unit="ms"), a_run(2), a_run(3)]
    assert [r.id for r in baseline_runs(runs, "step")] == ["run-0002", "run-0003"]


def test_a_regression_goes_on_alarming_until_it_is_accepted():
    good = [100.0, 100.2, 99.9, 100.1] * 4
    runs = follow([*good, *[105.0, 105.1] * 10])
    assert [r.verdict for r in runs[16:]] == ["pass", *["regression"] * 19]
    last_good, bad = first_bad(runs[:-1], runs[-1], "step")
    assert last_good is not None
    assert (last_good.id, bad.id) == ("run-0015", "run-0016"), "the first of the two runs that agreed"

    accepted = (Accepted(ACCEPT_SCHEMA, "run-0020", "", "larger batch"),)
    after = a_run(40, 105.05)
    found = judge_run(runs, after, accepted)["step"]
    assert (found.verdict, found.baseline) == ("pass", pytest.approx(105.05, abs=0.1))


def test_a_lasting_improvement_becomes_the_baseline():
    good = [100.0, 100.2, 99.9, 100.1] * 4
    runs = follow([*good, *[90.0, 90.1] * 6])
    assert runs[17].verdict == "improvement"
    assert "not enough history" not in [r.verdict for r in runs[12:]], "the change of the baseline leaves no gap"
    back = [a_run(60, 95.0), a_run(61, 95.1)]
    first = with_verdict(back[0], judge_run(runs, back[0]))
    second = judge_run([*runs, first], back[1])["step"]
    assert second.verdict == "regression", "worse than the new level, though better than the first one"


def test_only_figures_that_gate_decide():
    figures = {"a": RunFigure(1.0, "", gate=True), "b": RunFigure(1.0, "", gate=False)}

    class Fake:
        def __init__(self, verdict):
            self.verdict = verdict

    assert overall(figures, {"a": Fake("pass"), "b": Fake("regression")}) == "pass"  # type: ignore[dict-item]
    assert overall(figures, {"a": Fake("regression"), "b": Fake("pass")}) == "regression"  # type: ignore[dict-item]
    assert overall(figures, {"a": Fake("improvement"), "b": Fake("pass")}) == "improvement"  # type: ignore[dict-item]
    assert overall(figures, {"b": Fake("pass")}) == "not enough history"  # type: ignore[dict-item]


def test_the_first_run_of_all_has_no_good_one_before_it():
    assert first_bad([], a_run(1), "step")[0] is None
