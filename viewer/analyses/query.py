"""The language of filters: ``rank:0-3,7 stream:7 name:nccl dur:>1ms -class:memory group:dp "two words"``.

Terms are separated by spaces and all of them must hold; the values of one term are separated by commas and any will do;
a minus before a term turns it round. A word without a field, or a quoted text, is looked for in names. Letters' case
does not matter. :func:`parse` makes terms of a text; what they match is in ``viewer.analyses.query_match``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from viewer.base.errors import UsageError
from viewer.base.ids import Paint
from viewer.base.time import parse_duration


class QueryError(ValueError):
    """A term makes no sense. ``str(error)`` is one sentence; ``term`` is the term as written."""

    def __init__(self, term: str, problem: str) -> None:
        self.term = term
        super().__init__(f"{term}: {problem}")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text that must occur, in any case of letters; ``regex`` when it is an expression in RE2's syntax."""

    text: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Whole numbers from ``low`` to ``high``, both included; None where there is no bound. Durations are in ns."""

    low: int | None
    high: int | None


Value = Text | Span | Paint


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: any of ``values`` holds for ``field``, or none where ``negated``."""

    field: str
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions that must all hold; none of them means that everything matches."""

    terms: tuple[Term, ...] = ()

    @property
    def of_lanes(self) -> tuple[Term, ...]:
        """Conditions on where a slice lies."""
        return tuple(t for t in self.terms if t.field in LANE_FIELDS)

    @property
    def of_slices(self) -> tuple[Term, ...]:
        """Conditions on the slice itself."""
        return tuple(t for t in self.terms if t.field not in LANE_FIELDS)


LANE_FIELDS: Final = frozenset({"rank", "gpu", "stream", "thread", "process", "lane"})
"""Fields that all slices of a lane share."""

_ALIASES: Final = {"device": "gpu", "pid": "process", "tid": "thread", "duration": "dur", "category": "cat"}
_CLASSES: Final = {
    **{p.name.lower(): p for p in Paint},
    "communication": Paint.COMM,
    "mem": Paint.MEMORY,
    "op": Paint.OPERATOR,
    "synchronisation": Paint.SYNC,
    "call": Paint.RUNTIME,
}
_FIELD = re.compile(r"([A-Za-z]+):(?!:)")
_NUMBER_SPAN = re.compile(r"(\d+)(?:(?:-|\.\.)(\d+))?\Z")
_COMPARED = re.compile(r"(>=|<=|>|<)(.+)\Z")
_LARGEST: Final = 2**63 - 1
_MOST: Final = 2_000
"""Characters of a query; a longer one was not typed."""


def parse(text: str) -> Query:
    """Read a query.

    Raises:
        QueryError: a term has an unknown field, a bad number, an open quote or nothing to look for.
    """
    if len(text) > _MOST:
        raise QueryError(text[:20] + "…", f"a filter has at most {_MOST:,} characters.")
    return Query(tuple(_term(piece) for piece in _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    """Split at spaces outside of quotes and of /expressions/."""
    piece, closing = "", ""
    for at, letter in enumerate(text):
        if closing:
            if letter == closing and text[at - 1] != "\\":
                closing = ""
        elif letter == '"' or (letter == "/" and (not piece or piece[-1] in ":,-")):
            closing = letter
        elif letter.isspace():
            if piece:
                yield piece
            piece = ""
            continue
        piece += letter
    if closing == '"':
        raise QueryError(piece, "the quote is not closed.")
    if piece:
        yield piece


def _term(piece: str) -> Term:
    negated = piece.startswith("-") and len(piece) > 1
    body = piece[1:] if negated else piece
    match = _FIELD.match(body)
    if match is None:
        return Term("name", (_text(piece, body),), negated)
    field = _ALIASES.get(match[1].lower(), match[1].lower())
    read = _READERS.get(field)
    if read is None:
        known = ", ".join(sorted(_READERS))
        raise QueryError(piece, f'there is no field "{match[1]}"; fields are {known}. Quote a name with a colon.')
    values = tuple(read(piece, value) for value in _values(body[match.end() :]))
    if not values:
        raise QueryError(piece, "it says nothing to look for.")
    return Term(field, values, negated)


def _values(text: str) -> Iterator[str]:
    """Split at commas outside of quotes and of /expressions/."""
    piece, closing = "", ""
    for at, letter in enumerate(text):
        if closing:
            if letter == closing and text[at - 1] != "\\":
                closing = ""
        elif letter == '"' or (letter == "/" and not piece):
            closing = letter
        elif letter == ",":
            if piece:
                yield piece
            piece = ""
            continue
        piece += letter
    if piece:
        yield piece


def _text(piece: str, value: str) -> Text:
    import pyarrow.compute as pc

    if len(value) > 2 and value.startswith("/") and value.endswith("/"):
        pattern = value[1:-1].replace("\\/", "/")
        try:
            pc.match_substring_regex(pa.array([""]), pattern, ignore_case=True)
        except pa.ArrowInvalid as error:
            raise QueryError(piece, f"no regular expression ({str(error).rpartition(':')[2].strip()}).") from None
        return Text(pattern, regex=True)
    plain = re.sub(r'\\(")|"', r"\1", value)
    if not plain:
        raise QueryError(piece, "it says nothing to look for.")
    return Text(plain)


def _number(piece: str, value: str) -> Span:
    compared = _COMPARED.match(value)
    if compared is not None and compared[2].isdecimal():
        return _compared(compared[1], int(compared[2]))
    match = _NUMBER_SPAN.match(value)
    if match is None:
        raise QueryError(piece, f"{value} is no number; write 3, 0-3 or 0-3,7.")
    low = int(match[1])
    high = int(match[2]) if match[2] else low
    if high < low:
        raise QueryError(piece, f"{value} ends before it begins.")
    return Span(low, high)


def _number_or_text(piece: str, value: str) -> Value:
    return _number(piece, value) if _NUMBER_SPAN.match(value) else _text(piece, value)


def _duration(piece: str, value: str) -> Span:
    compared = _COMPARED.match(value)
    try:
        if compared is not None:
            return _compared(compared[1], parse_duration(compared[2]))
        first, dash, last = value.replace("..", "-").partition("-")
        if not dash:
            raise QueryError(piece, f"write >{value}, <{value} or a range such as 10us-1ms.")
        if first[-1:].isdecimal():  # 1-5ms
            first += last.lstrip("0123456789.")
        low, high = parse_duration(first), parse_duration(last)
    except UsageError as error:
        raise QueryError(piece, str(error)) from None
    if high < low:
        raise QueryError(piece, f"{value} ends before it begins.")
    return Span(low, high)


def _compared(sign: str, value: int) -> Span:
    value = min(value, _LARGEST - 1)
    if sign[0] == ">":
        return Span(value if sign == ">=" else value + 1, None)
    return Span(None, value if sign == "<=" else value - 1)


def _class(piece: str, value: str) -> Paint:
    found = _CLASSES.get(value.strip('"').lower())
    if found is None:
        raise QueryError(piece, f"{value} is no class; classes are {', '.join(p.name.lower() for p in Paint)}.")
    return found


_READERS: Final[dict[str, Callable[[str, str], Value]]] = {
    "name": _text,
    "rank": _number,
    "gpu": _number,
    "stream": _number,
    "thread": _number_or_text,
    "process": _number_or_text,
    "lane": _text,
    "class": _class,
    "cat": _text,
    "group": _text,
    "dur": _duration,
}
FIELDS: Final = tuple(_READERS)
"""The fields there are, for help and completion."""
