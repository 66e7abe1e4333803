from __future__ import annotations

import json

from tests.support.build import call, kernel, make_session, make_trace, op, python
from tests.viewer.analyses.idleness.test_profile import eager, two_steps
from viewer.exporters.report import encode_report, report
from viewer.exporters.report_idle import MOST_GAPS


def test_gaps_and_their_parts_are_in_the_report() -> None:
    (rank,) = json.loads(encode_report(report(make_session(two_steps()))))["ranks"]
    idle = rank["idle"]
    assert idle["gap_count"] == 3
    assert idle["gaps"][0] == {
        "start_ns": 40,
        "length_ns": 40,
        "cause": "data loading",
        "parts": [
            {"cause": "untraced", "ns": 12},
            {"cause": "data loading", "ns": 20},
            {"cause": "untraced", "ns": 3},
            {"cause": "launch", "ns": 5},
        ],
        "culprit": "enumerate(DataLoader)#_Iter.__next__",
        "operator": None,
        "line": None,
        "call": "cudaLaunchKernel",
        "before": "second",
        "after": "third",
        "step": 8,
        "between_steps": True,
    }
    causes = {**idle["host_causes"], **idle["launch_causes"], **idle["dependency_causes"]}
    assert sum(causes.values()) + idle["unknown_ns"] == rank["device"]["idle_ns"] == 70
    assert sum(p["ns"] for g in idle["gaps"] for p in g["parts"]) == 70
    assert idle["launch_bound"] == {"stretches": 0, "wait_ns": 0, "kernels": 0, "longest": []}


def test_the_call_that_drained_the_queue_with_its_line() -> None:
    trace = make_trace(
        call("cudaLaunchKernel", -50, 2, corr=1),
        kernel("a", 0, 10, corr=1),
        python("train.py(12): log", -45, 70),
        op("aten::item", -42, 60),
        call("cudaStreamSynchronize", -40, 52),
        call("cudaLaunchKernel", 60, 2, corr=2),
        kernel("b", 70, 10, corr=2),
    )
    gap = report(make_session(trace))["ranks"][0]["idle"]["gaps"][0]
    assert (gap["cause"], gap["culprit"], gap["operator"], gap["line"]) == (
        "sync-drain",
        "cudaStreamSynchronize",
        "aten::item",
        "train.py(12): log",
    )


def test_stretches_are_in_the_report_and_lists_are_bounded() -> None:
    (rank,) = report(make_session(make_trace(*eager(40))))["ranks"]
    bound = rank["idle"]["launch_bound"]
    assert (bound["stretches"], bound["wait_ns"], bound["kernels"]) == (1, 39 * 35_000, 39)
    assert bound["longest"][0]["first"] == "gemm"
    assert len(rank["idle"]["gaps"]) == MOST_GAPS < rank["idle"]["gap_count"]
