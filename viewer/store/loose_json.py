"""JSON as profilers really write it: bare nan and inf, trailing commas, bad escapes, bytes that are no UTF-8.

For single small objects. Whole files go through viewer.jit's scanner.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from viewer.base.json_text import all_without_surrogates, without_surrogates

_MENDED = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.])[-+]?(?:nan|inf(?:inity)?|undefined|none)(?:\([a-z0-9]*\))?(?![\w.])|,(?=\s*[}\]])',
    re.DOTALL | re.IGNORECASE,
)
"""A string, a bare word, or a comma before a closing bracket."""
_MAY_BE_MENDED = re.compile(r"\\|nan|inf|undefined|none|,\s*[}\]]", re.IGNORECASE)
"""What a text must hold for anything in it to be mended; most hold nothing of it, and this is found at once."""
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)', re.DOTALL)

_EVENT_KEYS: Final = "ph|name|cat|pid|tid|ts|dur|args|id|id2|s|bp|tts|tdur|cname|bind_id|sf"
_QUOTED_VALUE = re.compile(rf'("(?:name|cat)"\s*:\s*")(.*?)("(?=\s*(?:,\s*"(?:{_EVENT_KEYS})"\s*:|\}})))', re.DOTALL)
_ESCAPE_OR_QUOTE = re.compile(r'(\\.)|"', re.DOTALL)


def loads(text: bytes, number: Callable[[str], Any] | None = None) -> Any:
    """The value at the front of ``text``; what follows it is ignored.

    Args:
        text: JSON, or nearly.
        number: gets the text of every number; int and float by default.

    Returns:
        The value; nan and inf become None, lone surrogates and bad UTF-8 U+FFFD.

    Raises:
        ValueError: there is no sense in it (also when it is nested too deeply).
    """
    if number is None:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
    decoded = text.decode("utf-8", "replace")
    decoder = _decoder(number)
    try:
        try:
            value, _ = decoder.raw_decode(decoded.lstrip())
        except ValueError:
            mended = mend_words(decoded)
            if mended == decoded:
                raise
            value, _ = decoder.raw_decode(mended.lstrip())
        return all_without_surrogates(value) if "\\u" in decoded else value
    except RecursionError:
        raise ValueError("nested too deeply") from None


@functools.lru_cache(4)
def _decoder(number: Callable[[str], Any] | None) -> json.JSONDecoder:
    hooks: dict[str, Any] = {"parse_int": number, "parse_float": number} if number else {}
    return json.JSONDecoder(strict=False, parse_constant=lambda _: None, **hooks)


def mend_words(text: str) -> str:
    """Bare nan and inf to null, without trailing commas, bad escapes as plain backslashes; strings stay as they are."""
    return _MENDED.sub(_mended_part, text) if _MAY_BE_MENDED.search(text) else text


def _mended_part(found: re.Match[str]) -> str:
    part = found[0]
    if part.startswith('"'):
        return _BAD_ESCAPE.sub(lambda m: m[0] if m[1] else "\\\\", part) if "\\" in part else part
    return "" if part == "," else "null"


def mend_quotes(text: str) -> str:
    """Escape quotes that an old exporter left bare inside names: a name ends where the next key of an event begins."""
    return _QUOTED_VALUE.sub(lambda m: m[1] + _ESCAPE_OR_QUOTE.sub(lambda q: q[1] or '\\"', m[2]) + m[3], text)


def decode_text(raw: bytes) -> tuple[str, bool]:
    """The body of a JSON string as text, and whether it had to be mended (bad UTF-8, bad escapes, lone surrogates)."""
    try:
        text = raw.decode("utf-8")
        mended = False
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        mended = True
    if "\\" not in text:
        return text, mended
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        mended = True
        try:
            value = json.loads('"' + _BAD_ESCAPE.sub(lambda m: m[0] if m[1] else "\\\\", text) + '"', strict=False)
        except ValueError:
            return text, True
    plain = without_surrogates(value)
    return plain, mended or plain != value
