"""Which ranks sit in one machine, as far as the files or the job card state it. Never guessed from device ids."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analyses.collective.groups import JobGroup
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class Hosts:
    """Host per rank. ``stated`` says by whom: "files", "job card" or "" (nobody: then ``of`` is empty).

    ``by_count`` is True where the card only says how many ranks a host has: the launcher's order is assumed then.
    """

    of: dict[int, str]
    stated: str
    by_count: bool = False


def hosts(session: Session) -> Hosts:
    """The hosts of a job's ranks: of the card, else of the files. Built once per card."""
    return session.card_memo("hosts", lambda: _build(session))


def _build(session: Session) -> Hosts:
    card = session.card.hardware
    if card.hosts:
        stated = "job card" if session.card.source("hardware.hosts") is None else "files"
        return Hosts({rank: host for host, ranks in card.hosts for rank in ranks}, stated)
    named = {i.rank: i.trace.meta.host for i in session.inputs if i.rank is not None and i.trace.meta.host}
    if named:
        return Hosts({rank: str(host) for rank, host in named.items()}, "files")
    if card.gpus_per_host:
        ranks = {i.rank for i in session.inputs if i.rank is not None}
        sizes = [i.trace.meta.world_size or 0 for i in session.inputs]
        world = min(max([*sizes, *(r + 1 for r in ranks), 0]), 1 << 20)
        return Hosts({r: f"host {r // card.gpus_per_host}" for r in range(world)}, "job card", by_count=True)
    return Hosts({}, "")


def hosts_of_group(session: Session, group: JobGroup | None) -> int | None:
    """Over how many hosts a group reaches; None where that is not stated for all of its members."""
    if group is None or group.ranks is None:
        return None
    of = hosts(session).of
    if not all(rank in of for rank in group.ranks):
        return None
    return len({of[rank] for rank in group.ranks})
