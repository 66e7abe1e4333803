"""The slow road for single events that the compiled loop cannot read: find where the event ends, mend its form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from viewer.jit.scan_load import PAD
from viewer.jit.scan_text import CUT, VALID, walk_strictly
from viewer.store.loose_json import loads, mend_quotes

_KEYS: Final = rb'"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp|tts|cname)"\s*:'
_BORDER = rb"\}\s*(?:,\s*(?=\{\s*" + _KEYS + rb")|(?=\]\s*(?:,\s*\"|\}%s)))"
_NEXT_EVENT = rb"\{\s*" + _KEYS + rb"|\]\s*(?:,\s*\"|\}%s)"
# The end of the text is a border only where the file ends, too.
_BORDERS = {ended: re.compile(_BORDER % (rb"|\Z" if ended else b"")) for ended in (False, True)}
_NEXT_EVENTS = {ended: re.compile(_NEXT_EVENT % (rb"|\Z" if ended else b"")) for ended in (False, True)}
_ARGS = re.compile(rb'"args"\s*:\s*(?=\{)')
TRIES: Final = 16
"""Event borders that are tried before an event is given up."""
PATIENCE: Final = 1_000
"""After so many rejected events of a file, only FEW_TRIES borders are tried for each further one."""
FEW_TRIES: Final = 2
LONGEST: Final = 1 << 20
"""Longer events are not mended: what costs a second per event is no repair, and no real event is that long."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of the text at an event's start.

    ``kind``: "event" (valid, only unusual), "repaired", "rejected", "more" (the text so far decides nothing), "cut"
    (the file ends inside this event), "skip" (bytes between events). ``size`` bytes of the text are used up.
    ``plain`` is the event as plain JSON whose numbers are strings; args are [args_at, args_at + args_size) of the text.
    """

    kind: str
    size: int = 0
    plain: bytes = b""
    args_at: int = 0
    args_size: int = 0
    final: bool = True
    """False where more text may still turn a rejection into a repair."""


def mend(text: bytes, ended: bool, rejected: int = 0, walked: tuple[int, int] | None = None) -> Mended:
    """Read the event at the front of ``text``; ``ended``: the file holds no more; ``rejected`` events came before.

    ``walked`` is what walk_strictly says of the text, (state, position), where that is known already.
    """
    if not text.startswith(b"{"):
        found = _NEXT_EVENTS[ended].search(text)
        if found is None:
            return Mended("cut" if ended else "more", len(text))
        return Mended("skip", found.start())
    state, size = walked or _walk(text)
    if state == VALID:
        return _event("event", text, size) or Mended("rejected", size)
    if state == CUT:
        return Mended("cut", len(text)) if ended else Mended("more")
    first, final = -1, ended
    most = TRIES if rejected < PATIENCE else FEW_TRIES
    for tries, border in enumerate(_BORDERS[ended].finditer(text)):
        size = border.start() + 1
        if tries == 0:
            first = size
        if tries == most or size > LONGEST:
            final = True
            break
        repaired = _event("repaired", text, size)
        if repaired is not None:
            return repaired
    if first >= 0:
        return Mended("rejected", first, final=final)
    return Mended("cut", len(text)) if ended else Mended("more")


def _walk(text: bytes) -> tuple[int, int]:
    padded = np.zeros(len(text) + PAD, np.uint8)
    padded[: len(text)] = np.frombuffer(text, np.uint8)
    address = int(padded.ctypes.data)
    state, at = walk_strictly(address, address + len(text))
    return int(state), int(at) - address


def _object(kind: str, text: bytes) -> dict[str, Any] | None:
    try:
        value = loads(text, number=str)
    except ValueError:
        return None
    return value if isinstance(value, dict) and (kind == "event" or "ph" in value) else None


def _event(kind: str, text: bytes, size: int) -> Mended | None:
    whole = text[:size]
    value = _object(kind, whole)
    if value is None:
        decoded = whole.decode("utf-8", "replace")
        mended = mend_quotes(decoded)
        value = _object(kind, mended.encode()) if mended != decoded else None
    if value is None:
        return None
    kept = {
        k: v for k, v in value.items() if k in {"ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "id2", "args"}
    }
    if not kept and value:
        kept = {"s": ""}
    at, length = 0, 0
    found = _ARGS.search(whole)
    if found and isinstance(value.get("args"), dict):
        at = found.end()
        state, stop = _walk(whole[at:])
        length = stop if state == VALID else size - at
    return Mended(kind, size, json.dumps(kept).encode(), at, length)
