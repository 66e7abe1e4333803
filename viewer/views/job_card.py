"""The Job card panel: what stands in each field, and what a person typed into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from viewer.analyses.fingerprint.mfu import missing_field
from viewer.base.card_checks import card_problems
from viewer.base.card_fields import BY_PATH, FIELDS, MOST_RANKS, PARTS, CardField, checked, unit_of
from viewer.base.job_card import CardValue, JobCard
from viewer.base.quantities import EXAMPLES, quantity_text, quantity_words
from viewer.store.device_table import devices

LARGEST_TEXT: Final = 100_000
WRITTEN: Final = {"order": "as in tp-cp-ep-dp-pp", "hosts": "as in node1: 0-3; node2: 4-7"}
"""How fields of a kind are written."""
_SPAN: Final = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?\Z")


@dataclass(frozen=True, slots=True)
class CardRow:
    """One field: its text as a person said it ("" for nothing said), and what was filled in instead.

    ``filled`` is that value with a word on its source, "" for none; ``tip`` explains field, unit and source;
    ``example`` shows how a value is written, "" where any number or word will do.
    """

    field: CardField
    text: str
    filled: str
    tip: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class CardPart:
    """A part of the card with its rows."""

    title: str
    rows: tuple[CardRow, ...]


def card_parts(card: JobCard) -> tuple[CardPart, ...]:
    """All fields of a card."""
    return tuple(
        CardPart(title, tuple(_row(card, field) for field in FIELDS if field.part == part)) for part, title in PARTS
    )


def card_sentence(card: JobCard) -> tuple[str, str]:
    """(what contradicts or is missing, "part.field" of what is missing); ("...", "") where MFU lacks nothing."""
    problems = card_problems(card)
    if problems:
        return f"This cannot be: {'; '.join(problems)}.", ""
    missing = missing_field(card)
    if not missing:
        return "MFU can be computed with what is here.", ""
    field = BY_PATH[missing]
    return f"MFU of training needs {missing}: {field.help[:1].lower()}{field.help[1:]}", missing


def _row(card: JobCard, field: CardField) -> CardRow:
    value, source = card.value(field.path), card.source(field.path)
    said = value if source is None else None
    filled = "" if source is None else f"{words_of(field, value)}  ·  {_kind_of(source)}"
    lines = [field.help]
    unit, example = unit_of(field), WRITTEN.get(field.kind, "")
    if unit is not None and unit != "count":
        lines.append(f"Write it with its unit, as in {EXAMPLES[unit]}.")
    elif unit == "count" and field.high > 10**9:
        lines.append(f"Write it as in {EXAMPLES[unit]}.")
    if unit is not None and (unit != "count" or "parameters" in field.name):
        example = f"as in {EXAMPLES[unit].partition(' or ')[0].strip(chr(34))}"
    if source is not None:
        lines += ["", f"Filled in from: {source}. What you write here goes before it."]
    return CardRow(field, text_of(field, said), filled, "\n".join(lines), example)


def _kind_of(source: str) -> str:
    return "from its datasheet" if re.search("datasheet|whitepaper", source) else "from the traces"


def words_of(field: CardField, value: CardValue) -> str:
    """A value for reading."""
    unit = unit_of(field)
    if unit is not None and isinstance(value, int):
        return quantity_words(value, unit)
    return text_of(field, value)


def suggestions(field: CardField) -> tuple[str, ...]:
    """What can be typed into a field of text, where that is known."""
    return tuple(d.name for d in devices()) if field.path == "hardware.gpu" else ()


def text_of(field: CardField, value: CardValue) -> str:
    """A value as it is typed; "" for none. :func:`value_of` reads it back."""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "; ".join(f"{name}: {_ranks_text(ranks)}" for name, ranks in value)
    unit = unit_of(field)
    if unit is not None and isinstance(value, int):
        return str(value) if unit == "count" and value < 10_000 else quantity_text(value, unit)
    return str(value)


def value_of(field: CardField, text: str) -> CardValue:
    """What a person typed, as the card keeps it; None for nothing.

    Raises:
        ValueError: it is no value of this field; the message is a part of a sentence.
    """
    typed = text.strip()
    if not typed:
        return () if field.kind == "hosts" else None
    if len(typed) > LARGEST_TEXT:
        raise ValueError("is too long")
    if field.kind == "bool":
        if typed.lower() not in ("yes", "no", "true", "false"):
            raise ValueError("must be yes or no")
        return typed.lower() in ("yes", "true")
    return checked(field, _hosts(typed) if field.kind == "hosts" else typed)


def _ranks_text(ranks: tuple[int, ...]) -> str:
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _hosts(text: str) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        name, colon, ranks = part.rpartition(":")
        if not colon or not name.strip() or name.strip() in out:
            raise ValueError("must name each host once with its ranks, as in node1: 0-3; node2: 4-7")
        out[name.strip()] = _ranks(ranks)
    return out


def _ranks(text: str) -> list[int]:
    out: list[int] = []
    for span in text.split(","):
        match = _SPAN.match(span.strip())
        if match is None:
            raise ValueError(f'has "{span.strip()[:40]}", which is no rank and no span of ranks such as 0-3')
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= MOST_RANKS:
            raise ValueError(f'has the span "{span.strip()[:40]}", which is none')
        out += range(first, last + 1)
    return out
