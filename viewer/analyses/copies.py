"""How many bytes copies and fills of the device moved, as the profiler says it."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import is_kernel
from viewer.base.ids import ABSENT
from viewer.store.trace import Trace


class _Bytes(msgspec.Struct):
    bytes: int | None = None


def copied_bytes(trace: Trace) -> NDArray[np.float64]:
    """Per position of ``gpu_work`` the bytes of a copy or fill; nan for kernels and where none are said. Kept."""

    def build() -> NDArray[np.float64]:
        work, s = gpu_work(trace), trace.slices
        out = np.full(len(work), np.nan)
        at = np.flatnonzero(~is_kernel(trace, work.index) & (s.args_off[work.index] != ABSENT))
        at = at[np.argsort(s.args_off[work.index[at]], kind="stable")]
        rows = work.index[at]
        decoder = msgspec.json.Decoder(_Bytes)
        texts = trace.args_text.read_many(s.args_off[rows].tolist(), s.args_len[rows].tolist())
        for place, text in zip(at.tolist(), texts, strict=True):
            try:
                found = decoder.decode(text).bytes if text else None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                found = None
            if found is not None and 0 <= found < 1 << 60:
                out[place] = found
        return out

    return trace.memo("copied_bytes", build)
