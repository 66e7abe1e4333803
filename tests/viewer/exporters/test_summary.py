from __future__ import annotations

from typing import Any

import pytest

from tests.support.build import annotation, call, copy, kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.app.clocks import settle_clocks
from viewer.base.findings import Finding
from viewer.exporters.report import report
from viewer.exporters.summary import printable, summary
from viewer.store.session import Session
from viewer.store.trace import Trace


def a_trace(rank: int, kernels: int = 3, **meta: Any) -> Trace:
    return make_trace(
        annotation("ProfilerStep#1", 0, 900),
        call("cudaLaunchKernel", -50, 2, corr=1),
        kernel("gemm", 0, 500 - rank, corr=1),
        kernel("ncclDevKernel_AllReduce", 400, 300, stream=20),
        copy("Memcpy DtoH", 800, 50),
        call("cudaLaunchKernel", 900, 2, corr=2),
        kernel("last", 950, 50, corr=2),
        *(kernel(f"kernel_{i}", 0, 1, stream=9) for i in range(kernels)),
        rank=rank,
        rank_source="distributedInfo",
        world_size=64,
        path=f"rank{rank}.json",
        **meta,
    )


def test_each_rank_has_a_line_that_adds_up() -> None:
    text = summary(report(make_session(a_trace(0), a_trace(1))))
    lines = text.splitlines()
    assert lines[0].startswith("2 files, 2 ranks, world size 64, ")
    assert "no file of 62 ranks: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, …" in text
    (zero,) = [line for line in lines if line.startswith("rank 0")]
    assert "550 ns  55.0 %" in zero
    assert zero.count("200 ns  20.0 %") == 2
    assert "50 ns   5.0 %" in zero
    (header,) = [line for line in lines if "exposed comm" in line]
    assert header.split()[:2] == ["span", "compute"]
    assert "1 step on each of 2 ranks by ProfilerStep" in text
    assert "idle by cause, all devices:" in text


def test_the_summary_of_eight_and_of_sixty_four_ranks_is_short() -> None:
    eight = summary(report(make_session(*(a_trace(r, 30) for r in range(8)))))
    assert len(eight.splitlines()) <= 60
    assert sum(line.startswith("rank ") for line in eight.splitlines()) == 8
    many = summary(report(make_session(*(a_trace(r, 30) for r in range(64)))))
    assert len(many.splitlines()) <= 60
    assert "median of each" in many
    assert "10 of 64, those with the least compute first" in many
    shown = [line.split()[1] for line in many.splitlines() if line.startswith("rank ")]
    assert shown == [str(r) for r in range(63, 53, -1)]
    assert max(len(line) for line in many.splitlines()) <= 140


def test_without_gpu_work_or_inputs_it_says_so() -> None:
    assert "no GPU work" in summary(report(make_session(make_trace(call("cudaLaunchKernel", 0, 1)))))
    assert summary(report(Session())).startswith("0 files")


def test_top_kernels_are_ten_with_their_share() -> None:
    text = summary(report(make_session(a_trace(0, 30))))
    assert "kernel (the 10 largest of 34)" in text
    assert sum("kernel_" in line for line in text.splitlines()) == 6
    assert any(line.split()[:2] == ["500", "ns"] and line.endswith("gemm") for line in text.splitlines())


def test_findings_are_shown_worst_first_and_bounded() -> None:
    found = [Finding("x", "info", 1, f"note {i}") for i in range(9)] + [Finding("y", "error", 1, "very bad")]
    text = summary(report(make_session(a_trace(0, findings=found))))
    lines = text.splitlines()
    at = lines.index("findings")
    assert lines[at + 1] == "  error: rank0.json: very bad"
    assert lines[at + 9] == "  and 2 more in the JSON report"


def test_a_window_and_a_cut_off_file_are_said() -> None:
    text = summary(report(make_session(a_trace(0, complete=False)), window=(100, 1_000_000)))
    assert "window 100 ns to 1.000 ms after the first GPU start" in text
    assert "totals are floors" in text


def test_ranks_that_cannot_be_told_apart_are_shown_with_their_file() -> None:
    text = summary(report(make_session(a_trace(3), make_trace(kernel("a", 0, 9), path="/x/other.json"), a_trace(3))))
    assert "rank 3 (rank3.json)" in text
    assert "other.json" in text
    two = summary(report(make_session(make_trace(kernel("a", 0, 9), kernel("b", 0, 9, device=1), rank=0))))
    assert "rank 0 GPU 0" in two
    assert "rank 0 GPU 1" in two


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb\x1b[31m", "a\\nb\\x1b[31m"), ("x" * 100, "x" * 47 + "…" + "x" * 16), ("short", "short")],
)
def test_names_are_escaped_and_bounded(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_the_clocks_of_several_ranks_are_one_line() -> None:
    def line(session: Session) -> list[str]:
        return [text for text in summary(report(session)).splitlines() if text.startswith("clocks")]

    session = RankJob(ranks=4, world_operations=False, sends=False, without_file=(3,)).session()
    (aligned,) = line(settle_clocks(session, "auto"))
    assert aligned.startswith("clocks aligned by collectives, reference rank 0, ± ")
    assert aligned.endswith(", 1 file not aligned; 100.0 % of shared communication kernels matched")
    assert line(session)[0].startswith("clocks: base times; 100.0 %")
    assert line(make_session(a_trace(0))) == []
