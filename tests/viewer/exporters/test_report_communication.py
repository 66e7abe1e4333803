"""The report's communication: keys, sums, null for what does not exist."""

from __future__ import annotations

from dataclasses import replace

from tests.support.build import kernel, make_session, make_trace
from tests.viewer.analyses.collective.test_communication import LINK, pair, reduce_
from viewer.base.job_card import EMPTY_CARD, BaselineCard, JobCard
from viewer.exporters.report import report
from viewer.exporters.report_communication import communication_lines

PARTS = ("wait_ns", "volume_ns", "rate_ns", "unhidden_ns", "not_separable_ns")


def of(card: JobCard = EMPTY_CARD) -> dict:  # type: ignore[type-arg]
    return report(pair([reduce_(0, 9_000, 1), kernel("gemm", 5_000, 1_000)], [reduce_(4_000, 5_000, 1)], card))


def test_the_parts_of_each_rank_sum_to_its_exposed_time_and_the_job_adds_them() -> None:
    told = of(LINK)
    for row in [*(r["communication"] for r in told["ranks"]), told["communication"]]:
        assert sum(row[k] or 0 for k in PARTS) == row["exposed_ns"]
        assert sum(row["unhidden"].values()) == row["unhidden_ns"]
        assert sum(row["not_separable"].values()) == row["not_separable_ns"]
        assert sum(row["transfer"].values()) == row["transfer_ns"]
    assert told["ranks"][0]["communication"]["exposed_ns"] == told["ranks"][0]["device"]["comm_exposed_ns"] == 8_000
    assert told["communication"]["exposed_ns"] == 13_000
    assert told["communication"]["rate_ns"] == 5_806
    assert "table figure" in told["communication"]["baseline"]
    assert "model.parameters" in told["communication"]["plan"]


def test_what_cannot_be_told_is_null() -> None:
    told = of()["communication"]
    assert (told["rate_ns"], told["unhidden_ns"], told["unhidden"], told["volume_ns"]) == (None, None, None, None)
    assert told["wait_ns"] == 4_000
    assert told["not_separable"] == {"no_baseline_ns": 9_000, "not_matched_ns": 0, "members_missing_ns": 0}
    alone = report(make_session(make_trace(reduce_(0, 9_000, 1), rank=0)))["communication"]
    assert (alone["wait_ns"], alone["transfer_ns"], alone["not_separable_ns"]) == (None, None, 9_000)
    silent = report(make_session(make_trace(kernel("gemm", 0, 9))))["communication"]
    assert (silent["exposed_ns"], silent["wait_ns"]) == (0, 0)
    host = report(make_session(make_trace()))
    assert host["communication"] is None


def test_a_window_cuts_the_parts() -> None:
    session = pair([reduce_(0, 9_000, 1)], [reduce_(4_000, 5_000, 1)], LINK)
    told = report(session, window=(0, 3_000))
    assert told["collectives"] is None
    assert told["communication"]["wait_ns"] == told["communication"]["exposed_ns"] == 3_000


def test_rows_of_collectives_say_what_of_them_was_exposed_and_why() -> None:
    (row,) = of(LINK)["collectives"]
    assert row["exposed_wait_ns"] == 4_000
    assert sum(row["exposed_transfer"].values()) == 9_000
    assert row["baseline_busbw_gbps"] == 1_000.07
    assert row["baseline_source"] == "link of the device"
    (row,) = of()["collectives"]
    assert row["baseline_busbw_gbps"] is None


def test_the_summary_says_it_in_a_line() -> None:
    assert communication_lines(of(LINK)) == [
        "communication that nothing hid, all ranks: rate below the baseline 44.7 %; waiting for other ranks 30.8 %; "
        "unhidden transfer 24.6 %"
    ]
    assert communication_lines(report(make_session(make_trace()))) == []
    gone = communication_lines(of(replace(LINK, baseline=BaselineCard("/gone/nccl.txt"))))
    assert gone[1].startswith("  /gone/nccl.txt: the baseline cannot be read")
