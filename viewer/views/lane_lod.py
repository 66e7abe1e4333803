"""Levels of detail and decoded names of the traces on screen, kept while a trace lives."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from viewer.base.work import CancelToken
from viewer.jit.lod import Lod, build_lod, no_lod
from viewer.store.session import Session
from viewer.store.trace import Trace


class LodStore:
    """What is derived from traces for drawing. Survives a change of session: the traces of its files stay the same."""

    def __init__(self) -> None:
        self._lods: WeakKeyDictionary[Trace, Lod] = WeakKeyDictionary()
        self._none: WeakKeyDictionary[Trace, Lod] = WeakKeyDictionary()
        self._names: WeakKeyDictionary[Trace, dict[int, str]] = WeakKeyDictionary()

    def get(self, trace: Trace) -> Lod:
        """The levels of a trace; none of its rows has any before they are built."""
        lod = self._lods.get(trace) or self._none.get(trace)
        if lod is None:
            lod = self._none[trace] = no_lod(len(trace.rows))
        return lod

    def missing(self, session: Session) -> list[Trace]:
        """Traces of the session whose levels are not built."""
        return [i.trace for i in session.inputs if i.trace not in self._lods]

    def put(self, trace: Trace, lod: Lod) -> None:
        """Keep built levels."""
        self._lods[trace] = lod
        self._none.pop(trace, None)

    def names(self, trace: Trace) -> Callable[[int], str]:
        """A cached look-up of the trace's strings."""
        known = self._names.setdefault(trace, {})

        def name(string: int) -> str:
            text = known.get(string)
            if text is None:
                text = known[string] = trace.text(string)
            return text

        return name


def build(trace: Trace, cancel: CancelToken | None = None) -> Lod:
    """Build the levels of a trace; slow, for a worker thread."""
    if cancel is not None:
        cancel.check()
    s = trace.slices
    return build_lod(s.start_ns, s.dur_ns, s.paint, trace.rows.begin, trace.rows.end)
