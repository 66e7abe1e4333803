"""The table of devices: found by what drivers say, and never where it could be another."""

from __future__ import annotations

import pytest

from viewer.store.device_table import devices, find_device

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "sms", "memory", "found"),
    [
        ("NVIDIA H100 80GB HBM3", 132, 85_017_755_648, "NVIDIA H100 SXM"),
        ("NVIDIA H100 PCIe", 114, 80 * 10**9, "NVIDIA H100 PCIe"),
        ("NVIDIA H100 NVL", None, None, "NVIDIA H100 NVL"),
        ("NVIDIA A100-SXM4-80GB", 108, 85_174_583_296, "NVIDIA A100 SXM 80GB"),
        ("NVIDIA A100-SXM4-40GB", None, None, "NVIDIA A100 SXM 40GB"),
        ("NVIDIA A100-PCIE-40GB", None, None, "NVIDIA A100 PCIe 40GB"),
        ("NVIDIA A100 80GB PCIe", None, None, "NVIDIA A100 PCIe 80GB"),
        ("NVIDIA A100-PG509-200", 108, 42_297_524_224, "NVIDIA A100 SXM 40GB"),
        ("Tesla V100-SXM2-32GB", 80, 34_079_637_504, "NVIDIA V100 SXM2"),
        ("NVIDIA H200", 132, None, "NVIDIA H200 SXM"),
        ("NVIDIA H20", 78, 97 * 10**9, "NVIDIA H20 96GB"),
        ("NVIDIA B200", 148, 191_503_138_816, "NVIDIA B200"),
        ("NVIDIA GB200", None, None, "NVIDIA GB200"),
        ("NVIDIA L40S", 142, None, "NVIDIA L40S"),
        ("NVIDIA GeForce RTX 4090", 128, None, "NVIDIA GeForce RTX 4090"),
        ("AMD Instinct MI300X", 304, 206_141_652_992, "AMD Instinct MI300X"),
        ("AMD Instinct MI250X", 110, 64 * GIB, "AMD Instinct MI250X (one GCD)"),
        ("AMD Instinct MI250X / MI250", 104, 64 * GIB, "AMD Instinct MI250 (one GCD)"),
        ("AMD Radeon Graphics", 104, 68_702_699_520, "AMD Instinct MI210 or MI250 (one GCD)"),
        ("", 304, 206_141_652_992, "AMD Instinct MI300X"),
        ("", 304, 256 * GIB, "AMD Instinct MI325X"),
        ("nvidia a100 sxm 80gb", None, None, "NVIDIA A100 SXM 80GB"),  # as a person may take it from the table
    ],
)
def test_devices_are_found(name: str, sms: int | None, memory: int | None, found: str) -> None:
    device = find_device(name, sms, memory)
    assert device is not None
    assert device.name == found


@pytest.mark.parametrize(
    ("name", "sms", "memory"),
    [
        ("", None, None),
        ("", 304, None),
        ("AMD Radeon Graphics", 60, 16 * GIB),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, 10 * GIB),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None, None),
        ("NVIDIA GeForce RTX 4090 D", None, None),
        ("NVIDIA A100-SXM-64GB", 124, 68 * 10**9),  # made to order, with more multiprocessors
        ("AMD Instinct MI300X", 38, 24 * GIB),  # a partition
        ("Some GPU of tomorrow", 200, 100 * GIB),
        ("NVIDIA A1000", None, None),
    ],
)
def test_what_is_not_known_for_certain_is_not_found(name: str, sms: int | None, memory: int | None) -> None:
    assert find_device(name, sms, memory) is None


def test_a_size_that_nobody_told_is_not_made_up() -> None:
    unsure = find_device("NVIDIA H20")
    assert unsure is not None
    assert (unsure.memory_bytes, unsure.peak["bf16"]) == (None, 148 * 10**12)
    told = find_device("Tesla V100-SXM2-16GB")
    assert told is not None
    assert told.memory_bytes == 16 * 10**9


def test_every_entry_has_sane_figures_and_a_source() -> None:
    assert len({d.name for d in devices()}) == len(devices()) >= 40
    for d in devices():
        assert d.source
        assert 10**10 <= (d.memory_bytes or 0) <= 3 * 10**11
        assert 10**11 <= d.memory_bytes_per_second <= 10**13
        peak = d.peak
        ordered = [peak[k] for k in ("fp32", "tf32", "bf16", "fp8", "fp4") if k in peak]
        assert ordered == sorted(ordered), d.name
        if "fp8" in peak:  # each halving of the width at most doubles dense rates; sparse ones would show here
            assert peak["fp8"] <= 2.03 * peak["bf16"], d.name


def test_per_module_figures_are_halved_where_a_module_is_two_devices() -> None:
    device = find_device("AMD Instinct MI250X")
    assert device is not None
    assert device.peak["bf16"] == 191_500_000_000_000
    assert device.memory_bytes == 64 * 10**9
