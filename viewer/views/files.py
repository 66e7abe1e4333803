"""The files of a job: which rank each is, how that is known, and how its import went, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from viewer.base.errors import InputError
from viewer.base.findings import Finding, Ledger
from viewer.base.frames import Figure, PanelFrame, Section, TableFrame
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count
from viewer.store.session import Input, Session
from viewer.views.figures import NONE, TableMaker, absent, device_name, exact, num, plural, shown, word

_RANK_SOURCE = {
    "distributedInfo": "The file states it (distributedInfo).",
    "file name": "A guess from the file's name: the file itself does not state it. Say --rank FILE=N to correct it.",
    "given": "You gave it (--rank FILE=N).",
}
_UNKNOWN_RANK = "Neither the file nor its name states it; it is not taken for 0. Say --rank FILE=N."
_WORST = ("error", "warning", "info")


def rank_how(source: str) -> str:
    """How a rank is known, as a sentence."""
    return _RANK_SOURCE.get(source, _UNKNOWN_RANK)


def ledger_words(ledger: Ledger) -> str:
    """The ledger as a sentence: ``"14,245 events read: all kept"``."""
    read = plural(ledger.read, "event") + " read"
    if ledger.kept == ledger.read:
        return f"{read}: all kept" if ledger.read else "no events"
    parts = [f"{format_count(ledger.kept)} kept"]
    parts += [
        f"{format_count(n)} {what}" for n, what in ((ledger.repaired, "repaired"), (ledger.rejected, "rejected")) if n
    ]
    return f"{read}: {', '.join(parts)}"


def findings_words(findings: Sequence[Finding]) -> str:
    """Findings counted by severity: ``"1 error, 2 warnings"``; a dash for none."""
    counts = {level: sum(1 for f in findings if f.severity == level) for level in _WORST}
    named = [plural(n, "note" if level == "info" else level) for level, n in counts.items() if n]
    return ", ".join(named) or NONE


def files_table(session: Session) -> TableFrame | None:
    """One row per input."""
    table = TableMaker(
        (
            ("File", "Inputs in order of rank and path."),
            ("Rank", "See how it is known below."),
            ("Events", "Objects of the event array that were kept or repaired."),
            ("Size", "Of the file on disk, compressed if it is."),
            ("Findings", "What the import and the settling of ranks and clocks found."),
        )
    )
    for item in session.inputs:
        meta = item.trace.meta
        found = [*meta.findings, *_about(session, item)]
        worst = next((i for i, level in enumerate(_WORST) if any(f.severity == level for f in found)), len(_WORST))
        table.add(
            word(shown(item.path.name, 200)),
            (str(item.rank) if item.rank is not None else NONE, item.rank),
            num(meta.events),
            (format_bytes(meta.source.size), meta.source.size / 1),
            (findings_words(found), (worst, -len(found))),
        )
    return table.frame()


def _about(session: Session, item: Input) -> list[Finding]:
    """Findings of the session that name this input."""
    return [f for f in session.findings if item.path.name in f.where]


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


def file_frame(session: Session, index: int, failures: Sequence[InputError] = ()) -> PanelFrame:
    """The panel of one input, after what did not open."""
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
    sections.append(Section("Import", tuple(_import_figures(item))))
    sections.append(Section("Clock", tuple(_clock_figures(item))))
    found = [*meta.findings, *_about(session, item)]
    sections.append(_findings_section(found))
    return PanelFrame(shown(item.path.name), shown(str(item.path.parent)), None, tuple(sections))


def _file_figures(item: Input) -> list[Figure]:
    meta = item.trace.meta
    return [
        Figure("format", shown(meta.format, 60), "By the file's content, not by its name."),
        Figure(
            "size", f"{format_bytes(meta.source.size)} ({format_count(meta.source.size)} bytes)", "Of the file on disk."
        ),
        Figure(
            "fingerprint",
            meta.source.digest[:16] if meta.source.digest else NONE,
            "First 16 digits of the sha256 over head, tail and size of the file; not over the whole file.",
        )
        if meta.source.digest
        else absent("fingerprint", "none"),
    ]


def _import_figures(item: Input) -> list[Figure]:
    meta, ledger = item.trace.meta, item.trace.meta.ledger
    figures = [
        Figure(
            "events",
            ledger_words(ledger),
            "read = kept + repaired + rejected; the unit is an object of the event array; none is dropped in silence.",
            tone="warning" if ledger.rejected else "",
        ),
        Figure("slices", format_count(len(item.trace)), "Events with a start and a duration, as the lanes show them."),
    ]
    for reason, (count, first) in sorted(ledger.reasons.items()):
        place = f", first at byte {format_count(first)}" if first >= 0 else ""
        figures.append(Figure(shown(reason, 60), f"{format_count(count)} ×{place}", "A named repair or rejection."))
    if not meta.complete:
        figures.append(
            Figure(
                "complete",
                "no: the file ends early",
                "What was read is exact; every total is a floor.",
                tone="warning",
            )
        )
    return figures


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


def _findings_section(found: Sequence[Finding]) -> Section:
    if not found:
        return Section("Findings", note="None: nothing in this file needs attention.")
    ordered = sorted(found, key=lambda f: _WORST.index(f.severity))
    figures = tuple(
        Figure(
            {"info": "note"}.get(f.severity, f.severity),
            shown(f.message, 1_000) + (f" ({format_count(f.count)} ×)" if f.count > 1 else ""),
            f"Code {shown(f.code, 60)}" + (f", {shown(f.where, 200)}." if f.where else "."),
            tone="warning" if f.severity != "info" else "",
        )
        for f in ordered
    )
    return Section("Findings", figures)


def no_files_frame(failures: Sequence[InputError]) -> PanelFrame:
    """The panel when nothing is open."""
    return PanelFrame("Files", "nothing is open", None, tuple(failure_section(failures)))
