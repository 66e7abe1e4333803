"""Reads and writes ``*.rankscope``: JSON that people can read, keys always in the same order.

What a newer minor version added is kept when the file is saved again. Nothing of a file is executed, its size and depth
are bounded, and what it names is only looked at: whether it is there and the same.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from viewer.base.errors import InputError, UsageError
from viewer.base.session_file import FORMAT, MAJOR, MINOR, SUFFIX, SessionFile
from viewer.store.card_file import card_from_plain
from viewer.store.small_file import read_small

MAX_BYTES: Final = 16 << 20
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 1_000_000
_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\Z")
_TABLES: Final = ("clock", "view", "selection")
_LISTS: Final = {"sources": "path", "marks": "id", "notes": "id", "bookmarks": "slot"}
"""Lists of tables, and the key by which a table is known again."""
_AGAIN: Final = "Save it again in Rankscope, or mend the file by hand."


class Document:
    """A session file as it was read: its content, and the plain JSON with all that this version does not know."""

    def __init__(self, content: SessionFile, raw: Mapping[str, Any] | None = None) -> None:
        self.content = content
        self.raw: Mapping[str, Any] = raw or {}


def is_session_file(path: Path | str) -> bool:
    """Whether a path is named like a session file."""
    return str(path).lower().endswith(SUFFIX)


def read_session(path: Path) -> Document:
    """Read a session file.

    Raises:
        InputError: it cannot be read, is too large or too deep, is none, is newer, or holds a wrong value.
    """
    return parse_session(read_small(path, MAX_BYTES, "a session file"), str(path))


def parse_session(data: bytes, name: str) -> Document:
    """A session file's bytes; ``name`` is what errors call it. Raises InputError."""
    try:
        raw = json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise InputError(name, "is nested too deeply for a session file", "", _AGAIN) from None
    except json.JSONDecodeError as error:
        raise InputError(name, f"is no session file: {error.msg}", f"line {error.lineno}", _AGAIN) from None
    except ValueError as error:  # bad UTF-8, NaN, numbers of thousands of digits
        raise InputError(name, f"is no session file: {str(error)[:120]}", "", _AGAIN) from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(name, f'is no session file: it lacks "format": "{FORMAT}"', "", "Open the traces instead.")
    _check_size(raw, name)
    _check_version(raw, name)
    try:
        content = msgspec.convert(raw, SessionFile)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `")
        where = place.rstrip("`").removeprefix("$.") or ""
        raise InputError(name, f"holds a wrong value: {problem[:200]}", where[:200], _AGAIN) from None
    card_from_plain(content.job, name, strict=False)
    return Document(content, raw)


def write_session(path: Path, content: SessionFile, raw: Mapping[str, Any] | None = None) -> None:
    """Write a session file; it is complete or the old one stays.

    Args:
        path: where; a link is followed.
        content: with paths as they are to be written (:func:`spelled`).
        raw: the JSON that it was read from: what this version does not know of that is kept.

    Raises:
        UsageError: it cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(encode_session(content, raw))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


def encode_session(content: SessionFile, raw: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a session file: the same content gives the same bytes."""
    old = raw or {}
    plain: dict[str, Any] = msgspec.to_builtins(content, order="deterministic")
    document = {"format": FORMAT, "version": _version_for(old), **plain}
    for name in _TABLES:
        _keep_unknown(document.get(name), old.get(name))
    for name, identity in _LISTS.items():
        known = {t.get(identity): t for t in old.get(name) or [] if isinstance(t, dict)}
        for table in document[name]:
            _keep_unknown(table, known.get(table[identity]))
    _keep_unknown(document, {k: v for k, v in old.items() if k not in document})
    if document["saved_as"] is None:
        del document["saved_as"]
    if not document["dismissed"]:
        del document["dismissed"]
    try:
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a path that is no text
        return (json.dumps(document, indent=1) + "\n").encode()


def spelled(path: Path, session: Path) -> str:
    """A source's path as it is written: relative when below the session file's folder, or below a folder beside it."""
    folder, file = os.path.dirname(os.path.abspath(session)), os.path.abspath(path)
    beside = os.path.dirname(folder)
    inside = file.startswith(beside.rstrip("/") + "/") and beside != "/"
    return os.path.relpath(file, folder) if inside or file.startswith(folder.rstrip("/") + "/") else file


def resolved(text: str, session: Path) -> Path:
    """The absolute path that a source's spelling means."""
    return Path(os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(session)), text)))


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _check_size(raw: Mapping[str, Any], name: str) -> None:
    """Depth and number of values, without recursion."""
    level: list[Any] = [raw]
    count = 0
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(name, "holds a number that is not finite", "", _AGAIN)
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        count += len(below)
        if count > MAX_VALUES:
            raise InputError(name, f"holds more than {MAX_VALUES:,} values", "", _AGAIN)
        if not below:
            return
        level = below
    raise InputError(name, "is nested too deeply for a session file", "", _AGAIN)


def _check_version(raw: Mapping[str, Any], name: str) -> None:
    match = _VERSION.match(str(raw.get("version"))[:40])
    if match is None:
        raise InputError(name, 'states no version such as "1.0"', "version", _AGAIN)
    if int(match[1]) != MAJOR:
        raise InputError(
            name,
            f"is a session of version {match[0]}; this Rankscope reads version {MAJOR}",
            "",
            "Open it with the newer Rankscope that wrote it.",
        )


def _version_for(old: Mapping[str, Any]) -> str:
    match = _VERSION.match(str(old.get("version"))[:40])
    return f"{MAJOR}.{max(MINOR, int(match[2]) if match is not None else 0)}"


def _keep_unknown(table: Any, old: Any) -> None:
    if isinstance(table, dict) and isinstance(old, Mapping):
        table.update({k: old[k] for k in sorted(old) if k not in table})
