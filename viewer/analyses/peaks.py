"""What the devices of a file can do at most: from the job card, else from the table of devices by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewer.analyses.gpu_work import gpu_work
from viewer.base.job_card import JobCard
from viewer.store.device_table import Device, find_device
from viewer.store.meta import DeviceInfo
from viewer.store.trace import Trace


@dataclass(frozen=True, slots=True)
class Peaks:
    """Dense peaks of a device. ``flops`` by type of the operands, FLOP/s; ``bytes_per_second`` of its memory."""

    device: str
    flops: Mapping[str, int]
    bytes_per_second: int | None
    source: str

    def of(self, dtype: str) -> int | None:
        """The peak for operands of a type, FLOP/s; None where it is not known."""
        return self.flops.get(dtype)


def peaks_of(trace: Trace, card: JobCard) -> Peaks | None:
    """The peaks of the devices that a file's work ran on; None where they are not known, or differ."""
    found = trace.memo("devices_of_table", lambda: _devices(trace))
    device = found if isinstance(found, Device) else None
    hardware = card.hardware
    flops = dict(device.peak) if device is not None else {}
    source = f"{device.name}: {device.source}" if device is not None else ""
    if hardware.peak_flops is not None:
        flops[card.run.dtype or "bf16"] = hardware.peak_flops
        source = "job card" + (f"; else {source}" if source else "")
    rate = hardware.memory_bytes_per_second or (device.memory_bytes_per_second if device is not None else None)
    if not flops and rate is None:
        return None
    return Peaks(hardware.gpu or (device.name if device is not None else ""), flops, rate, source)


def _devices(trace: Trace) -> Device | None:
    used = set(gpu_work(trace).devices)
    infos = [d for d in trace.meta.devices if d.id in used] or list(trace.meta.devices)
    found = {(device.name, device.memory_bytes): device for d in infos if (device := _find(d)) is not None}
    return next(iter(found.values())) if len(found) == 1 else None


def _find(info: DeviceInfo) -> Device | None:
    properties: Mapping[str, Any] = info.properties

    def whole(key: str) -> int | None:
        value = properties.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    return find_device(info.name, whole("numSms"), whole("totalGlobalMem"))
