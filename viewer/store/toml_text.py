"""TOML that anybody may have written, read within bounds."""

from __future__ import annotations

import tomllib
from typing import Any, Final

MOST_COST: Final = 1 << 22
"""Of keys: a TOML reader keeps every beginning of a dotted key, the square of its parts. This much takes 60 MB."""


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. ValueError says in one line what is wrong with it."""
    cost = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        cost += line.count(".") ** 2
        if cost > MOST_COST:
            raise ValueError(f"keys of too many parts (at line {number})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise ValueError(" ".join(str(error).split())[:200]) from None
