"""Models with a published shape, to fill the model's part of a job card."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib import resources

from viewer.base.job_card import JobCard, ModelCard
from viewer.store.card_file import card_from_plain


@cache
def templates() -> tuple[tuple[str, ModelCard, str], ...]:
    """(name, the model, its source) of each template, in the order of the file. Read once."""
    text = (resources.files("resources") / "cards" / "models.toml").read_text(encoding="utf-8")
    out = []
    for name, table in tomllib.loads(text).items():
        source = table.pop("source")
        out.append((name, card_from_plain({"model": {"name": name, **table}}, "models.toml").model, source))
    return tuple(out)


def with_model(card: JobCard, model: ModelCard) -> JobCard:
    """What a person said on a card, with another model."""
    return replace(card.stated(), model=model)
