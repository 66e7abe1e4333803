"""Slices whose lanes say what they are: every column with a value per slice, to be changed, and names by pattern."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.store.raw import RawSlices, RawTrace


class Wide:
    """Slices with a value of their own in every column, to be changed one by one."""

    def __init__(self, slices: RawSlices) -> None:
        self._slices = slices
        self.name, self.pid, self.tid = slices.name, slices.pid, slices.tid
        self.cat, self.device, self.stream = slices.cat, slices.device, slices.stream
        self.is_async, self.corr, self.ext = slices.is_async, slices.corr, slices.ext

    def narrow(self) -> RawSlices:
        """The same with tracks."""
        s = self._slices
        return RawSlices.filled(
            s.start_ns,
            s.dur_ns,
            s.name,
            self.cat,
            pid=self.pid,
            tid=self.tid,
            device=self.device,
            stream=self.stream,
            is_async=self.is_async,
            corr=self.corr,
            ext=self.ext,
            args_off=s.args_off,
            args_len=s.args_len,
            recorded=s.recorded,
        )


class Categories:
    """Numbers of categories that the file does not write, appended to its strings as they are first given."""

    def __init__(self, raw: RawTrace) -> None:
        self._strings = raw.strings
        self._known: dict[str, int] = {}

    def __call__(self, category: str) -> int:
        """Its number, from now on that of a string."""
        if category not in self._known:
            self._known[category] = len(self._strings)
            self._strings.append(category)
        return self._known[category]

    def known(self, category: str) -> int:
        """Its number where it was given to something, else one that no slice has."""
        return self._known.get(category, -2)


class NameFlags:
    """Which names match a pattern; each distinct name is asked once."""

    def __init__(self, raw: RawTrace) -> None:
        self._strings = list(raw.strings)
        self._known: dict[re.Pattern[str], NDArray[np.bool_]] = {}

    def where(self, pattern: re.Pattern[str], name: NDArray[np.int32]) -> Any:
        """bool[n]: whether the names with these numbers match at their beginning."""
        if pattern not in self._known:
            flags = [pattern.match(text[:200]) is not None for text in self._strings]
            self._known[pattern] = np.array([*flags, False], np.bool_)
        return self._known[pattern][name]
