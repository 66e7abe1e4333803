"""A trace's JSON text to raw columns: drives the compiled loop over a sliding window of the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.base.errors import on_one_line
from viewer.base.ids import ABSENT
from viewer.importers.bad_bytes import is_more_than_ascii, rows_with_bad_bytes
from viewer.importers.counters import samples_of
from viewer.importers.memory_args import MemoryArgs
from viewer.importers.recorded import RecordedNumbers
from viewer.importers.repair import LONGEST, mend
from viewer.importers.scanned import MOST_VALUES, Scanned
from viewer.importers.window import TextWindow
from viewer.jit import scan_events as scan
from viewer.jit.scan_args import COLLECTIVE_COLUMNS, KEY_SIZE, KEY_TEXT
from viewer.jit.scan_load import PAD
from viewer.jit.scan_text import BROKEN, walk_strictly
from viewer.jit.scan_top import gather_args, next_key, value_end
from viewer.store.growing import GrowingColumns

COLLECTIVES: Final = 1 << 14
"""Rows of a block of collectives."""
COUNTERS: Final = 1 << 13
"""Counter events whose values are decoded together: each is a few Python objects meanwhile."""
SUSPECT: Final = 256 << 10
"""An event that has not ended after this many bytes is looked at closely."""
FIRST_REACH: Final = 8 << 10
"""Bytes of text in which the end of a broken event is looked for at first."""
SLOW: Final = 64
"""Broken events from one look at whether to stop to the next."""
SMALL: Final = 64 << 20
"""Top-level values up to this size are kept (a job of a thousand ranks lists its groups in one)."""

REJECTIONS: Final = {
    "empty": scan.EMPTY,
    "not-an-object": scan.NO_OBJECT,
    "no-phase": scan.NO_PHASE,
    "no-time": scan.NO_TIME,
    "time-out-of-range": scan.FAR_TIME,
}


ChunkDone = Callable[["EventScan"], None]
Look = Callable[[TextWindow, GrowingColumns, int, int], None]
"""Sees new slices, [from, to), while the window still holds their text; it may write columns, but not keep them."""


class EventScan:
    """One pass over a text.

    Args:
        window: the text.
        args_sink: gets the args text of each chunk; offsets then count in what it was given. None leaves offsets of
            the source.
        chunk_done: called after each piece, for progress and cancellation (may raise).
        look: for dialects that keep in args what other columns are made of.
        folder: where large columns may lie, see GrowingColumns.
        next_part: asked at the window's border, when it lies between two events: whether someone else has read on from
            there. If not, this scan goes on.
        holds_args: keep the args text until :meth:`let_go_of_args` says where it goes; offsets count from the first of
            it.
        given_up: events that were given up before this text.
        spare: a scan whose rows were used, of which the memory is taken over.
    """

    def __init__(
        self,
        window: TextWindow,
        args_sink: Callable[[memoryview], None] | None = None,
        chunk_done: ChunkDone | None = None,
        look: Look | None = None,
        folder: Path | None = None,
        next_part: Callable[[EventScan], bool] | None = None,
        holds_args: bool = False,
        given_up: int = 0,
        spare: EventScan | None = None,
    ) -> None:
        self.window = window
        self._next_part = next_part
        self.arrived = False
        """Whether it ended at the window's border, where someone else has read on."""
        self.slow_events = 0
        """Events that took the slow road."""
        self.given_up = self.given_up_before = given_up
        """Events that were given up so far, and before this text."""
        self.out: Scanned = Scanned.empty(folder) if spare is None else Scanned.instead_of(spare.out, folder)
        self._recorded = RecordedNumbers(self.out)
        self._memory = MemoryArgs(self.out)
        self._mended: list[int] = []
        self._sink = args_sink
        self._holds = holds_args
        self._held = self._sunk = 0
        self.args_base: int | None = None
        """Where the args text that was held begins in all of it."""
        self._arena: NDArray[np.uint8] = (
            np.empty(1 << 20 if args_sink or holds_args else 0, np.uint8) if spare is None else spare._arena
        )
        self._chunk_done = chunk_done
        self._look = look
        self._series: dict[str, int] = {}
        self._counts = np.zeros(scan.COUNTER_WORDS, np.int64)
        self._gathered = (0, 0)
        self._looked_at = 0
        """Up to there the bytes of the text were looked at."""
        rows = 1 + len(COLLECTIVE_COLUMNS)
        self._collectives: NDArray[np.int64] = (
            np.empty((rows, COLLECTIVES), np.int64) if spare is None else spare._collectives
        )

    @property
    def events(self) -> int:
        """Events read so far."""
        return int(self._counts[scan.COUNTS + 2 * scan.READ])

    def run(self) -> Scanned:
        """Scan to the end of the text. Raises OverflowError when a value is absurdly long, or names are too many."""
        window, out = self.window, self.out
        if not window.filled:
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

    def run_from_event(self, *, is_array: bool) -> Scanned:
        """As :meth:`run`, of a text that begins between two events of the array (of a bare one or not)."""
        self.out.has_events, self.out.is_array = True, is_array
        if not self.window.filled:
            self.window.more()
        if self._events() and not is_array:
            self._object()
        self._finish()
        return self.out

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
            status = next_key(window.address, window.position, window.filled, found)
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
            if end - begin <= SMALL and len(out.top) < MOST_VALUES:
                out.top[key] = window.text(begin, end)
            window.position = end

    def _whole_value(self) -> int:
        """End of the value at the window's position; brings more text as needed; -1 when the text ends inside."""
        window = self.window
        while True:
            end = value_end(window.address, window.position, window.filled)
            if end < window.filled or (end == window.filled and window.ended):
                return int(end)
            if window.ended:
                return -1
            window.more()  # that there is no more may be all that was missing

    # The event array -------------------------------------------------------------------------------------------------

    def _events(self) -> bool:
        """Scan up to the closing bracket; False when the text ends before it."""
        window, counts = self.window, self._counts
        while True:
            status = self._loop(window.address, window.position, window.filled, window.origin)
            window.position = int(counts[scan.POSITION])
            if status == scan.GROW:
                self._grow()
                continue
            if status != scan.STUCK:  # of a file full of broken events each one would be harvested alone
                self._harvest()
            if status == scan.FULL:
                self._make_room()
            elif status == scan.ARRAY_END:
                window.position += 1
                return True
            elif status == scan.STUCK or (window.filled - window.position > SUSPECT and self._is_broken()):
                if not self._slow_event():
                    self._harvest()
                    return False
            elif window.at_border and self._next_part is not None and self._next_part(self):
                self.arrived = True
                return False
            elif not window.more():
                if window.position == window.filled:
                    self._stop("the file ends before the event array is closed")
                    return False
                if not self._slow_event():
                    return False
            if self._chunk_done is not None and (status != scan.STUCK or self.slow_events % SLOW == 0):
                self._chunk_done(self)

    def _is_broken(self) -> bool:
        window = self.window
        state, _ = walk_strictly(window.address + window.position, window.address + window.filled)
        return bool(state == BROKEN)

    def _slow_event(self) -> bool:
        """Take the event at the window's position over the slow road; False when the text ends in it."""
        window, out = self.window, self.out
        self.slow_events += 1
        begin = window.position
        offset = window.origin + begin
        # Most events end soon: what is copied and walked for one event must not be the whole window.
        reach = min(window.filled, begin + FIRST_REACH)
        while True:
            ended = window.ended and reach == window.filled
            walked, at = walk_strictly(window.address + begin, window.address + reach)
            text = window.text(begin, reach)
            result = mend(text, ended, self.given_up, (int(walked), int(at) - window.address - begin))
            # A farther border may still make sense of what the nearer ones do not.
            if result.kind != "more" and (result.final or reach - begin >= LONGEST):
                break
            if reach < window.filled:
                reach = min(window.filled, begin + 4 * (reach - begin))
                continue
            self._harvest()  # the text is about to go
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
            self.given_up += 1
            return True
        kept = self._scan_plain(result.plain, offset, offset + result.args_at, result.args_size)
        if result.kind == "repaired" and kept:
            self._reason("quotes-or-brackets", offset)
            out.mended_at.setdefault("quotes-or-brackets", []).append(offset)
            out.ledger.repaired += 1
        return True

    def _scan_plain(self, plain: bytes, offset: int, args_at: int, args_size: int) -> bool:
        """Scan one event from a text of its own and put it at its place in the source; whether it made a row."""
        padded = np.zeros(len(plain) + PAD, np.uint8)
        padded[: len(plain)] = np.frombuffer(plain, np.uint8)
        before = self._rows()
        while True:
            status = self._loop(padded.ctypes.data, 0, len(plain), offset)
            if status == scan.GROW:
                self._grow()
            elif status == scan.FULL:
                self._harvest()
                self._make_room()
            else:
                break
        for columns, old, new in zip((self.out.slices, self.out.marks), before, self._rows(), strict=True):
            if new > old:
                if columns is self.out.slices:
                    self._mended.append(old)
                columns.recent("at", old)[0] = offset
                columns.recent("args_off", old)[0] = args_at if args_size else ABSENT
                columns.recent("args_len", old)[0] = args_size
                return True
        return False

    def _loop(self, address: int, position: int, filled: int, origin: int) -> int:
        """Run the compiled loop over a text; why it stopped."""
        out, counts = self.out, self._counts
        status: int = scan.scan_events(
            address,
            position,
            filled,
            origin,
            out.strings.address,
            out.tracks.address,
            KEY_TEXT,
            KEY_SIZE,
            out.slices.addresses,
            out.slices.room,
            out.marks.addresses,
            out.marks.room,
            self._collectives,
            counts,
        )
        out.slices.rows, out.marks.rows = int(counts[scan.SLICES]), int(counts[scan.MARKS])
        return status

    def _rows(self) -> tuple[int, int]:
        return self.out.slices.rows, self.out.marks.rows

    def _grow(self) -> None:
        self.out.refuse_too_many_names()
        self.out.strings.grow()
        self.out.tracks.grow()

    def _make_room(self) -> None:
        for columns in (self.out.slices, self.out.marks):
            if columns.rows == columns.room:
                columns.reserve(columns.rows + 1)
        if self._counts[scan.COLLECTIVES] == self._collectives.shape[1]:
            self._stash_collectives()

    def _harvest(self) -> None:
        """Take what only the text holds of the rows that were added since the last call."""
        (old_slices, old_marks), (new_slices, new_marks) = self._gathered, self._rows()
        slices, marks = self.out.slices, self.out.marks
        if self._look is not None and new_slices > old_slices:
            self._look(self.window, slices, old_slices, new_slices)
        begin, self._looked_at = self._looked_at, self.window.origin + self.window.position
        if is_more_than_ascii(self.window.view()[max(0, begin - self.window.origin) : self.window.position]):
            for columns, old in ((slices, old_slices), (marks, old_marks)):
                self._count_bad_bytes(columns, old)
        if new_slices > old_slices:
            self._recorded.number(self.window, old_slices, new_slices)
            for row in self._mended:
                self._recorded.forget(row)
        self._mended.clear()
        if new_marks > old_marks:
            self._memory.read(self.window, old_marks)
        counters = np.flatnonzero(marks.recent("phase", old_marks) == ord("C"))
        if len(counters):
            for begin in range(0, len(counters), COUNTERS):
                self._counters(old_marks, counters[begin : begin + COUNTERS].tolist())
        if self._sink is not None or self._holds:
            for columns, old in ((slices, old_slices), (marks, old_marks)):
                self._gather(columns.recent("args_off", old), columns.recent("args_len", old))
        self._gathered = (new_slices, new_marks)

    def _gather(self, offsets: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
        window, held = self.window, self._held
        used = gather_args(window.address, window.origin, offsets, sizes, self._arena, held)
        if used < 0:
            arena = np.empty(2 * -used, np.uint8)
            arena[:held] = self._arena[:held]
            self._arena = arena
            used = gather_args(window.address, window.origin, offsets, sizes, arena, held)
        if used == held:
            return
        offsets[sizes > 0] += self._sunk
        if self._holds:
            self._held = used
        else:
            self._give(used)

    def _give(self, used: int) -> None:
        """Hand on the first so many bytes of the arena."""
        if used and self._sink is not None:
            self._sink(memoryview(self._arena[:used]))  # type: ignore[arg-type]
            self._sunk += used

    def let_go_of_args(self, sink: Callable[[memoryview], None], base: int) -> None:
        """Hand on the args text that was held, and from now on what comes; ``base`` is noted in ``args_base``."""
        self._sink, self.args_base = sink, base
        self._give(self._held)
        self._holds, self._held = False, 0

    def _count_bad_bytes(self, columns: GrowingColumns, old: int) -> None:
        """Events whose args hold bytes that are no text are repaired ones: the bytes are shown as U+FFFD."""
        offsets = columns.recent("args_off", old) - self.window.origin
        rows = rows_with_bad_bytes(self.window.view(), offsets, columns.recent("args_len", old))
        if not len(rows):
            return
        out = self.out
        known = out.mended_at.get("quotes-or-brackets", [])[-len(rows) - 1 :]
        for at in columns.recent("at", old)[rows].tolist():
            if at not in known:  # an event is repaired once
                self._reason("args-text", at)
                out.mended_at.setdefault("args-text", []).append(at)
                out.ledger.repaired += 1

    def _counters(self, old: int, rows: list[int]) -> None:
        """Take the values of counter events: ``rows`` of the marks from ``old`` on."""
        marks, origin = self.out.marks, self.window.origin
        at, begins, sizes = (marks.recent(name, old) for name in ("at", "args_off", "args_len"))
        rows = [row for row in rows if sizes[row] > 0]
        spans = [(int(begins[row]) - origin, int(sizes[row])) for row in rows]
        found = samples_of([self.window.text(begin, begin + size) for begin, size in spans])
        for k in found.unreadable:
            self._note("counter-unreadable", int(at[rows[k]]))
        series = []
        for key in found.series:
            number = self._series.get(key)
            if number is None:
                text = key.encode("utf-8", "replace").replace(b"\\", b"\\\\")
                number = self._series[key] = self.out.series.add(text)
            series.append(number)
        samples = self.out.samples
        first, end = samples.rows, samples.rows + len(series)
        samples.reserve(end)
        samples.rows = end
        samples.recent("row", first)[:] = np.array(rows, np.int64)[found.at] + old
        samples.recent("series", first)[:] = series
        samples.recent("value", first)[:] = found.value

    def _stash_collectives(self) -> None:
        """Put the filled part of the block aside and begin a new one."""
        count = int(self._counts[scan.COLLECTIVES])
        if count:
            self.out.collectives.append(self._collectives[:, :count].copy())
            self._counts[scan.COLLECTIVES] = 0

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
        self._stash_collectives()
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
        assert ledger.kept == out.slices.rows + out.marks.rows - ledger.repaired
