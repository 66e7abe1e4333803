"""Why a file is no trace that opens here, in words, by what it begins with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from viewer.importers.tar_headers import is_tar

STEP: Final = "Give a trace that torch.profiler or another writer of Chrome's trace format exported (also as .gz)."
_KNOWN: Final = (
    (b"SQLite format 3\0", "is an SQLite database", "Open the profiler's JSON trace instead."),
    (b"\x1f\x8b", "is compressed twice", "Unpack it once, for example with gunzip."),
    (b"\x28\xb5\x2f\xfd", "is compressed twice", "Unpack it once."),
    (b"BZh", "is compressed twice", "Unpack it once."),
    (b"\xfd7zXZ\0", "is compressed twice", "Unpack it once."),
    (
        b"version https://git-lfs.github.com/",
        "is a pointer of Git LFS, not the file that it stands for",
        "Run git lfs pull, or download the file itself.",
    ),
    (b"PK\x03\x04", "is an archive inside an archive", "Unpack the outer one and give what is inside."),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", "Unpack it with lz4 -d first."),
    (b"ARROW1", "is an Arrow file", STEP),
    (b"\x7fELF", "is a program", STEP),
)

_OLD_PICKLE: Final = re.compile(
    rb"\([dl]p\d{1,9}\r?\n|\([dl]?S['\"]|[}\]]q\x00|c[A-Za-z_][\w.]{0,99}\n[A-Za-z_]\w{0,99}\n"
)
_NEWER: Final = "Write the snapshot again with torch.cuda.memory._dump_snapshot, or with a newer protocol of pickle."

_BY_NAME: Final = (
    (
        (".nsys-rep", ".qdrep"),
        "is an Nsight Systems report, whose format is not public",
        "Profile with torch.profiler, or export it with nsys and give the JSON.",
    ),
    (
        (".xplane.pb",),
        "is a profile of XLA as protobuf (XPlane)",
        "Give the trace.json.gz of the same profile: it lies beside it, or XProf's trace viewer downloads it.",
    ),
    (
        (".pftrace", ".perfetto-trace"),
        "is a trace of Perfetto as protobuf",
        "Convert it with traceconv json and give the JSON.",
    ),
)
"""(ends of the name, what it is, next step) of binary files that have no mark of their own."""

_FOREIGN: Final = (
    (
        rb'"\$schema"\s*:\s*"https?://www\.speedscope\.app|"exporter"\s*:\s*"[^"]*speedscope',
        "is a speedscope profile: sampled call stacks of a CPU, no trace of events",
        "Open it in speedscope; here, give a trace of the same run.",
    ),
    (
        rb'"hloModule"\s*:',
        "is a memory viewer's report of XProf, no trace",
        "Give the trace.json.gz of the same profile.",
    ),
    (
        rb'"schema"\s*:\s*"1\.\d[^"]*"\s*,.{0,400}?"nodes"\s*:\s*\[',
        "is a PyTorch execution trace (Chakra): a graph of operators without times of the device",
        "Give the profiler's trace of the same run.",
    ),
    (
        rb'"job_meta"\s*:\s*\{',
        "is the result of a straggler analysis, no timeline",
        "Give the timeline of the same job (timeline-*.json).",
    ),
)
"""(pattern of the head, what it is, next step) of JSON that is often beside traces and is none."""


def foreign_json(head: bytes) -> tuple[str, str] | None:
    """(problem, next step) when a text is JSON of a known kind that is no trace; None when it is not known."""
    for pattern, what, step in _FOREIGN:
        if re.search(pattern, head, re.DOTALL):
            return what, step
    return None


def refusal(path: Path, head: bytes, size: int) -> tuple[str, str, str]:
    """(problem, place, next step) of a file of ``size`` bytes whose text begins with ``head``."""
    binary = b"\0" in head[:4096] or not head[:64].isascii()
    if binary and (told := next(((what, step) for ends, what, step in _BY_NAME if path.name.endswith(ends)), None)):
        return told[0], "", told[1]
    if not head and size:
        return (
            "is compressed, but nothing of it can be unpacked",
            "byte 0",
            "Copy the file again, or export the trace again.",
        )
    if not head:
        return "is empty", "", "The profiler was stopped before it wrote: export the trace again."
    for magic, what, step in _KNOWN:
        if head.startswith(magic):
            return what, "", step
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if is_tar(head):
        return "is an archive inside an archive", "", "Unpack the outer one and give what is inside."
    if not text:
        return "holds nothing but space", "", STEP
    if _OLD_PICKLE.match(head):
        return "is a Python pickle of protocol 0 or 1; 2 to 5 are read", "byte 0", _NEWER
    if b"\0" in head[:4096]:
        return "is a binary file, no JSON", "byte 0", STEP
    if re.match(rb"<(!doctype html|html)\b", text, re.IGNORECASE):
        return (
            "is a web page (HTML), no trace",
            "",
            "If it was downloaded, it may be a page about the file: download the file itself.",
        )
    place = f"byte {len(head) - len(text)}"
    first = text[:1].decode("latin-1")
    shown = first if first.isprintable() else repr(first)[1:-1]
    return f'is no JSON: it begins with "{shown}" where a trace has {{ or [', place, STEP
