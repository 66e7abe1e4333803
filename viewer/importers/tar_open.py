"""Opening the members of a compressed tar: from the cache when all are there, else in one pass over the archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from viewer.base.errors import InputError
from viewer.base.work import CancelToken, Progress, ProgressSink
from viewer.importers.archive import member_stamp
from viewer.importers.discover import Candidate
from viewer.importers.single import SourceOpener
from viewer.importers.source import explain_os_error
from viewer.importers.tar_stream import TarStream
from viewer.store.cache import Cache, stamp_of
from viewer.store.meta import SourceStamp
from viewer.store.trace import Trace

STEP: Final = "Copy the archive again; what came before the damage is open."
Found = tuple[Path, Trace | InputError]


class _Noted(msgspec.Struct):
    """A member that was met in a whole pass; ``problem`` is empty when it is a trace."""

    name: str
    size: int
    problem: str = ""


def open_stream(
    candidate: Candidate, cache: Cache, sources: SourceOpener, progress: ProgressSink, token: CancelToken
) -> Iterator[Found]:
    """Each member that may be a trace, with the trace or why it is none.

    Raises:
        InputError: the archive cannot be read to its end.
        Cancelled: on request.
    """
    archive = candidate.inside or candidate.path
    only = candidate.only or None
    try:
        stamp = stamp_of(archive)
        noted = _all_cached(archive, stamp, cache, sources, only)
        if noted is not None:
            yield from noted
            return
        yield from _pass(archive, stamp, cache, sources, progress, token, only)
    except OSError as error:
        raise explain_os_error(archive, error) from None


def _all_cached(
    archive: Path, stamp: SourceStamp, cache: Cache, sources: SourceOpener, only: tuple[Path, ...] | None
) -> list[Found] | None:
    """All members from the cache; None when one is missing there, or the archive was never read in whole."""
    data = cache.note(stamp)
    try:
        noted = msgspec.json.decode(data or b"", type=list[_Noted])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    found: list[Found] = []
    for member in noted:
        path = archive / member.name
        if only is not None and not any(path.is_relative_to(o) for o in only):
            continue
        if member.problem:
            found.append((path, InputError(str(path), member.problem)))
            continue
        trace = sources.mapped(member_stamp(stamp, member.name, member.size, ""))
        if trace is None:
            return None
        found.append((path, trace))
    return found


def _pass(
    archive: Path,
    stamp: SourceStamp,
    cache: Cache,
    sources: SourceOpener,
    progress: ProgressSink,
    token: CancelToken,
    only: tuple[Path, ...] | None,
) -> Iterator[Found]:
    stream = TarStream(archive, stamp)
    noted: list[_Noted] = []
    events = 0

    def tell(state: Progress) -> None:
        # One row for the archive: its bytes are what there is to wait for.
        stage = "read" if state.stage == "done" else state.stage
        progress(
            replace(
                state,
                path=str(archive),
                stage=stage,
                done_bytes=min(stream.position, max(0, stamp.size - 1)),
                total_bytes=stamp.size,
                events=events + state.events,
            )
        )

    try:
        for member in stream.members():
            token.check()
            if only is not None and not any(member.path.is_relative_to(o) for o in only):
                continue
            note = _Noted(str(member.path.relative_to(archive)), member.size)
            try:
                trace = sources.open(member, only is not None and member.path in only, tell, token)
                events += trace.meta.events
                yield member.path, trace
            except InputError as error:
                note.problem = error.problem
                yield member.path, error
            noted.append(note)
    except (EOFError, ValueError) as error:
        at = f"byte {stream.position}"
        raise InputError(str(archive), f"is an archive that is damaged: {error}", at, STEP) from None
    finally:
        stream.close()
    if only is None:
        cache.keep_note(stamp, msgspec.json.encode(noted))
    if not noted:
        problem = "is an archive that holds no trace" if only is None else "is not in the archive"
        raise InputError(str(only[0] if only else archive), problem, "", "Give an archive of what the profiler wrote.")
