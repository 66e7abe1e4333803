"""Levels of detail and decoded names of the traces on screen, kept while a trace lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from viewer.base.ids import GPU_CLASSES, Paint
from viewer.base.work import CancelToken
from viewer.jit.lod import Lod, build_lod, no_lod
from viewer.store.session import Session
from viewer.store.trace import Trace


class Built(NamedTuple):
    """What is built of a trace: its levels, which paints occur in it, and how long its longest slice is, ns."""

    lod: Lod
    paints: tuple[Paint, ...]
    longest: int


class LodStore:
    """What is derived from traces for drawing. Survives a change of session: the traces of its files stay the same."""

    def __init__(self) -> None:
        self._built: WeakKeyDictionary[Trace, Built] = WeakKeyDictionary()
        self._none: WeakKeyDictionary[Trace, Lod] = WeakKeyDictionary()
        self._names: WeakKeyDictionary[Trace, dict[int, str]] = WeakKeyDictionary()
        self._ids: WeakKeyDictionary[Trace, NDArray[np.int64]] = WeakKeyDictionary()
        self._id_of: dict[str, int] = {}
        self.texts: list[str] = []
        """Every name that was ever drawn, once; its place is its number in frames."""

    def get(self, trace: Trace) -> Lod:
        """The levels of a trace; none of its rows has any before they are built."""
        built = self._built.get(trace)
        lod = built.lod if built is not None else self._none.get(trace)
        if lod is None:
            lod = self._none[trace] = no_lod(len(trace.rows))
        return lod

    def longest(self, trace: Trace) -> int:
        """No slice of the trace lasts longer, ns."""
        built = self._built.get(trace)
        return built.longest if built is not None else 2**63 - 1

    def is_built(self, trace: Trace) -> bool:
        """Whether the levels of a trace are there."""
        return trace in self._built

    def missing(self, session: Session) -> list[Trace]:
        """Traces of the session whose levels are not built."""
        return [i.trace for i in session.inputs if i.trace not in self._built]

    def put(self, trace: Trace, built: Built) -> None:
        """Keep what was built."""
        self._built[trace] = built
        self._none.pop(trace, None)

    def paints(self, session: Session) -> tuple[Paint, ...]:
        """What occurs in the traces that were built: GPU classes first, then the others."""
        found = {p for i in session.inputs if (b := self._built.get(i.trace)) is not None for p in b.paints}
        return tuple(sorted(found, key=lambda p: (p not in GPU_CLASSES, p == Paint.OTHER, p)))

    def names(self, trace: Trace) -> Callable[[int], str]:
        """A cached look-up of the trace's strings."""
        known = self._names.setdefault(trace, {})

        def name(string: int) -> str:
            text = known.get(string)
            if text is None:
                text = known[string] = trace.text(string)
            return text

        return name

    def text_ids(self, trace: Trace, strings: NDArray[np.int32]) -> NDArray[np.int64]:
        """Places in :attr:`texts` of strings of a trace (-1 is the empty name)."""
        known = self._ids.get(trace)
        if known is None:
            known = self._ids[trace] = np.full(len(trace.strings) + 1, -1, np.int64)
        out = known[strings]
        if out.min(initial=0) < 0:
            for string in np.unique(strings[out < 0]).tolist():
                known[string] = self.text_id(trace.text(string))
            out = known[strings]
        return out

    def text_id(self, text: str) -> int:
        """The place of a text in :attr:`texts`."""
        place = self._id_of.setdefault(text, len(self.texts))
        if place == len(self.texts):
            self.texts.append(text)
        return place


def build(trace: Trace, cancel: CancelToken | None = None) -> Built:
    """Build the levels of a trace; slow, for a worker thread."""
    if cancel is not None:
        cancel.check()
    s = trace.slices
    counts = np.bincount(s.paint, minlength=len(Paint))
    lod = build_lod(s.start_ns, s.dur_ns, s.paint, trace.rows.begin, trace.rows.end)
    return Built(lod, tuple(p for p in Paint if counts[p]), int(lod.longest.max(initial=0)))
