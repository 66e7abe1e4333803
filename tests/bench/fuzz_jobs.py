"""Archives and packs for the fuzzer: made, damaged, and opened as a job with a cache of its own."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.bench.fuzz_inputs import Inputs, flip
from viewer.base.zstd import zstd
from viewer.exporters.pack import write_pack
from viewer.exporters.report import encode_report, report
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache

_NAMES: Final = (
    *("a.json", "rank_1.json", "job/rank_0.json", "../b.json", "/etc/c.json", "C:\\d.json", "e/", "f.txt", "g.json.gz"),
    *("", ".", "..", "\u202etxt.nosj", "a\nb.json", "\x1b[31m.json", "x" * 300 + ".json", "rank_0.json", "h/../i.json"),
)


def archive(number: int, inputs: Inputs) -> bytes:
    """The archive of that number: a zip or a tar of mutated traces, often damaged."""
    chance = random.Random(f"archive {number}")
    texts = [(chance.choice(_NAMES), inputs.make(number + k)) for k in range(chance.randrange(4))]
    made = chance.choice((_zip, _zip, _tar))(texts, chance)
    made = chance.choice((bytes, bytes, gzip.compress, zstd.compress))(made)
    return _damaged(made, chance)


def _zip(texts: list[tuple[str, bytes]], chance: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        for k, (name, text) in enumerate(texts):
            file.writestr(f"{k}{name}" if name in file.NameToInfo else name or "z", text)
    return out.getvalue()


def _tar(texts: list[tuple[str, bytes]], chance: random.Random) -> bytes:
    out = io.BytesIO()
    form = chance.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=out, mode="w", format=form) as file:
        for name, text in texts:
            entry = tarfile.TarInfo(
                name if form != tarfile.USTAR_FORMAT else name[:90].encode("ascii", "ignore").decode()
            )
            entry.size = len(text)
            entry.type = chance.choice((tarfile.REGTYPE,) * 6 + (tarfile.SYMTYPE, tarfile.FIFOTYPE))
            file.addfile(entry, io.BytesIO(text) if entry.isreg() else None)
    return out.getvalue()


def _damaged(made: bytes, chance: random.Random) -> bytes:
    match chance.randrange(6):
        case 0:
            return flip(made, chance)
        case 1:
            return made[: chance.randrange(len(made) + 1)]
        case 2:
            at, size = chance.randrange(len(made) + 1), chance.choice((1, 4, 100))
            return made[:at] + made[at + size :]
        case 3:
            return made + chance.choice((b"\0" * 1024, b"PK\5\6", made))
        case _:
            return made


@lru_cache(maxsize=1)
def _sound_packs(folder: Path) -> tuple[bytes, ...]:
    """A few whole packs, made once."""
    inputs, packs = Inputs(0, None), []
    for number in range(60, 76):
        path = folder / "rank_0.json"
        path.write_bytes(inputs.sample(random.Random(number)))
        try:
            result = JobOpener([path], cache=Cache(folder / "pack-cache")).open()
            if result.session.inputs:
                write_pack(folder / "p.rankpack", result.session, [path])
                packs.append((folder / "p.rankpack").read_bytes())
        finally:
            shutil.rmtree(folder / "pack-cache", ignore_errors=True)
    return tuple(packs)


def pack(number: int, folder: Path) -> bytes:
    """The pack of that number: bytes flipped, or content changed under checksums that fit."""
    chance = random.Random(f"pack {number}")
    made = chance.choice(_sound_packs(folder))
    if chance.random() < 0.3:
        return _damaged(made, chance)
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = msgspec.json.decode(members["manifest.json"])
    name = chance.choice([n for n in members if "/" in n])
    content = members[name]
    content = zstd.decompress(content) if name.endswith(".zst") else content
    content = _changed(content, chance)
    if name.endswith("meta.json") and chance.random() < 0.5:
        content = _changed_meta(members[name], chance)
    stated = manifest["inputs"][int(name.split("/")[0])]["files"][name.split("/")[1].removesuffix(".zst")]
    stated["size"], stated["crc32"] = len(content), zlib.crc32(content)
    members[name] = zstd.compress(content, 1) if name.endswith(".zst") else content
    if chance.random() < 0.1:
        manifest[chance.choice(tuple(manifest))] = chance.choice((None, 1 << 70, "", [], {"a": 1}))
    members["manifest.json"] = msgspec.json.encode(manifest) if chance.random() < 0.98 else b"[" * 5000
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for key, value in members.items():
            file.writestr(key, value)
    return out.getvalue()


def _changed(content: bytes, chance: random.Random) -> bytes:
    out = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8)) if out else 0):
        at = chance.randrange(len(out))
        if chance.random() < 0.5:  # columns of eight bytes begin at multiples of eight
            at &= ~7
            value = chance.choice((0, -1, 1, 1 << 31, -(1 << 63), (1 << 63) - 1, 1 << 62, chance.randrange(40)))
            out[at : at + 8] = (value & ((1 << 64) - 1)).to_bytes(8, "little")[: len(out) - at]
        else:
            out[at] = chance.randrange(256)
    return bytes(out)


def _changed_meta(content: bytes, chance: random.Random) -> bytes:
    meta: dict[str, Any] = msgspec.json.decode(content)
    odd = (None, -1, 1 << 62, 1 << 80, 1.5, "", "\u202e\x1b[31m\n", [], {}, [[]], {"a": [1]}, "x" * 10_000, True)
    for _ in range(chance.choice((1, 2))):
        meta[chance.choice(tuple(meta))] = chance.choice(odd)
    return msgspec.json.encode(meta) if max(len(str(v)) for v in meta.values()) else content


def check_job(path: Path, data: bytes, folder: Path, deep: bool, hold: Callable[[str, bool], None]) -> str:
    """Open ``data`` as a job; how it ended ("kept", "refused"). Raises whatever is wrong."""
    path.write_bytes(data)
    cache = folder / "cache"
    try:
        result = JobOpener([path], cache=Cache(cache), workers=2).open()
        for error in result.failures:
            sentence = error.sentence()
            hold("a refusal is one short line", "\n" not in sentence and len(sentence) < 2_000 and bool(error.problem))
            hold("a refusal is no defect", "error of Rankscope" not in sentence)
        for finding in result.skipped:
            hold("what is skipped is said in one line", "\n" not in finding.message and len(finding.message) < 2_000)
            hold("what is skipped is no defect", "error of Rankscope" not in finding.message)
        hold("a job opens or is refused", bool(result.session.inputs or result.failures))
        for item in result.session.inputs:
            trace = item.trace
            hold("the ledger adds up", trace.meta.ledger.balanced())
            for row in range(min(len(trace), 20)):
                trace.args(row)
                trace.name(row)
        if deep and result.session.inputs:
            encode_report(report(result.session))
        return "kept" if result.session.inputs else "refused"
    finally:
        shutil.rmtree(cache, ignore_errors=True)
