from __future__ import annotations

import pytest

from tests.support.build import kernel, make_trace, op
from viewer.analyses import names
from viewer.base.ids import Paint


def test_a_name_is_asked_once_and_a_long_one_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "LONGEST_REMEMBERED", 3)
    asked: list[str] = []

    @names.remembered
    def upper(name: str) -> str:
        """Doc."""
        asked.append(name)
        return name.upper()

    assert [upper(n) for n in ("ab", "ab", "long", "cd", "long")] == ["AB", "AB", "LONG", "CD", "LONG"]
    assert asked == ["ab", "long", "cd", "long"]
    assert upper.__doc__ == "Doc."


def test_names_and_slices_by_paint() -> None:
    trace = make_trace(kernel("gemm", 0, 10), kernel("gemm", 20, 10), op("aten::mm", 0, 5), op("gemm", 30, 5))
    texts = [trace.text(code) for code in names.names_of(trace, Paint.COMPUTE)]
    assert texts == ["gemm"]
    assert sorted(trace.text(c) for c in names.names_of(trace, Paint.OPERATOR, Paint.COMPUTE)) == ["aten::mm", "gemm"]
    assert names.names_of(trace, Paint.SYNC) == []
    found = names.rows_named(trace, (Paint.OPERATOR,), lambda name: name == "gemm")
    assert [(trace.name(row), int(trace.slices.start_ns[row])) for row in found] == [("gemm", 30)]
    assert len(names.rows_named(trace, Paint, lambda name: name == "gemm")) == 3
    assert not len(names.rows_named(trace, Paint, lambda _: False))
