"""What the traces know of a job, filled into its card where no person said it; each value with where it came from."""

from __future__ import annotations

from math import prod
from typing import Final

from viewer.analyses.card_dtype import product_dtype
from viewer.analyses.collective.groups import JobGroups, job_groups, world_size
from viewer.analyses.fingerprint.model_flops import tokens_per_step
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.pipeline.figures import pipeline
from viewer.base.card_fields import LONGEST_TEXT
from viewer.base.ids import Paint
from viewer.base.job_card import CardValue, JobCard
from viewer.store.device_table import Device, find_device
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
    for fill in (_world, _plan, _dtype, _device, _hosts, _micro_batches):
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
    if world == 1:
        told |= {n: (1, "the job is one rank") for n in _SIZES if n not in told}
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
    told = _devices(session)
    if not told and card.hardware.gpu is not None:
        told = {("", None, None)}  # the traces do not tell, but a person did
    if len(told) != 1:
        return card  # none, or a job on several kinds of devices
    name, sms, memory = told.pop()
    found = find_device(card.hardware.gpu or name, sms if card.hardware.gpu is None else None, memory)
    if name and name.isprintable() and len(name) <= LONGEST_TEXT:
        card = _put(card, "hardware.gpu", name, "deviceProperties of the traces")
    card = _put(card, "hardware.memory_bytes", memory, "totalGlobalMem of the traces")
    return card if found is None else _with_table(card, found)


def _devices(session: Session) -> set[tuple[str, int | None, int | None]]:
    """(name, multiprocessors, bytes) of each kind of device that ran something. Sizes that nearly agree are one."""
    kinds: dict[tuple[str, int | None], list[int]] = {}
    for item in session.inputs:
        used, listed = set(gpu_work(item.trace).devices), item.trace.meta.devices
        # Where numbers are those of another namespace (a container's), all that are listed count.
        for device in [d for d in listed if d.id in used] or listed:
            sms, size = device.properties.get("numSms"), device.properties.get("totalGlobalMem")
            kind = kinds.setdefault((device.name, sms if isinstance(sms, int) else None), [])
            if isinstance(size, int) and 0 < size < 2**50:
                kind.append(size)
    return {(name, sms, min(sizes) if sizes else None) for (name, sms), sizes in kinds.items()}


def _with_table(card: JobCard, found: Device) -> JobCard:
    source = f"{found.name}: {found.source}"
    for name in ("memory_bytes", "memory_bytes_per_second", "link_bytes_per_second", "pcie_bytes_per_second"):
        card = _put(card, f"hardware.{name}", getattr(found, name), source)
    dtype = card.run.dtype
    return card if dtype is None else _put(card, "hardware.peak_flops", found.peak.get(dtype), f"{source}, {dtype}")


def _dtype(session: Session, card: JobCard) -> JobCard:
    if card.run.dtype is not None:
        return card
    found = session.memo("product dtype", lambda: product_dtype(session))
    return card if found is None else _put(card, "run.dtype", *found)


def _hosts(session: Session, card: JobCard) -> JobCard:
    """Which opened ranks run where, if each of their traces states a host; never from numbers of devices."""
    told: dict[str, list[int]] = {}
    for item in session.inputs:
        host = item.trace.meta.host
        if item.rank is None or item.conflict or not host or not host.isprintable() or len(host) > LONGEST_TEXT:
            return card
        if item.rank not in told.setdefault(host, []):
            told[host].append(item.rank)
    if not told or len({r for ranks in told.values() for r in ranks}) != sum(len(ranks) for ranks in told.values()):
        return card  # one rank on two hosts
    hosts = tuple((host, tuple(sorted(ranks))) for host, ranks in sorted(told.items()))
    return _put(card, "hardware.hosts", hosts, "host names that the traces state")


def _micro_batches(session: Session, card: JobCard) -> JobCard:
    """From the passes of the pipeline, only where the tokens of a step hang on it: telling passes apart takes long."""
    if tokens_per_step(card)[1] != "run.micro_batches" or (card.plan.pp or 1) < 2:
        return card
    found = pipeline(session.with_card(card))
    if isinstance(found, str) or not found.steps:
        return card
    count = max(line.micro_batches for line in found.usual().lines)
    return _put(card, "run.micro_batches", count or None, "passes of the pipeline")
