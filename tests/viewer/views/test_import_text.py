from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace
from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.importers.excerpt import Excerpt
from viewer.store.meta import SourceStamp
from viewer.store.trace import Came
from viewer.views.import_text import job_text, job_words, place_section

SKIPPED = [Finding("skipped", "info", 1, "no trace, left out: is empty", "/job/x.json")]
FAILED = [InputError("/job/y.json", "is empty")]


def test_the_sums_of_a_job() -> None:
    a = make_trace(kernel("k", 0, 5), path="/a.json", ledger=Ledger(10, 7, 2, 1, {"text": (2, 5), "empty": (1, 9)}))
    b = make_trace(kernel("k", 0, 5), path="/b.json", ledger=Ledger(5, 5))
    a.meta.source, b.meta.source = SourceStamp("/a.json", 4 << 20, 0, ""), SourceStamp("/b.json", 2 << 20, 0, "")
    a.came, b.came = Came(False, 2.0, 624), Came(True, 0.01, 400)
    assert job_words(make_session(a, b), FAILED, SKIPPED) == [
        "2 files, 6 MiB, 1 not opened, 1 left out",
        "Events: 15 read = 12 kept + 2 repaired + 1 rejected",
        "1 file read now at 2.1 MB/s each (median), the longest in 2.0 s; 1 file from the cache; tables 1 KiB",
        "Findings: none",
    ]


def test_everything_as_text() -> None:
    ledger = Ledger(3, 2, 0, 1, {"empty": (1, 9)})
    text = job_text(make_session(make_trace(kernel("k", 0, 5), path="/a.json", ledger=ledger)), FAILED, SKIPPED)
    for part in (
        "3 read = 2 kept + 0 repaired + 1 rejected",
        "a.json\t",
        "rejected: empty: 1 ×",
        "y.json: ",
        "x.json: ",
    ):
        assert part in text


def test_a_place_is_shown_escaped_and_marked() -> None:
    part = place_section(Excerpt(1_000, "abc\x1b", "\n{}<b>", False, False))
    assert part.note == "At byte 1,000 (▸):\n… abc\\x1b ▸ {}<b> …"
    assert "(the text ends here)" in place_section(Excerpt(3, "abc", "", True, True)).note
    assert place_section(None, offset=5_000).note == "Reading the text at byte 5,000 …"
