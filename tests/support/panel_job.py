"""A small job of two ranks whose every figure is worked out by hand, for the tests of the Breakdown panel."""

from __future__ import annotations

from tests.support.build import annotation, call, copy, kernel, make_session, make_trace, mark, op, python, rows_named
from viewer.base.frames import PanelFrame
from viewer.base.selection import Selection, SliceRef
from viewer.store.meta import DeviceInfo
from viewer.store.session import Session
from viewer.views.breakdown.panel import breakdown

SHAPES = {"Input Dims": [[4, 8], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "2"]}
LAUNCH = {
    "grid": [2, 3, 1],
    "block": [128, 1, 1],
    "registers per thread": 32,
    "shared memory": 2048,
    "blocks per SM": 0.06,
    "warps per SM": 0.24,
    "est. achieved occupancy %": 12,
    "occupancy": {"activeBlocksPerMultiprocessor": 4, "limitingFactors": "registers"},
    "graph node id": 17,
}
GPU = DeviceInfo(0, "H100", {"numSms": 100, "warpSize": 32, "maxThreadsPerMultiprocessor": 2048})


def job() -> Session:
    """Rank 0: a step with two launched gemms, a collective that one of them hides in part, a copy and a wait."""
    first = make_trace(
        annotation("ProfilerStep#3", 0, 1_000),
        python("train.py(1): step", 2, 990),
        op("aten::mm", 10, 100, args=SHAPES),
        call("cudaLaunchKernel", 20, 10, corr=1),
        call("cudaStreamSynchronize", 420, 400, corr=9),
        call("cudaLaunchKernel", 830, 10, corr=2),
        kernel("gemm", 100, 300, corr=1, args=LAUNCH),
        kernel("gemm", 500, 100),
        kernel("gemm", 900, 50, corr=2),
        kernel("ncclDevKernel_AllReduce", 150, 300, stream=20, collective="allreduce"),
        copy("Memcpy HtoD", 390, 60, stream=9, args={"bytes": 600, "memory bandwidth (GB/s)": 9.5}),
        mark("gpu range", 90, 520),
        rank=0,
        devices=[GPU],
        facts={"record_shapes": 1, "with_stack": 1},
    )
    other = make_trace(kernel("gemm", 100, 350), kernel("gemm", 600, 150), rank=1, path="rank1.json")
    return make_session(first, other)


def of(session: Session, name: str, at: int = 0, item: int = 0) -> PanelFrame:
    """The panel of the ``at``-th slice of that name (by start) in an input."""
    row = rows_named(session.inputs[item].trace, name)[at]
    return breakdown(session, Selection(slice=SliceRef(item, row)))
