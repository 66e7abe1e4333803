from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from viewer.base.ids import ABSENT
from viewer.store.args import BLOCK, ArgsText, ArgsWriter
from viewer.store.cache import stamp_of
from viewer.store.loose_json import decode_text, loads, mend_quotes
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.schema import FORMAT_VERSION


def written(texts: list[bytes]) -> tuple[ArgsWriter, list[int]]:
    writer = ArgsWriter()
    offsets = []
    for text in texts:
        offsets.append(writer.size)
        writer.write(memoryview(text))
    writer.close()
    return writer, offsets


def test_blocks_give_back_every_object(tmp_path: Path) -> None:
    texts = [json.dumps({"i": i, "pad": "x" * (i * 37 % 5000)}).encode() for i in range(400)]
    writer, offsets = written(texts)
    assert writer.size > 3 * BLOCK
    writer.save(tmp_path)
    source = tmp_path / "a"
    source.touch()
    meta = TraceMeta(FORMAT_VERSION, "kineto", stamp_of(source), "r", args_in_source=False)
    for args in (ArgsText.open(tmp_path, meta), ArgsText.of_writer(writer)):
        for i in reversed(range(400)):
            assert args.parse(offsets[i], len(texts[i])) == json.loads(texts[i])
        assert args.read_many(offsets, [len(t) for t in texts]) == texts
        assert args.read_many([writer.size + 10**9, 0], [5, 3]) == [b"", texts[0][:3]]
        assert args.problem == ""
    assert sum(f.stat().st_size for f in tmp_path.glob("args.*")) < writer.size / 10


def test_a_damaged_block_is_told_not_raised(tmp_path: Path) -> None:
    writer, _ = written([b'{"a": 1}' * 1000])
    writer.save(tmp_path)
    (tmp_path / "args.bin").write_bytes(b"nonsense")
    source = tmp_path / "a"
    source.touch()
    args = ArgsText.open(tmp_path, TraceMeta(FORMAT_VERSION, "kineto", stamp_of(source), "r"))
    assert args.parse(0, 8) == {}
    assert "damaged" in args.problem


def test_args_in_the_source_until_it_changes(tmp_path: Path) -> None:
    source = tmp_path / "t.json"
    source.write_bytes(b'xx{"a": [1]}yy')
    args = ArgsText.of_source(stamp_of(source))
    assert args.parse(2, 10) == {"a": [1]}
    os.utime(source, ns=(1, 1))
    assert args.parse(2, 10) == {}
    assert "t.json changed" in args.problem
    source.unlink()
    assert args.read(2, 10) == b""
    assert "no longer" in args.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": nan, "b": -inf, "c": Infinity, "d": NaN}', {"a": None, "b": None, "c": None, "d": None}),
        (b'{"t": "nan, inf", "n": -nan(ind)}', {"t": "nan, inf", "n": None}),
        (b'{"a": [1, 2,], }', {"a": [1, 2]}),
        (b'{"a": "bad \\q \\u12 \xff"}', {"a": "bad \\q \\u12 \ufffd"}),
        (b'{"a": "\\ud800", "b": "\\ud83d\\ude00"}', {"a": "\ufffd", "b": "\U0001f600"}),
        (b'{"a": "tab\there\n"}', {"a": "tab\there\n"}),
        (b'{"infinite": "x", "nano": 1}', {"infinite": "x", "nano": 1}),
        (b'{"a": 1}, "behind": 2', {"a": 1}),
        (b"[1]", {}),
        (b"{", {}),
        (b'{"a": b}', {}),
        (b'{"a":' + b"[" * 100_000, {}),
    ],
)
def test_loose_json(text: bytes, value: dict[str, object]) -> None:
    assert ArgsText.of_bytes(text).parse(0, len(text)) == value


def test_none_and_absent() -> None:
    assert ArgsText.none().parse(0, 5) == {}
    assert ArgsText.of_bytes(b"{}").parse(ABSENT, 2) == {}


def test_numbers_can_stay_text() -> None:
    assert loads(b'{"a": 1.50, "b": [2]}', number=str) == {"a": "1.50", "b": ["2"]}
    with pytest.raises(ValueError, match="nested"):
        loads(b"[" * 100_000, number=str)


def test_quotes_in_names() -> None:
    text = '{"name": "a "b", c", "cat": "k", "args": {"name": "fine"}}'
    assert json.loads(mend_quotes(text)) == {"name": 'a "b", c', "cat": "k", "args": {"name": "fine"}}


@pytest.mark.parametrize(
    ("raw", "text", "mended"),
    [
        (b"plain", "plain", False),
        (b'\\"q\\" \\\\ \\n', '"q" \\ \n', False),
        (b"\\u00e9", "é", False),
        (b"\xc3\xa9", "é", False),
        (b"\xff", "\ufffd", True),
        (b"\\x", "\\x", True),
        (b"\\udc00", "\ufffd", True),
        (b'free " quote \\', 'free " quote \\', True),
    ],
)
def test_decode_text(raw: bytes, text: str, mended: bool) -> None:
    assert decode_text(raw) == (text, mended)


def test_many_objects_at_once(tmp_path: Path) -> None:
    source = tmp_path / "t.json"
    source.write_bytes(b'xx{"a": [1]}yy{"b": 2}')
    writer, offsets = written([b'{"a": [1]}', b'{"b": 2}'])
    for args, places in (
        (ArgsText.of_source(stamp_of(source)), [2, 14]),
        (ArgsText.of_writer(writer), offsets),
        (ArgsText.of_bytes(b'{"a": [1]}{"b": 2}'), [0, 10]),
    ):
        assert args.read_many([*places, ABSENT], [10, 8, 5]) == [b'{"a": [1]}', b'{"b": 2}', b""]
    source.unlink()
    gone = ArgsText.of_source(SourceStamp(str(source), 22, 0, ""))
    assert gone.read_many([2], [10]) == [b""]
    assert "no longer" in gone.problem
