"""Why a file is no trace that opens here, in words, by what it begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_STEP: Final = "Give a trace that torch.profiler exported (*.pt.trace.json, also as .gz)."
_KNOWN: Final = (
    (b"SQLite format 3\0", "is an SQLite database", "Open the profiler's JSON trace instead."),
    (b"PK\x03\x04", "is a zip archive", "Unpack it and give the traces inside."),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it with zstd -d first."),
    (b"\xfd7zXZ\0", "is compressed with xz", "Unpack it with xz -d first."),
    (b"BZh", "is compressed with bzip2", "Unpack it with bzip2 -d first."),
    (b"PAR1", "is a Parquet table", _STEP),
    (b"ARROW1", "is an Arrow file", _STEP),
    (b"\x80\x04", "is a Python pickle, which is never executed here", _STEP),
    (b"\x80\x05", "is a Python pickle, which is never executed here", _STEP),
    (b"\x7fELF", "is a program", _STEP),
)


def refusal(path: Path, head: bytes, size: int) -> tuple[str, str, str]:
    """(problem, place, next step) of a file of ``size`` bytes whose text begins with ``head``."""
    if path.suffix == ".nsys-rep":
        return (
            "is an Nsight Systems report, whose format is not public",
            "",
            "Profile with torch.profiler, or export it with nsys and give the JSON.",
        )
    if not head and size:
        return "is gzip, but nothing of it can be unpacked", "byte 0", "Copy the file again, or export the trace again."
    if not head:
        return "is empty", "", "The profiler was stopped before it wrote: export the trace again."
    for magic, what, step in _KNOWN:
        if head.startswith(magic):
            return what, "", step
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if not text:
        return "holds nothing but space", "", _STEP
    if b"\0" in head[:4096]:
        return "is a binary file, no JSON", "byte 0", _STEP
    place = f"byte {len(head) - len(text)}"
    first = text[:1].decode("latin-1")
    shown = first if first.isprintable() else repr(first)[1:-1]
    return f'is no JSON: it begins with "{shown}" where a trace has {{ or [', place, _STEP
