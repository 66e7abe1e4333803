"""The process groups of a job: which traces mean the same one, who its members are, what it is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.group_split import split
from viewer.analyses.collective.group_use import use_of
from viewer.analyses.collective.kinds import POINT_TO_POINT
from viewer.analyses.collective.operations import LocalGroup, Operations, operations
from viewer.store.meta import ProcessGroup
from viewer.store.session import Input, Session

I32 = NDArray[np.int32]

_PURPOSES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), purpose)
    for pattern, purpose in (
        (r"expert|(^|[^a-z])e(p|tp|dp)([^a-z]|$)|moe", "ep"),
        (r"context|(^|[^a-z])cp([^a-z]|$)|ulysses|ring_?attn|sequence_parallel|(^|[^a-z])sp([^a-z]|$)", "cp"),
        (r"pipeline|(^|[^a-z])pp([^a-z]|$)", "pp"),
        (r"data_?parallel|(^|[^a-z])(dp|ddp|fsdp|hsdp)([^a-z]|$)|shard|replicate", "dp"),
        (r"tensor|model_?parallel|(^|[^a-z])(tp|mp)([^a-z]|$)", "tp"),
        (r"default_pg|world", "world"),
    )
)
"""What names and descriptions of groups say, in this order: a data-parallel group of experts is one of ep."""


_Users = list[tuple[int, int, LocalGroup, tuple[int, ...] | None, str]]
"""(input, number of its local group, what it states, ranks, from what) of those that use a group of the job."""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """One process group of the job.

    ``ranks`` ascend; None where no trace tells them. ``purpose`` is "dp", "tp", "pp", "ep", "cp", "world" or "" and
    ``purpose_source`` says from what ("description", "operations", "ranks"). ``members`` are the inputs that used it.
    """

    id: int
    name: str
    description: str
    size: int | None
    ranks: tuple[int, ...] | None
    ranks_source: str
    purpose: str
    purpose_source: str
    members: tuple[int, ...]

    @property
    def label(self) -> str:
        """Text for people: purpose or description, and the ranks or the size."""
        what = self.purpose or self.description or (f"group {self.name}" if self.name else "group")
        if self.ranks is not None and len(self.ranks) <= 8:
            return f"{what} [{', '.join(map(str, self.ranks))}]"
        return what if self.size is None else f"{what} of {self.size:,}"


@dataclass(frozen=True, eq=False)
class JobGroups:
    """The groups, and per input the job's group of each of its local groups (the last entry, for -1, is -1)."""

    groups: tuple[JobGroup, ...]
    of_local: tuple[I32, ...]


def job_groups(session: Session) -> JobGroups:
    """The process groups that the traces of a job used for GPU work. Does not depend on clocks."""
    return session.memo("job_groups", lambda: _build(session))


def _build(session: Session) -> JobGroups:
    world = world_size(session)
    numbers: dict[tuple[object, ...], int] = {}
    found: list[_Users] = []
    of_local: list[I32] = []
    for item in session.inputs:
        table = operations(item.trace)
        keys = _unnamed_keys(table)
        mapping = np.full(len(table.groups) + 1, -1, np.int32)
        for i, local in enumerate(table.groups):
            ranks, source = members_of(local, item, world)
            key: tuple[object, ...]
            if local.name or local.description:
                key = (local.name, local.description, ranks if ranks is not None else local.size)
            else:
                key = (ranks if ranks is not None else local.size, keys[i])
            number = numbers.setdefault(key, len(numbers))
            if number == len(found):
                found.append([])
            found[number].append((item.index, i, local, ranks, source))
            mapping[i] = number
        of_local.append(mapping)
    _tell_apart(session, found, of_local)
    groups = []
    for number, users in enumerate(found):
        _, _, local, ranks, source = users[0]
        ops = [(operations(session.inputs[i].trace), j) for i, j, *_ in users]
        purpose, from_what = _purpose(local, ranks, world, ops)
        if not purpose and size_of(local, ranks) != world:
            index, mine = users[0][:2]
            purpose = use_of(session.inputs[index].trace, mine)
            from_what = "operations" if purpose else ""
        groups.append(
            JobGroup(
                number,
                local.name,
                local.description,
                size_of(local, ranks),
                ranks,
                source,
                purpose,
                from_what,
                tuple(dict.fromkeys(i for i, *_ in users)),
            )
        )
    return JobGroups(tuple(groups), tuple(of_local))


def size_of(local: LocalGroup, ranks: tuple[int, ...] | None) -> int | None:
    """Members of a group, None where nothing tells."""
    return local.size if local.size is not None else (len(ranks) if ranks is not None else None)


def _tell_apart(session: Session, found: list[_Users], of_local: list[I32]) -> None:
    """Groups that more ranks use than they have members are several: split them, or leave their operations alone."""
    for number in range(len(found)):
        users = found[number]
        local = users[0][2]
        size, ranks = local.size, users[0][3]
        if ranks is not None or size is None or len({session.group_of(i).id for i, *_ in users}) <= size:
            continue
        known = [(session.inputs[i].rank, i, j) for i, j, *_ in users]
        told = None
        if all(rank is not None for rank, _, _ in known):
            told = split([(int(r or 0), operations(session.inputs[i].trace), j) for r, i, j in known], size)
        parts: dict[int, _Users] = {}
        for (rank, i, j), user in zip(known, users, strict=True):
            if told is None:
                of_local[i][j] = -1
            else:
                parts.setdefault(told[int(rank or 0)], []).append(user)
        for k, part in enumerate(parts.values()):
            at = number if k == 0 else len(found)
            if k:
                found.append(part)
            else:
                found[number] = part
            for i, j, *_ in part:
                of_local[i][j] = at


def world_size(session: Session) -> int | None:
    """The world size that the files state; None when none does or they disagree."""
    sizes = {i.trace.meta.world_size for i in session.inputs if i.trace.meta.world_size is not None}
    return sizes.pop() if len(sizes) == 1 else None


def members_of(local: LocalGroup, item: Input, world: int | None) -> tuple[tuple[int, ...] | None, str]:
    """The ranks of a group as one trace tells them, and from what.

    The list at the operations; where it was cut that of the file's head, all ranks when the group is as large as the
    world, or the profiler's first rank and stride.
    """
    size = local.size
    if local.ranks and not local.cut and size in (None, len(local.ranks)):
        return tuple(sorted(local.ranks)), "listed"
    listed = _in_head(local, item.trace.meta.groups)
    if listed is not None:
        return listed, "head of the file"
    if size is None or size < 1:
        return None, ""
    if world is not None and size == world:
        return tuple(range(world)), "as large as the world"
    if local.first is not None and local.stride is not None and local.stride > 0 and local.first >= 0:
        ranks = tuple(range(local.first, local.first + size * local.stride, local.stride))
        # The profiler writes 0 and 1 for groups that are no such row: believed where it fits the rest.
        fits = ranks[: len(local.ranks)] == tuple(sorted(local.ranks)) and (world is None or ranks[-1] < world)
        if fits and (item.rank is None or item.rank in ranks):
            return ranks, "first rank and stride"
    return None, ""


def _in_head(local: LocalGroup, listed: list[ProcessGroup]) -> tuple[int, ...] | None:
    for group in listed:
        same = bool(local.name) and group.name == local.name
        if same and group.ranks_complete and group.ranks and local.size in (None, len(group.ranks)):
            ranks = tuple(sorted(group.ranks))
            if set(local.ranks) <= set(ranks):
                return ranks
    return None


def _unnamed_keys(table: Operations) -> dict[int, tuple[object, ...]]:
    """What tells the groups without a name apart, alike on every rank: their kinds of operations, then their order."""
    nameless = [i for i, g in enumerate(table.groups) if not g.name and not g.description]
    keys: dict[int, tuple[object, ...]] = {}
    seen: dict[tuple[object, ...], int] = {}
    for i in nameless:  # in the order of their first operation
        mine = table.group == i
        signature = (table.groups[i].size, tuple(np.unique(table.kind[mine]).tolist()))
        seen[signature] = seen.get(signature, -1) + 1
        keys[i] = (*signature, seen[signature])
    return keys


def _purpose(
    local: LocalGroup, ranks: tuple[int, ...] | None, world: int | None, ops: list[tuple[Operations, int]]
) -> tuple[str, str]:
    for text in (local.description, local.name):
        for pattern, purpose in _PURPOSES:
            if text and pattern.search(text):
                return purpose, "description"
    size = size_of(local, ranks)
    if world is not None and size == world and world > 1:
        return "world", "ranks"
    kinds: set[int] = set()
    for table, i in ops:
        kinds.update(np.unique(table.kind[table.group == i]).tolist())
    if kinds and kinds <= {int(k) for k in POINT_TO_POINT}:
        return "pp", "operations"
    return "", ""
