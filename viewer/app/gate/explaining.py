"""The comparison that comes with an alarm: its files, its sentences, and a picture of where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from viewer.app.analyze import open_job
from viewer.app.options import JobOptions
from viewer.base.errors import RankscopeError, on_one_line
from viewer.base.selection import GapRef, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import with_minus
from viewer.store.session import Session
from viewer.store.small_file import write_whole

if TYPE_CHECKING:
    from viewer.analyses.comparison.compare import Comparison
    from viewer.analyses.comparison.rows import Change, Place

MOST_ROWS: Final = 4
MOST_CAUSES: Final = 2
NAME: Final = 100
AROUND: Final = 3
"""The picture shows so many lengths of the place on either side."""
LEAST_AROUND_NS: Final = 20_000


@dataclass(slots=True)
class Explained:
    """What a comparison gave: sentences, and paths as text ("" for what was not written)."""

    sentences: list[str] = field(default_factory=list)
    comparison: str = ""
    picture: str = ""


def explain(base: Path, test: Session, folder: Path | None, name: str, options: JobOptions) -> Explained:
    """Compare a run with the kept trace of a good one. What fails becomes a sentence; nothing is raised for it."""
    out = Explained()
    try:
        before = open_job([base], options).session
        if not before.inputs:
            out.sentences.append(f"the kept trace {base} cannot be opened")
            return out
        from viewer.analyses.comparison.compare import compare

        found = compare(before, test)
    except RankscopeError as error:
        out.sentences.append(f"the comparison with {base} failed: {error}")
        return out
    if not found.comparable:
        out.sentences.append(f"the kept trace cannot be compared with this run: {found.reason}")
        return out
    out.sentences += _sentences(found)
    if folder is not None:
        _write(found, folder, name, out)
    return out


def _sentences(found: Comparison) -> list[str]:
    """The causes that make the step longer, then the rows that changed most; what is within noise is left out."""
    causes = _causes(found)
    rows = [_sentence(what, row) for what, row in _largest(found)[:MOST_ROWS]]
    return [*causes, *rows] or ["compared with the kept trace, no kernel, operation or gap changed beyond noise"]


def _causes(found: Comparison) -> list[str]:
    """In the order of the comparison: what only waits for other ranks comes last."""
    if found.waterfall is None:
        return []
    longer = [c for c in found.waterfall.causes if c.delta_ns > 0 and c.significant is not False]
    return [
        f"cause: {on_one_line(c.label, NAME)}: {format_duration(c.delta_ns)} more per step and rank"
        for c in longer[:MOST_CAUSES]
    ]


def _largest(found: Comparison) -> list[tuple[str, Change]]:
    tables: Sequence[tuple[str, Sequence[Change]]] = (
        ("kernel", found.kernels),
        ("operation", found.collectives),
        ("gap", found.gaps),
    )
    rows = [
        (what, row) for what, table in tables for row in table[:MOST_ROWS] if row.rank_ns > 0 and row.step_delta_ns > 0
    ]
    sure = {True: 0, None: 1, False: 2}
    rows = [pair for pair in rows if pair[1].rank_significant is not False]
    return sorted(rows, key=lambda pair: (sure[pair[1].rank_significant], -pair[1].rank_ns))


def _sentence(what: str, row: Change) -> str:
    change = "new" if row.status == "new" else "replaced" if row.status == "replaced" else ""
    said = change or ("" if row.percent is None else with_minus(f"{row.percent:+.0f} %"))
    percent = f" ({said})" if said else ""
    doubt = "" if row.rank_significant else ", too few steps to tell it from noise"
    from viewer.exporters.compare_summary import short
    from viewer.exporters.summary import printable

    name = printable(short(row.name), NAME)
    return f"{what} {name}: {format_duration(row.step_delta_ns)} more per step and rank{percent}{doubt}"


def _write(found: Comparison, folder: Path, name: str, out: Explained) -> None:
    from viewer.exporters.compare_report import compare_report, encode_compare
    from viewer.exporters.compare_summary import compare_summary

    data = compare_report(found)
    text, plain = folder / f"{name}.comparison.txt", folder / f"{name}.comparison.json"
    try:
        write_whole(text, compare_summary(data).encode("utf-8", "replace"))
        write_whole(plain, encode_compare(data))
        out.comparison = str(text)
    except OSError as error:
        out.sentences.append(f"{text} cannot be written: {error.strerror or error}")
    rows = _largest(found)
    if rows:
        _paint(found.test, *rows[0], folder / f"{name}.svg", out)


def _paint(session: Session, what: str, row: Change, path: Path, out: Explained) -> None:
    """The place where the change is largest, with a note that says what it is."""
    place = range_of(session, row.place_test)
    if place is None:
        return
    around = max(LEAST_AROUND_NS, AROUND * place.length_ns)
    origin = session.origin_ns()
    middle = (place.start_ns + place.end_ns) // 2 - origin
    note = f"{middle}ns:{on_one_line(_sentence(what, row), 160)}"
    try:
        from viewer.app.render import render_file

        render_file(
            session, path, window=(place.start_ns - around - origin, place.end_ns + around - origin), notes=[note]
        )
        out.picture = str(path)
    except (RankscopeError, ImportError) as error:
        out.sentences.append(f"no picture could be painted: {on_one_line(str(error), 200)}")


def range_of(session: Session, place: Place) -> TimeRange | None:
    """Where a place lies in session time; None for no place."""
    if isinstance(place, GapRef):
        return place.range
    if not isinstance(place, SliceRef):
        return None
    item = session.inputs[place.input]
    slices = item.trace.slices
    start = int(slices.start_ns[place.index])
    return TimeRange(item.clock.to_session(start), item.clock.to_session(start + int(slices.dur_ns[place.index])))
