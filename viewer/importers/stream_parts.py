"""A text that comes as a stream (inflated, recoded), read by several threads in stretches.

The stream is cut at guessed borders between events, stretches are scanned as they come and joined in order. A guess may
lie inside a string that looks like events, so a stretch counts only if the one before it arrives exactly at its
beginning, between two events. If it does not, it reads on through the next stretch, whose own scan is thrown away. What
comes out is the same as that of one thread, to the order of names and the places in the ledger.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.importers.event_scan import EventScan, Look
from viewer.importers.scanned import Scanned
from viewer.importers.source import TextStream
from viewer.importers.text_parts import BORDER, NotNeededError
from viewer.importers.window import TextWindow
from viewer.jit.scan_load import PAD

STRETCH: Final = 6 << 20
"""Bytes of text that one thread scans at a time, or half as many again."""
_REACH: Final = 64 << 10
"""Bytes in which a border is looked for at a time."""
_OVERLAP: Final = 256
"""Bytes of them that were looked at before."""


class _Reader:
    """The stretches that one reads on through; see TextStream."""

    damage = ""
    behind = False

    def __init__(self) -> None:
        self._rest = memoryview(b"")
        self.position = 0

    def go_on(self, text: memoryview) -> None:
        """What comes behind that so far, which was all read."""
        self._rest = text

    def read_into(self, room: memoryview) -> int:
        count = min(len(self._rest), len(room))
        room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self.position += count
        return count

    def close(self) -> None:
        pass


@dataclass(slots=True, eq=False)
class _Stretch:
    begin: int
    end: int
    room: NDArray[np.uint8]
    """Its text, and room behind it."""
    size: int
    joinable: bool
    """Whether its end looks like a border between events."""
    read: Future[EventScan] | None = None
    dropped: bool = False
    """The one before it read on through it."""
    crossed: bool = False
    """It asked for what lies behind it: it was its turn, and its room holds something else now."""
    events: int = 0


class StreamParts:
    """Reads one UTF-8 text that comes as a stream with several threads.

    Args:
        stream: the text.
        threads: how many scan at a time.
        args_sink: gets the args text, see EventScan.
        tell: gets the events read so far, often and from several threads; may raise to stop everything.
        look: see EventScan.
        folder: see EventScan.
        stretch: see STRETCH.
    """

    def __init__(
        self,
        stream: TextStream,
        threads: int,
        args_sink: Callable[[memoryview], None],
        tell: Callable[[int], None],
        look: Look | None = None,
        folder: Path | None = None,
        stretch: int | None = None,
    ) -> None:
        self._stream, self._threads, self._sink, self._tell = stream, threads, args_sink, tell
        self._look, self._folder = look, folder
        self._least = stretch or STRETCH
        self._most = self._least + self._least // 2
        self._turn = threading.Condition()
        self._stretches: deque[_Stretch] = deque()
        """Those that are not joined yet; everything before the first one is."""
        self._rest = b""
        """Read, but behind the last border."""
        self._cut_at = 0
        self._ended = False
        self._is_array: bool | None = None
        """Whether the text is a bare array; None before anything but white space was read."""
        self._sunk = 0
        self._events = 0
        self._given_up = 0
        self._spare: deque[EventScan] = deque()
        self._rooms: list[NDArray[np.uint8]] = []
        self.joined = 0
        """Stretches that were read ahead and used."""
        self.at = 0
        """Where reading stood when it failed."""

    def run(self) -> Scanned:
        """Read the text. Raises as EventScan.run does."""
        try:
            with ThreadPoolExecutor(self._threads, "stretch") as pool:
                try:
                    return self._joined(pool)
                finally:
                    with self._turn:
                        self._ended = True
                        for stretch in self._stretches:
                            stretch.dropped, stretch.read = True, None
                        self._turn.notify_all()
        finally:  # scans know this object: without the circle their memory is free at once
            self._spare.clear()
            self._rooms.clear()

    def _joined(self, pool: ThreadPoolExecutor) -> Scanned:
        out: Scanned | None = None
        while True:
            self._read_ahead(pool)
            head = self._stretches[0]
            scan = self._result(head)
            self._keep_args(scan)
            self._given_up = scan.given_up
            if out is None:
                out = scan.out
            else:
                self.at = head.begin
                out.add(scan.out)
                if not head.crossed:
                    self._spare.append(scan)
            with self._turn:
                self._stretches.popleft()
                if not head.crossed:
                    self._rooms.append(head.room)
                self._turn.notify_all()
            self._events += scan.events  # behind that: whoever tells how many there are counts none twice
            self._tell(self._events)
            if not scan.arrived:
                return out
            self.joined += 1

    # Cutting ---------------------------------------------------------------------------------------------------------

    def _read_ahead(self, pool: ThreadPoolExecutor) -> None:
        """Keep the threads busy, and one stretch ready for the first one that is idle."""
        with self._turn:
            while len(self._stretches) <= self._threads and (not self._stretches or self._stretches[-1].joinable):
                if not self._cut():
                    return
                self._stretches[-1].read = pool.submit(self._scan, self._stretches[-1], 0)

    def _cut(self) -> bool:
        """Cut the next stretch off the stream; False when there is no more. The turn is held."""
        if self._ended:
            return False
        room = self._rooms.pop() if self._rooms else np.zeros(self._most + PAD, np.uint8)
        size, border, wanted, looked = len(self._rest), 0, self._least, 0
        room[:size] = np.frombuffer(self._rest, np.uint8)
        with memoryview(room) as text:  # type: ignore[arg-type]
            while not border and not self._ended and size < self._most:
                while size < wanted and not self._ended:
                    count = self._stream.read_into(text[size:wanted])
                    self._ended = not count
                    size += count
                found = BORDER.search(text[:size], max(1, looked, wanted - _REACH)) if not self._ended else None
                border = found.start(1) if found else 0
                found = None  # it holds on to the text
                looked = size - _OVERLAP
                wanted = min(self._most, size + _REACH)
            self._rest = bytes(text[border:size]) if border else b""
        size = border or size
        room[size : size + PAD] = 0
        if self._is_array is None:
            first = room[:size].tobytes().removeprefix(b"\xef\xbb\xbf").lstrip(b" \n\r\t")[:1]
            self._is_array = first == b"[" if first else None
        begin, self._cut_at = self._cut_at, self._cut_at + size
        self._stretches.append(_Stretch(begin, self._cut_at, room, size, border > 0))
        return True

    def _cross(self, stretch: _Stretch, scan: EventScan, reader: _Reader) -> int | None:
        """Let a stretch read on through the next one, once its turn has come: its new end."""
        with self._turn:
            while not stretch.dropped and self._stretches[0] is not stretch:
                self._turn.wait()
            # How hard an event is tried to be mended depends on how many were given up before.
            if stretch.dropped or (scan.slow_events and scan.given_up_before != self._given_up):
                raise NotNeededError
            scan.given_up += self._given_up - scan.given_up_before
            scan.given_up_before = self._given_up
            stretch.crossed = True
            if len(self._stretches) == 1 and not self._cut():
                return None
            following = self._stretches[1]
            del self._stretches[1]
            following.dropped, following.read = True, None
            self._turn.notify_all()
            reader.go_on(memoryview(following.room)[: following.size])  # type: ignore[arg-type]
            stretch.end, stretch.joinable = following.end, following.joinable
            if scan.args_base is None:  # how far it goes is not known: they must not wait in memory
                scan.let_go_of_args(self._sink_args, self._sunk)
            return stretch.end

    # Scanning --------------------------------------------------------------------------------------------------------

    def _scan(self, stretch: _Stretch, given_up: int) -> EventScan:
        if stretch.dropped:
            raise NotNeededError
        spare = None
        with contextlib.suppress(IndexError):
            spare = self._spare.pop()
        reader = _Reader()
        window = TextWindow.over(stretch.room, stretch.size, reader, stretch.begin, stretch.end)
        scan = EventScan(
            window,
            chunk_done=lambda s: self._told(stretch, s),
            look=self._look,
            folder=self._folder,
            next_part=lambda _: stretch.joinable,
            holds_args=True,
            given_up=given_up,
            spare=spare,
        )
        window.cross = lambda: self._cross(stretch, scan, reader)
        try:
            if stretch.begin:
                scan.run_from_event(is_array=self._is_array is True)
            else:
                scan.run()
        except OverflowError:
            self.at = window.origin + window.position
            raise
        finally:
            del window.cross  # which knows the scan
        return scan

    def _told(self, stretch: _Stretch, scan: EventScan) -> None:
        if stretch.dropped:
            raise NotNeededError
        stretch.events = scan.events
        self._tell(self._events + sum(s.events for s in list(self._stretches)))

    def _result(self, head: _Stretch) -> EventScan:
        """What was read ahead of the first stretch, or what reading it now gives."""
        read, head.read = head.read, None
        assert read is not None
        try:
            scan = read.result()
        except Exception:  # whatever it is, reading again meets it at its place
            if head.crossed:
                raise
        else:
            if not scan.slow_events or scan.given_up_before == self._given_up:
                scan.given_up += self._given_up - scan.given_up_before
                return scan
        return self._scan(head, self._given_up)

    # Args ------------------------------------------------------------------------------------------------------------

    def _sink_args(self, text: memoryview) -> None:
        self._sink(text)
        self._sunk += len(text)

    def _keep_args(self, scan: EventScan) -> None:
        """Hand on the args of a stretch, whose offsets then count in what was handed on of all."""
        if scan.args_base is None:
            scan.let_go_of_args(self._sink_args, self._sunk)
        base = scan.args_base
        if base:
            for columns in (scan.out.slices, scan.out.marks):
                columns.column("args_off")[columns.column("args_len") > 0] += base
