"""What args record of operators and GPU work, numbered while a trace's text is in memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from viewer.base.ids import UNREAD
from viewer.importers.scanned import MOST_RECORDED, Scanned
from viewer.importers.window import TextWindow
from viewer.jit.scan_events import TRACK_KEY
from viewer.jit.scan_intern import StringTable
from viewer.jit.scan_recorded import SCRATCH_BYTES, number_recorded

CATEGORIES: Final = frozenset((b"cpu_op", b"operator", b"kernel", b"gpu_memcpy", b"gpu_memset", b"memcpy", b"memset"))
"""Categories, in lower case, whose args are looked at; of all others the text is read when it is asked for."""
FIRST_ROOM: Final = (1 << 10, 1 << 17)
"""Texts and bytes for which there is room at first."""


class RecordedNumbers:
    """Fills the column ``recorded`` of slices while the window holds their text."""

    def __init__(self, out: Scanned) -> None:
        self._out = out
        out.recorded = StringTable(*FIRST_ROOM)
        self._wanted = np.zeros(0, np.bool_)
        self._scratch = np.empty(SCRATCH_BYTES, np.uint8)

    def number(self, window: TextWindow, begin: int, end: int) -> None:
        """Number the rows [begin, end) of slices, whose ``args_off`` count from the source's first byte."""
        slices, table = self._out.slices, self._out.recorded
        self._look_at_tracks()
        names = ("args_off", "args_len", "track", "recorded")
        offsets, sizes, track, numbers = (slices.recent(name, begin)[: end - begin] for name in names)
        done = 0
        while done < end - begin:
            done = number_recorded(
                window.address,
                window.origin,
                offsets,
                sizes,
                track,
                self._wanted,
                self._scratch,
                table.address,
                done,
                table.used_bytes > MOST_RECORDED,
                numbers,
            )
            table.grow()

    def forget(self, row: int) -> None:
        """The args of a slice are no plain JSON: only their text tells."""
        self._out.slices.recent("recorded", row)[0] = UNREAD

    def _look_at_tracks(self) -> None:
        tracks, known = self._out.tracks, len(self._wanted)
        if len(tracks) == known:
            return
        cats = tracks.numbers(len(TRACK_KEY))[known:, TRACK_KEY.index("cat")].tolist()
        strings = self._out.strings
        more = [cat >= 0 and strings.text(cat).lower() in CATEGORIES for cat in cats]
        self._wanted = np.append(self._wanted, np.array(more, np.bool_))
