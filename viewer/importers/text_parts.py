"""One plain file read by several threads: split at guessed borders between events.

A guess may lie inside a string that looks like events, so a part counts only if the part before it arrives exactly at
its beginning, between two events. If it does not, it reads on, and what was read ahead is thrown away. What comes out
is the same as that of one thread, to the order of names and the places in the ledger.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from viewer.importers.event_scan import EventScan, Look
from viewer.importers.scanned import Scanned
from viewer.importers.window import CHUNK, TextWindow

LEAST: Final = 16 << 20
"""Bytes that are worth a thread."""
_REACH: Final = 1 << 20
_PIECE: Final = 2 << 20
BORDER: Final = re.compile(rb'\}\s*,\s*(\{)\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp|tts|cname)"\s*:')
"""What looks like a border between two events; group 1 is where the second one begins."""


class NotNeededError(Exception):
    """The part before this one did not arrive at its beginning."""


class _PartStream:
    """The file from the place where it stands; see TextStream."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.position = 0
        self.damage = ""
        self.behind = False

    def read_into(self, room: memoryview) -> int:
        try:
            count = self._file.readinto(room[:_PIECE])
        except OSError as error:
            self.damage = f"the file cannot be read to its end ({error.strerror or error})"
            return 0
        self.position += count
        return count

    def close(self) -> None:
        pass


class TextParts:
    """Reads one plain UTF-8 file with several threads.

    Args:
        path: the file.
        size: its size in bytes.
        parts: how many threads at most.
        tell: gets the bytes and events read so far, often and from several threads; may raise to stop everything.
        look: see EventScan.
        folder: see EventScan.
        chunk: bytes of each window.
        least: see LEAST.
    """

    def __init__(
        self,
        path: Path,
        size: int,
        parts: int,
        tell: Callable[[int, int], None],
        look: Look | None = None,
        folder: Path | None = None,
        chunk: int = CHUNK,
        least: int | None = None,
    ) -> None:
        self._path, self._tell, self._look, self._folder, self._chunk = path, tell, look, folder, chunk
        self._borders, self._is_array = _guess(path, size, min(parts, size // (least or LEAST)))
        count = len(self._borders)
        self._done = [(0, 0)] * count
        self._not_needed = [threading.Event() for _ in range(count)]
        self._read: list[Future[EventScan]] = [Future() for _ in range(count)]
        self._joined = [False] * count
        self._slow = [0] * count
        self._damage = [""] * count
        self.at = 0
        """Where reading stood when it failed."""

    @property
    def worth_it(self) -> bool:
        """Whether the file can be split at all."""
        return len(self._borders) > 1

    @property
    def joined(self) -> int:
        """How many parts were read ahead and used."""
        return self._joined.index(False)

    def run(self) -> tuple[Scanned, str]:
        """Read the file: what it holds, and the damage at its end ("" without). Raises as EventScan.run does."""
        with ThreadPoolExecutor(len(self._borders), "part") as pool:
            for part in range(1, len(self._borders)):
                pool.submit(self._ahead, part)
            try:
                out = self._part(0).out
            finally:
                for part, needed in enumerate([True, *self._joined[:-1]]):
                    if not needed:
                        self._stop_from(part)
        part = 0
        while self._joined[part]:
            part += 1
            self.at = self._borders[part]
            out.add(self._read[part].result().out)
        self._read.clear()  # scans know this object: without the circle they are gone at once
        return out, self._damage[part]

    def _ahead(self, part: int) -> None:
        try:
            self._read[part].set_result(self._part(part))
        except BaseException as error:
            self._read[part].set_exception(error)

    def _part(self, part: int) -> EventScan:
        begin = self._borders[part]
        border = self._borders[part + 1] if part + 1 < len(self._borders) else None
        with io.FileIO(self._path) as file:
            file.seek(begin)
            stream = _PartStream(file)
            window = TextWindow(stream, self._chunk, begin, border)
            scan = EventScan(
                window,
                chunk_done=lambda s: self._told(part, s),
                look=self._look,
                folder=self._folder,
                next_part=lambda s: self._join(part, s),
            )
            try:
                if part:
                    scan.run_from_event(is_array=self._is_array)
                else:
                    scan.run()
            except OverflowError:
                self.at = window.origin + window.position
                raise
            finally:
                self._damage[part] = stream.damage
        return scan

    def _told(self, part: int, scan: EventScan) -> None:
        if self._not_needed[part].is_set():
            raise NotNeededError
        window = scan.window
        if window.border is None and part + 1 < len(self._borders):
            self._stop_from(part + 1)
        self._done[part] = (window.origin + window.filled - self._borders[part], scan.events)
        self._tell(sum(d for d, _ in self._done), sum(e for _, e in self._done))

    def _stop_from(self, part: int) -> None:
        for event in self._not_needed[part:]:
            event.set()

    def _join(self, part: int, scan: EventScan) -> bool:
        """Whether the part behind this one may be taken as it is."""
        try:
            following = self._read[part + 1].result()
        except Exception:  # whatever it is, reading on meets it again at its place
            return False
        slow = following.slow_events + self._slow[part + 1]
        # How hard an event is tried to be mended depends on how many were given up before.
        if slow and scan.out.ledger.rejected:
            return False
        self._slow[part] = slow
        self._joined[part] = True
        return True


def _guess(path: Path, size: int, parts: int) -> tuple[list[int], bool]:
    """Where parts begin (the first at 0), and whether the text is a bare array."""
    borders = [0]
    with path.open("rb") as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b" \n\r\t")
        if head[:1] not in (b"[", b"{"):
            return borders, False
        for part in range(1, parts):
            at = size * part // parts
            file.seek(at)
            found = BORDER.search(file.read(_REACH))
            if found and at + found.start(1) > borders[-1]:
                borders.append(at + found.start(1))
    return borders, head[:1] == b"["
