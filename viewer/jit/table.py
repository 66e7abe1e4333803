"""The kernels that a first start needs, as declared data: for which types, what they call, when they are needed.

``resources/kernels.toml`` holds the table. It is written by ``python -m viewer.app.kernel_table`` (a test compares it
with what is really compiled) and read by those who compile ahead, in several processes.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

GROUPS: Final = ("read", "lanes", "figures")
"""When kernels are needed: to read a file, to paint its lanes, and for what panels compute."""

NATIVE: Final = "native"
"""Stands for what is made when all kernels are compiled: the file of ``viewer/jit/native.py``."""

ARRAY: Final = re.compile(r"(\w+)\[(\d)([CFA])(r?)\]")
"""A word for an array: of what, of how many dimensions, its layout, "r" where it is only read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel.

    ``name`` is "file.function" within viewer.jit; ``types`` one word per argument, "int64" or "uint8[2C]" for a
    C-contiguous array of two dimensions ("r": read only); ``needs`` names the kernels that it calls. Nothing but
    kernels calls a ``part``.
    """

    name: str
    group: str
    types: tuple[str, ...]
    needs: tuple[str, ...] = ()
    part: bool = False


@cache
def load_table() -> tuple[Entry, ...]:
    """The shipped table: callees before callers, and what others wait for longest first."""
    text = (files("resources") / "kernels.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["kernel"]
    return tuple(
        Entry(e["name"], e["group"], tuple(e["types"].split()), tuple(e.get("needs", "").split()), "part" in e)
        for e in entries
    )


def dispatcher_of(name: str) -> Any:
    """The kernel of that name; imports its file."""
    module, function = name.split(".")
    return getattr(import_module(f"viewer.jit.{module}"), function)


def type_of(word: str) -> Any:
    """The compiler's type for a word of the table. Raises ValueError or AttributeError for one that means nothing."""
    from numba import types

    if "[" not in word:
        return types.boolean if word == "bool" else getattr(types, word)
    match = ARRAY.fullmatch(word)
    if match is None:
        raise ValueError(f"no type: {word}")
    layout: Any = match[3]
    return types.Array(type_of(match[1]), int(match[2]), layout, readonly=bool(match[4]))


def word_of(kind: Any) -> str:
    """The table's word for a type."""
    from numba import types

    if isinstance(kind, types.Array):
        return f"{word_of(kind.dtype)}[{kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}]"
    return str(kind)


def compile_entry(entry: Entry) -> None:
    """Compile one kernel, or load it where it is compiled already."""
    dispatcher_of(entry.name).compile(tuple(type_of(word) for word in entry.types))
