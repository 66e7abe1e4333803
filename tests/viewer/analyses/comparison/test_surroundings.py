"""What else differs between two runs."""

from tests.support.build import kernel, make_session, make_trace
from viewer.analyses.comparison.compare import compare
from viewer.analyses.comparison.surroundings import Difference
from viewer.store.meta import DeviceInfo


def run(gpu: str, **facts: object):
    return make_session(make_trace(kernel("a", 0, 10), devices=[DeviceInfo(0, gpu)], facts=facts))


def test_devices_versions_and_switches():
    base = run("H100", cuda_runtime_version=12040, with_stack=1, traceName="a.json", nccl_version="2.22")
    test = run("B200", cuda_runtime_version=12090, traceName="b.json", nccl_version="2.22", odd={"x": 1})
    assert compare(base, test).surroundings == (
        Difference("GPU", "H100", "B200"),
        Difference("cuda_runtime_version", "12040", "12090"),
        Difference("with_stack", "1", None),
    )
    assert compare(base, base).surroundings == ()
