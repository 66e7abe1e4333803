"""The card in the help page is one that can be read, and names what the table of fields has."""

from __future__ import annotations

from importlib.resources import files

from viewer.store.card_file import parse_card


def test_the_card_of_the_help_page_is_read() -> None:
    text = (files("resources") / "help" / "job_card.md").read_text(encoding="utf-8")
    card = parse_card("\n".join(line for line in text.splitlines() if line.startswith("    ")).encode(), "page")
    assert (card.model.parameters, card.run.schedule, card.hardware.gpu) == (
        70 * 10**9,
        "1f1b",
        "NVIDIA H100 80GB HBM3",
    )
    assert card.hardware.hosts == (("node1", (0, 1, 2, 3)),)
    assert card.baseline.nccl_tests == "all_reduce.log"
