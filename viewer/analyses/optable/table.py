"""The table of kernels, operators, shapes, modules, steps or classes over the files of a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.kernels import mean_half_even
from viewer.analyses.optable.part import Part, gpu_ns, part
from viewer.base.work import CancelToken
from viewer.jit.grouping import middles
from viewer.store.session import Session

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Windows = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class OpTable:
    """Groups over files; arrays have one entry per group, int64 ns unless said otherwise.

    ``count`` runs or calls. ``total`` and ``own`` GPU time cut to the window, ``own`` without calls further inside;
    ``cpu_total`` and ``cpu_own`` as well. ``full``, ``median``, ``most`` are of whole GPU times of runs or calls
    (``full`` is their sum). ``flops`` were done in ``flops_ns``; ``moved`` bytes in ``moved_ns``. The longest is row
    ``longest_row`` of input ``longest_input``. ``gpu_ns`` adds all GPU work of these files in the window, of which
    ``done`` are counted.
    """

    by: str
    keys: list[tuple[Any, ...]]
    count: I64
    total: I64
    own: I64
    cpu_total: I64
    cpu_own: I64
    full: I64
    median: I64
    most: I64
    flops: F64
    flops_ns: I64
    moved: F64
    moved_ns: I64
    longest_input: I64
    longest_row: I64
    gpu_ns: int
    done: int

    def __len__(self) -> int:
        return len(self.keys)

    def means(self) -> list[int]:
        """Mean GPU times, halves to the even neighbour."""
        return [mean_half_even(t, n) if n else 0 for t, n in zip(self.full.tolist(), self.count.tolist(), strict=True)]

    def tflops(self) -> list[float | None]:
        """TFLOP/s of each group's kernels with known FLOPs; None without any."""
        return _rates(self.flops, self.flops_ns, 1e-3)

    def gbytes(self) -> list[float | None]:
        """GB/s (decimal) of each group's kernels with known bytes; None without any."""
        return _rates(self.moved, self.moved_ns, 1.0)


def _rates(amount: F64, ns: I64, scale: float) -> list[float | None]:
    pairs = zip(amount.tolist(), ns.tolist(), strict=True)
    return [a / n * scale if n > 0 and a > 0 else None for a, n in pairs]


def op_table(
    session: Session,
    inputs: tuple[int, ...],
    windows: Windows,
    by: str,
    cancel: CancelToken | None = None,
    tell: Callable[[Callable[[], OpTable]], None] | None = None,
) -> OpTable:
    """The table over some files.

    Args:
        session: the job.
        inputs: indexes of the files that count.
        windows: per file a window of its raw ns; files that are missing are taken whole.
        by: one of ``part.GROUPINGS``.
        cancel: asked between two files.
        tell: is given what makes the table so far, after each file but the last.
    """
    number: defaultdict[tuple[Any, ...], int] = defaultdict(count().__next__)
    parts: list[Part] = []
    maps: list[I64] = []
    gpu = 0

    def table() -> OpTable:
        return _merge(by, list(number), inputs[: len(parts)], parts, maps, gpu)

    for index in inputs:
        if cancel is not None:
            cancel.check()
        trace = session.inputs[index].trace
        found = part(trace, by, windows.get(index))
        parts.append(found)
        maps.append(np.array([number[k] for k in found.keys], np.int64))
        gpu += gpu_ns(trace, windows.get(index))
        if tell is not None and len(parts) < len(inputs):
            tell(table)
    return table()


def _merge(
    by: str, keys: list[tuple[Any, ...]], inputs: tuple[int, ...], parts: list[Part], maps: list[I64], gpu: int
) -> OpTable:
    n = len(keys)

    def add(name: str, kind: Any) -> Any:
        out = np.zeros(n, kind)
        for p, m in zip(parts, maps, strict=True):
            np.add.at(out, m, getattr(p, name))
        return out

    def joined(values: list[I64]) -> I64:
        return np.concatenate(values) if values else np.empty(0, np.int64)

    group = joined([m[p.entry_group] for p, m in zip(parts, maps, strict=True)])
    ns = joined([p.entry_ns for p in parts])
    counts = np.bincount(group, minlength=n).astype(np.int64)
    full, median, most, longest = (np.zeros(n, np.int64) for _ in range(4))
    middles(group, ns, np.cumsum(counts) - counts, np.empty(len(ns), np.int64), full, median, most, longest)
    longest_input, longest_row = np.zeros(n, np.int64), np.zeros(n, np.int64)
    begin = 0
    for index, one in zip(inputs, parts, strict=True):
        end = begin + len(one.entry_row)
        mine = np.flatnonzero((longest >= begin) & (longest < end))
        longest_input[mine], longest_row[mine] = index, one.entry_row[longest[mine] - begin]
        begin = end
    return OpTable(
        by,
        keys,
        counts,
        add("total", np.int64),
        add("own", np.int64),
        add("cpu_total", np.int64),
        add("cpu_own", np.int64),
        full,
        median,
        most,
        add("flops", np.float64),
        add("flops_ns", np.int64),
        add("moved", np.float64),
        add("moved_ns", np.int64),
        longest_input,
        longest_row,
        gpu,
        len(parts),
    )


def entries(
    session: Session, inputs: tuple[int, ...], windows: Windows, by: str, key: tuple[Any, ...]
) -> dict[int, tuple[I64, I64]]:
    """The runs or calls of one group: per file rows of ``slices`` by start, and the GPU time of each."""
    out = {}
    for index in inputs:
        trace = session.inputs[index].trace
        found = part(trace, by, windows.get(index))
        if key not in found.keys:
            continue
        mine = found.entry_group == found.keys.index(key)
        rows, ns = found.entry_row[mine], found.entry_ns[mine]
        order = np.argsort(trace.slices.start_ns[rows], kind="stable")
        if len(rows):
            out[index] = (rows[order], ns[order])
    return out
