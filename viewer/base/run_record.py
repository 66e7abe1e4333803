"""What is kept of one run of a load: its figures, and what it ran on. Plain data."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

RUN_SCHEMA: Final = "rankscope.run/1"
ACCEPT_SCHEMA: Final = "rankscope.accept/1"
KINDS: Final = ("training step", "prefill", "decode", "other")
LARGEST: Final = 1e100
"""No figure is larger; sums and squares of what is smaller stay finite."""
Better = Literal["lower", "higher"]
Amount = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class RunFigure(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure of a run.

    ``value`` is in ``unit``; ``samples`` are its values per step where it has them (at most 1,000). ``gate`` says
    whether a change of it fails a check; others are shown. ``least`` is the smallest relative change that counts.
    """

    value: Amount
    unit: str
    better: Better = "lower"
    gate: bool = False
    least: Amount = 0.01
    samples: list[Amount] = []
    how: str = ""


class Commit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of the sources. ``dirty``: files were changed since that commit."""

    sha: str
    branch: str = ""
    subject: str = ""
    dirty: bool = False


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a figure was judged to be when the run was checked; see ``viewer.analyses.gate.judge.Judgement``."""

    verdict: str
    baseline: Amount | None = None
    low: Amount | None = None
    high: Amount | None = None
    change: Amount | None = None
    runs: int = 0
    agreeing: int = 0
    suspect: bool = False


class RunRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run. ``id`` is unique in a store and sorts by time; ``time`` is UTC, ISO 8601, microseconds.

    Runs are compared when ``load``, ``machine``, ``gpu`` and ``world_size`` are equal. ``trace`` is the name of
    the kept pack, or "".
    """

    schema: str
    id: str
    time: str
    load: str
    figures: dict[str, RunFigure]
    kind: str = "other"
    machine: str = ""
    gpu: str = ""
    world_size: int | None = None
    environment: dict[str, str] = {}
    commit: Commit | None = None
    trace: str = ""
    verdict: str = ""
    judged: dict[str, Judged] = {}
    note: str = ""

    @property
    def place(self) -> tuple[str, str, str, int | None]:
        """What must be equal for two runs to be compared."""
        return self.load, self.machine, self.gpu, self.world_size


class Accepted(msgspec.Struct, frozen=True):
    """A person's word that the level since a run is as it should be: the baseline begins with it."""

    schema: str
    run: str
    time: str
    reason: str
