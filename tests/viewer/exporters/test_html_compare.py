"""The comparison as a page."""

import re

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.two_runs import GEMM, a_run
from tests.viewer.exporters.test_html import HOSTILE, Reader
from viewer.analyses.comparison.compare import compare
from viewer.base.time import format_duration
from viewer.exporters.compare_report import compare_report
from viewer.exporters.html_compare import MOST_ROWS, compare_page
from viewer.exporters.html_parts import text


def test_the_page_says_what_changed_by_how_much_and_against_which_noise():
    found = compare(a_run(), a_run(gemm=1.2))
    report = compare_report(found)
    page = compare_page(report, "a → b", lambda theme: f"<svg>{theme}</svg>")
    read = Reader(page)
    assert read.counts["img"] == 1
    assert read.counts.get("script", 0) == 0
    row = next(r for r in report["kernels"] if r["name"] == GEMM)
    for said in (GEMM[:20], format_duration(row["step_base_ns"], 2), format_duration(row["step_test_ns"], 2)):
        assert text(said) in page
    assert "beyond noise" in page
    assert "rank 1" in page
    for cause in report["causes"]:
        if cause["delta_ns"]:
            assert format_duration(abs(cause["delta_ns"]), 2) in page


def test_runs_that_are_the_same_or_no_pair():
    same = compare_page(compare_report(compare(a_run(), a_run())), "t")
    assert "identical: both runs hold the same events" in same
    assert "<table" in same, "the figures of both"
    page = compare_page(compare_report(compare(a_run(steps=1), make_session(make_trace()))), "t")
    assert "Not comparable: the test run holds no GPU work." in page


def test_many_rows_are_cut_and_said():
    one, other = (
        make_session(make_trace(*(kernel(f"k{i}", 100 * i, length) for i in range(MOST_ROWS + 20))))
        for length in (10, 20)
    )
    page = compare_page(compare_report(compare(one, other)), "t")
    assert f"{MOST_ROWS} of {MOST_ROWS + 20}" in page


def test_cut_findings_and_surroundings_are_said():
    report = compare_report(compare(a_run(), a_run(gemm=1.2)))
    report["findings"]["gained"] = [{"title": f"finding {i}"} for i in range(MOST_ROWS + 3)]
    report["surroundings"] = [{"name": f"NCCL_{i}", "base": "1", "test": None} for i in range(MOST_ROWS + 5)]
    page = compare_page(report, "t")
    assert f"{MOST_ROWS} of {MOST_ROWS + 3}: the first of each." in page.replace("\xa0", " ")
    assert f"{MOST_ROWS} of {MOST_ROWS + 5}: the first." in page.replace("\xa0", " ")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_becomes_markup(name: str) -> None:
    written = name.encode("utf-8", "replace").decode()
    runs = [make_session(make_trace(kernel(written, 0, d), kernel("x", 500, 5), rank=0)) for d in (100, 150)]
    page = compare_page(compare_report(compare(*runs)), name)
    assert Reader(page).counts.get("img", 0) == 0
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\ud800-\udfff]", page)
