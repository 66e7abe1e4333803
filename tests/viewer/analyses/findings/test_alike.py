"""Devices of which the same is said: one finding, the worst of them first, and none of the others lost."""

from __future__ import annotations

from viewer.analyses.findings.alike import OfDevice, folded
from viewer.analyses.findings.base import Evidence, JobFinding


def of(rank: int, size: int, same: str = "model.py(7)") -> OfDevice:
    label = f"rank {rank} (cuda:0)"
    made = JobFinding(
        f"memory-leak/{label}",
        "memory-leak",
        f"{label}: memory grows by {size} MiB per step",
        "warning",
        None,
        "",
        (Evidence(f"{size} MiB"),),
        "Look.",
        "Told.",
    )
    return OfDevice(label, same, size, made)


def test_the_device_with_most_speaks_for_all_that_say_the_same() -> None:
    (one,) = folded(of(r, size) for r, size in enumerate((3, 9, 5, 4, 2, 1)))
    assert one.title == "rank 1 (cuda:0) and 5 more: memory grows by 9 MiB per step"
    assert one.id == "memory-leak/rank 1 (cuda:0)"
    assert [e.text for e in one.evidence] == [
        "rank 1 (cuda:0): 9 MiB",
        "rank 2 (cuda:0): 5 MiB",
        "rank 3 (cuda:0): 4 MiB",
        "rank 0 (cuda:0): 3 MiB",
        "also rank 4 (cuda:0), rank 5 (cuda:0)",
    ]


def test_many_devices_stay_short() -> None:
    (one,) = folded(of(r, 5) for r in range(64))
    assert one.title.startswith("rank 0 (cuda:0) and 63 more: ")
    assert one.evidence[-1].text.endswith("rank 7 (cuda:0) and 56 more")


def test_what_differs_stays_apart() -> None:
    told = [of(0, 3), of(1, 9, "loss.py(2)")]
    assert list(folded(told)) == [d.finding for d in told]
    assert list(folded([])) == []
