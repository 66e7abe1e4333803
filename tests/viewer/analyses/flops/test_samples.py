"""FLOPs of public traces against what TraceLens counts, without the bias that it adds (the help has the table)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from viewer.analyses.flops.ledger import ledger
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache

MEGATRON = "kineto-multirank/megatron_tp8_a100/megatron_kineto_0.json"


@pytest.mark.parametrize(
    ("name", "gflop", "coverage"),
    [
        (
            "kineto-single/h100_qwen1.5_0.5b.json.gz",
            {
                "aten::mm": 4164.037902,
                "aten::addmm": 1351.158202 - 72 * 8944 * 1024 / 1e9,
                "aten::bmm": 0.000036,
                "aten::_flash_attention_forward": 245.745058,
            },
            0.6956,
        ),
        (
            "kineto-single/b200_eager.json.gz",
            {"aten::mm": 0.144783, "aten::addmm": 235.810290 - 36 * 888 * (640 + 2880 + 128) / 1e9},
            None,
        ),
        (
            MEGATRON,
            {
                "aten::mm": 16922.171146,
                "aten::bmm": 687.194767,
                "aten::baddbmm": 692.563476 - 40 * 32 * 2048 * 2048 / 1e9,
            },
            1.0,
        ),
    ],
)
def test_sums_of_operators(
    shared: Path, tmp_path: Path, name: str, gflop: dict[str, float], coverage: float | None
) -> None:
    trace = JobOpener([shared / "data" / name], cache=Cache(tmp_path)).open().session.inputs[0].trace
    found = ledger(trace)
    sums: Counter[str] = Counter()
    for row, number in zip(found.operator_rows.tolist(), found.cost_of_row.tolist(), strict=True):
        sums[trace.name(row)] += found.costs[number].flops
    assert {k: v / 1e9 for k, v in sums.items()} == {k: pytest.approx(v, abs=1e-6) for k, v in gflop.items()}
    if coverage is not None:
        assert found.coverage == pytest.approx(coverage, abs=1e-4)
