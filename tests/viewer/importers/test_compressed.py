from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.viewer.importers.texts import kernel, open_one, problem, write_json
from viewer.base.zstd import zstd
from viewer.importers import inflate
from viewer.importers.inflate import codec_of
from viewer.importers.source import AheadStream, FileSource, open_text

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def text_of(path: Path) -> tuple[bytes, str]:
    stream, direct = open_text(path)
    assert not direct
    out, room = io.BytesIO(), memoryview(bytearray(1 << 20))
    while count := stream.read_into(room):
        out.write(room[:count])
    stream.close()
    return out.getvalue(), stream.damage


TEXT = "".join(f"{i * i:x}," for i in range(30_000)).encode()


@pytest.mark.parametrize("name", PACKERS)
def test_several_members_are_one_text_whatever_the_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(PACKERS[name](TEXT[:1000]) + PACKERS[name](TEXT[1000:]))
    assert text_of(path) == (TEXT, "")


@pytest.mark.parametrize("name", PACKERS)
def test_a_cut_file_keeps_its_exact_prefix(tmp_path: Path, name: str) -> None:
    packed = PACKERS[name](TEXT)
    path = tmp_path / "a.json"
    for cut in (7, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:cut])
        text, damage = text_of(path)
        assert TEXT.startswith(text)
        assert damage == "the compressed data is cut off"


@pytest.mark.parametrize("name", PACKERS)
def test_damage_is_told_and_what_follows_the_end_is_left(tmp_path: Path, name: str) -> None:
    packed = bytearray(PACKERS[name](TEXT))
    path = tmp_path / "a.json"
    path.write_bytes(packed + b"\0\0\0\0rubbish")
    assert text_of(path) == (TEXT, "")
    packed[12:40] = b"\xff" * 28
    path.write_bytes(packed)
    text, damage = text_of(path)
    assert len(text) <= len(TEXT)
    assert damage


def test_a_zstd_frame_may_be_skipped_but_not_ask_for_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(TEXT))
    assert text_of(path) == (TEXT, "")
    wide = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
    path.write_bytes(wide.compress(TEXT) + wide.flush())
    text, damage = text_of(path)
    assert text == b""
    assert "too much memory" in damage


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "BOMB_BYTES", 1 << 20)
    path = tmp_path / "a.json"
    path.write_bytes(zstd.compress(b" " * (100 << 20)))
    text, damage = text_of(path)
    assert len(text) < 50 << 20
    assert "more than 1,500 times its size" in damage


@pytest.mark.parametrize("size", [1_000, 5 << 20])
@pytest.mark.parametrize("place", [-8, -1])
def test_a_wrong_checksum_takes_no_text_with_it(tmp_path: Path, size: int, place: int) -> None:
    text = (b"[" + b"1," * size)[:size]
    packed = bytearray(gzip.compress(text))
    packed[place] ^= 1
    path = tmp_path / "a.json"
    path.write_bytes(packed)
    found, damage = text_of(path)
    assert found == text
    assert "damaged" in damage


def test_a_damage_is_told_once_it_was_met_however_far_ahead_the_thread_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(TEXT)[:-4])
    stream = AheadStream(FileSource(path).open(), codec_of(gzip.compress(b"")))
    stream._thread.join()  # all is inflated
    room = memoryview(bytearray(1 << 20))
    count = stream.read_into(room)
    assert count
    assert (stream.damage, stream.behind) == ("", False)
    while stream.read_into(room):
        pass
    assert stream.damage
    stream.close()


def test_a_trace_opens_from_each_and_keeps_its_args(tmp_path: Path) -> None:
    plain = write_json(tmp_path / "rank_1.json", [kernel("n", 1, 2, note="x")], schemaVersion=1)
    for name, pack in PACKERS.items():
        path = tmp_path / f"rank_1.json.{name}"
        path.write_bytes(pack(plain.read_bytes()))
        trace = open_one(tmp_path, path)
        assert trace.meta.rank == 1
        assert trace.args(0)["note"] == "x"


def test_what_is_unknown_or_empty_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.json.lz4"
    path.write_bytes(b"\x04\x22\x4d\x18" + b"x" * 40)
    assert "lz4 -d" in problem(tmp_path, path).sentence()
    path.write_bytes(zstd.compress(json.dumps({}).encode())[:9])
    assert "nothing of it can be unpacked" in problem(tmp_path, path).sentence()


def test_codecs_are_told_by_their_first_bytes() -> None:
    assert codec_of(b"") is None
    assert codec_of(b"{") is None
    assert codec_of(b"\x28\xb5") is None
    assert [codec_of(p(b"x")) for p in PACKERS.values()] == list(inflate.CODECS)
