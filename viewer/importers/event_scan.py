"""A trace's JSON text to raw columns: drives the compiled loop over a sliding window of the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.errors import on_one_line
from viewer.base.findings import Ledger
from viewer.base.ids import ABSENT
from viewer.importers.bad_bytes import rows_with_bad_bytes
from viewer.importers.counters import samples_of
from viewer.importers.repair import LONGEST, mend
from viewer.importers.window import TextWindow
from viewer.jit import scan_events as scan
from viewer.jit.scan_args import COLLECTIVE_COLUMNS, KEY_SIZE, KEY_TEXT
from viewer.jit.scan_intern import StringTable
from viewer.jit.scan_load import PAD
from viewer.jit.scan_text import BROKEN, walk_strictly

BLOCK: Final = 1 << 16
"""Rows of a block of columns."""
SUSPECT: Final = 256 << 10
"""An event that has not ended after this many bytes is looked at closely."""
FIRST_REACH: Final = 8 << 10
"""Bytes of text in which the end of a broken event is looked for at first."""
SMALL: Final = 64 << 20
"""Top-level values up to this size are kept (a job of a thousand ranks lists its groups in one)."""

REJECTIONS: Final = {
    "empty": scan.EMPTY,
    "not-an-object": scan.NO_OBJECT,
    "no-phase": scan.NO_PHASE,
    "no-time": scan.NO_TIME,
    "time-out-of-range": scan.FAR_TIME,
}


@dataclass(slots=True)
class Block:
    """Columns of events; the rows of each array are named in viewer.jit.scan_events."""

    wide: NDArray[np.int64]
    narrow: NDArray[np.int32]
    small: NDArray[np.uint8]

    @classmethod
    def empty(cls, width: int, rows: int = BLOCK) -> Block:
        """Room for ``rows`` events."""
        return cls(np.empty((width, rows), np.int64), np.empty((3, rows), np.int32), np.empty((3, rows), np.uint8))

    def part(self, rows: int) -> Block:
        """The first ``rows`` events."""
        return Block(self.wide[:, :rows], self.narrow[:, :rows], self.small[:, :rows])


@dataclass(slots=True)
class Scanned:
    """What the text holds. Collectives: row 0 indexes the slices, then COLLECTIVE_COLUMNS."""

    slices: list[Block] = field(default_factory=list)
    marks: list[Block] = field(default_factory=list)
    collectives: list[NDArray[np.int64]] = field(default_factory=list)
    counters: list[tuple[int, int, int, float]] = field(default_factory=list)
    """(index into marks, name string, series string, value) of counter events."""
    strings: StringTable = field(default_factory=StringTable)
    top: dict[str, bytes] = field(default_factory=dict)
    """Text of the small top-level values."""
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Other counts by name: (count, first offset)."""
    mended_at: dict[str, list[int]] = field(default_factory=dict)
    """Offsets of the repaired events by reason: an event that is rejected later is no longer a repaired one."""
    has_events: bool = False
    """Whether there is an event array at all."""
    is_array: bool = False
    """The text is the bare array, not an object around it."""
    complete: bool = True
    stopped: str = ""
    """Why the text ends early, one clause."""
    stopped_at: int = -1
    text_bytes: int = 0
    slice_count: int = 0
    mark_count: int = 0


ChunkDone = Callable[["EventScan"], None]
Look = Callable[[TextWindow, Block, int, int], None]
"""Sees new rows of the slice block, [from, to), while the window still holds their text; it may write columns."""


class EventScan:
    """One pass over a text.

    Args:
        window: the text.
        args_sink: gets the args text of each chunk; offsets then count in what it was given. None leaves offsets of
            the source.
        chunk_done: called after each piece, for progress and cancellation (may raise).
        look: for dialects that keep in args what other columns are made of.
    """

    def __init__(
        self,
        window: TextWindow,
        args_sink: Callable[[memoryview], None] | None = None,
        chunk_done: ChunkDone | None = None,
        look: Look | None = None,
    ) -> None:
        self.window = window
        self.out = Scanned()
        self._sink = args_sink
        self._sunk = 0
        self._arena = np.empty(1 << 20 if args_sink else 0, np.uint8)
        self._chunk_done = chunk_done
        self._look = look
        self._series: dict[str, int] = {}
        self._counts = np.zeros(scan.COUNTER_WORDS, np.int64)
        self._fresh_blocks()

    def _fresh_blocks(self) -> None:
        self._slices = Block.empty(scan.WIDE_SLICE)
        self._marks = Block.empty(scan.WIDE_MARK)
        self._collectives = np.empty((1 + len(COLLECTIVE_COLUMNS), BLOCK // 4), np.int64)
        self._counts[: scan.POSITION] = 0
        self._gathered = [0, 0]

    @property
    def events(self) -> int:
        """Events read so far."""
        return int(self._counts[scan.COUNTS + 2 * scan.READ])

    def run(self) -> Scanned:
        """Scan to the end of the text. Raises OverflowError when a value is absurdly long."""
        window, out = self.window, self.out
        window.more()
        if window.text(0, 3) == b"\xef\xbb\xbf":
            window.position = 3
        first = self._next_byte()
        if first == b"[":
            window.position += 1
            out.has_events = out.is_array = True
            self._events()
        elif first == b"{":
            window.position += 1
            self._object()
        self._finish()
        return out

    def _next_byte(self) -> bytes:
        window = self.window
        while True:
            rest = window.text(window.position, min(window.filled, window.position + 4096))
            stripped = rest.lstrip(b" \n\r\t")
            window.position += len(rest) - len(stripped)
            if stripped:
                return stripped[:1]
            if window.position == window.filled and not window.more():
                return b""

    # The top level ---------------------------------------------------------------------------------------------------

    def _object(self) -> None:
        window, out = self.window, self.out
        found = np.zeros(3, np.int64)
        while True:
            status = scan.next_key(window.address, window.position, window.filled, found)
            if status == scan.MORE:
                if not window.more():
                    self._stop("the file ends before its closing bracket")
                    return
                continue
            if status == scan.ARRAY_END:
                window.position = int(found[2]) + 1
                if self._next_byte():
                    self._note("trailing-bytes", window.origin + window.position)
                return
            if status == scan.STUCK:
                self._stop("what stands there is no JSON", int(found[2]))
                return
            key = window.text(int(found[0]), int(found[0] + found[1])).decode("utf-8", "replace")
            # Keep the key in the window while its value arrives.
            begin = int(found[2])
            if key == "traceEvents" and window.text(begin, begin + 1) == b"[":
                window.position = begin + 1
                out.has_events = True
                if not self._events():
                    return
                continue
            window.position = begin
            end = self._whole_value()
            if end < 0:
                self._stop(f'the file ends inside "{on_one_line(key, 60)}"')
                return
            begin = window.position
            if end == begin:
                self._stop("what stands there is no JSON", begin)
                return
            if end - begin <= SMALL and len(out.top) < 1000:
                out.top[key] = window.text(begin, end)
            window.position = end

    def _whole_value(self) -> int:
        """End of the value at the window's position; brings more text as needed; -1 when the text ends inside."""
        window = self.window
        while True:
            end = scan.value_end(window.address, window.position, window.filled)
            if end < window.filled or (end == window.filled and window.ended):
                return int(end)
            if not window.more():
                return -1

    # The event array -------------------------------------------------------------------------------------------------

    def _events(self) -> bool:
        """Scan up to the closing bracket; False when the text ends before it."""
        window, out, counts = self.window, self.out, self._counts
        while True:
            status = scan.scan_events(
                window.address,
                window.position,
                window.filled,
                window.origin,
                out.strings.address,
                KEY_TEXT,
                KEY_SIZE,
                self._slices.wide,
                self._slices.narrow,
                self._slices.small,
                self._marks.wide,
                self._marks.narrow,
                self._marks.small,
                self._collectives,
                counts,
            )
            window.position = int(counts[scan.POSITION])
            if status == scan.GROW:
                out.strings.grow()
                continue
            self._harvest()
            if status == scan.FULL:
                self._stash()
            elif status == scan.ARRAY_END:
                window.position += 1
                return True
            elif status == scan.STUCK or (window.filled - window.position > SUSPECT and self._is_broken()):
                if not self._slow_event():
                    return False
            elif not window.more():
                if window.position == window.filled:
                    self._stop("the file ends before the event array is closed")
                    return False
                if not self._slow_event():
                    return False
            if self._chunk_done is not None:
                self._chunk_done(self)

    def _is_broken(self) -> bool:
        window = self.window
        state, _ = walk_strictly(window.address + window.position, window.address + window.filled)
        return bool(state == BROKEN)

    def _slow_event(self) -> bool:
        """Take the event at the window's position over the slow road; False when the text ends in it."""
        window, out = self.window, self.out
        begin = window.position
        offset = window.origin + begin
        # Most events end soon: what is copied and walked for one event must not be the whole window.
        reach = min(window.filled, begin + FIRST_REACH)
        while True:
            ended = window.ended and reach == window.filled
            result = mend(window.text(begin, reach), ended, out.ledger.rejected)
            # A farther border may still make sense of what the nearer ones do not.
            if result.kind != "more" and (result.final or reach - begin >= LONGEST):
                break
            if reach < window.filled:
                reach = min(window.filled, begin + 4 * (reach - begin))
                continue
            window.more()
            begin = window.position
            reach = window.filled
        if result.kind == "cut":
            self._stop("the file ends inside an event", begin)
            return False
        window.position = begin + result.size
        if result.kind == "skip":
            self._note("stray-bytes", offset)
            return True
        if result.kind == "rejected":
            self._counts[scan.COUNTS + 2 * scan.READ] += 1
            self._reason("unreadable", offset)
            out.ledger.rejected += 1
            return True
        kept = self._scan_plain(result.plain, offset, offset + result.args_at, result.args_size)
        if result.kind == "repaired" and kept:
            self._reason("quotes-or-brackets", offset)
            out.mended_at.setdefault("quotes-or-brackets", []).append(offset)
            out.ledger.repaired += 1
        self._harvest()
        return True

    def _scan_plain(self, plain: bytes, offset: int, args_at: int, args_size: int) -> bool:
        """Scan one event from a text of its own and put it at its place in the source; whether it made a row."""
        padded = np.zeros(len(plain) + PAD, np.uint8)
        padded[: len(plain)] = np.frombuffer(plain, np.uint8)
        counts = self._counts
        before = (int(counts[scan.SLICES]), int(counts[scan.MARKS]))
        while True:
            if max(before) >= BLOCK or counts[scan.COLLECTIVES] >= self._collectives.shape[1]:
                self._stash()
                before = (0, 0)
            status = scan.scan_events(
                padded.ctypes.data,
                0,
                len(plain),
                offset,
                self.out.strings.address,
                KEY_TEXT,
                KEY_SIZE,
                self._slices.wide,
                self._slices.narrow,
                self._slices.small,
                self._marks.wide,
                self._marks.narrow,
                self._marks.small,
                self._collectives,
                counts,
            )
            if status != scan.GROW:
                break
            self.out.strings.grow()
        for block, row, count in (
            (self._slices, before[0], counts[scan.SLICES]),
            (self._marks, before[1], counts[scan.MARKS]),
        ):
            if count > row:
                block.wide[scan.AT, row] = offset
                block.wide[scan.ARGS, row] = args_at if args_size else ABSENT
                block.narrow[scan.ARGS_SIZE, row] = args_size
                return True
        return False

    def _harvest(self) -> None:
        """Take what only the text holds of the rows that were added since the last call."""
        counts = self._counts
        new_slices, new_marks = int(counts[scan.SLICES]), int(counts[scan.MARKS])
        old_slices, old_marks = self._gathered
        if self._look is not None and new_slices > old_slices:
            self._look(self.window, self._slices, old_slices, new_slices)
        phases = self._marks.small[scan.PHASE, old_marks:new_marks]
        for block, old, new in ((self._slices, old_slices, new_slices), (self._marks, old_marks, new_marks)):
            self._count_bad_bytes(block.wide[:, old:new], block.narrow[scan.ARGS_SIZE, old:new])
        counters = np.flatnonzero(phases == ord("C"))
        if len(counters):
            self._counters((counters + old_marks).tolist())
        if self._sink is not None:
            for block, old, new in ((self._slices, old_slices, new_slices), (self._marks, old_marks, new_marks)):
                self._gather(block.wide[scan.ARGS, old:new], block.narrow[scan.ARGS_SIZE, old:new])
        self._gathered = [new_slices, new_marks]

    def _gather(self, offsets: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
        window = self.window
        used = scan.gather_args(window.address, window.origin, offsets, sizes, self._arena, 0)
        if used < 0:
            self._arena = np.empty(2 * -used, np.uint8)
            used = scan.gather_args(window.address, window.origin, offsets, sizes, self._arena, 0)
        if used:
            offsets[sizes > 0] += self._sunk
            assert self._sink is not None
            self._sink(memoryview(self._arena[:used]))  # type: ignore[arg-type]
            self._sunk += used

    def _count_bad_bytes(self, wide: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
        """Events whose args hold bytes that are no text are repaired ones: the bytes are shown as U+FFFD."""
        rows = rows_with_bad_bytes(self.window.view(), wide[scan.ARGS] - self.window.origin, sizes)
        if not len(rows):
            return
        out = self.out
        known = out.mended_at.get("quotes-or-brackets", [])[-len(rows) - 1 :]
        for at in wide[scan.AT, rows].tolist():
            if at not in known:  # an event is repaired once
                self._reason("args-text", at)
                out.mended_at.setdefault("args-text", []).append(at)
                out.ledger.repaired += 1

    def _counters(self, rows: list[int]) -> None:
        marks, origin = self._marks, self.window.origin
        rows = [row for row in rows if marks.narrow[scan.ARGS_SIZE, row] > 0]
        begins = [int(marks.wide[scan.ARGS, row]) - origin for row in rows]
        found = samples_of(
            [
                self.window.text(begin, begin + int(marks.narrow[scan.ARGS_SIZE, row]))
                for begin, row in zip(begins, rows, strict=True)
            ]
        )
        for at in found.unreadable:
            self._note("counter-unreadable", int(marks.wide[scan.AT, rows[at]]))
        for at, key, value in zip(found.at, found.series, found.value, strict=True):
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = self.out.strings.add(
                    key.encode("utf-8", "replace").replace(b"\\", b"\\\\")
                )
            name = int(marks.narrow[scan.NAME, rows[at]])
            self.out.counters.append((self.out.mark_count + rows[at], name, series, value))

    def _stash(self) -> None:
        """Put the filled part of the blocks aside and begin new ones."""
        counts, out = self._counts, self.out
        n, m, c = (int(counts[k]) for k in (scan.SLICES, scan.MARKS, scan.COLLECTIVES))
        if n:
            out.slices.append(self._slices.part(n))
        if m:
            out.marks.append(self._marks.part(m))
        if c:
            rows = self._collectives[:, :c]
            rows[0] += out.slice_count
            out.collectives.append(rows)
        out.slice_count += n
        out.mark_count += m
        self._fresh_blocks()

    # Book-keeping ----------------------------------------------------------------------------------------------------

    def _stop(self, why: str, at: int | None = None) -> None:
        window, out = self.window, self.out
        out.complete = False
        out.stopped = why
        out.stopped_at = window.origin + (window.filled if at is None else at)

    def _note(self, name: str, offset: int) -> None:
        count, first = self.out.notes.get(name, (0, offset))
        self.out.notes[name] = (count + 1, first)

    def _reason(self, name: str, offset: int) -> None:
        count, first = self.out.ledger.reasons.get(name, (0, offset))
        self.out.ledger.reasons[name] = (count + 1, first)

    def _finish(self) -> None:
        self._stash()
        out, counts, ledger = self.out, self._counts, self.out.ledger

        def pair(reason: int) -> tuple[int, int]:
            return int(counts[scan.COUNTS + 2 * reason]), int(counts[scan.COUNTS + 2 * reason + 1])

        no_objects = pair(scan.NO_OBJECT)[0]
        ledger.read = pair(scan.READ)[0] + no_objects
        for name, reason in REJECTIONS.items():
            count, first = pair(reason)
            if count:
                ledger.reasons[name] = (count, first)
                ledger.rejected += count
        for name, reason in (("rounded-time", scan.ROUNDED_TIME), ("negative-duration", scan.NEGATIVE)):
            count, first = pair(reason)
            if count:
                out.notes[name] = (count, first)
        ledger.kept = ledger.read - ledger.repaired - ledger.rejected
        out.text_bytes = self.window.origin + self.window.filled
        assert ledger.kept == out.slice_count + out.mark_count - ledger.repaired


def concatenated(blocks: list[Block], kind: str, row: int) -> NDArray[Any]:
    """One column over all blocks; ``kind`` is "wide", "narrow" or "small"."""
    parts = [getattr(b, kind)[row] for b in blocks]
    if not parts:
        return np.empty(0, {"wide": np.int64, "narrow": np.int32, "small": np.uint8}[kind])
    return np.concatenate(parts)
