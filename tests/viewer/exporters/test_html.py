"""The HTML report: whole, self-contained, no name of a file can become markup, bounded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import annotation, call, kernel, make_session, make_trace
from tests.support.ranks import RankJob
from viewer.analyses.findings import registry
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.app.clocks import settle_clocks
from viewer.app.html_page import page_bytes
from viewer.base.selection import SliceRef, TimeRange
from viewer.base.units import NBSP
from viewer.exporters import html_page, html_stragglers
from viewer.exporters.html_page import html_report
from viewer.exporters.html_parts import Markup, bar, joined, tag, text
from viewer.exporters.html_sections import SECTIONS
from viewer.exporters.report import report
from viewer.store.meta import DeviceInfo
from viewer.store.session import Session

VOID = {"meta", "img", "source"}
ALLOWED = {
    "html", "head", "body", "main", "header", "nav", "section", "footer", "title", "style", "meta", "h1", "h2", "h3",
    "h4", "p", "a", "b", "i", "span", "div", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "details",
    "summary", "svg", "rect", "text", "picture", "source", "img",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "src", "srcset", "media", "alt", "x",
    "y", "width", "height", "viewbox", "preserveaspectratio", "role", "text-anchor", "fill-opacity",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a page as a browser would, and fails on what it must not hold."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        assert name in ALLOWED, name
        self.counts[name] = self.counts.get(name, 0) + 1
        for key, value in attributes:
            assert key in ATTRIBUTES, key
            if key in ("src", "srcset"):
                assert (value or "").startswith("data:image/svg+xml;base64,")
            if key == "href":
                assert (value or "").startswith("#")
                self.links.append((value or "")[1:])
            if key == "id":
                self.ids.append(value or "")
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data.replace(NBSP, " "))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(session: Session, window: tuple[int, int] | None = None, **more: Any) -> str:
    return page_bytes(session, report(session, window=window), **more).decode("utf-8")


@pytest.fixture(scope="module")
def late() -> Session:
    return settle_clocks(RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}).session(), "auto")


def test_a_whole_page_stands_by_itself(late: Session) -> None:
    page = page_of(late, title="my job")
    read = Reader(page)
    assert read.links == read.ids
    assert set(read.ids) <= set(SECTIONS)
    assert {"moves", "findings", "time", "lanes", "idle", "communication", "kernels", "stragglers", "clocks"} <= set(
        read.ids
    )
    assert "Change first: bring rank 3 up to its peers' pace – up to " in read.text
    assert "Rank 3 is late by 4.0 ms per step" in read.text
    assert "<script" not in page
    assert re.findall(r"(?:https?:)?//[^\s\"'<)]+", page) == [], "no address of anything"
    assert "@import" not in page
    assert "url(" not in page
    assert read.counts["picture"] == 1
    assert page.count("data:image/svg+xml;base64,") == 2, "light and dark"


def test_the_policy_allows_the_page_its_own_style_alone(late: Session) -> None:
    import base64
    import hashlib

    page = page_of(late)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy is not None
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1].startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;")
    assert "unsafe" not in policy[1]
    assert " style=" not in page, "an attribute would be refused"


def test_the_figures_are_those_of_the_report(late: Session) -> None:
    data = report(late)
    read = Reader(html_report(late, data, "job"))
    for row in data["kernels"]:
        assert row["name"] in read.text
    assert data["late_rank"]["text"] in read.text
    assert "left out" not in read.text
    assert "lanes" not in read.ids, "nobody paints"


def test_the_same_job_gives_the_same_bytes(late: Session) -> None:
    assert page_of(late) == page_of(late)


def test_a_window_says_so(late: Session) -> None:
    read = Reader(page_of(late, (0, 40_000_000)))
    assert "window 0 ns to 40.000 ms after the first GPU start" in read.text
    assert "Collectives are told for the whole job" in read.text
    assert "The window of this report." in read.text


def test_jobs_with_little_in_them_have_a_page() -> None:
    nothing = Reader(page_of(Session()))
    assert "There is no GPU work in the files." in nothing.text
    cpu = make_session(make_trace(call("cudaLaunchKernel", 0, 5)))
    assert "no GPU work" in Reader(page_of(cpu)).text
    one = make_session(make_trace(kernel("gemm", 0, 10), rank=0))
    assert "Everything, 10 ns: no steps are marked." in Reader(page_of(one)).text


def test_a_page_that_grows_too_large_goes_without_pictures(late: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_page, "MOST_BYTES", 1_000)
    read = Reader(page_of(late))
    assert "picture" not in read.counts
    assert "left out: with the pictures the page would be larger" in read.text


def test_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [kernel(f"kernel_{i}", 10 * i, 5) for i in range(300)]
    found = [
        JobFinding(f"f{i}", "k", f"finding {i}.", "warning", i, "", (Evidence("e"),) * 50, "try", "how")
        for i in range(200)
    ]
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda *_a: found)
    read = Reader(html_report(*_with_report(make_session(make_trace(*many, rank=0))), "job"))
    assert "The 40 largest of 300." in read.text
    assert "and 140 more findings in the JSON report" in read.text
    assert read.text.count("finding 3.") == 0


def _with_report(session: Session) -> tuple[Session, dict[str, Any]]:
    return session, report(session)


def test_what_was_put_aside_is_named_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        JobFinding(f"f{i}", "k", f"finding {i}.", "warning", 9 - i, "", (Evidence("e"),), "try", "how")
        for i in range(2)
    ]
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda *_a: found)
    read = Reader(page_of(make_session(make_trace(kernel("a", 0, 1))), dismissed=["f0"]))
    assert "Put aside by a person: finding 0." in read.text
    assert "Change first: finding 1" in read.text


HOSTILE = (
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"><svg onload='x'>",
    "' onmouseover='x",
    "a\u202eb\u2066c\u200f",
    "\x00\x07\x1b[31m\r\nnew",
    "half \ud800 pair \udfff",
    "&lt;b&gt; &amp; ]]> <!-- x -->",
    "x" * 5_000,
)


def job_of(name: str) -> Session:
    written = name.encode("utf-8", "replace").decode()  # tables hold text, a path any byte
    traces = [
        make_trace(
            annotation("ProfilerStep#1", 0, 2_000, args={"note": written}),
            call(written, 0, 3, corr=1),
            kernel(written, 10, 900, corr=1),
            kernel("ncclDevKernel_AllReduce", 100, 400, stream=9, collective="allreduce",
                   about={"group": written, "group_desc": written, "group_size": 2, "in_elems": 8, "dtype": "Float"}),
            rank=r, path=f"/t/{written[:60].replace('/', '-')}\udcff-{r}.json", host=written,
            devices=[DeviceInfo(0, written, {})],
        )
        for r in range(2)
    ]  # fmt: skip
    return make_session(*traces)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_becomes_markup(name: str) -> None:
    page = page_of(job_of(name), title=name)
    read = Reader(page)
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08\x0b-\x1f\ud800-\udfff]", page)
    assert len(page) < 3_000_000
    assert read.counts["img"] == 1, "our own picture"


@given(st.text(alphabet=st.characters(), max_size=60), st.text(max_size=40))
@settings(max_examples=200)
def test_any_text_is_text(value: str, other: str) -> None:
    page = tag("div", value, tag("span", other, class_=value), bar((("compute", 1),), 2, (value,)))
    read = Reader(page)
    page.encode("utf-8")
    assert set(read.counts) <= {"div", "span", "svg", "rect", "title"}
    assert "<" not in text(value)
    assert '"' not in text(value)


@given(st.lists(st.integers(0, 10**15), max_size=6))
def test_a_bar_is_never_longer_than_its_whole(parts: list[int]) -> None:
    drawn = bar([("compute", p) for p in parts], sum(parts))
    ends = [float(x) + float(w) for x, w in re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', drawn)]
    assert all(e <= 1000.01 for e in ends)
    assert len(ends) == sum(p > 0 for p in parts)


def test_evidence_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    places = (Evidence("slice", SliceRef(0, 0)), Evidence("range", TimeRange(5, 9)), Evidence("nowhere"))
    found = [JobFinding("f", "k", "finding", "error", None, "", places, "", "")]
    monkeypatch.setattr(registry, "DETECTORS", ("one",))
    monkeypatch.setattr(registry, "detector", lambda _: lambda *_a: found)
    read = Reader(page_of(make_session(make_trace(kernel("a", 0, 7), rank=4))))
    assert "(rank 4, at 0 ns for 7 ns)" in read.text
    assert "(at 5 ns for 4 ns)" in read.text
    assert "Figures cannot be used: finding" in read.text


def test_the_heat_map_has_a_cell_for_every_late_step(late: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(late)
    part = page[page.index('<section id="stragglers"') :]
    assert part.count("<title>rank 3, step") == 12
    monkeypatch.setattr(html_stragglers, "MOST_ROWS", 1)
    part = page_of(late)
    part = part[part.index('<section id="stragglers"') :]
    assert part.count("<title>rank 3, step") == 12
    assert "<title>rank 1, step" not in part


def test_markup_is_joined_and_texts_are_escaped() -> None:
    assert joined((Markup("<b>"), "<i>", None, 3)) == "<b>&lt;i&gt;3"
    assert tag("a", "x", class_="n", text_anchor="end", href=None) == '<a class="n" text-anchor="end">x</a>'
