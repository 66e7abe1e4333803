"""Reads and writes job cards: TOML files, and the plain tables of a session file.

A file may be anything: its size is bounded, what is wrong is one sentence with the place, nothing of it is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from viewer.base.card_fields import BY_PATH, FIELDS, PARTS, CardField, checked, nearest, unit_of
from viewer.base.errors import InputError, UsageError, on_one_line
from viewer.base.job_card import EMPTY_CARD, CardValue, JobCard
from viewer.base.quantities import quantity_text
from viewer.store.small_file import read_small, write_whole
from viewer.store.toml_text import read_toml

MAX_BYTES: Final = 1 << 20
MOST_DOTS: Final = 64
"""In a line; a key has two parts at most, and a path has few."""
LONGEST_LINE: Final = 200
"""So much of a line is looked at for its key."""
_MEND: Final = "Mend the file, or write one with Save in the panel Job card."
_PLACE: Final = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_HEADER: Final = re.compile(r"\s*\[\s*([A-Za-z_.\s]+?)\s*\]")
_KEY: Final = re.compile(r"\s*\"?([^\"=]+?)\"?\s*=")


def read_card(path: Path) -> JobCard:
    """Read a card. Raises InputError with the place of what is wrong.

    A relative path of a baseline is meant from the card's folder.
    """
    card = parse_card(read_small(path, MAX_BYTES, "a job card (TOML)"), str(path))
    named = card.baseline.nccl_tests
    if named is None:
        return card
    places = [str(path.parent / Path(n.strip()).expanduser()) for n in named.split(";") if n.strip()]
    return card.with_value("baseline.nccl_tests", ";".join(places) or None)


def parse_card(data: bytes, name: str) -> JobCard:
    """The card in a TOML file's bytes; ``name`` is what errors call it. Raises InputError."""
    try:
        text = data.decode("utf-8-sig")
        _check_depth(text, name)
        raw = read_toml(text)
    except UnicodeDecodeError as error:
        raise InputError(name, "is no job card: it is no UTF-8 text", f"byte {error.start}", _MEND) from None
    except ValueError as error:
        said = str(error)[:200]
        place = _PLACE.search(said)
        where = "" if place is None else (f"line {place[1]}" if place[1] else "its end")
        problem = _PLACE.sub("", said).strip().rstrip(".")
        raise InputError(name, f"is no job card, as it is no TOML: {problem}", where, _MEND) from None
    return card_from_plain(raw, name, _Lines(text))


def _check_depth(text: str, name: str) -> None:
    """Keys of many parts cost a TOML reader the square of their number: memory and time without bound."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            raise InputError(name, f"is no job card: more than {MOST_DOTS} dots in a line", f"line {number}", _MEND)


def card_from_plain(raw: Mapping[str, Any], name: str, lines: _Lines | None = None, *, strict: bool = True) -> JobCard:
    """The card in plain tables, part by part.

    Args:
        raw: what TOML or JSON held.
        name: what errors call the file.
        lines: where keys stand in it.
        strict: an unknown part or key is an error; else it is passed over (a newer version wrote it).

    Raises:
        InputError: a value is wrong, or a name is unknown.
    """
    card = EMPTY_CARD
    titles = [part for part, _ in PARTS]
    for part, table in raw.items():
        where = (lines or _NO_LINES).of(part, "")
        if part not in titles:
            if not strict:
                continue
            owner = next((f for f in FIELDS if f.name == part), None)
            hint = f" It belongs into [{owner.part}]." if owner is not None else nearest(part, titles)
            problem = f'"{_short(part)}" is no part of a job card ({", ".join(titles)})'
            raise InputError(name, problem, where, hint.strip() or _MEND)
        if not isinstance(table, Mapping):
            raise InputError(name, f'"{part}" must be a table, written as [{part}]', where, _MEND)
        for key, value in table.items():
            field = BY_PATH.get(f"{part}.{key}")
            place = (lines or _NO_LINES).of(part, key)
            if field is None:
                if not strict:
                    continue
                raise InputError(name, f'"{_short(key)}" is no field of [{part}]', place, _hint(part, key))
            try:
                card = card.with_value(field.path, checked(field, value))
            except ValueError as error:
                shown = "" if isinstance(value, dict | list) else f" {_short(value)}"
                raise InputError(name, f"{field.path}{shown}: it {error}", place, _MEND) from None
    return card


def _hint(part: str, key: str) -> str:
    near = nearest(key, [f.name for f in FIELDS if f.part == part])
    if near:
        return near.strip()
    other = next((f for f in FIELDS if f.name == key), None)
    return f"It belongs into [{other.part}]." if other is not None else _MEND


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value) if not isinstance(value, int) else str(value)[:61]
    return on_one_line(text, 60)


def card_to_plain(card: JobCard) -> dict[str, dict[str, Any]]:
    """What a person said on a card as plain tables, without what was filled in; parts without a value are left out."""
    said = card.stated()
    out: dict[str, dict[str, Any]] = {}
    for field in FIELDS:
        value = said.value(field.path)
        if value is None or value == ():
            continue
        out.setdefault(field.part, {})[field.name] = _plain(field, value)
    return out


def card_tables(card: JobCard, old: Mapping[str, Any]) -> dict[str, Any]:
    """As :func:`card_to_plain`, with what ``old`` holds and this version does not know."""
    out: dict[str, Any] = dict(card_to_plain(card))
    known = {part for part, _ in PARTS}
    for part, table in old.items():
        if part not in known:
            out[part] = table
        elif isinstance(table, Mapping):
            more = {key: value for key, value in table.items() if f"{part}.{key}" not in BY_PATH}
            if more:
                out[part] = {**out.get(part, {}), **more}
    return out


def _plain(field: CardField, value: CardValue) -> Any:
    if isinstance(value, tuple):
        return {name: list(ranks) for name, ranks in value}
    unit = unit_of(field)
    if unit is not None and isinstance(value, int):
        text = quantity_text(value, unit)
        return value if (unit == "count" and value < 10**6) or "_" in text or text.isdecimal() else text
    return value


def card_text(card: JobCard, head: str = "") -> str:
    """A card as TOML. What was filled in stands in comments with its source: it is filled in again on opening."""
    plain = card_to_plain(card)
    lines = [f"# {on_one_line(head)}"] if head else []
    for part, _ in PARTS:
        body: list[str] = []
        tables: list[str] = []
        for field in FIELDS:
            if field.part != part:
                continue
            value, source = card.value(field.path), card.source(field.path)
            if source is not None and field.kind != "hosts":
                body.append(f"# {field.name} = {_toml(_plain(field, value))}  ({on_one_line(source)})")
            elif field.name in plain.get(part, {}):
                told = plain[part][field.name]
                if isinstance(told, dict):
                    rows = [f"{_key(name)} = {_toml(ranks)}" for name, ranks in told.items()]
                    tables += ["", f"[{field.path}]", *rows]
                else:
                    body.append(f"{field.name} = {_toml(told)}")
        if body or tables:
            lines += ["", f"[{part}]", *body, *tables]
    return "\n".join(lines).strip("\n") + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:_}" if value >= 10_000 else str(value)
    if isinstance(value, list):
        return "[" + ", ".join(str(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.match(name) else _toml(name)


def write_card(path: Path, card: JobCard) -> None:
    """Write a card as TOML; it is complete or the old one stays. Raises UsageError when it cannot be written."""
    try:
        write_whole(path, card_text(card, "Job card of Rankscope").encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


class _Lines:
    """Where parts and keys stand in a text; only for messages, so a rough look is enough."""

    def __init__(self, text: str) -> None:
        self._at: dict[tuple[str, str], int] = {}
        part = ""
        for number, whole in enumerate(text.splitlines(), 1):
            line = whole[:LONGEST_LINE]  # the patterns take the square of a line's length at worst
            if header := _HEADER.match(line):
                part = header[1].replace(" ", "")
                self._at.setdefault((part.partition(".")[0], part.partition(".")[2]), number)
            elif key := _KEY.match(line):
                self._at.setdefault((part, key[1]) if part else (key[1], ""), number)

    def of(self, part: str, key: str) -> str:
        """The line of a key, "" where it was not found."""
        line = self._at.get((part, key))
        return f"line {line}" if line is not None else ""


_NO_LINES: Final = _Lines("")
