"""Where a picture comes from, in words: files, digests, ranks, window, clock, version. Exact and reproducible."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from viewer import __version__
from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.store.session import Input, RankGroup, Session
from viewer.views.text import one_line
from viewer.views.timeline.ticks import exact

FEW_FILES = 3


def provenance(session: Session, groups: Sequence[int], window: TimeRange) -> list[str]:
    """The parts of a picture's footer, in order.

    Args:
        session: the job.
        groups: ids of the rank groups that the picture shows.
        window: what it shows, session time.
    """
    shown = set(groups)
    members = [g for g in session.groups if g.id in shown]
    inputs = [session.inputs[i] for g in members for i in g.inputs]
    origin = session.origin_ns()
    parts = [*_files(inputs), _ranks(members, len(session.groups))] if inputs else ["no files"]
    since = "first GPU start" if any(i.trace.meta.gpu_first_ns is not None for i in session.inputs) else "first event"
    parts.append(f"window {exact(window.start_ns - origin)} to {exact(window.end_ns - origin)} after the {since}")
    parts.extend([_clock(session, members, inputs)] if inputs else [])
    parts.append(f"Rankscope {__version__}")
    return parts


def _clock(session: Session, members: Sequence[RankGroup], inputs: Sequence[Input]) -> str:
    words = clock_words(inputs, session.clock_method)
    if session.clock_method != "collectives" or any(not i.clock.known for i in inputs):
        return words
    from viewer.analyses.collective.alignment import align

    told = align(session).clocks
    doubts = [d for g in members if told[g.id].connected and (d := told[g.id].uncertainty_ns) is not None]
    apart = sum(not told[g.id].connected for g in members)
    if doubts and len(members) > 1:
        words += f" (± {format_duration(max(doubts), 1)})"
    return f"{words}, {apart} of {len(members)} ranks not aligned, on base times" if apart else words


def clock_words(inputs: Sequence[Input], method: str = "") -> str:
    """How the times of these files were brought together, as a few words; ``method`` is the session's."""
    unknown = sum(not i.clock.known for i in inputs)
    if unknown:
        return f"clock: unknown for {unknown} of {len(inputs)} files, moved to be seen"
    given = sum(i.clock.given for i in inputs)
    by_hand = f", {given} of {len(inputs)} offsets given" if given else ""
    if method == "collectives":
        drift = ", drift corrected" if any(i.clock.drift_ppb or i.clock.held for i in inputs) else ""
        return f"clock: aligned by collectives{drift}{by_hand}"
    stated = [i for i in inputs if i.trace.meta.base_ns is not None]
    if any(i.clock.base_ns != i.trace.meta.base_ns for i in stated):
        words = "base times not applied"
    elif len(stated) == len(inputs):
        words = "base times applied"
    elif stated:
        words = f"base times applied, {len(inputs) - len(stated)} of {len(inputs)} files state none"
    else:
        words = "times as written, no base times stated"
    if by_hand:
        drift = ", with drift" if any(i.clock.drift_ppb for i in inputs) else ""
        return f"clock: {words}{by_hand}{drift}"
    return f"clock: {words}, offsets corrected" if any(i.clock.offset_ns for i in inputs) else f"clock: {words}"


def rank_words(ranks: Sequence[int]) -> str:
    """``[0, 1, 2, 5]`` -> ``"0–2, 5"``."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs)


def _ranks(members: Sequence[RankGroup], total: int) -> str:
    ranks = [g.rank for g in members if g.rank is not None]
    unknown = len(members) - len(ranks)
    words = f"{'ranks' if len(set(ranks)) > 1 else 'rank'} {rank_words(ranks)}" if ranks else ""
    if unknown:
        words += f"{' and ' if words else ''}{unknown} of unknown rank"
    return f"{words} (of {total} groups)" if len(members) < total else words


def _files(inputs: Sequence[Input]) -> list[str]:
    if len(inputs) == 1:
        source = inputs[0].trace.meta.imported
        return [one_line(inputs[0].path.name), f"digest (head+tail) {source.digest[:8]}"]
    if len(inputs) <= FEW_FILES:
        names = [f"{one_line(i.path.name)} {i.trace.meta.imported.digest[:8]}" for i in inputs]
        return [*names, "digests: head+tail"]
    folder = os.path.commonpath([i.path.absolute().parent for i in inputs])
    joined = hashlib.sha256("\n".join(i.trace.meta.imported.digest for i in inputs).encode()).hexdigest()
    where = one_line(os.path.basename(folder)) or folder
    return [f"{len(inputs)} files in {where}", f"digest of all (head+tail) {joined[:8]}"]
