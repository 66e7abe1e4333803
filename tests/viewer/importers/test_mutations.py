"""A trace mutated in a few hundred fixed ways: nothing raises, the ledger adds up, valid JSON loses no entry."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.viewer.importers.texts import columns, kernel
from viewer.base.findings import REPAIRS
from viewer.store.assemble import assemble
from viewer.store.rules import shipped_rules

EVENTS: list[Any] = [
    kernel('a"{}\\', 100.001, 3, correlation=5, grid=[1, 2], **{"Collective name": "allreduce", "dtype": "Half"}),
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": "t", "ts": "90.5", "dur": 50},
    {"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 10},
    {"ph": "E", "pid": 1, "tid": 2, "ts": 20},
    {"ph": "b", "cat": "c", "name": "async", "id": "0x1f", "pid": 1, "ts": 10},
    {"ph": "s", "cat": "ac2g", "name": "f", "id": 5, "pid": 1, "tid": "t", "ts": 95},
    {"ph": "C", "name": "mem", "pid": 1, "ts": 100, "args": {"a": 1.5}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "python"}},
    {},
]
SAMPLE = json.dumps(EVENTS).encode()
TOKENS = (
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\0",
        b"\n",
        b"\xff",
        b"\x1b[31m",
        b"\\ud800",
        b"\\u00",
        b"//x\n",
    ),
    *(b"NaN", b"-inf", b"null", b"1e999", b"-1e-999", b"9" * 30, b"-9223372036854775.808", b"4611686018427387.904"),
    *(b'"dur":-7,', b'"ts":[1],', b'"ts":"12.x",', b'"pid":{"a":1},', b'"args":[1],', b'"args":7,', b'"\\u0070h":"X",'),
    *(b"{},", b"[],", b"7,", b'"id2":{},', b'"name":"a"b",', b'"device":-1,"stream":4294967295,', b'{"a":' * 600),
)


def mutated(seed: int) -> bytes:
    chance = random.Random(seed)
    text = bytearray(SAMPLE)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(text))
        match chance.randrange(5):
            case 0:
                text[at] ^= 1 << chance.randrange(8)
            case 1:
                del text[at : at + chance.choice((1, 2, 30))]
            case 2:
                text[at:at] = text[at : at + chance.choice((10, 200))]
            case _:
                borders = [i for i, c in enumerate(text) if c in b"{,:["] or [at]
                at = chance.choice(borders) + 1
                text[at:at] = chance.choice(TOKENS)
    return bytes(text)


def entries(text: bytes) -> list[Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list) else None


@pytest.mark.parametrize("block", range(10))
def test_mutations(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        text = mutated(seed)
        built, scanned = columns(text)
        ledger = scanned.ledger
        assert ledger.balanced(), text
        assert min(ledger.kept, ledger.repaired, ledger.rejected) >= 0, text
        repairs = sum(ledger.reasons.get(name, (0, 0))[0] for name in REPAIRS)
        assert repairs == ledger.repaired, text
        assert sum(n for n, _ in ledger.reasons.values()) == ledger.repaired + ledger.rejected, text
        valid = entries(text)
        if valid is not None:
            assert scanned.complete, text
            assert ledger.read == len(valid), text
        tables = assemble(built.raw, shipped_rules())
        assert len(tables["slices"]["start_ns"]) == len(built.raw.slices.start_ns), text
