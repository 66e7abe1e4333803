"""Which clock the ranks of an opened job share: what their collectives tell, their base times, or a person's word."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from viewer.base.clock import FAR_PPB, Clock, GivenClock
from viewer.base.errors import InputError, UsageError, on_one_line
from viewer.store.small_file import read_small

if TYPE_CHECKING:
    from viewer.store.session import Session

CHOICES: Final = ("auto", "base", "none")
LARGEST_FILE: Final = 64 << 20
_FAR_NS: Final = 1 << 62
_BILLION: Final = 1_000_000_000
Given = Mapping[str, GivenClock]
"""What a person said, by absolute path of a file."""


def settle_clocks(session: Session, choice: str, given: Given | None = None) -> Session:
    """The session on the clocks that ``--align`` asks for.

    Args:
        session: as opened, on any clocks.
        choice: "auto" aligns by the collectives (ranks that share none stay on their base time), "base" adds base
            times, "none" adds nothing; anything else is a file: a report of ``analyze --json``, or its ``clock`` part.
        given: goes before that.

    Raises:
        UsageError: the file cannot be used.
    """
    clocks, method = clocks_for(session, choice)
    if given:
        for item in session.inputs:
            told = given.get(os.path.abspath(item.path))
            if told is not None:
                clocks[item.index] = told.upon(clocks[item.index], item.trace.meta.base_ns or 0)
    if method == session.clock_method and clocks == [i.clock for i in session.inputs]:
        return session
    return session.with_clocks(clocks, method)


def clocks_for(session: Session, choice: str) -> tuple[list[Clock], str]:
    """The clock of each input under a choice of :func:`settle_clocks`, and the method's name."""
    from viewer.store.session import clocks_as_written

    if choice == "none":
        return clocks_as_written(session.inputs, "none"), "none"
    based = clocks_as_written(session.inputs, "base")
    method = "base" if any(c.base_ns for c in based) else "none"
    if choice == "base":
        return based, method
    if choice != "auto":
        told = read_given(Path(choice))
        if not any(item.rank in told for item in session.inputs):
            raise UsageError(f"--align {choice}: gives no offset of a rank of this job, so that it moves nothing.")
        for item in session.inputs:
            if item.rank in told:
                clock = told[item.rank].upon(based[item.index], item.trace.meta.base_ns or 0)
                based[item.index] = clock
        return based, "given"
    if not needs_figures(session, choice):
        return based, method
    from viewer.analyses.ahead import FIRST, looking_ahead
    from viewer.analyses.collective.alignment import align, clocks_of

    with looking_ahead(session, makes=FIRST):
        found = align(session)
    return (based, method) if found.reference is None else (clocks_of(session, found), found.method)


def needs_figures(session: Session, choice: str) -> bool:
    """Whether the clocks have to be computed: one rank alone has nothing to be aligned with."""
    return choice == "auto" and len(session.groups) > 1


def read_given(path: Path) -> dict[int, GivenClock]:
    """Clocks by rank from a file: a report, its ``clock`` part, or ``{"ranks": [..]}``. Raises UsageError."""
    told = _read(path)
    t0 = told.get("t0_ns")
    by_rank: dict[int, GivenClock] = {}
    for row in told["ranks"]:
        rank, offset, drift = (row.get(k) for k in ("rank", "offset_ns", "drift_ppb"))
        if rank is None or offset is None:  # of a report: a file without a rank, or one whose clock is not known
            continue
        drift = drift or 0
        if not (_whole(rank) and _whole(offset) and _whole(drift) and abs(drift) <= FAR_PPB):
            said = on_one_line(f"rank {rank}, offset_ns {offset}, drift_ppb {drift}", 120)
            raise UsageError(
                f"--align {path}: {said}: they must be whole numbers, and a drift at most {FAR_PPB:,} ppb."
            )
        by_rank[rank] = GivenClock(offset, drift, t0 if _whole(t0) else 0)
    if any(clock.drift_ppb for clock in by_rank.values()) and not _whole(t0):
        raise UsageError(f"--align {path}: a drift needs t0_ns, the instant at which the offsets hold.")
    return by_rank


def clocks_text(session: Session) -> str:
    """The clocks in force as a file that :func:`read_given` reads: JSON, one row per rank, offsets at one t0."""
    ranked = [i for i in session.inputs if i.rank is not None and i.clock.known]
    t0 = next((i.clock.t0_ns for i in ranked if i.clock.drift_ppb), 0)
    rows: dict[int | None, dict[str, Any]] = {}
    for item in ranked:
        clock = item.clock
        offset = clock.offset_ns
        if clock.drift_ppb:
            offset += round(clock.drift_ppb * (t0 - clock.t0_ns) / _BILLION)
        rows.setdefault(item.rank, {"rank": item.rank, "offset_ns": offset, "drift_ppb": clock.drift_ppb})
    told = {"method": session.clock_method, "t0_ns": t0, "ranks": [rows[r] for r in sorted(rows, key=lambda r: r or 0)]}
    return json.dumps(told, indent=1) + "\n"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _FAR_NS


def _read(path: Path) -> dict[str, Any]:
    import msgspec

    help_ = f'write one of {", ".join(CHOICES)}, or a file with {{"ranks": [{{"rank": 0, "offset_ns": 0}}, ..]}}'
    try:
        data = msgspec.json.decode(read_small(path, LARGEST_FILE, "a file of offsets (JSON)"))
    except InputError as error:
        raise UsageError(f"--align {path}: {error.problem}; {help_}.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:120]
        raise UsageError(f"--align {path}: is no JSON ({reason}); {help_}.") from None
    if isinstance(data, dict) and isinstance(data.get("clock"), dict):
        data = data["clock"]
    rows = data.get("ranks") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f'--align {path}: has no list "ranks"; {help_}.')
    return data
