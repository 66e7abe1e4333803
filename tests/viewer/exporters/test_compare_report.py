"""The comparison as JSON, as text and as a picture."""

import itertools
import json

import pytest

from tests.support.build import kernel, make_session, make_trace
from tests.support.two_runs import GEMM, a_run
from viewer.analyses.comparison.compare import compare
from viewer.app.themes import load_theme
from viewer.base.errors import UsageError
from viewer.exporters.compare_report import SCHEMA, compare_report, encode_compare
from viewer.exporters.compare_summary import compare_summary, in_percent, signed
from viewer.exporters.svg import svg_text
from viewer.views.comparison.waterfall import bars, fitting_height, waterfall_scene


@pytest.fixture(scope="module")
def slower():
    return compare(a_run(), a_run(gemm=1.2))


def test_the_report_has_what_its_schema_says(slower):
    data = json.loads(encode_compare(compare_report(slower)))
    assert data["schema"] == SCHEMA == "rankscope.compare/1"
    assert (data["comparable"], data["reason"], data["identical"]) == (True, None, False)
    assert data["delta_ns"] == data["test"]["kernel_sum_ns"] - data["base"]["kernel_sum_ns"]
    assert data["delta_pct"] == pytest.approx(100 * data["delta_ns"] / data["base"]["kernel_sum_ns"])
    for name in ("base_ns", "test_ns", "delta_ns"):
        whole = {"base_ns": data["base"]["kernel_sum_ns"], "test_ns": data["test"]["kernel_sum_ns"]}
        assert sum(k[name] for k in data["kernels"]) == whole.get(name, data["delta_ns"])
    first = data["kernels"][0]
    assert (first["name"], first["significant"], first["status"]) == (GEMM, True, "both")
    assert first["pct"] == pytest.approx(100 * first["delta_ns"] / first["base_ns"])
    assert sum(c["delta_ns"] for c in data["causes"]) == data["step"]["delta_ns"]
    assert data["base"]["steps"] == 6
    moved = {f["key"]: f for f in data["fingerprint"]}
    assert moved["exposed_communication"]["delta"] == pytest.approx(
        moved["exposed_communication"]["test"] - moved["exposed_communication"]["base"]
    )
    assert moved["mfu"]["delta"] is None
    assert "the job card lacks" in moved["mfu"]["why"]
    assert data["memory"] == []
    assert len(data["steps"]) == 6
    assert [r["label"] for r in data["ranks"]] == ["rank 0", "rank 1"]
    for row in (*data["ranks"], *data["steps"]):
        for side in ("base", "test"):
            parts = row[side]
            assert parts["span_ns"] == sum(
                parts[k] for k in ("compute_ns", "comm_exposed_ns", "memory_exposed_ns", "idle_ns")
            )


def test_runs_that_cannot_be_compared():
    data = compare_report(compare(a_run(steps=1), make_session(make_trace())))
    assert (data["comparable"], data["reason"]) == (False, "the test run holds no GPU work")
    assert data["delta_ns"] is None
    assert data["kernels"] == []
    assert data["base"]["kernel_sum_ns"] is None
    assert compare_summary(data) == "not comparable: the test run holds no GPU work\n"
    with pytest.raises(UsageError, match="has no trace"):
        waterfall_scene(compare(a_run(steps=1), make_session()), load_theme("light"), (800, 400))


def test_the_summary_says_what_matters(slower):
    text = compare_summary(compare_report(slower))
    lines = text.splitlines()
    assert lines[0] == "base 2 files, test 2 files: 12 pairs of steps on 2 ranks"
    assert "beyond noise" in lines[1]
    assert max(len(line) for line in lines) < 200
    causes = lines[next(i for i, line in enumerate(lines) if "they add up" in line) + 1]
    assert causes.endswith(GEMM)
    row = next(line.split() for line in lines if line.endswith(GEMM) and " ms " in line)
    assert row[2:5] == ["+20.0", "%", "2.00"], "what it was, and by how much it is longer"


def test_the_summary_of_equal_runs():
    run = a_run(steps=3)
    text = compare_summary(compare_report(compare(run, run)))
    assert "identical: both runs hold the same events" in text
    assert GEMM not in text


def test_names_from_a_file_stay_on_their_line():
    base = make_session(make_trace(kernel("a", 0, 10), kernel("evil\n\x1b[31m<b>", 20, 10)))
    test = make_session(make_trace(kernel("a", 0, 30)))
    found = compare(base, test)
    text = compare_summary(compare_report(found))
    assert "\x1b" not in text
    assert "evil\\n" in text
    drawing = svg_text(waterfall_scene(found, load_theme("dark"), (900, 400), title="<i>x</i>"))
    assert "<i>" not in drawing
    assert "\x1b" not in drawing


def test_bars_go_from_base_to_test(slower):
    for most in (1, 2, 3, 12):
        rows = bars(slower, most)
        assert rows[0].end_ns == slower.waterfall.base_ns
        assert rows[-1].end_ns == slower.waterfall.test_ns
        assert len(rows) <= most + 2
        for before, bar in itertools.pairwise(rows):
            assert before.end_ns in (bar.low_ns, bar.high_ns)
            assert bar.end_ns in (bar.low_ns, bar.high_ns)


@pytest.mark.parametrize("width", [320, 800, 1600])
def test_the_picture_keeps_to_its_borders(slower, width):
    size = width, fitting_height(slower, width)
    scene = waterfall_scene(slower, load_theme("light"), size, title="base → test")
    assert scene.texts("title")
    for text in scene.texts():
        assert scene.bounds.contains(text.bounds, slack=2.0), text.text


@pytest.mark.parametrize(("ns", "text"), [(0, "±0 ns"), (1_500_000, "+1.50 ms"), (-20, "−20 ns")])
def test_signs(ns, text):
    assert signed(ns) == text


@pytest.mark.parametrize(("value", "text"), [(None, ""), (0.0, ""), (12.34, "+12.3 %"), (-5.0, "−5.0 %")])
def test_percent(value, text):
    assert in_percent(value) == text
