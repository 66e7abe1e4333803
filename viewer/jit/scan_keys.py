"""The keys of an event that the scanner knows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from viewer.jit.config import kernel
from viewer.jit.scan_load import load8, load64
from viewer.jit.scan_text import BACKSLASH

_16, _24, _32 = np.uint64(0xFFFF), np.uint64(0xFFFFFF), np.uint64(0xFFFFFFFF)
_40, _48 = np.uint64(0xFFFFFFFFFF), np.uint64(0xFFFFFFFFFFFF)


def _key(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(text.encode(), "little"))


_PH, _TS, _ID = _key('ph":'), _key('ts":'), _key('id":')
_DUR, _CAT, _PID, _TID, _ID2 = _key('dur":'), _key('cat":'), _key('pid":'), _key('tid":'), _key('id2":')
_NAME, _ARGS = _key('name":'), _key('args":')
(
    OTHER,
    ESCAPED,
    CHAR_PHASE,
    NUMBER_TIME,
    NUMBER_DUR,
    TEXT_NAME,
    TEXT_CAT,
    ID_PID,
    ID_TID,
    ID_ID,
    OBJECT_ID2,
    OBJECT_ARGS,
) = range(12)
KNOWN_SIZE: Final = (0, 0, 4, 4, 5, 6, 5, 5, 5, 4, 5, 6)
"""Bytes of each known key with its closing quote and colon."""


@kernel
def which_key(key: int) -> Any:
    """Which of the known keys begins at ``key``, closing quote and colon included; OTHER for anything else."""
    text = load64(key)
    four = text & _32
    if four == _TS:
        return NUMBER_TIME
    if four == _PH:
        return CHAR_PHASE
    five = text & _40
    if five == _PID:
        return ID_PID
    if five == _TID:
        return ID_TID
    if five == _CAT:
        return TEXT_CAT
    if five == _DUR:
        return NUMBER_DUR
    six = text & _48
    if six == _NAME:
        return TEXT_NAME
    if six == _ARGS:
        return OBJECT_ARGS
    if four == _ID:
        return ID_ID
    if five == _ID2:
        return OBJECT_ID2
    return OTHER


@kernel
def unusual_key(key: int, size: int) -> Any:
    """Which known key stands at ``key`` where space parts it from its colon; ESCAPED where escapes may hide one."""
    text = load64(key)
    if size == 2:
        text &= _16
        if text == _TS & _16:
            return NUMBER_TIME
        if text == _PH & _16:
            return CHAR_PHASE
        if text == _ID & _16:
            return ID_ID
    elif size == 3:
        text &= _24
        if text == _PID & _24:
            return ID_PID
        if text == _TID & _24:
            return ID_TID
        if text == _CAT & _24:
            return TEXT_CAT
        if text == _DUR & _24:
            return NUMBER_DUR
        if text == _ID2 & _24:
            return OBJECT_ID2
    elif size == 4:
        text &= _32
        if text == _NAME & _32:
            return TEXT_NAME
        if text == _ARGS & _32:
            return OBJECT_ARGS
    elif size >= 6:
        for k in range(min(size, 30)):
            if load8(key + k) == BACKSLASH:
                return ESCAPED
    return OTHER
