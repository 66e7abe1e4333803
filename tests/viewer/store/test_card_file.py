"""Job cards as TOML: written ones read back, what is wrong is one sentence with its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.card_fields import FIELDS, CardField, checked, unit_of
from viewer.base.errors import InputError, UsageError
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.store.card_file import (
    MAX_BYTES,
    card_from_plain,
    card_tables,
    card_text,
    card_to_plain,
    parse_card,
    read_card,
    write_card,
)

CARD = b"""\
[model]
name = "Llama"
parameters = "70B"
causal = true

[hardware]
memory_bytes = "80 GiB"
network_bytes_per_second = "400 Gb/s"

[hardware.hosts]
node1 = [0, 1]
"node 2" = [2, 3]
"""


def test_a_card_is_read_with_units() -> None:
    card = parse_card(CARD, "card.toml")
    assert (card.model.name, card.model.parameters, card.model.causal) == ("Llama", 70 * 10**9, True)
    assert (card.hardware.memory_bytes, card.hardware.network_bytes_per_second) == (80 * 2**30, 50 * 10**9)
    assert card.hardware.hosts == (("node1", (0, 1)), ("node 2", (2, 3)))
    assert card.filled == ()
    assert parse_card(b"\xef\xbb\xbf" + CARD, "card.toml") == card
    assert parse_card(b"", "card.toml") == EMPTY_CARD


@pytest.mark.parametrize(
    ("data", "where", "words"),
    [
        (b"[model]\nparamters = 1", "line 2", 'Did you mean "parameters"?'),
        (b"[run]\nlayers = 1", "line 2", "It belongs into [model]."),
        (b"parameters = 1", "line 1", "It belongs into [model]."),
        (b"[modell]\na = 1", "line 1", 'Did you mean "model"?'),
        (b"[model]\n\nparameters = '70 GB'", "line 3", 'model.parameters 70 GB: it has the unit "GB"'),
        (b"[plan]\nzero_stage = 4", "line 2", "must be 0 to 3"),
        (b"[hardware.hosts]\na = [0, 0]", "line 1", "names a rank twice"),
        (b"model = 3", "line 1", "must be a table"),
        (b"[model", "its end", "no TOML"),
        (b"[model]\na = 1\na = 2\n\n", "line 3", "no TOML"),
        (b"\xff", "byte 0", "no UTF-8"),
        (b"a = " + b"[" * 100_000, "", "nested too deeply"),
        (b"# " + b"." * 999 + b"\na" + b".a" * 100_000 + b" = 1", "line 2", "more than 64 dots"),
        (b"[model]\nlayers = " + b"9" * 10_000, "", "no TOML"),
        (b"[model]\nlayers = 1979-05-27", "line 2", "must be a number"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_place(data: bytes, where: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_card(data, "card.toml")
    sentence = str(caught.value)
    assert sentence.startswith(f"card.toml at {where}: " if where else "card.toml: ")
    assert words in sentence
    assert "\n" not in sentence
    assert len(sentence) < 800


def _values(field: CardField) -> st.SearchStrategy[object]:
    if unit_of(field) is not None:
        return st.integers(field.low, field.high)
    if field.kind == "choice":
        return st.sampled_from(field.choices)
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "order":
        return st.sampled_from(["tp-pp", "tp-cp-ep-dp-pp"])
    words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)
    if field.kind == "hosts":
        return st.dictionaries(words, st.just([]), max_size=3).map(
            lambda d: {name: [2 * i, 2 * i + 1] for i, name in enumerate(d)}
        )
    return words


@st.composite
def _cards(draw: st.DrawFn) -> JobCard:
    card = EMPTY_CARD
    for field in draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=12)):
        source = draw(st.sampled_from([None, None, "the traces"]))
        card = card.with_value(field.path, checked(field, draw(_values(field))), source)
    return card


@given(_cards())
def test_a_written_card_reads_back_as_what_a_person_said(card: JobCard) -> None:
    assert parse_card(card_text(card, "head").encode(), "card.toml") == card.stated()
    assert card_from_plain(card_to_plain(card), "session") == card.stated()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_card_or_an_error(data: bytes) -> None:
    try:
        found: JobCard | str = parse_card(b"[model]\n" + data, "card.toml")
    except InputError as error:
        found = str(error)
    assert isinstance(found, JobCard) or "\n" not in found


def test_long_lines_take_no_long_time() -> None:
    blank = b" " * 200_000
    with pytest.raises(InputError, match="no field"):
        parse_card(b"[model]\n" + blank + b"\n#" + blank + b"\nx = 1\n", "card.toml")
    assert parse_card(b"[model]\nname = 'a'" + blank, "card.toml").model.name == "a"


def test_what_was_filled_in_is_written_as_a_comment() -> None:
    text = card_text(EMPTY_CARD.with_value("plan.tp", 8, "size of\nthe groups"))
    assert text == "[plan]\n# tp = 8  (size of\\nthe groups)\n"


def test_a_session_keeps_what_it_does_not_know_and_drops_what_was_cleared() -> None:
    old = {"model": {"layers": 4, "flavour": "odd"}, "novel": {"x": 1}, "run": {"dtype": "bf16"}}
    assert card_from_plain(old, "a.rankscope", strict=False).model.layers == 4
    card = EMPTY_CARD.with_value("plan.tp", 2)
    assert card_tables(card, old) == {"plan": {"tp": 2}, "model": {"flavour": "odd"}, "novel": {"x": 1}}


def test_files_are_written_whole_and_bounded_on_reading(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    card = parse_card(CARD, "card.toml")
    write_card(path, card)
    assert read_card(path) == card
    assert [p.name for p in tmp_path.iterdir()] == ["card.toml"]
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    for wrong, words in ((path, "too large"), (tmp_path / "no", "does not exist"), (tmp_path, "cannot be read")):
        with pytest.raises(InputError, match=words):
            read_card(wrong)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="no regular file"):
        read_card(pipe)
    with pytest.raises(UsageError, match="cannot be written"):
        write_card(tmp_path / "no folder" / "card.toml", card)
