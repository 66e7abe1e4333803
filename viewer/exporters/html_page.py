"""The HTML report: one file that needs nothing else, no script, light and dark, good on paper.

``html_sections`` says what it holds; this module is the frame around that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from viewer.analyses.findings.registry import job_findings
from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count
from viewer.exporters.html_document import document
from viewer.exporters.html_parts import Markup, note, table, tag
from viewer.exporters.html_sections import SECTIONS
from viewer.store.session import Session
from viewer.views.figures import plural
from viewer.views.findings import FindingsFrame, findings_frame, page_basis
from viewer.views.three_moves import three_moves

Json = dict[str, Any]
Picture = Callable[[TimeRange, str], str]
"""(window in session time, "light" or "dark") -> an SVG document."""

MOST_FILES: Final = 64
MOST_BYTES: Final = 24_000_000
"""A page beyond this is written without its pictures: browsers and mail take no more gladly."""


@dataclass(frozen=True)
class Page:
    """What a section may show.

    Attributes:
        session: the job.
        data: the report of ``viewer.exporters.report``.
        frame: the findings as the home page shows them.
        title: name of the job.
        picture: paints lanes; None for no pictures.
        left_out: why there are no pictures, "" when there are.
    """

    session: Session
    data: Json
    frame: FindingsFrame
    title: str
    picture: Picture | None = None
    left_out: str = ""
    names: dict[int, str] = field(default_factory=dict)

    def rank_name(self, row: Json) -> str:
        """What a row of ``data["ranks"]`` is called: its rank, else its file."""
        if row["rank"] is not None and sum(r["rank"] == row["rank"] for r in self.data["ranks"]) == 1:
            return f"rank {row['rank']}"
        file = PurePath(self.data["inputs"][row["input"]]["path"]).name
        return file if row["rank"] is None else f"rank {row['rank']} ({file})"


def html_report(
    session: Session,
    data: Json,
    title: str,
    picture: Picture | None = None,
    dismissed: Collection[str] = (),
) -> str:
    """The whole page.

    Args:
        session: the job.
        data: its report.
        title: name of the job.
        picture: paints lanes; None leaves them out.
        dismissed: ids of findings that a person put aside.
    """
    frame = findings_frame(page_basis(session), job_findings(session), three_moves(session), dismissed)
    text = _document(Page(session, data, frame, title, picture))
    if len(text.encode()) > MOST_BYTES and picture is not None:
        why = f"left out: with the pictures the page would be larger than {format_bytes(MOST_BYTES)}"
        text = _document(Page(session, data, frame, title, None, why))
    return text


def _document(page: Page) -> str:
    return document(page.title, _head(page), [(key, *_section(key, page)) for key in SECTIONS])


def _section(key: str, page: Page) -> tuple[str, Markup | None]:
    module = importlib.import_module(f"viewer.exporters.html_{key}")
    content = module.section(page)
    title: str = module.TITLE
    if content is None or isinstance(content, Markup):
        return title, content
    return title, note(content)


def _head(page: Page) -> Markup:
    data = page.data
    inputs, job = data["inputs"], data["job"]
    events, size = sum(i["events"] for i in inputs), sum(i["bytes"] for i in inputs)
    world = f" of {format_count(job['world_size'])}" if job["world_size"] else ""
    facts = [
        plural(len(inputs), "file"),
        plural(len(job["ranks"]), "rank") + world,
        plural(events, "event"),
        format_bytes(size),
        *_gpus(data),
    ]
    steady = data["saving"]
    if steady["step_ns"]:
        facts.append(f"step {format_duration(steady['step_ns'], 1)}")
    if data["window"]:
        w = data["window"]
        facts.append(
            f"window {format_duration(w['start_ns'])} to {format_duration(w['end_ns'])} after the first GPU start"
        )
    tone = "verdict warn" if page.frame.tone == "warning" else "verdict"
    return tag(
        "header",
        tag("h1", page.title),
        tag("p", " · ".join(facts), class_="facts"),
        tag("p", page.frame.sentence, class_=tone),
        _files(page),
    )


def _gpus(data: Json) -> list[str]:
    counts: dict[str, int] = {}
    for rank in data["ranks"]:
        for device in rank["devices"]:
            if device["name"]:
                counts[device["name"]] = counts.get(device["name"], 0) + 1
    return [f"{n} x {name}" for name, n in sorted(counts.items(), key=lambda c: -c[1])[:3]]


def _files(page: Page) -> Markup:
    inputs = page.data["inputs"]
    repaired, rejected = (sum(i["ledger"][key] for i in inputs) for key in ("repaired", "rejected"))
    cut = sum(not i["complete"] for i in inputs)
    words = f"{plural(sum(i['ledger']['read'] for i in inputs), 'event')} read, {format_count(repaired)} repaired, "
    words += f"{format_count(rejected)} rejected" + (f", {plural(cut, 'file')} cut off" if cut else "")
    rows = [
        (
            PurePath(i["path"]).name,
            "–" if i["rank"] is None else str(i["rank"]),
            i["format"],
            format_bytes(i["bytes"]),
            *(format_count(i["ledger"][key]) for key in ("read", "kept", "repaired", "rejected")),
            "whole" if i["complete"] else "cut off",
        )
        for i in inputs[:MOST_FILES]
    ]
    more = note(f"and {len(inputs) - MOST_FILES} more files") if len(inputs) > MOST_FILES else None
    failed = [tag("li", f["message"]) for f in page.data["failures"][:MOST_FILES]]
    return tag(
        "details",
        tag("summary", f"Files: {words}"),
        table(("file", "rank", "format", "size", "read", "kept", "repaired", "rejected", ""), rows, 3),
        more,
        tag("ul", *failed) if failed else None,
    )
