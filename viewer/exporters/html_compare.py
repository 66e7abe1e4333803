"""``rankscope compare --html``: the comparison as a page of the same frame as a job's report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count, format_share, percent, with_minus
from viewer.exporters.compare_summary import (
    FIGURES,
    TABLES,
    differing,
    head_lines,
    in_percent,
    row_words,
    share_of,
    signed,
    sure,
    with_spread,
)
from viewer.exporters.html_document import document, themed_image
from viewer.exporters.html_parts import Markup, joined, name, note, table, tag
from viewer.views.text import bare_name

Json = dict[str, Any]
Picture = Callable[[str], str]
""""light" or "dark" -> the waterfall as an SVG document."""

MOST_ROWS: Final = 60
MOST_FILES: Final = 64
_TITLES: Final = {
    "kernels": "Kernels",
    "collectives": "Collectives",
    "operators": "Operators, by the GPU time that they launched",
    "gaps": "Gaps",
    "host": "Operators, by the host's own time",
}
_SURE: Final = {"": "beyond noise", "noise": "within noise", "?": "unknown"}


def compare_page(report: Json, title: str, picture: Picture | None = None) -> str:
    """The whole page of ``compare_report``'s data.

    Args:
        report: the data.
        title: the names of the runs.
        picture: paints the waterfall; None leaves it out.
    """
    if not report["comparable"]:
        said = tag("p", f"Not comparable: {report['reason']}.", class_="verdict warn")
        return document(title, tag("header", tag("h1", title), said, _inputs(report)), [])
    lines = head_lines(report)
    tone = "verdict warn" if report["step"]["significant"] and report["step"]["delta_ns"] > 0 else "verdict"
    header = tag(
        "header",
        tag("h1", title),
        tag("p", lines[0], class_="facts"),
        *(tag("p", line, class_=tone if i == 0 else "facts") for i, line in enumerate(lines[1:])),
        _inputs(report),
    )
    tables = [(key, _TITLES[key], _rows(report, key)) for key, _ in TABLES]
    sections = [
        ("waterfall", "Cause by cause", _causes(report, picture)),
        ("figures", "Where the step's time goes", _identity(report)),
        ("fingerprint", "Fingerprint and memory", _fingerprint(report)),
        ("ranks", "Ranks", _ranks(report)),
        *tables,
        ("findings", "Findings", _findings(report)),
        ("around", "What else differs", _around(report)),
    ]
    return document(title, header, sections)


def _inputs(report: Json) -> Markup:
    rows = [
        (side, name(PurePath(i["path"]).name), "–" if i["rank"] is None else str(i["rank"]))
        for side in ("base", "test")
        for i in report[side]["inputs"][:MOST_FILES]
    ]
    counts = " and ".join(f"{format_count(len(report[side]['inputs']))} of {side}" for side in ("base", "test"))
    return tag("details", tag("summary", f"Files: {counts}"), table(("run", "file", "rank"), rows, 2))


def _causes(report: Json, picture: Picture | None) -> Markup | None:
    moved = [c for c in report["causes"] if c["delta_ns"]]
    if not moved:
        return None
    base = report["step"]["base_ns"]
    rows = [
        (
            name(bare_name(cause["label"]) + (f", mostly on {cause['mostly_on']}" if cause["mostly_on"] else "")),
            signed(cause["delta_ns"]),
            in_percent(share_of(cause["delta_ns"], base)),
            _SURE[sure(cause)],
        )
        for cause in moved[:MOST_ROWS]
    ]
    if len(moved) > MOST_ROWS:
        rest = sum(c["delta_ns"] for c in moved[MOST_ROWS:])
        rows.append((name(f"{len(moved) - MOST_ROWS} further"), signed(rest), in_percent(share_of(rest, base)), ""))
    image = None
    if picture is not None:
        image = themed_image(picture("light"), picture("dark"), "From the base run's step to the test run's")
    return joined(
        (
            image,
            table(("cause", "adds per step", "of the base step", "against noise"), rows),
            note("The causes add up to the change exactly."),
        )
    )


def _identity(report: Json) -> Markup | None:
    found = report["identity"]
    if not found:
        return None
    whole = [found["span_ns"][side]["median_ns"] for side in ("base", "test")]
    rows = []
    for title, key in FIGURES:
        one, other = found[key]["base"], found[key]["test"]
        rows.append(
            (
                title,
                with_spread(one),
                format_share(one["median_ns"], whole[0]),
                with_spread(other),
                format_share(other["median_ns"], whole[1]),
                signed(other["median_ns"] - one["median_ns"]),
            )
        )
    by = "Medians over steps and ranks." if report["part"]["by"] == "step" else "Of whole traces: no steps are marked."
    return joined((table(("", "base", "", "test", "", "change"), rows), note(by)))


def _fingerprint(report: Json) -> Markup | None:
    rows = [
        (
            f["title"],
            percent(f["base"], 1),
            percent(f["test"], 1),
            with_minus(f"{100 * f['delta']:+.1f} points"),
            _SURE[sure(f)],
        )
        for f in report["fingerprint"]
        if f["delta"] is not None
    ]
    for m in report["memory"]:
        one, other = m["base_allocated_bytes"], m["test_allocated_bytes"]
        change = "" if one == other else f"{'+' if other > one else '−'}{format_bytes(abs(other - one))}"
        rows.append((f"memory peak, {m['label']}", format_bytes(one), format_bytes(other), change, ""))
    return table(("", "base", "test", "change", "against noise"), rows[:MOST_ROWS]) if rows else None


def _ranks(report: Json) -> Markup | None:
    rows = sorted(report["ranks"], key=lambda r: -abs(r["delta_ns"]))
    if len(rows) < 2:
        return None
    cells = [
        (
            name(row["label"]),
            *(format_duration(row[side]["span_ns"], 2) for side in ("base", "test")),
            signed(row["delta_ns"]),
            *(signed(row["test"][k] - row["base"][k]) for k in ("compute_ns", "comm_exposed_ns", "idle_ns")),
        )
        for row in rows[:MOST_ROWS]
    ]
    headers = ("rank", "base step", "test step", "change", "compute", "exposed comm", "idle")
    return joined((table(headers, cells), _more(len(rows), "those that changed most")))


def _rows(report: Json, key: str) -> Markup | None:
    rows = [] if report["identical"] else differing(report, key)
    if not rows:
        return None
    cells = [
        (
            name(row_words(row)),
            signed(row["step_delta_ns"]),
            in_percent(row["pct"]),
            format_duration(row["step_base_ns"], 2) if row["base_count"] else "–",
            format_duration(row["step_test_ns"], 2) if row["test_count"] else "–",
            " → ".join(dict.fromkeys((format_count(row["base_count"]), format_count(row["test_count"])))),
            _SURE[sure({"significant": row["significant"] or row["own_significant"]})],
        )
        for row in rows[:MOST_ROWS]
    ]
    headers = ("", "per step", "", "base", "test", "count", "against noise")
    return joined((table(headers, cells), _more(len(rows), report["how"]["order"])))


def _more(count: int, order: str) -> Markup | None:
    return note(f"{MOST_ROWS} of {format_count(count)}: {order}.") if count > MOST_ROWS else None


def _findings(report: Json) -> Markup | None:
    found = report["findings"]
    items = [
        tag("li", tag("b", f"{word}: "), f["title"]) for word in ("gained", "lost") for f in found[word][:MOST_ROWS]
    ]
    most = max(len(found[word]) for word in ("gained", "lost"))
    return joined((tag("ul", *items), _more(most, "the first of each"))) if items else None


def _around(report: Json) -> Markup | None:
    rows = [
        (name(d["name"]), name(d["base"] or "not stated"), name(d["test"] or "not stated"))
        for d in report["surroundings"][:MOST_ROWS]
    ]
    notes = [note(text) for text in report["notes"]]
    if not rows and not notes:
        return None
    cut = _more(len(report["surroundings"]), "the first")
    return joined((table(("", "base", "test"), rows, -1) if rows else None, cut, *notes))
