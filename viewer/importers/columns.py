"""From scanned events to a RawTrace: texts decoded, begins and ends paired, times put right where it is certain.

Every event ends up in a table, in the metadata, or in the ledger as rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.findings import Finding
from viewer.base.ids import ABSENT, TEXT_ID, UNREAD, Role
from viewer.importers.scanned import Scanned
from viewer.jit.lanes import number_keys
from viewer.jit.pairs import pair_up
from viewer.jit.scan_args import COLLECTIVE_COLUMNS
from viewer.jit.scan_decimal import FRACTION_DIGITS, LEADING_ZERO, TRAILING_ZERO
from viewer.jit.scan_events import TRACK_KEY
from viewer.jit.scan_memory import MEMORY_COLUMNS
from viewer.store.loose_json import decode_text
from viewer.store.raw import (
    RawAllocations,
    RawCollectives,
    RawCounters,
    RawFlows,
    RawMarks,
    RawSlices,
    RawTrace,
    Tracks,
)
from viewer.store.rules import RuleTable

FAR_FROM_ZERO_NS: Final = 1_000_000_000
"""Work stamped 0 in a file whose other times are later than this (and than the file is long) was never timed."""

Columns = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Built:
    """A RawTrace and what its making found."""

    raw: RawTrace
    findings: list[Finding] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    """Process labels by process id as text."""


def build(scanned: Scanned, rules: RuleTable) -> Built:
    """Build raw columns; the ledger of ``scanned`` is brought up to date, its columns are used up."""
    findings: list[Finding] = []
    slices: Columns = {name: scanned.slices.column(name) for name in scanned.slices.names}
    marks: Columns = {name: scanned.marks.column(name) for name in scanned.marks.names}
    strings, place, mended = _texts(scanned)
    collectives = np.concatenate(scanned.collectives, axis=1) if scanned.collectives else None
    tracks = _tracks(scanned, place)
    for columns in (slices, marks):
        _place(columns["name"], place)
        for ids in ("corr", "ext", "id"):
            if ids in columns:
                _place_ids(columns[ids], place)
    recorded = _recorded(scanned, slices["recorded"])
    nameless = TEXT_ID | _index(strings, "")
    for column in (tracks.pid, tracks.tid):
        column[column == ABSENT] = nameless
    _count_mended(scanned, slices, marks, tracks, mended, findings)
    _unpadded_fractions(slices, marks, findings)
    slices, kept = _without_untimed(scanned, slices, tracks, strings, rules, findings)
    marks, paired = _paired(scanned, marks, tracks, findings)
    if paired is not None:
        slices = {k: np.concatenate([slices[k], paired[k]]) for k in slices}
        tracks = _also_async(tracks)
    _without_duration(scanned, marks)
    raw = RawTrace(
        strings,
        RawSlices(**{k: slices[k] for k in RawSlices.__slots__ if k != "tracks"}, tracks=tracks),
        marks=_instants(marks, tracks),
        allocations=_allocations(scanned, marks),
        flows=_flows(marks, tracks),
        counters=_counters(scanned, marks, tracks, strings),
        collectives=_collectives(collectives, kept, place),
        recorded=recorded,
    )
    built = Built(raw, findings)
    _metadata(marks, tracks, strings, built)
    return built


def _recorded(scanned: Scanned, numbers: NDArray[np.int32]) -> list[str]:
    """What args record, as text. ``numbers`` loses those that are no text: whoever wants them reads their args."""
    out: list[str] = []
    place = np.full(len(scanned.recorded), UNREAD, np.int32)
    for number, raw in enumerate(scanned.recorded.texts()):
        try:
            out.append(raw.decode())
        except UnicodeDecodeError:
            continue
        place[number] = len(out) - 1
    if (place < 0).any():
        told = numbers >= 0
        numbers[told] = place[numbers[told]]
    return out


def _tracks(scanned: Scanned, place: NDArray[np.int64]) -> Tracks:
    keys = scanned.tracks.numbers(len(TRACK_KEY))
    pid, tid, device, stream, cat = (keys[:, i].copy() for i in range(len(TRACK_KEY)))
    for ids in (pid, tid):
        _place_ids(ids, place)
    return Tracks(pid, tid, device, stream, _placed(cat, place), np.zeros(len(pid), np.bool_))


def _also_async(tracks: Tracks) -> Tracks:
    """The tracks, then each of them for slices from async pairs."""
    both = {name: np.tile(getattr(tracks, name), 2) for name in Tracks.__slots__}
    both["is_async"][len(tracks) :] = True
    return Tracks(**both)


def _texts(scanned: Scanned) -> tuple[list[str], NDArray[np.int64], NDArray[np.bool_]]:
    """Distinct texts, where each scanned string went among them, and which of those had to be mended."""
    texts: list[str] = []
    changed: list[tuple[int, bool]] = []
    for number, raw in enumerate(scanned.strings.texts()):
        text, bad = decode_text(raw)
        texts.append(text)
        if bad or b"\\" in raw:
            changed.append((number, bad))
    mended = np.zeros(len(texts), np.bool_)
    if not changed:  # what was written as it is cannot come twice
        return texts, np.arange(len(texts)), mended
    mended[[number for number, bad in changed if bad]] = True
    numbers: dict[str, int] = {}
    place = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    kept = np.zeros(len(numbers), np.bool_)
    kept[place[mended]] = True
    return list(numbers), place, kept


def _index(strings: list[str], text: str) -> int:
    try:
        return strings.index(text)
    except ValueError:
        strings.append(text)
        return len(strings) - 1


def _placed(numbers: NDArray[Any], place: NDArray[np.int64]) -> NDArray[np.int32]:
    placed: NDArray[np.int32] = np.append(place, -1).astype(np.int32)[numbers]
    return placed


def _place(numbers: NDArray[np.int32], place: NDArray[np.int64]) -> None:
    """Renumber a column of string numbers, -1 stays. Most files have nothing to renumber."""
    if not np.array_equal(place, np.arange(len(place))):
        numbers[:] = _placed(numbers, place)


def _place_ids(ids: NDArray[np.int64], place: NDArray[np.int64]) -> None:
    texts = ids >= TEXT_ID
    if texts.any():
        ids[texts] = TEXT_ID | place[ids[texts] & ~TEXT_ID]


def _first(found: NDArray[np.bool_], columns: Columns) -> tuple[int, int]:
    """(count, byte offset of the first) of the events where ``found``."""
    at = columns["at"][found]
    return len(at), int(at.min()) if len(at) else -1


def _reject(scanned: Scanned, reason: str, columns: Columns, found: NDArray[np.bool_]) -> tuple[int, int]:
    """Book events that were kept or repaired so far as rejected; (count, byte offset of the first)."""
    ledger, at = scanned.ledger, columns["at"][found]
    repaired = 0
    for name, offsets in scanned.mended_at.items():
        left = np.array(offsets, np.int64)
        left = left[~np.isin(left, at)]
        repaired += len(offsets) - len(left)
        ledger.reasons.pop(name)
        if len(left):
            ledger.reasons[name] = (len(left), int(left.min()))
        scanned.mended_at[name] = left.tolist()
    scanned.mended_at = {name: offsets for name, offsets in scanned.mended_at.items() if offsets}
    count, first = _first(found, columns)
    ledger.reasons[reason] = (count, first)
    ledger.rejected += count
    ledger.repaired -= repaired
    ledger.kept -= count - repaired
    return count, first


def _count_mended(
    scanned: Scanned,
    slices: Columns,
    marks: Columns,
    tracks: Tracks,
    mended: NDArray[np.bool_],
    findings: list[Finding],
) -> None:
    if not mended.any():
        return
    bad = np.append(mended, [False, False])  # index -1, and the one that was added for missing ids
    bad_track = bad[tracks.cat]
    found = np.concatenate([c["at"][bad[c["name"]] | bad_track[c["track"]]] for c in (slices, marks)])
    for others in scanned.mended_at.values():  # an event is repaired once
        found = found[~np.isin(found, others)]
    ledger, total = scanned.ledger, len(found)
    if total:
        first = int(found.min())
        ledger.reasons["text"] = (total, first)
        scanned.mended_at["text"] = found.tolist()
        ledger.repaired += total
        ledger.kept -= total
        message = "names held bytes or escapes that are no text: shown with replacement characters"
        findings.append(Finding("bad-text", "info", total, message, f"byte {first}"))


def _unpadded_fractions(slices: Columns, marks: Columns, findings: list[Finding]) -> None:
    """Builds of March 2024 wrote 12.005 us as "12.5": put right, but only where no other reading is possible."""
    counts = np.zeros(256, np.int64)
    for part in (slices["ts_form"], slices["dur_form"], marks["ts_form"][marks["time_ns"] != ABSENT]):
        for begin in range(0, len(part), 1 << 18):  # bincount makes int64 of what it gets
            counts += np.bincount(part[begin : begin + (1 << 18)], minlength=256)
    forms = np.flatnonzero(counts)
    digits = forms & FRACTION_DIGITS
    if (
        not len(forms)
        or digits.max() > 3
        or (forms & LEADING_ZERO).any()
        or not ((forms & TRAILING_ZERO) > 0).any()
        or not ((digits > 0) & (digits < 3)).any()
    ):
        return
    changed = 0
    for columns, names in (
        (slices, (("start_ns", "ts_form"), ("dur_ns", "dur_form"))),
        (marks, (("time_ns", "ts_form"),)),
    ):
        for name, form in names:
            size = columns[form] & FRACTION_DIGITS
            for places, unit in ((1, 100), (2, 10)):
                rows = (size == places) & (columns[name] != ABSENT)
                value = columns[name][rows]
                sign = np.where(value < 0, -1, 1)
                fraction = np.abs(value) % 1000
                columns[name][rows] = sign * (np.abs(value) - fraction + fraction // unit)
                changed += int((fraction > 0).sum())
    if changed:
        findings.append(
            Finding(
                "unpadded-fractions",
                "warning",
                changed,
                "this build of the profiler (March 2024) wrote nanoseconds without leading zeros (12.005 as 12.5): "
                "its times are read that way",
            )
        )


def _without_untimed(
    scanned: Scanned,
    slices: Columns,
    tracks: Tracks,
    strings: list[str],
    rules: RuleTable,
    findings: list[Finding],
) -> tuple[Columns, NDArray[np.int64] | None]:
    """Reject GPU work that was never timed; also where each slice went (None: nowhere, all stayed)."""
    zero = (slices["start_ns"] == 0) & (slices["dur_ns"] == 0)
    if not zero.any():
        return slices, None
    text = [*strings, ""]  # index -1: no category
    zero &= np.array([rules.role(text[c]) == Role.GPU_WORK for c in tracks.cat.tolist()], np.bool_)[slices["track"]]
    others = slices["start_ns"][~zero]
    others = others[others != 0]
    if not zero.any() or not len(others):
        return slices, None
    first, last = int(others.min()), int(others.max())
    if first <= max(FAR_FROM_ZERO_NS, last - first):
        return slices, None
    count, at = _reject(scanned, "untimed", slices, zero)
    findings.append(
        Finding(
            "untimed",
            "warning",
            count,
            "GPU work without a time (start 0, duration 0): the profiler lost its stamps; it is in no count or figure",
            f"byte {at}",
        )
    )
    keep = ~zero
    place = np.where(keep, np.cumsum(keep) - 1, -1)
    return {k: v[keep] for k, v in slices.items()}, place


def _without_duration(scanned: Scanned, marks: Columns) -> None:
    count, at = _first(marks["phase"] == ord("X"), marks)
    if count:
        scanned.notes["no-duration"] = (count, at)


_BEGINS: Final = (ord("B"), ord("b"), ord("S"))
_ENDS: Final = (ord("E"), ord("e"), ord("F"))


def _paired(
    scanned: Scanned, marks: Columns, tracks: Tracks, findings: list[Finding]
) -> tuple[Columns, Columns | None]:
    """Slices from begin and end events; begins without an end stay marks, ends without a begin are rejected."""
    phase = marks["phase"]
    begins, ends = np.isin(phase, _BEGINS), np.isin(phase, _ENDS)
    if not (begins | ends).any():
        return marks, None
    rows = np.flatnonzero(begins | ends)
    rows = rows[np.argsort(marks["time_ns"][rows], kind="stable")]
    threads = np.isin(phase[rows], (ord("B"), ord("E")))
    keys = np.stack(
        [
            threads.astype(np.int64),
            tracks.pid[marks["track"][rows]],
            np.where(threads, tracks.tid[marks["track"][rows]], marks["id"][rows]),
            np.where(threads, 0, tracks.cat[marks["track"][rows]]),
            np.where(threads, 0, np.isin(phase[rows], (ord("S"), ord("F")))),
        ],
        axis=1,
    )
    track = np.empty(len(rows), np.int32)
    stacks = len(number_keys(keys, track))
    partner = np.empty(len(rows), np.int64)
    is_begin = begins[rows]
    mismatched = pair_up(track, is_begin, marks["name"][rows], stacks, partner)
    matched = np.flatnonzero(is_begin & (partner >= 0))
    first, last = rows[matched], rows[partner[matched]]
    in_file = np.argsort(first, kind="stable")
    first, last = first[in_file], last[in_file]
    n = len(first)
    absent = np.full(n, ABSENT, np.int64)
    own = marks["args_len"][first] >= marks["args_len"][last]  # one of both is kept: the one that says more
    paired: Columns = {
        "start_ns": marks["time_ns"][first],
        "dur_ns": marks["time_ns"][last] - marks["time_ns"][first],
        "name": np.where(marks["name"][first] >= 0, marks["name"][first], marks["name"][last]).astype(np.int32),
        "track": (marks["track"][first] + np.isin(phase[first], (ord("b"), ord("S"))) * len(tracks)).astype(np.int32),
        "corr": absent,
        "ext": absent,
        "args_off": np.where(own, marks["args_off"][first], marks["args_off"][last]),
        "args_len": np.where(own, marks["args_len"][first], marks["args_len"][last]).astype(np.int32),
        "recorded": np.full(n, UNREAD, np.int32),
        "at": marks["at"][first],
        "ts_form": marks["ts_form"][first],
        "dur_form": marks["ts_form"][last],
    }
    lost_ends = np.zeros(len(phase), np.bool_)
    lost_ends[rows[~is_begin & (partner < 0)]] = True
    if lost_ends.any():
        count, at = _reject(scanned, "end-without-begin", marks, lost_ends)
        findings.append(
            Finding("end-without-begin", "warning", count, "end events whose begin is not in the file", f"byte {at}")
        )
    open_begins = np.zeros(len(phase), np.bool_)
    open_begins[rows[is_begin & (partner < 0)]] = True
    if open_begins.any():
        count, at = _first(open_begins, marks)
        findings.append(
            Finding(
                "begin-without-end",
                "warning",
                count,
                "begin events that never end: they have no duration and are kept as marks",
                f"byte {at}",
            )
        )
    if mismatched:
        findings.append(
            Finding("end-of-another-name", "info", int(mismatched), "end events that close a begin of another name")
        )
    gone = (begins | ends) & ~open_begins
    return {k: np.where(gone, 0, v) if k == "phase" else v for k, v in marks.items()}, paired


_FLOWS: Final = tuple(map(ord, "stf"))
_META: Final = ord("M")
_COUNTER: Final = ord("C")
_INSTANT: Final = ~np.isin(np.arange(256), (0, _META, _COUNTER, *_FLOWS))
"""By phase."""


def _are_instants(marks: Columns) -> NDArray[np.bool_]:
    chosen: NDArray[np.bool_] = _INSTANT[marks["phase"]] & (marks["time_ns"] != ABSENT)
    return chosen


def _allocations(scanned: Scanned, marks: Columns) -> RawAllocations | None:
    if not scanned.memory.rows:
        return None
    row, *values = (scanned.memory.column(name) for name in MEMORY_COLUMNS)
    instant = _are_instants(marks)
    place = np.cumsum(instant) - 1
    kept = instant[row]
    return RawAllocations(place[row[kept]], *(v[kept] for v in values))


def _instants(marks: Columns, tracks: Tracks) -> RawMarks | None:
    chosen = _are_instants(marks)
    if not chosen.any():
        return None
    own = {k: marks[k][chosen] for k in ("time_ns", "phase", "name", "args_off", "args_len", "track")}
    return RawMarks(**own, tracks=tracks)


def _flows(marks: Columns, tracks: Tracks) -> RawFlows | None:
    chosen = np.isin(marks["phase"], _FLOWS)
    if not chosen.any():
        return None
    return RawFlows(**{k: marks[k][chosen] for k in ("time_ns", "phase", "id", "track")}, tracks=tracks)


def _counters(scanned: Scanned, marks: Columns, tracks: Tracks, strings: list[str]) -> RawCounters | None:
    samples = scanned.samples
    if not samples.rows:
        return None
    known = {text: number for number, text in enumerate(strings)}
    place = [known.setdefault(decode_text(raw)[0], len(known)) for raw in scanned.series.texts()]
    strings += list(known)[len(strings) :]
    rows = samples.column("row")
    series = np.array(place, np.int32)[samples.column("series")]
    pid = tracks.pid[marks["track"][rows]]
    return RawCounters(marks["time_ns"][rows], pid, marks["name"][rows], series, samples.column("value"))


def _collectives(
    table: NDArray[np.int64] | None, kept: NDArray[np.int64] | None, place: NDArray[np.int64]
) -> RawCollectives | None:
    if table is None:
        return None
    if kept is not None:
        table = table[:, kept[table[0]] >= 0]
        table[0] = kept[table[0]]
    columns: Columns = dict(zip(COLLECTIVE_COLUMNS, table[1:], strict=True))
    for name in ("kind", "dtype", "group", "group_desc", "group_ranks"):
        columns[name] = _placed(columns[name], place)
    return RawCollectives(slice=table[0], **columns)


def _metadata(marks: Columns, tracks: Tracks, strings: list[str], built: Built) -> None:
    """Names of processes and threads: few distinct ones, however many events say them."""
    rows = np.flatnonzero((marks["phase"] == _META) & (marks["id"] != ABSENT))
    if not len(rows):
        return
    track = marks["track"][rows]
    keys = np.stack([marks["name"][rows].astype(np.int64), tracks.pid[track], tracks.tid[track], marks["id"][rows]], 1)
    numbers = np.empty(len(rows), np.int32)
    raw = built.raw
    for name, pid, tid, value in keys[number_keys(np.ascontiguousarray(keys), numbers)].tolist():
        what = strings[name] if name >= 0 else ""
        text = strings[value & ~TEXT_ID] if value >= TEXT_ID else ""
        if what == "process_name":
            raw.process_names[pid] = text
        elif what == "thread_name":
            raw.thread_names[pid, tid] = text
        elif what == "thread_sort_index" and value < TEXT_ID:
            raw.thread_sort[pid, tid] = value
        elif what == "process_labels":
            built.labels[strings[pid & ~TEXT_ID] if pid >= TEXT_ID else str(pid)] = text
