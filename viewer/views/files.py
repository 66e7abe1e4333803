"""The files of a job: which rank each is, how that is known, and how its import went, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.base.frames import Figure, PanelFrame, Section, SourcePlace, TableFrame
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count, format_rate
from viewer.store.session import Input, Session
from viewer.views.figures import NONE, TableMaker, absent, device_name, exact, num, plural, shown, word
from viewer.views.import_ledger import ledger_table, ledger_words, reason_figures

_RANK_SOURCE = {
    "distributedInfo": "The file states it (distributedInfo).",
    "file name": "A guess from the file's name: the file itself does not state it. Say --rank FILE=N to correct it.",
    "given": "You gave it (--rank FILE=N).",
}
_UNKNOWN_RANK = "Neither the file nor its name states it; it is not taken for 0. Say --rank FILE=N."
_WORST = ("error", "warning", "info")
MOST_FINDINGS: Final = 200
"""Findings of one file that are listed."""
MOST_SKIPPED: Final = 100


def rank_how(source: str) -> str:
    """How a rank is known, as a sentence."""
    return _RANK_SOURCE.get(source, _UNKNOWN_RANK)


def findings_words(findings: Sequence[Finding]) -> str:
    """Findings counted by severity: ``"1 error, 2 warnings"``; a dash for none."""
    counts = {level: sum(1 for f in findings if f.severity == level) for level in _WORST}
    named = [plural(n, "note" if level == "info" else level) for level, n in counts.items() if n]
    return ", ".join(named) or NONE


def files_table(session: Session, inputs: Sequence[int] | None = None) -> TableFrame | None:
    """One row per input; ``inputs`` are the indexes of those to show, None for all."""
    table = TableMaker(
        (
            ("File", "Inputs in order of rank and path."),
            ("Rank", "See how it is known below."),
            ("Events", "Objects of the event array that were kept or repaired."),
            ("Repaired", "Events kept after their form was mended."),
            ("Rejected", "Events that are in no table; each has a reason."),
            ("Size", "Of the file on disk, compressed if it is."),
            ("Findings", "What the import and the settling of ranks and clocks found."),
        )
    )
    for item in session.inputs:
        if inputs is not None and item.index not in inputs:
            continue
        meta = item.trace.meta
        found = findings_of(session, item)
        worst = next((i for i, level in enumerate(_WORST) if any(f.severity == level for f in found)), len(_WORST))
        table.add(
            word(shown(item.path.name, 200)),
            (str(item.rank) if item.rank is not None else NONE, item.rank),
            num(meta.events),
            num(meta.ledger.repaired or None),
            num(meta.ledger.rejected or None),
            (format_bytes(meta.imported.size), meta.imported.size / 1),
            (findings_words(found), (worst, -len(found))),
        )
    return table.frame()


def findings_of(session: Session, item: Input) -> list[Finding]:
    """Findings of an input's import, and those of the session that name it; the worst first, then the most frequent."""
    found = [*item.trace.meta.findings, *(f for f in session.findings if item.path.name in f.where)]
    return sorted(found, key=lambda f: (_WORST.index(f.severity), -f.count))


def with_problems(session: Session) -> list[int]:
    """Inputs that are not as their writer meant them: cut off, repaired, rejected, or with a warning or an error."""
    return [
        item.index
        for item in session.inputs
        if not item.trace.meta.complete
        or item.trace.meta.ledger.kept != item.trace.meta.ledger.read
        or any(f.severity != "info" for f in findings_of(session, item))
    ]


def failure_section(failures: Sequence[InputError]) -> list[Section]:
    """Inputs that did not open."""
    if not failures:
        return []
    figures = tuple(
        Figure(
            shown(Path(f.path).name or f.path, 80),
            shown(f.sentence(), 1_000),
            "What the importer said; the other files of the job are open.",
            tone="warning",
        )
        for f in failures
    )
    return [Section("Not opened", figures)]


def skipped_section(skipped: Sequence[Finding]) -> list[Section]:
    """Files of folders that are no traces."""
    if not skipped:
        return []
    figures = tuple(
        Figure(
            shown(Path(f.where).name or f.where, 80),
            shown(f.message, 300),
            f"{shown(f.where, 400)}. A file of a folder that is no trace is left out; named by itself it is an error.",
            tone="muted",
        )
        for f in skipped[:MOST_SKIPPED]
    )
    more = len(skipped) - MOST_SKIPPED
    return [Section("Left out", figures, note=f"and {plural(more, 'file')} more" if more > 0 else "")]


def file_frame(
    session: Session,
    index: int,
    failures: Sequence[InputError] = (),
    skipped: Sequence[Finding] = (),
    place: Section | None = None,
) -> PanelFrame:
    """The panel of one input, after what did not open; ``place`` shows a part of its source."""
    item = session.inputs[index]
    meta = item.trace.meta
    group = session.group_of(index)
    sections = failure_section(failures)
    rank = Figure(
        "rank",
        str(item.rank) if item.rank is not None else "not known",
        rank_how(item.rank_source),
        tone="" if item.rank_source in ("distributedInfo", "given") else "warning",
    )
    figures = [rank]
    if meta.world_size is not None:
        figures.append(Figure("of", plural(meta.world_size, "rank"), "World size as the file states it."))
    if len(group.inputs) > 1:
        text = f"{item.segment + 1} of {len(group.inputs)}"
        figures.append(Figure("segment", text, "Files of one rank with disjoint times are successive segments."))
    if meta.host:
        figures.append(Figure("host", shown(meta.host, 120), "As the file states it."))
    devices = sorted({lane.device for lane in item.trace.lanes if lane.device is not None})
    if devices:
        names = "\n".join(device_name(item, d) for d in devices)
        figures.append(Figure("devices", names, "Devices with events; names from the file's deviceProperties."))
    sections.append(Section("File", (*figures, *_file_figures(item))))
    sections.append(_import_section(item))
    if place is not None:
        sections.append(place)
    sections.append(Section("Clock", tuple(_clock_figures(item))))
    sections.append(_findings_section(findings_of(session, item), item.index))
    sections += skipped_section(skipped)
    return PanelFrame(shown(item.path.name), shown(str(item.path.parent)), None, tuple(sections))


def _file_figures(item: Input) -> list[Figure]:
    meta = item.trace.meta
    return [
        Figure("format", shown(meta.format, 60), _recognised(meta.format)),
        Figure(
            "size",
            f"{format_bytes(meta.imported.size)} ({format_count(meta.imported.size)} bytes)",
            "Of the file on disk.",
        ),
        Figure(
            "fingerprint",
            meta.imported.digest[:16] if meta.imported.digest else NONE,
            "First 16 digits of the sha256 over head, tail and size of the file; not over the whole file.",
        )
        if meta.imported.digest
        else absent("fingerprint", "none"),
    ]


def _recognised(name: str) -> str:
    from viewer.importers.registry import IMPORTERS  # loaded by now: a file was imported

    signs = next((i.signs for i in IMPORTERS if i.name == name), "")
    by = f": its text has {signs}" if signs else ""
    return f"Recognised by the file's content, not by its name{by}."


def _import_section(item: Input) -> Section:
    meta, ledger = item.trace.meta, item.trace.meta.ledger
    figures = [
        Figure(
            "events",
            ledger_words(ledger),
            "read = kept + repaired + rejected; the unit is an object of the event array; none is dropped in silence.",
            tone="warning" if ledger.rejected else "",
        ),
        *reason_figures(ledger, meta.findings, item.index),
        Figure("slices", format_count(len(item.trace)), "Events with a start and a duration, as the lanes show them."),
        *_came_figures(item),
    ]
    if not meta.complete:
        figures.insert(
            1,
            Figure(
                "complete",
                "no: the file ends early",
                "What was read is exact; every total is a floor.",
                tone="warning",
            ),
        )
    return Section("Import", tuple(figures), table=ledger_table(ledger, item.index))


def _came_figures(item: Input) -> list[Figure]:
    meta, came = item.trace.meta, item.trace.came
    figures = []
    if came is not None:
        spent = came.seconds if not came.cached else meta.import_seconds
        rate = f" ({format_rate(meta.imported.size / spent)})" if spent else ""
        if came.cached:
            value = f"from the cache in {seconds(came.seconds)}"
            value += f"; imported in {seconds(spent)}{rate}" if spent is not None else ""
        else:
            value = f"now, in {seconds(came.seconds)}{rate}"
        how = "Wall time; the rate is bytes of the file on disk per second, on a machine that may have other work."
        figures.append(Figure("read", value, how))
        if came.table_bytes is None:
            figures.append(absent("tables", "only in memory: the cache could not be written"))
        else:
            per = f", {came.table_bytes / meta.events:.0f} bytes per event" if meta.events else ""
            how = "Memory-mapped files in the cache; with the arguments of events where the source is compressed."
            figures.append(Figure("tables on disk", f"{format_bytes(came.table_bytes)}{per}", how))
    return figures


def seconds(value: float) -> str:
    """Wall time in words: ``"3.2 s"``, ``"14 ms"``."""
    return f"{value:.1f} s" if value >= 1 else f"{max(value, 0.001) * 1000:.0f} ms"


def _clock_figures(item: Input) -> list[Figure]:
    meta, clock = item.trace.meta, item.clock
    figures = []
    if meta.base_ns is None:
        figures.append(absent("base time", "none stated: times are as the events write them"))
    else:
        figures.append(
            Figure(
                "base time",
                f"{meta.base_ns} ns{_date(meta.base_ns)}",
                "baseTimeNanoseconds of the file: it is added to every time before ranks are compared.",
            )
        )
    figures.append(
        Figure(
            "moved by",
            exact(clock.offset_ns),
            "Correction added beside the base time so that ranks share one axis; durations never change.",
            tone="" if clock.known else "warning",
        )
    )
    extent = item.extent()
    if extent is None:
        figures.append(absent("extent", "no timed events"))
    else:
        how = "First start to last end of everything in the file."
        figures.append(Figure("extent", format_duration(extent.length_ns), how, jump=extent))
    return figures


def _date(ns: int) -> str:
    """An instant since 1970 as a date in brackets, "" when it is none."""
    try:
        return f"\n({datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000):%Y-%m-%d %H:%M:%S} UTC)"
    except OverflowError:
        return ""


_PLACE: Final = re.compile(r"byte (\d{1,18})\Z")


def _findings_section(found: Sequence[Finding], index: int) -> Section:
    if not found:
        return Section("Findings", note="None: nothing in this file needs attention.")
    figures = []
    for f in found[:MOST_FINDINGS]:
        place = _PLACE.match(f.where)
        figures.append(
            Figure(
                {"info": "note"}.get(f.severity, f.severity),
                shown(f.message, 1_000) + (f" ({format_count(f.count)} ×)" if f.count > 1 else ""),
                f"Code {shown(f.code, 60)}" + (f", {shown(f.where, 200)}." if f.where else "."),
                jump=SourcePlace(index, int(place[1])) if place else None,
                tone="warning" if f.severity != "info" else "",
            )
        )
    more = len(found) - MOST_FINDINGS
    return Section("Findings", tuple(figures), note=f"and {plural(more, 'finding')} more" if more > 0 else "")


def no_files_frame(failures: Sequence[InputError], skipped: Sequence[Finding] = ()) -> PanelFrame:
    """The panel when nothing is open."""
    sections = (*failure_section(failures), *skipped_section(skipped))
    return PanelFrame("Import", "nothing is open", None, sections)
