"""What on a job card contradicts itself, in words."""

from __future__ import annotations

from math import prod

from viewer.base.job_card import JobCard


def card_problems(card: JobCard) -> tuple[str, ...]:
    """Sentences without a full stop, the gravest first; () where nothing contradicts."""
    return (*_plan(card), *_model(card), *_hosts(card))


def _plan(card: JobCard) -> list[str]:
    plan, out = card.plan, []
    sizes = {name: getattr(plan, name) for name in ("tp", "cp", "dp", "pp")}
    known = {name: size for name, size in sizes.items() if size is not None}
    world, product = plan.world_size, prod(known.values())
    words = " x ".join(known)
    if world is not None and known:
        if len(known) == len(sizes) and product != world:
            out.append(f"{words} is {product:,}, but the world has {world:,} ranks")
        elif world % product:
            out.append(f"{words} is {product:,}, which does not divide the world's {world:,} ranks")
        elif plan.ep is not None and world % plan.ep:
            out.append(f"ep is {plan.ep:,}, which does not divide the world's {world:,} ranks")
    layers, pp = card.model.layers, plan.pp
    if layers is not None and pp is not None and layers < pp * (plan.vpp or 1):
        out.append(f"{layers:,} layers are too few for {pp:,} stages of {plan.vpp or 1} chunks")
    return out


def _model(card: JobCard) -> list[str]:
    model, out = card.model, []
    for name, words in (("active_parameters", "active"), ("trainable_parameters", "trainable")):
        part = getattr(model, name)
        if part is not None and model.parameters is not None and part > model.parameters:
            out.append(f"more parameters are {words} than there are")
    if model.experts is not None and model.experts_per_token is not None and model.experts_per_token > model.experts:
        out.append(f"a token is sent to {model.experts_per_token:,} experts of {model.experts:,}")
    if model.heads is not None and model.kv_heads is not None and model.heads % model.kv_heads:
        out.append(f"{model.heads:,} heads cannot share {model.kv_heads:,} KV heads evenly")
    return out


def _hosts(card: JobCard) -> list[str]:
    world, hosts = card.plan.world_size, card.hardware.hosts
    last = max((rank for _, ranks in hosts for rank in ranks), default=-1)
    if world is not None and last >= world:
        return [f"a host has rank {last:,}, but the world has {world:,} ranks"]
    return []
