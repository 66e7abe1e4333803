"""HFU of a file: by hand, and why there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.build import Event, annotation, call, kernel, make_trace, op
from viewer.analyses.flops.utilisation import file_hfu
from viewer.base.job_card import EMPTY_CARD, HardwareCard, JobCard, RunCard
from viewer.store.meta import DeviceInfo

H100 = [DeviceInfo(0, "NVIDIA H100 80GB HBM3", {"numSms": 132})]


def product(at: int, corr: int, dims: Any, kind: str = "c10::BFloat16", dur: int = 1_000_000) -> list[Event]:
    args = {"Input Dims": dims, "Input type": [kind] * len(dims)}
    return [
        op("aten::mm", at, 100, args=args),
        call("cudaLaunchKernel", at + 10, 10, corr=corr),
        kernel("nvjet_tst_128", at + 1_000, dur, corr=corr),
    ]


SQUARE = [[4096, 4096], [4096, 4096]]
FLOPS = 2 * 4096**3


def test_flops_over_peak_and_time_of_the_steps() -> None:
    # two products of 1 ms each in one step whose GPU work spans 3 ms
    trace = make_trace(
        annotation("ProfilerStep#1", 0, 2_100_000),
        *product(0, 1, SQUARE),
        *product(2_000_000, 2, SQUARE),
        devices=H100,
    )
    value, how = file_hfu(trace, EMPTY_CARD)
    assert value == pytest.approx(2 * FLOPS / (3e-3 * 989.4e12), rel=1e-3)
    assert "over 1 step;" in how
    card = JobCard(run=RunCard(dtype="bf16"), hardware=HardwareCard(peak_flops=10**15))
    assert file_hfu(trace, card)[0] == pytest.approx(2 * FLOPS / 3e12, rel=1e-6), "the card goes before the table"


def test_a_type_is_held_against_its_own_peak() -> None:
    trace = make_trace(*product(0, 1, SQUARE), *product(1_000_000, 2, SQUARE, "c10::Float8_e4m3fn"), devices=H100)
    value, how = file_hfu(trace, EMPTY_CARD)
    assert value == pytest.approx((FLOPS / 989.4e12 + FLOPS / 1978.9e12) / 2e-3, rel=1e-3)
    assert "nothing marks steps" in how


@pytest.mark.parametrize(
    ("events", "devices", "why"),
    [
        ([kernel("copy", 0, 10)], H100, "no matrix products"),
        ([*product(0, 1, []), kernel("nvjet_x", 5, 10)], H100, "0.0 % of the time|0.0%"),
        (product(0, 1, SQUARE), [DeviceInfo(0, "Some Chip")], "state hardware.peak_flops"),
        (product(0, 1, SQUARE, "double", 10), [DeviceInfo(0, "NVIDIA L40S", {})], "fp64"),
        (product(0, 1, SQUARE, dur=100), H100, "more FLOPs than the peak allows"),
    ],
)
def test_why_there_is_none(events: list[Event], devices: list[DeviceInfo], why: str) -> None:
    value, how = file_hfu(make_trace(*events, devices=devices), EMPTY_CARD)
    assert value is None
    assert any(part in how for part in why.split("|"))
