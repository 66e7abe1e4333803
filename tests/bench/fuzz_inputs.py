"""Inputs of the fuzzer: small traces of every dialect, and what is done to them. All of it follows from a seed."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from viewer.importers.cut import close_cut

SHARED_BYTES: Final = 6_000
"""Sample files are cut to about this: short inputs are fast, and their faults are short to read."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.\w]+|[{}\[\],:]|\s+|.', re.DOTALL)
_NUMBER: Final = re.compile(rb"[-+]?\d[\d.eE+-]*\Z")
_KEYS: Final = tuple(
    b'"%s"' % key.encode()
    for key in (
        *(
            "ph",
            "ts",
            "dur",
            "pid",
            "tid",
            "id",
            "id2",
            "name",
            "cat",
            "args",
            "traceEvents",
            "schemaVersion",
            "device",
        ),
        *("stream", "correlation", "External id", "external id", "Collective name", "Seq", "labels", "sort_index"),
        *("deviceProperties", "distributedInfo", "rank", "world_size", "pg_config", "baseTimeNanoseconds", "frame"),
        *("children", "metrics", "time (ns)", "device_id", "buffer_records", "kernel_dispatch", "dispatch_info"),
        *("start_timestamp", "end_timestamp", "correlation_id", "handle", "agents", "strings", "viztracer_metadata"),
    )
)
_NUMBERS: Final = (
    *(b"0", b"-0", b"-1", b"1", b"7", b"0.5", b"-0.0005", b"1e3", b"1E-3", b"1e999", b"-1e-999", b"1e99999999999"),
    *(b"2147483647", b"2147483648", b"4294967295", b"4294967296", b"9007199254740993", b"4611686018427387.903"),
    *(b"4611686018427387903", b"4611686018427387904", b"9223372036854775807", b"9223372036854775808"),
    *(b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616"),
    *(b"9" * 40, b"0." + b"3" * 60, b"1." + b"0" * 30 + b"1", b"00012", b"12.", b".5", b"+5", b"0x1F", b"1_000"),
    *(b"NaN", b"-nan(ind)", b"Infinity", b"-inf", b"null", b"true", b"undefined", b"5 5", b"1700000000000000.001"),
)
_TEXTS: Final = (
    *(b'""', b'"\\u0000"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\u00"', b'"\\x41"', b'"\\"', b'"a"b"', b'"\xff\xfe"'),
    *(b'"\xed\xa0\x80"', b'"\n"', b'"\0"', b'"<b>&amp;\\u202e"', b'"\x1b[31m"', b'"0x7fffffffffffffff"', b'"-5"'),
    *(b'"18446744073709551616"', b'"stream 99999999999999999999"', b'"007"', b'"' + b"n" * 5_000 + b'"', b'"{[}]"'),
    *(
        b'"X"',
        b'"B"',
        b'"E"',
        b'"b"',
        b'"e"',
        b'"n"',
        b'"s"',
        b'"f"',
        b'"t"',
        b'"C"',
        b'"M"',
        b'"i"',
        b'"XX"',
        b'"\\u0058"',
    ),
    *(b'"kernel"', b'"gpu_memcpy"', b'"cuda_runtime"', b'"ProfilerStep#1"', b'"ncclDevKernel_AllReduce"', b'"FEE"'),
    *(b'"/device:GPU:0"', b'"/device:GPU:99999999999"', b'"Stream #7(Compute)"', b'"process_name"', b'"thread_name"'),
)
_VALUES: Final = (
    *(b"{}", b"[]", b"[[]]", b'{"a":{}}', b'{"a":' * 60 + b"1" + b"}" * 60, b"[" * 700 + b"]" * 700, b'{"a":' * 600),
    *(b'[1,"x",null]', b'{"local":"0x5"}', b'{"":1}', b'{"a":1,"a":2}', b'{"name":5}', b"{1:2}", b"{,}", b"[,]"),
)
_BYTES: Final = b"\"\\{}[],:\0\n\r\t \xff\xef\x80\x1b0-.eE/'u"


def _event(kind: str, i: int, chance: random.Random) -> dict[str, Any]:
    ts, dur = 1000 + 10 * i + chance.randrange(20) / 4, chance.randrange(40) / 8
    place: dict[str, Any] = {"pid": chance.choice([1, 2, "p"]), "tid": chance.choice([1, 7, "stream 7"]), "ts": ts}
    corr = chance.randrange(6)
    match kind:
        case "kernel":
            args = {"device": chance.randrange(2), "stream": 7, "correlation": corr, "grid": [1, 2, 3]}
            if chance.random() < 0.4:
                args |= {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Half", "Group size": 2, "Seq": i}
            name = chance.choice(["gemm", "ncclDevKernel_AllReduce", "triton_poi_fused_0", "Memcpy HtoD"])
            return {"ph": "X", "cat": "kernel", "name": name, **place, "dur": dur, "args": args}
        case "call":
            args = {"correlation": corr, "External id": i}
            return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **place, "dur": dur, "args": args}
        case "op":
            return {"ph": "X", "cat": "cpu_op", "name": "aten::mm", **place, "dur": dur}
        case "step":
            return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", **place, "dur": 30}
        case "pair":
            return {"ph": chance.choice("BE"), "name": "b", **place}
        case "async":
            return {"ph": chance.choice("bne"), "cat": "c", "id": chance.choice([1, "0x1"]), "name": "r", **place}
        case "flow":
            return {"ph": chance.choice("stf"), "cat": "ac2g", "id": corr, "name": "ac2g", **place, "bp": "e"}
        case "counter":
            return {"ph": "C", "name": "mem", **place, "args": {"used": i * 1.5, "free": i}}
        case "meta":
            what = chance.choice(["process_name", "thread_name", "process_labels", "thread_sort_index"])
            return {"ph": "M", "name": what, **place, "args": {"name": "n", "labels": "l", "sort_index": i}}
        case _:
            return {"ph": chance.choice("iIRPNOD"), "name": "mark", **place, "s": chance.choice("gpt")}


_KINDS: Final = ("kernel", "kernel", "call", "op", "step", "pair", "async", "flow", "counter", "meta", "instant")


def _events(chance: random.Random) -> list[dict[str, Any]]:
    return [_event(chance.choice(_KINDS), i, chance) for i in range(chance.randrange(2, 14))]


def _kineto(chance: random.Random) -> Any:
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 85}],
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [group]},
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": _events(chance),
        "traceName": "t.json",
    }


def _viztracer(chance: random.Random) -> Any:
    calls = [{"ph": "X", "cat": "FEE", "name": "f (a.py:1)", "pid": 1, "tid": 1, "ts": i, "dur": 2} for i in range(3)]
    stated = {"version": "1.0", "overflow": True, "baseTimeNanoseconds": 5}
    return {"traceEvents": calls + _events(chance), "viztracer_metadata": stated, "file_info": {"files": {}}}


def _trace_viewer(chance: random.Random) -> Any:
    names = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "Stream #7(Compute)"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/host:CPU"}},
    ]
    work = [
        {"ph": "X", "pid": p, "tid": 7, "ts": i, "dur": 1, "name": "fusion", "args": {"correlation_id": str(i)}}
        for i, p in enumerate((1, 1, 2))
    ]
    head = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
    return head | {"traceEvents": names + work + _events(chance)}


def _straggler(chance: random.Random) -> Any:
    args = {"mb_id": 0, "seq_id": 1}
    spans = [
        {"ph": "X", "cat": c, "name": c, "pid": f"DP rank {r}", "tid": "PP rank 0", "ts": r, "dur": 2, "args": args}
        for r in range(2)
        for c in ("forward-compute", "backward-send")
    ]
    return spans + _events(chance)


def _megatronapp(chance: random.Random) -> Any:
    spans = [
        {"ph": p, "name": n, "pid": 0, "tid": 0, "ts": i, "cname": "good", "args": {"pp_rank": 0, "microbatch": i}}
        for i, (p, n) in enumerate(
            (("i", "iteration begin"), ("B", "forward"), ("E", "forward"), ("i", "iteration end"))
        )
    ]
    return {"traceEvents": spans + _events(chance)}


def _rocprofv3(chance: random.Random) -> Any:
    def record(i: int, **more: Any) -> dict[str, Any]:
        times = {"start_timestamp": 1000 + i, "end_timestamp": 1010 + i * chance.randrange(3)}
        return {"kind": 1, "operation": i % 3, **times, "thread_id": 5, "correlation_id": {"internal": i}, **more}

    info = {"kernel_id": 1, "agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "grid_size": {"x": 1, "y": 1, "z": 1}}
    n = chance.randrange(1, 5)
    return {
        "rocprofiler-sdk-tool": [
            {
                "metadata": {"pid": 4, "node": {"hostname": "h"}, "command": ["a"]},
                "agents": [{"id": {"handle": 9}, "type": 2, "logical_node_id": 1, "product_name": "MI300"}],
                "strings": {"buffer_records": [{"kind": "HIP_API", "operations": ["hipMalloc"]}], "marker_api": []},
                "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "k", "truncated_kernel_name": "k"}],
                "buffer_records": {
                    "kernel_dispatch": [record(i, dispatch_info=info) for i in range(n)],
                    "memory_copy": [
                        record(i, src_agent_id={"handle": 9}, dst_agent_id={"handle": 0}) for i in range(n)
                    ],
                    "hip_api": [record(i, bytes=5) for i in range(n)],
                },
                "callback_records": {"counter_collection": []},
            }
        ]
    }


def _proton(chance: random.Random) -> Any:
    def node(depth: int) -> dict[str, Any]:
        metrics = {"time (ns)": chance.randrange(100), "count": 1, "device_id": "0", "device_type": "CUDA"}
        below = [node(depth + 1) for _ in range(chance.randrange(3))] if depth < 3 else []
        return {"children": below, "frame": {"name": f"k{depth}", "type": "function"}, "metrics": metrics}

    return [node(0), {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}]


DIALECTS: Final[dict[str, Callable[[random.Random], Any]]] = {
    "kineto": _kineto,
    "chrome": _events,
    "viztracer": _viztracer,
    "trace-viewer": _trace_viewer,
    "straggler": _straggler,
    "megatronapp": _megatronapp,
    "rocprofv3": _rocprofv3,
    "proton": _proton,
}


def shared_samples(folder: Path | None) -> list[bytes]:
    """The beginnings of real files as whole documents; none when there is no folder."""
    samples = []
    for path in sorted((folder / "data").rglob("*.json*")) if folder else ():
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(40_000)
        whole = close_cut(text[:SHARED_BYTES]) or close_cut(text)
        samples.append(whole or text[:SHARED_BYTES])
    return samples


class Inputs:
    """Input ``i`` of a seed, the same in every process."""

    def __init__(self, seed: int, shared: Path | None) -> None:
        self._seed = seed
        self._samples = shared_samples(shared)

    def sample(self, chance: random.Random) -> bytes:
        """One text to begin with."""
        if self._samples and chance.random() < 0.3:
            return chance.choice(self._samples)
        value = DIALECTS[chance.choice(tuple(DIALECTS))](chance)
        indent = chance.choice((None, None, None, 1))
        return json.dumps(value, indent=indent, ensure_ascii=chance.random() < 0.5).encode()

    def make(self, number: int) -> bytes:
        """The input of that number."""
        chance = random.Random(f"{self._seed}:{number}")
        text = self.sample(chance)
        for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
            text = chance.choice(_MUTATIONS)(text, chance, self)
        if chance.random() < 0.2:
            text = chance.choice(_WRAPPINGS)(text, chance)
        return text


Mutation = Callable[[bytes, random.Random, Inputs], bytes]


def _at(text: bytes, chance: random.Random) -> int:
    return chance.randrange(len(text)) if text else 0


def flip(text: bytes, chance: random.Random, _: Any = None) -> bytes:
    """Some bits the other way."""
    out = bytearray(text)
    for _k in range(chance.choice((1, 1, 3, 20)) if out else 0):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def _poke(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    at = _at(text, chance)
    return text[:at] + bytes([chance.choice(_BYTES)]) * chance.choice((1, 1, 2, 70)) + text[at + chance.randrange(2) :]


def _drop(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    at = _at(text, chance)
    return text[:at] + text[at + chance.choice((1, 2, 8, 64, 500)) :]


def _repeat(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    at = _at(text, chance)
    return text[:at] + text[at : at + chance.choice((1, 5, 40, 400))] * chance.choice((2, 2, 3, 9)) + text[at:]


def _cut(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    return text[: _at(text, chance)]


def _splice(text: bytes, chance: random.Random, inputs: Inputs) -> bytes:
    other = inputs.sample(chance)
    return text[: _at(text, chance)] + other[_at(other, chance) :]


def _tokens(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    tokens = _TOKEN.findall(text)
    for _k in range(chance.choice((1, 2, 4)) if tokens else 0):
        at = chance.randrange(len(tokens))
        match chance.randrange(6):
            case 0:
                tokens[at] = b""
            case 1:
                tokens[at] *= 2
            case 2:
                other = chance.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = chance.choice(_NUMBERS)
            case 4:
                tokens[at] = chance.choice(_TEXTS)
            case _:
                tokens[at] = chance.choice(_VALUES)
    return b"".join(tokens)


def _numbers(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    tokens = _TOKEN.findall(text)
    places = [i for i, t in enumerate(tokens) if _NUMBER.match(t)]
    for at in chance.sample(places, min(len(places), chance.choice((1, 2, 8)))):
        tokens[at] = chance.choice(_NUMBERS) if chance.random() < 0.8 else chance.choice((*_TEXTS, *_VALUES))
    return b"".join(tokens)


def _strings(text: bytes, chance: random.Random, _: Inputs) -> bytes:
    tokens = _TOKEN.findall(text)
    places = [i for i, t in enumerate(tokens) if t.startswith(b'"')]
    for at in chance.sample(places, min(len(places), chance.choice((1, 2, 5)))):
        is_key = at + 1 < len(tokens) and tokens[at + 1] == b":"
        pool = _KEYS if is_key and chance.random() < 0.8 else (*_TEXTS, *_NUMBERS, *_VALUES)
        tokens[at] = chance.choice(pool)
    return b"".join(tokens)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(flip, _poke, _drop, _repeat, _cut, _splice, _tokens, _tokens),
    *(_numbers, _numbers, _numbers, _strings, _strings, _strings),
)


def _gzip(text: bytes, chance: random.Random) -> bytes:
    at = _at(text, chance)
    packed = (
        gzip.compress(text[:at], 1) + gzip.compress(text[at:], 1) if chance.random() < 0.5 else gzip.compress(text, 1)
    )
    match chance.randrange(5):
        case 0:
            return packed[: _at(packed, chance)]
        case 1:
            return packed + chance.choice((b"\0" * 50, b"garbage", b"\x1f\x8b", b"\x1f\x8b\x08garbage"))
        case 2:
            out = bytearray(packed)
            out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
            return bytes(out)
        case _:
            return packed


def _wide(text: bytes, chance: random.Random) -> bytes:
    encoding = chance.choice(
        ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig", "utf-7", "latin-1")
    )
    out = text.decode("utf-8", "replace").encode(encoding, "replace")
    if chance.random() < 0.3:
        out = out[: _at(out, chance)]
    return _gzip(out, chance) if chance.random() < 0.3 else out


def _mark(text: bytes, chance: random.Random) -> bytes:
    return chance.choice((codecs.BOM_UTF8, b"\n\n", b" " * 5_000, b"\0", codecs.BOM_UTF16_LE, b")]}'\n")) + text


def _zip(text: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(chance.randrange(3)):
            archive.writestr(chance.choice(("a.json", "../b.json", "c/", "d.txt", f"{k}.json")), text)
    packed = out.getvalue()
    return packed[: _at(packed, chance)] if chance.random() < 0.3 else packed


def _bare_deflate(text: bytes, _: random.Random) -> bytes:
    return zlib.compress(text)


_WRAPPINGS: Final = (_gzip, _gzip, _gzip, _wide, _wide, _mark, _zip, _bare_deflate)
