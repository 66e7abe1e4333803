"""Which ranks do the same work: members of one pipeline stage, or of the job where no stages are known."""

from __future__ import annotations

import numpy as np

from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import NEEDS_ALL
from viewer.analyses.collective.matching import nodes
from viewer.analyses.collective.operations import operations
from viewer.store.session import Session


def roles(session: Session) -> dict[int, int]:
    """A number per RankGroup id, equal for ranks of one role. Built once.

    Ranks that reduce or gather together in a group smaller than the job do the same work (data, tensor, expert or
    context parallel: one pipeline stage); so do all ranks of a job that has no such group, use the same kinds of
    operations and are at the same place of their pipelines, where groups say that they are some.
    """
    return session.memo("roles", lambda: _build(session))


def _build(session: Session) -> dict[int, int]:
    node_of = nodes(session)
    parent = {g.id: g.id for g in session.groups}

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    groups = job_groups(session)
    opened = {int(n) for n in node_of if n >= 0}
    kinds: dict[int, set[int]] = {}
    for item in session.inputs:
        table = operations(item.trace)
        local = groups.of_local[item.index][table.group]
        for number in np.unique(local[local >= 0]).tolist():
            kinds.setdefault(number, set()).update(np.unique(table.kind[local == number]).tolist())
    joined = False
    for group in groups.groups:
        members = sorted({int(node_of[i]) for i in group.members if node_of[i] >= 0})
        reduces = bool(kinds.get(group.id, set()) & {int(k) for k in NEEDS_ALL})
        whole = group.purpose == "world" or (len(members) == len(opened) and len(opened) > 1)
        if reduces and not whole and group.purpose != "pp":
            for m in members[1:]:
                parent[max(root(members[0]), root(m))] = min(root(members[0]), root(m))
                joined = True
    if joined:
        return {i: root(i) for i in parent}
    stage = {r: at for g in groups.groups if g.purpose == "pp" and g.ranks for at, r in enumerate(g.ranks)}
    signatures: dict[tuple[int, ...], int] = {}
    out = {}
    for rank in session.groups:
        used = [np.bincount(operations(session.inputs[i].trace).kind, minlength=16) for i in rank.inputs]
        shape = tuple((np.sum(used, axis=0) > 0).tolist()) if used else ()
        shape += (-1 if rank.rank is None else stage.get(rank.rank, -1),)
        out[rank.id] = signatures.setdefault(shape, rank.id)
    return out
