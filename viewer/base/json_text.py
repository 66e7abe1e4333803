"""JSON that is written for others to read: UTF-8 whatever the names in it."""

from __future__ import annotations

from typing import Any

import msgspec


def encode_json(data: Any) -> bytes:
    """Plain data as readable JSON, with a line break at its end.

    A name that is no UTF-8 (a file of another encoding) is told with replacement characters; it fails nothing.
    """
    try:
        plain = msgspec.json.encode(data)
    except UnicodeEncodeError:
        plain = msgspec.json.encode(_mended(msgspec.to_builtins(data)))
    return msgspec.json.format(plain, indent=1) + b"\n"


def without_surrogates(text: str) -> str:
    """Text that every encoding of Unicode holds."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(v) for v in value]
    return value
