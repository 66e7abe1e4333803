"""JSON that is written for others to read: UTF-8 whatever the names in it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def encode_json(data: Any) -> bytes:
    """Plain data as readable JSON, with a line break at its end.

    A name that is no UTF-8 (a file of another encoding) is told with replacement characters; it fails nothing.
    """
    try:
        plain = msgspec.json.encode(data)
    except UnicodeEncodeError:
        plain = msgspec.json.encode(all_without_surrogates(msgspec.to_builtins(data)))
    return msgspec.json.format(plain, indent=1) + b"\n"


def without_surrogates(text: str) -> str:
    """Lone surrogates cannot be stored as UTF-8: they become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def all_without_surrogates(value: Any) -> Any:
    """Plain data in which no text has lone surrogates; tuples become lists."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {all_without_surrogates(k): all_without_surrogates(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [all_without_surrogates(v) for v in value]
    return value
