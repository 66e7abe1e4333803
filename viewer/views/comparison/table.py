"""The tables of the Compare panel: changes of one kind, filtered, with the places that they lead to in both runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from viewer.analyses.comparison.compare import Comparison
from viewer.analyses.comparison.figures import Identity
from viewer.analyses.comparison.noise import HOW as NOISE_HOW
from viewer.analyses.comparison.rows import Change, Place
from viewer.analyses.comparison.spans import BEFORE_COMM, BETWEEN
from viewer.analyses.comparison.waterfall import HOW as CAUSES_HOW
from viewer.analyses.comparison.waterfall import PAINTS, Cause
from viewer.base.frames import TableFrame
from viewer.base.ids import Paint
from viewer.base.selection import GroupRef
from viewer.base.time import format_duration
from viewer.base.units import with_minus
from viewer.views.figures import NONE, Cell, TableMaker, num, shown, word
from viewer.views.text import bare_name

KINDS: Final = (
    ("causes", "Causes"),
    ("kernels", "Kernels"),
    ("operators", "Operators"),
    ("collectives", "Collectives"),
    ("gaps", "Gaps"),
    ("host", "Host time"),
    ("ranks", "Ranks"),
    ("steps", "Steps"),
    ("figures", "Fingerprint"),
    ("findings", "Findings"),
)
"""(key, name) of what the panel lists."""
MOST: Final = 2_000
PART: Final = 34
"""Characters of each neighbour of a gap."""

_PER_STEP: Final = "Mean per step and rank: test run - base run."
_ROW_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("change", _PER_STEP),
    ("of base", "The change in percent of the base, over all that is compared; none for what the base lacks."),
    ("base", "Mean per step and rank of the base run."),
    ("test", "Mean per step and rank of the test run."),
    ("own", "The change without waiting for other ranks; of an operation that of its transfer or of what is exposed. "
     "The table is ordered by it, what is beyond noise first."),
    ("noise", NOISE_HOW[0].upper() + NOISE_HOW[1:] + "."),
    ("count", "How many, in base and test run, over all that is compared."),
    ("what", "Its name, without parameters."),
    ("also", "What else there is to say of it: new, gone, in another's place; causes, launches, shapes or sizes that "
     "changed; the rank that has most of it."),
)  # fmt: skip


Target = Place | GroupRef


@dataclass(frozen=True, eq=False)
class CompareView:
    """A table and per row the place in the base and in the test run; ``note`` says what is left out."""

    table: TableFrame | None
    targets: tuple[tuple[Target, Target], ...]
    note: str


def compare_view(found: Comparison, kind: str, query: str = "", *, changes_only: bool = False) -> CompareView:
    """The rows of one kind whose name has all words of ``query``.

    ``changes_only`` leaves out what may be noise (where that is known) and what did not change.
    """
    words = query.lower().split()
    if kind == "causes":
        return _causes(found, words, changes_only=changes_only)
    if kind == "ranks":
        return _ranks(found, words)
    if kind == "steps":
        return _steps(found)
    if kind == "figures":
        return _figures(found, words)
    if kind == "findings":
        return _findings(found, words)
    rows: tuple[Change, ...] = getattr(found, kind)
    kept = [r for r in rows if _named(words, (r.name, *r.base_names)) and (not changes_only or _changed(r))]
    waits = any(r.rank_ns != r.step_delta_ns for r in rows)
    maker = TableMaker([c for c in _ROW_COLUMNS if waits or c[0] != "own"])
    for row in kept[:MOST]:
        told = row_words(found, row)
        maker.add(
            signed(row.step_delta_ns),
            _percent(row.percent),
            _length(row.step_base_ns, row.base_count),
            _length(row.step_test_ns, row.test_count),
            *([signed(row.rank_ns)] if waits else []),
            _noise(row.significant, row.band_ns),
            _counts(row.base_count, row.test_count),
            word(row_name(row)),
            word(shown(", ".join(told), 400) if told else ""),
            jump=row.place_test or row.place_base,
            paint=row.paint if row.paint is not Paint.OTHER else None,
        )
    targets = tuple((r.place_base, r.place_test) for r in kept[:MOST])
    return CompareView(maker.frame(), targets, _note(len(kept), len(rows)))


def _note(kept: int, every: int) -> str:
    if not every:
        return "none in either run"
    if kept > MOST:
        return f"{MOST:,} of {kept:,} rows"
    return "" if kept == every else f"{kept:,} of {every:,} rows"


def _named(words: list[str], names: Iterable[str]) -> bool:
    text = " ".join(names).lower()
    return all(w in text for w in words)


def _changed(row: Change) -> bool:
    if row.significant is None:
        return not row.identical
    return row.significant or bool(row.rank_significant)


def row_name(row: Change) -> str:
    """The name without parameters; of a gap both neighbours, cut in their middle."""
    parts = [bare_name(part) for part in row.name.split(" → ")]
    if len(parts) > 1:
        parts = [p if len(p) <= PART else f"{p[: PART - 9]}…{p[-8:]}" for p in parts]
    return shown(" → ".join(parts), 600)


def row_words(found: Comparison, row: Change) -> list[str]:
    """What else is to be said of a row."""
    told = []
    if row.status == "replaced":
        told.append(f"in place of {' + '.join(bare_name(n) for n in row.base_names)}")
    elif row.status != "both":
        told.append(row.status)
    if row.where is not None:
        told.append(f"mostly on {found.pairing.pairs[row.where].label}")
    for what, (base, test) in row.detail.items():
        if what == "cause":
            told.append(" → ".join(dict.fromkeys(str(c) for c in (base, test) if c is not None)))
        elif what == "exposed_step_ns":
            told.append(f"exposed {signed(test - base)[0]}")
        else:
            told.append(f"{what} {_values(base)} → {_values(test)}")
    return told


def _values(values: object) -> str:
    some = values if isinstance(values, list) else [values]
    return " / ".join(str(v) for v in some[:2]) + (" …" if len(some) > 2 else "")


def signed(ns: int | None) -> Cell:
    """A cell with a change of time."""
    if ns is None:
        return NONE, None
    sign = "+" if ns > 0 else "−" if ns < 0 else "±"
    return f"{sign}{format_duration(abs(ns), 2)}", ns


def _percent(value: float | None) -> Cell:
    return (NONE, None) if value is None else (with_minus(f"{value:+.1f} %"), value)


def _length(ns: int, count: int) -> Cell:
    return (format_duration(ns, 2), ns) if count else (NONE, None)


def _counts(base: int, test: int) -> Cell:
    return num(base) if base == test else (f"{base:,} → {test:,}", test)


def _noise(significant: bool | None, band: int | None) -> Cell:
    if significant is None or band is None:
        return "not known", None
    return f"{'' if significant else 'noise '}± {format_duration(band, 1)}", band


def _causes(found: Comparison, words: list[str], *, changes_only: bool) -> CompareView:
    fall = found.waterfall
    if fall is None:
        return CompareView(None, (), "")
    maker = TableMaker(
        (
            ("change", CAUSES_HOW[0].upper() + CAUSES_HOW[1:] + "."),
            ("of base step", "The change in percent of the base run's whole step."),
            ("base", "Mean per step and rank of the base run."),
            ("test", "Mean per step and rank of the test run."),
            ("noise", NOISE_HOW[0].upper() + NOISE_HOW[1:] + "."),
            ("cause", "Causes before waiting for other ranks, what is beyond noise first."),
        )
    )
    targets: list[tuple[Target, Target]] = []
    for cause in fall.causes:
        label = cause.label + (
            f"  ·  mostly on {found.pairing.pairs[cause.where].label}" if cause.where is not None else ""
        )
        if not _named(words, (label,)) or (changes_only and (cause.significant is False or not cause.delta_ns)):
            continue
        share = 100 * cause.delta_ns / fall.base_ns if fall.base_ns else None
        row = _example(found, cause)
        place: tuple[Target, Target] = (row.place_base, row.place_test) if row is not None else (None, None)
        maker.add(
            signed(cause.delta_ns),
            _percent(share),
            (format_duration(cause.base_ns, 2), cause.base_ns),
            (format_duration(cause.test_ns, 2), cause.test_ns),
            _noise(cause.significant, cause.band_ns),
            word(shown(bare_name(label), 400)),
            jump=place[1] or place[0],
            paint=PAINTS[cause.kind],
        )
        targets.append(place)
    return CompareView(maker.frame(), tuple(targets), _note(len(targets), len(fall.causes)))


def _example(found: Comparison, cause: Cause) -> Change | None:
    """The row that shows a cause best: the kernel, the first gap that it left, the first operation."""
    if cause.kind == "kernel":
        return next((r for r in found.kernels if r.name == cause.label), None)
    if cause.kind == "idle":
        name = cause.id.removeprefix("idle/").removeprefix(BETWEEN)
        if name.endswith(BEFORE_COMM):
            name = "host: untraced"
        return next((r for r in found.gaps if name in r.detail.get("cause", ())), None)
    if cause.kind == "communication":
        return next(iter(found.collectives), None)
    return None


_IDENTITY: Final = (
    ("step", "span_ns"),
    ("compute", "compute_ns"),
    ("exposed comm", "comm_exposed_ns"),
    ("exposed memory", "memory_exposed_ns"),
    ("idle", "idle_ns"),
)
_ADDS_UP: Final = "compute + exposed communication + exposed memory + idle = step, in each run."


def _identity_cells(base: Identity, test: Identity) -> list[Cell]:
    cells = []
    for _, key in _IDENTITY:
        a, b = getattr(base, key), getattr(test, key)
        cells.append((f"{format_duration(a, 2)} → {format_duration(b, 2)}  ({signed(b - a)[0]})", b - a))
    return cells


def _ranks(found: Comparison, words: list[str]) -> CompareView:
    rows = [r for r in (found.figures.ranks if found.figures else ()) if _named(words, (r.label,))]
    maker = TableMaker((("rank", "Of the base and of the test run."), *((t, _ADDS_UP) for t, _ in _IDENTITY)))
    for place, row in enumerate(rows):
        maker.add((shown(row.label, 60), place), *_identity_cells(row.base, row.test))
    groups = {p.label: (GroupRef(p.base.group.id), GroupRef(p.test.group.id)) for p in found.pairing.pairs}
    return CompareView(maker.frame(), tuple(groups[r.label] for r in rows), "")


def _steps(found: Comparison) -> CompareView:
    rows = found.figures.steps if found.figures else ()
    maker = TableMaker((("step", "Number in base and test run."), *((t, _ADDS_UP) for t, _ in _IDENTITY)))
    for place, row in enumerate(rows):
        text = step_title(row.base_number, row.test_number)
        maker.add((text, place), *_identity_cells(row.base, row.test))
    return CompareView(maker.frame(), tuple((None, None) for _ in rows), "mean over the ranks")


def step_title(base: int | None, test: int | None) -> str:
    """``"step 3"``, or both numbers where they differ."""
    if base is None:
        return "all"
    return f"step {base}" if base == test else f"step {base} / {test}"


def _figures(found: Comparison, words: list[str]) -> CompareView:
    maker = TableMaker(
        (
            ("figure", "The figures of the training fingerprint and how far they moved."),
            ("base", ""),
            ("test", ""),
            ("change", "Percentage points."),
            ("noise", "Its values per step against their scatter."),
        )
    )
    rows = [f for f in found.fingerprint if _named(words, (f.title,))]
    for row in rows:
        texts = [(NONE, None) if v is None else (f"{100 * v:.1f} %", v) for v in (row.base, row.test)]
        change: Cell = (row.why or NONE, None)
        if row.delta is not None:
            change = (with_minus(f"{100 * row.delta:+.1f} points"), row.delta)
        told = {True: "beyond", False: "within", None: "not known"}[row.significant]
        maker.add(word(row.title), *texts, change, word(told))
    return CompareView(maker.frame(), tuple((None, None) for _ in rows), "")


def _findings(found: Comparison, words: list[str]) -> CompareView:
    maker = TableMaker(
        (("", "Whether the test run has it or no longer."), ("finding", "What was found, with its figure."))
    )
    listed = [("gained", f) for f in found.findings_gained] + [("lost", f) for f in found.findings_lost]
    kept = [(what, f) for what, f in listed if _named(words, (f.title,))]
    for what, finding in kept:
        maker.add(word(what), word(shown(finding.title, 400)))
    note = "" if listed else "both runs have the same findings"
    return CompareView(maker.frame(), tuple((None, None) for _ in kept), note)
