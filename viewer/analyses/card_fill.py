"""What the traces know of a job, filled into its card where no person said it; each value with where it came from."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from viewer.analyses.collective.groups import JobGroups, job_groups, world_size
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint
from viewer.base.job_card import CardValue, JobCard
from viewer.store.session import Session

_SIZES: Final = ("tp", "cp", "dp", "pp", "ep")
_FACTORS: Final = ("tp", "cp", "dp", "pp")
"""Dimensions whose product is the world; experts share ranks with the others."""


def with_filled_card(session: Session, stated: JobCard) -> Session:
    """The session with what a person said of the job, and what the traces tell beyond that."""
    return session.with_card(filled_card(session, stated.stated()))


def filled_card(session: Session, stated: JobCard) -> JobCard:
    """The card with all that the traces tell filled in; what a person said stays."""
    card = stated
    for fill in (_world, _plan, _device):
        card = fill(session, card)
    return card


def _put(card: JobCard, path: str, value: CardValue, source: str) -> JobCard:
    return card if value is None or card.value(path) not in (None, ()) else card.with_value(path, value, source)


def _world(session: Session, card: JobCard) -> JobCard:
    size = world_size(session)
    if size is not None and size > 0:
        return _put(card, "plan.world_size", size, "distributedInfo of the traces")
    sizes = [card.value(f"plan.{name}") for name in _FACTORS]
    whole = [s for s in sizes if isinstance(s, int)]
    if len(whole) == len(_FACTORS):
        return _put(card, "plan.world_size", prod(whole), "tp x cp x dp x pp of the card")
    if len(session.inputs) == 1:
        work = gpu_work(session.inputs[0].trace)
        if len(work) and len(work.devices) == 1 and not (work.paint == Paint.COMM).any():
            return _put(card, "plan.world_size", 1, "the only trace has one GPU and no communication")
    return card


def _plan(session: Session, card: JobCard) -> JobCard:
    world = card.plan.world_size
    told = group_sizes(job_groups(session))
    known: dict[str, int] = {}
    for name in _FACTORS:
        value = card.value(f"plan.{name}")
        if isinstance(value, int):
            known[name] = value
    if world is not None:
        trial = known | {n: s for n, (s, _) in told.items() if n in _FACTORS and n not in known}
        if world % prod(trial.values()):
            return card  # the groups do not mean what their names say
        if len(trial) == len(_FACTORS) - 1:
            last = next(n for n in _FACTORS if n not in trial)
            told[last] = world // prod(trial.values()), "what remains of the world size"
        elif prod(trial.values()) == world and (known or told):
            told |= {n: (1, "the other dimensions are the whole world") for n in _FACTORS if n not in trial}
    for name in _SIZES:
        if name in told:
            card = _put(card, f"plan.{name}", *told[name])
    return card


def group_sizes(found: JobGroups) -> dict[str, tuple[int, str]]:
    """Per dimension the size that its groups agree on, and which groups said so.

    Only groups that a description or a name calls by a dimension count: who only sends and receives may be any pair.
    """
    sizes: dict[str, dict[int, str]] = {}
    for group in found.groups:
        if group.purpose in _SIZES and group.purpose_source == "description" and group.size:
            sizes.setdefault(group.purpose, {}).setdefault(group.size, group.description or group.name)
    return {
        purpose: (size, f'size of the groups "{name[:80]}"')
        for purpose, by_size in sizes.items()
        if len(by_size) == 1
        for size, name in by_size.items()
    }


def _device(session: Session, card: JobCard) -> JobCard:
    names = {group.gpu for group in session.groups}
    if len(names) != 1 or None in names:
        return card
    card = _put(card, "hardware.gpu", names.pop(), "deviceProperties of the traces")
    sizes = set()
    for item in session.inputs:
        used = np.unique(gpu_work(item.trace).device)
        for device in item.trace.meta.devices:
            size = device.properties.get("totalGlobalMem")
            if device.id in used and isinstance(size, int) and 0 < size < 2**50:
                sizes.add(size)
    if sizes:
        card = _put(card, "hardware.memory_bytes", min(sizes), "totalGlobalMem of the traces")
    return card
