"""How many bytes copies and fills of the device moved, as the profiler says it."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.steps import is_kernel
from viewer.store.recorded import numbered
from viewer.store.trace import Trace


class _Bytes(msgspec.Struct):
    bytes: int | None = None


def copied_bytes(trace: Trace) -> NDArray[np.float64]:
    """Per position of ``gpu_work`` the bytes of a copy or fill; nan for kernels and where none are said. Kept."""

    def build() -> NDArray[np.float64]:
        work = gpu_work(trace)
        out = np.full(len(work), np.nan)
        at = np.flatnonzero(~is_kernel(trace, work.index))
        number, found = numbered(trace, work.index[at], _moved)
        if len(found):
            out[at] = np.array([np.nan if n is None else n for n in found], np.float64)[number]
        return out

    return trace.memo("copied_bytes", build)


_decode: Final = msgspec.json.Decoder(_Bytes).decode


def _moved(text: bytes) -> int | None:
    try:
        found = _decode(text).bytes if text else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if found is not None and 0 <= found < 1 << 60 else None
