"""The job card's form: what is typed reads back, what is wrong is said, what was filled in is marked."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.viewer.store.test_card_file import _cards as cards
from viewer.analyses.fingerprint.model_flops import model_flops
from viewer.base.card_fields import BY_PATH, FIELDS
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.store.card_templates import templates, with_model
from viewer.views.job_card import card_parts, card_sentence, text_of, value_of


@given(cards())
def test_what_is_shown_is_what_can_be_typed(card: JobCard) -> None:
    for field in FIELDS:
        value = card.value(field.path)
        separators = any(c in name for name, _ in value for c in ":;") if isinstance(value, tuple) else False
        if not separators and not (isinstance(value, str) and value.strip() != value):
            assert value_of(field, text_of(field, value)) == value


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("model.parameters", " 8.03B ", 8_030_000_000),
        ("model.causal", "Yes", True),
        ("hardware.memory_bytes", "80 GiB", 80 * 2**30),
        ("hardware.hosts", "n1: 0-2, 7; n2:3", (("n1", (0, 1, 2, 7)), ("n2", (3,)))),
        ("hardware.hosts", "", ()),
        ("plan.tp", "", None),
    ],
)
def test_typed_values(path: str, text: str, value: object) -> None:
    assert value_of(BY_PATH[path], text) == value


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("plan.tp", "eight", "no number"),
        ("model.causal", "maybe", "yes or no"),
        ("hardware.hosts", "0-3", "name each host once"),
        ("hardware.hosts", "a: 0; a: 1", "name each host once"),
        ("hardware.hosts", "a: 3-1", "none"),
        ("hardware.hosts", "a: 0-9999999", "none"),
        ("hardware.hosts", "a: x", "no rank"),
        ("hardware.hosts", "a: 0; b: 0", "twice"),
        ("model.name", "x" * 200_000, "too long"),
    ],
)
def test_what_is_wrong_is_said(path: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        value_of(BY_PATH[path], text)


def test_what_was_filled_in_is_marked_with_its_source() -> None:
    card = EMPTY_CARD.with_value("plan.tp", 8, "size of the groups").with_value("plan.dp", 2)
    card = card.with_value("hardware.peak_flops", 989_400_000_000_000, "NVIDIA H100 SXM: NVIDIA H100 datasheet, bf16")
    rows = {r.field.path: r for part in card_parts(card) for r in part.rows}
    assert (rows["plan.tp"].text, rows["plan.tp"].filled) == ("", "8  ·  from the traces")
    assert "size of the groups" in rows["plan.tp"].tip
    assert (rows["plan.dp"].text, rows["plan.dp"].filled) == ("2", "")
    assert rows["hardware.peak_flops"].filled == "989.4 TFLOPS  ·  from its datasheet"
    assert '"989 TFLOPS"' in rows["hardware.peak_flops"].tip


def test_the_sentence_names_the_one_field_that_mfu_lacks() -> None:
    assert card_sentence(EMPTY_CARD)[1] == "model.parameters"
    assert (
        card_sentence(EMPTY_CARD)[0]
        == "MFU of training needs model.parameters: all parameters of the model, over all ranks."
    )


def test_an_empty_field_shows_how_it_is_written_and_that_can_be_read() -> None:
    rows = {row.field.path: row for part in card_parts(EMPTY_CARD) for row in part.rows}
    assert rows["model.parameters"].example == "as in 70B"
    assert rows["hardware.link_bytes_per_second"].example == "as in 900 GB/s"
    assert rows["plan.tp"].example == ""
    for row in rows.values():
        if row.example:
            assert value_of(row.field, row.example.removeprefix("as in ")) is not None


def test_what_contradicts_itself_goes_first() -> None:
    wrong = EMPTY_CARD.with_value("plan.world_size", 8).with_value("plan.tp", 3)
    assert card_sentence(wrong) == ("This cannot be: tp is 3, which does not divide the world's 8 ranks.", "")


def test_templates_are_whole_cards_of_a_model() -> None:
    names = [name for name, _, _ in templates()]
    assert {"Llama 3 8B", "Llama 3 70B", "GPT-3 175B", "Mixtral 8x7B"} <= set(names)
    said = EMPTY_CARD.with_value("run.tokens_per_step", 1_000).with_value("plan.tp", 2, "groups")
    for name, model, source in templates():
        card = with_model(said, model)
        assert (card.model.name, card.run.tokens_per_step, card.filled) == (name, 1_000, ())
        assert source
        assert model_flops(card).flops is not None
        assert model.layers is not None
        assert model.hidden is not None
        # Attention and feed-forward weights of all layers stay below all parameters.
        assert model.layers * 4 * model.hidden**2 < 6 * (model.parameters or 0)
