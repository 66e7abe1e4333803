"""Distinct names of GPU work with their longest runs."""

from __future__ import annotations

from tests.support.build import kernel, make_session, make_trace, op
from viewer.analyses.kernel_names import kernel_names


def test_each_name_has_its_longest_run_over_all_ranks() -> None:
    session = make_session(
        make_trace(kernel("b", 0, 5), kernel("a", 10, 7), kernel("a", 20, 9), op("cpu", 0, 99), rank=0, path="0.json"),
        make_trace(kernel("a", 0, 9), kernel("b", 20, 6, stream=9), kernel("c", 30, 1), rank=1, path="1.json"),
        make_trace(op("cpu", 0, 5), rank=2, path="2.json"),
    )
    found = kernel_names(session)
    where = {
        name: (ref.input, int(session.inputs[ref.input].trace.slices.start_ns[ref.index]))
        for name, ref in found.items()
    }
    assert list(found) == ["a", "b", "c"]
    assert where == {"a": (0, 20), "b": (1, 20), "c": (1, 30)}
