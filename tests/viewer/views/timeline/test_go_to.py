"""Times as people type them."""

from __future__ import annotations

import pytest

from viewer.base.errors import UsageError
from viewer.base.selection import TimeRange
from viewer.views.timeline.go_to import read_place

ZERO, CENTRE = 1_712_195_495_000_000_000, 1_712_195_495_020_000_000
EXTENT = TimeRange(ZERO - 5_000_000, ZERO + 2_000_000_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.5ms", ZERO + 12_500_000),
        (" 1.2 s ", ZERO + 1_200_000_000),
        ("12,500 ns", ZERO + 12_500),
        ("12500", ZERO + 12_500),
        ("-3ms", ZERO - 3_000_000),
        ("+3ms", CENTRE + 3_000_000),
        ("+-3 ms", CENTRE - 3_000_000),
        ("12ms:30ms", TimeRange(ZERO + 12_000_000, ZERO + 30_000_000)),
        ("-1s : 1 ms", TimeRange(ZERO - 1_000_000_000, ZERO + 1_000_000)),
    ],
)
def test_places(text: str, expected: int | TimeRange) -> None:
    assert read_place(text, ZERO, CENTRE, EXTENT) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no time"),
        ("soon", "no time"),
        ("30ms:12ms", "ends before it begins"),
        ("0.1ns", "finer than a nanosecond"),
        ("9s", "outside of the job, which lasts from \u22125 ms to 2 s"),
        ("+9s", "outside"),
        ("8s:9s", "outside"),
        ("1e400s", "no time"),
    ],
)
def test_what_is_no_place_is_said(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_place(text, ZERO, CENTRE, EXTENT)
