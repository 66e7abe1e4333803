"""Python's collector of reference cycles during a start.

A start makes some hundred thousand objects that live to the end. Looking at them again and again is a tenth of the
start and holds up the window for up to 0.1 s at a time. So nothing is collected until the lanes are there, and what a
start made is set apart then: the collector sees what came later. When a job goes, all is looked at again, or what of it
hangs together in cycles would stay.
"""

from __future__ import annotations

import gc
from typing import Final

_STARTING, _APART, _AS_EVER = "starting", "apart", "as ever"
_state: Final = [_AS_EVER]


def pause() -> None:
    """A start begins: collect nothing."""
    gc.disable()
    _state[0] = _STARTING


def set_apart() -> None:
    """A part of the start is over: collect again, but nothing of what is there. Does nothing without a start."""
    if _state[0] != _AS_EVER:
        gc.freeze()
        gc.enable()
        _state[0] = _APART


def look_at_all() -> None:
    """Something of the start goes: collect everything from now on."""
    if _state[0] != _AS_EVER:
        gc.unfreeze()
        gc.enable()
        _state[0] = _AS_EVER
