"""Which clock the ranks of an opened job share: what their collectives tell, their base times, or a file's word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from viewer.base.clock import Clock
from viewer.base.errors import UsageError

if TYPE_CHECKING:
    from viewer.store.session import Session

CHOICES: Final = ("auto", "base", "none")
LARGEST_FILE: Final = 64 << 20
_FAR_NS: Final = 1 << 62


def settle_clocks(session: Session, choice: str) -> Session:
    """The session on the clocks that ``--align`` asks for.

    Args:
        session: as opened, on base times.
        choice: "auto" aligns by the collectives (ranks that share none stay on their base time), "base" and "none"
            leave it as it is, anything else is a file: a report of ``analyze --json``, or its ``clock`` part.

    Raises:
        UsageError: the file cannot be used.
    """
    if choice in ("base", "none"):
        return session
    if choice != "auto":
        return session.with_clocks(_given(session, Path(choice)), "given")
    from viewer.analyses.collective.alignment import align, clocks_of

    found = align(session)
    return session if found.reference is None else session.with_clocks(clocks_of(session, found), found.method)


def _given(session: Session, path: Path) -> list[Clock]:
    """Clocks by rank from a file; ranks that it does not name keep their base time."""
    told = _read(path)
    t0 = told.get("t0_ns")
    by_rank: dict[int, tuple[int, int]] = {}
    for row in told["ranks"]:
        rank, offset, drift = (row.get(k) for k in ("rank", "offset_ns", "drift_ppb"))
        if _whole(rank) and _whole(offset) and _whole(drift or 0):
            by_rank[rank] = offset, drift or 0
    if any(drift for _, drift in by_rank.values()) and not _whole(t0):
        raise UsageError(f"--align {path}: a drift needs t0_ns, the instant at which the offsets hold.")
    out = []
    for item in session.inputs:
        offset, drift = by_rank.get(item.rank, (0, 0)) if item.rank is not None else (0, 0)
        known = item.clock.known or item.rank in by_rank
        base = item.trace.meta.base_ns or 0 if known else item.clock.base_ns
        out.append(Clock(base, offset, drift, t0 or 0, known) if known else item.clock)
    return out


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _FAR_NS


def _read(path: Path) -> dict[str, Any]:
    import msgspec

    help_ = f'write one of {", ".join(CHOICES)}, or a file with {{"ranks": [{{"rank": 0, "offset_ns": 0}}, ..]}}'
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"--align {path}: the file is larger than {LARGEST_FILE >> 20} MiB.")
        data = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--align {path}: {(error.strerror or 'unreadable').lower()}; {help_}.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:120]
        raise UsageError(f"--align {path}: is no JSON ({reason}); {help_}.") from None
    if isinstance(data, dict) and isinstance(data.get("clock"), dict):
        data = data["clock"]
    rows = data.get("ranks") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f'--align {path}: has no list "ranks"; {help_}.')
    return data
