from __future__ import annotations

import json

import pytest

from tests.viewer.importers.texts import columns
from viewer.importers.counters import samples_of


def test_members_that_are_numbers_are_samples() -> None:
    found = samples_of([b'{"a":1,"b":2.5}', b"{}", b'{"a":"3","c":null,"d":"x","e":[1],"f":true}'])
    assert list(zip(found.at, found.series, found.value, strict=True)) == [
        (0, "a", 1.0),
        (0, "b", 2.5),
        (2, "a", 3.0),
        (2, "f", 1.0),
    ]
    assert found.unreadable == []


def test_one_bad_object_costs_only_itself() -> None:
    found = samples_of([b'{"a":1}', b'{"a":nan,"b":2}', b'{"a":{', b'{"a":4,}', b'{"\xff":5}'])
    assert list(zip(found.at, found.series, found.value, strict=True)) == [
        (0, "a", 1.0),
        (1, "b", 2.0),
        (3, "a", 4.0),
        (4, "\ufffd", 5.0),
    ]
    assert found.unreadable == [2]


@pytest.mark.parametrize("number", ["1e999", "9" * 400, "9" * 5_000, '"1e999"', '"' + "9" * 5_000 + '"'])
def test_numbers_beyond_all_bounds_end_no_import(number: str) -> None:
    text = f'[{{"ph":"C","name":"m","pid":1,"ts":1,"args":{{"a":{number},"b":2}}}}]'
    built, scanned = columns(text)
    assert (scanned.ledger.read, scanned.ledger.kept) == (1, 1)
    assert built.raw.counters is None or built.raw.counters.value[-1] == 2.0


def test_many_series_and_samples_keep_their_order_and_places() -> None:
    events = [
        {"ph": "C", "name": f"c{i % 3}", "pid": i % 2, "ts": i, "args": {f"s{i % 50}": i, "t": -i}}
        for i in range(5_000)
    ]
    raw = columns(json.dumps(events), chunk=1 << 12)[0].raw
    c = raw.counters
    assert c is not None
    got = list(zip(c.time_ns.tolist(), (raw.strings[s] for s in c.series), c.value.tolist(), strict=True))
    assert got == [x for i in range(5_000) for x in ((i * 1000, f"s{i % 50}", float(i)), (i * 1000, "t", float(-i)))]
    assert [raw.strings[n] for n in c.name[::2]] == [f"c{i % 3}" for i in range(5_000)]
