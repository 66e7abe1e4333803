from __future__ import annotations

from pathlib import Path

from tests.support.build import call, kernel, make_session, make_trace
from tests.support.panel_frames import figure, section, titles, unexplained, values
from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.base.frames import SourcePlace
from viewer.base.selection import TimeRange
from viewer.store.meta import SourceStamp
from viewer.store.session import Session
from viewer.store.trace import Came
from viewer.views.files import (
    MOST_FINDINGS,
    file_frame,
    files_table,
    findings_words,
    no_files_frame,
    rank_how,
    with_problems,
)

BROKEN = InputError("/job/rank9.json", "is empty", "", "Export the trace again.")


def job() -> Session:
    good = make_trace(
        kernel("k", 10, 5),
        rank=0,
        rank_source="distributedInfo",
        world_size=8,
        base_ns=1_711_964_646_000_000_000,
        ledger=Ledger(read=14_245, kept=14_245),
        path="/job/rank0.json",
    )
    poor = make_trace(
        call("c", 1_711_964_646_000_000_000, 5),
        rank=1,
        rank_source="file name",
        complete=False,
        ledger=Ledger(10, 7, 2, 1, {"text": (2, 1_234), "empty": (1, -1)}),
        findings=[
            Finding("truncated", "warning", 1, "The file ends early.", "byte 99"),
            Finding("no-gpu", "info", 1, "No GPU work."),
        ],
        path="/job/rank1.json",
    )
    return make_session(good, poor)


def test_how_a_rank_is_known() -> None:
    assert "distributedInfo" in rank_how("distributedInfo")
    assert "guess" in rank_how("file name")
    assert "You gave" in rank_how("given")
    assert "not taken for 0" in rank_how("unknown")


def test_one_row_per_file() -> None:
    found = files_table(job())
    assert found is not None
    assert [(r[0], r[1], r[2], r[6]) for r in found.rows] == [
        ("rank0.json", "0", "1", "–"),
        ("rank1.json", "1", "1", "1 warning, 1 note"),
    ]
    assert files_table(Session()) is None


def test_everything_about_one_file() -> None:
    session = job()
    frame = file_frame(session, 0)
    assert (frame.title, frame.subtitle) == ("rank0.json", "/job")
    assert values(frame, "File")["rank"] == "0"
    assert values(frame, "File")["of"] == "8 ranks"
    assert values(frame, "Import")["events"] == "14,245 events read: all kept"
    assert values(frame, "Clock")["base time"] == "1711964646000000000 ns\n(2024-04-01 09:44:06 UTC)"
    assert figure(frame, "Clock", "extent").jump == TimeRange(1_711_964_646_000_000_010, 1_711_964_646_000_000_015)
    assert "nothing in this file needs attention" in section(frame, "Findings").note


def test_trouble_stands_out() -> None:
    frame = file_frame(job(), 1, [BROKEN])
    assert titles(frame)[0] == "Not opened"
    failed = figure(frame, "Not opened", "rank9.json")
    assert (failed.value, failed.tone) == ("/job/rank9.json: is empty. Export the trace again.", "warning")
    assert figure(frame, "File", "rank").tone == "warning"
    imported = values(frame, "Import")
    assert imported["repaired: text"].startswith("2 ×, first at byte 1,234: names with bytes")
    assert imported["rejected: empty"] == "1 ×: empty objects in the event list"
    assert figure(frame, "Import", "repaired: text").jump == SourcePlace(1, 1_234)
    assert figure(frame, "Findings", "warning").jump == SourcePlace(1, 99)
    assert imported["complete"] == "no: the file ends early"
    assert [(f.label, f.value) for f in section(frame, "Findings").figures] == [
        ("warning", "The file ends early."),
        ("note", "No GPU work."),
    ]


def test_findings_of_the_session_are_shown_at_their_files() -> None:
    session = make_session(
        make_trace(kernel("k", 0, 5), rank=3, path="a.json"), make_trace(kernel("k", 0, 5), rank=3, path="b.json")
    )
    assert "overlapping times" in figure(file_frame(session, 1), "Findings", "warning").value


def test_an_impossible_base_time_has_no_date() -> None:
    session = make_session(make_trace(kernel("k", 0, 5), base_ns=2**62, path=str(Path("/a/x.json"))))
    assert values(file_frame(session, 0), "Clock")["base time"].startswith("4611686018427387904 ns")


def test_counting_of_findings() -> None:
    some = [Finding("a", "error", 1, ""), Finding("b", "warning", 1, ""), Finding("c", "warning", 3, "")]
    assert findings_words(some) == "1 error, 2 warnings"


def test_only_failures() -> None:
    assert titles(no_files_frame([BROKEN])) == ["Not opened"]


def test_every_figure_says_how_it_is_known() -> None:
    session = job()
    assert [unexplained(file_frame(session, i, [BROKEN])) for i in (0, 1)] == [[], []]


def test_only_files_with_problems() -> None:
    session = job()
    assert with_problems(session) == [1]
    found = files_table(session, with_problems(session))
    assert found is not None
    assert [(r[0], r[3], r[4]) for r in found.rows] == [("rank1.json", "2", "1")]
    assert files_table(session, []) is None


def test_how_the_format_was_recognised_and_how_it_came() -> None:
    trace = make_trace(kernel("k", 0, 5), import_seconds=2.0, path="/a.json")
    trace.meta.source = SourceStamp("/a.json", 8_000_000, 0, "")
    assert "deviceProperties" in figure(file_frame(make_session(trace), 0), "File", "format").how
    trace.came = Came(True, 0.004, 600)
    shown = values(file_frame(make_session(trace), 0), "Import")
    assert shown["read"] == "from the cache in 4 ms; imported in 2.0 s (4 MB/s)"
    assert shown["tables on disk"] == "600 B, 600 bytes per event"
    trace.came = Came(False, 4.0)
    shown = values(file_frame(make_session(trace), 0), "Import")
    assert shown["read"] == "now, in 4.0 s (2 MB/s)"
    assert shown["tables"].startswith("only in memory")


def test_many_findings_are_sorted_and_bounded() -> None:
    many = [Finding(f"c{i}", "warning" if i == 7 else "info", i, "x") for i in range(MOST_FINDINGS + 50)]
    frame = file_frame(make_session(make_trace(kernel("k", 0, 5), findings=many)), 0)
    found = section(frame, "Findings")
    assert len(found.figures) == MOST_FINDINGS
    assert (found.figures[0].label, found.note) == ("warning", "and 50 findings more")


def test_files_of_folders_that_are_no_traces_are_listed() -> None:
    skipped = [Finding("skipped", "info", 1, "no trace, left out: is empty", f"/job/{i}.json") for i in range(103)]
    left = section(file_frame(job(), 0, skipped=skipped), "Left out")
    assert (left.figures[0].label, left.figures[0].value) == ("0.json", "no trace, left out: is empty")
    assert left.note == "and 3 files more"
