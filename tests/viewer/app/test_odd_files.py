"""Every option that names a file, given what is none: exit status 2, one line, no stack, no waiting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from viewer.app.cli import main

CALLS = {
    "rules": ["analyze", "TRACE", "--rules", "FILE"],
    "job": ["analyze", "TRACE", "--job", "FILE"],
    "align": ["analyze", "TRACE", "--align", "FILE"],
    "manifest": ["check", "TRACE", "--load", "a", "--baseline", "STORE", "--manifest", "FILE"],
    "figures": ["check", "--load", "a", "--baseline", "STORE", "--figures", "FILE"],
    "watch": ["watch", "FILE"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": [kernel]}), encoding="utf-8")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dots").write_bytes(b"a" + b".a" * 100_000 + b" = 1\n")
    (tmp_path / "digits").write_bytes(b"[gate]\nhistory = " + b"9" * 6_000)
    (tmp_path / "deep").write_bytes(b"a = " + b"[" * 100_000)
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 4)
    return tmp_path


@pytest.mark.parametrize("option", CALLS)
@pytest.mark.parametrize("name", ["fifo", "dots", "digits", "deep", "bytes", "/dev/zero"])
def test_one_line_says_what_is_wrong(
    option: str, name: str, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKSCOPE_DEBUG", raising=False)
    places = {"TRACE": str(folder / "trace.json"), "STORE": str(folder / "store"), "FILE": str(folder / name)}
    assert main([places.get(word, word) for word in CALLS[option]]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert name in lines[0]
    assert "defect" not in lines[0]


def test_kernels_without_a_name_are_analysed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    events = []
    for k in range(400):
        args = {"correlation": k, "device": 0, "stream": 7}
        kind = "kernel" if k % 9 else "gpu_memcpy"
        place = {"ph": "X", "pid": 0, "dur": 5, "args": args}
        events.append({"cat": kind, "tid": 7, "ts": 10 * k + 5, **place} | ({"name": "k"} if k % 3 else {}))
        events.append({"cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 10 * k, **place})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
    assert main(["analyze", str(path)]) == 0
    assert capfd.readouterr().err == ""
