"""What the table of kernels says below it: shapes that claim more than the device can compute."""

from dataclasses import replace

from tests.support.build import call, kernel, make_session, make_trace, op
from viewer.base.job_card import HardwareCard, JobCard
from viewer.base.selection import Selection
from viewer.views.op_table import KERNEL, compute, op_scope


def note_with(peak):
    shapes = {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    events = [op("aten::mm", 0, 1000, args=shapes), call("cudaLaunchKernel", 10, 1, corr=1)]
    session = make_session(make_trace(*events, kernel("gemm", 2000, 1_000_000, corr=1)))
    session = session.with_card(replace(JobCard(), hardware=HardwareCard(gpu="a device", peak_flops=peak)))
    return compute(session, op_scope(session, Selection()), KERNEL).note


def test_rates_beyond_the_peak_are_called_wrong():
    rate = 2 * 1024**3 * 1_000  # FLOPs of the product in 1 ms, per second
    assert note_with(int(rate * 2)) == ""
    assert note_with(rate) == "", "the peak itself can be reached"
    assert note_with(rate // 2).startswith("1 row claims more than the device can compute")
