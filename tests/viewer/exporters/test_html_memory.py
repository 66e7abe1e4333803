"""The memory part of the HTML report: peaks, categories, growth, failed requests; names stay text."""

from __future__ import annotations

from pathlib import Path

from tests.support.memory import MIB, FakeAllocator
from tests.support.memory_job import Planted, fragmented, training
from tests.viewer.importers.texts import open_job
from viewer.app.html_page import page_bytes
from viewer.exporters.report import report


def part_of(tmp_path: Path, a: FakeAllocator) -> str:
    path = tmp_path / "rank0.pickle"
    path.write_bytes(a.pickled())
    session = open_job(tmp_path, path).session
    page = page_bytes(session, report(session)).decode("utf-8")
    part = page[page.index('<section id="memory"') :]
    return part[: part.index("</section>")]


def test_a_job_has_peaks_categories_and_what_grows(tmp_path: Path) -> None:
    a = training(Planted(leak=MIB))
    a.alloc(MIB, "<img src=x>:evil.py")
    part = part_of(tmp_path, a)
    assert "peak allocated" in part
    assert "<title>weights: 24 MiB</title>" in part
    assert "Grows from step to step" in part
    assert "log_metrics (logging.py:" in part
    assert "Not held against theory" in part
    assert "Requests that failed" not in part
    assert "<img" not in part


def test_requests_that_failed_say_why(tmp_path: Path) -> None:
    a, _, _ = fragmented()
    part = part_of(tmp_path, a)
    assert "Requests that failed" in part
    assert ">50 MiB<" in part
    assert ">fragmentation<" in part
