"""What a call asks for, after its words were checked. Plain data that every command shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.base.job_card import EMPTY_CARD, JobCard

if TYPE_CHECKING:
    from viewer.base.clock import GivenClock


@dataclass(frozen=True, slots=True)
class JobOptions:
    """How the files of a call make a job.

    Attributes:
        given_ranks: rank by path as typed (``--rank FILE=N``).
        align: "auto", "base", "none", or a file with offsets.
        rules: a file with class rules that go before the shipped ones.
        given_clocks: what a person said of clocks, by absolute path; goes before ``align``.
        card: what a person said of the job; the traces fill in the rest.
    """

    given_ranks: dict[str, int] = field(default_factory=dict)
    align: str = "auto"
    rules: Path | None = None
    given_clocks: dict[str, GivenClock] = field(default_factory=dict)
    card: JobCard = EMPTY_CARD


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What ``rankscope render`` paints.

    Attributes:
        output: the picture; its suffix (png, svg, pdf) is the format.
        window: ns after the session's origin (its first GPU start), None for everything.
        size: logical pixels.
        scale: device pixels per logical pixel (png).
        notes: "T:text" or "T@lane:text" as typed; T counts from the origin.
        select: name of a slice to mark.
    """

    output: Path
    window: tuple[int, int] | None = None
    size: tuple[int, int] = (1600, 900)
    scale: int = 1
    theme: str = "light"
    title: str | None = None
    notes: tuple[str, ...] = ()
    select: str | None = None
