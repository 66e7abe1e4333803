"""What each communication kernel of a job exposed, by part; and which compute hid the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.communication import communication
from viewer.analyses.collective.exposed import covered
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.hiding import held
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.operations import operations
from viewer.analyses.gpu_work import gpu_work
from viewer.base.ids import Paint
from viewer.jit.intervals import union
from viewer.store.session import Session

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Exposed:
    """Per kernel of ``everything``: exposed ns by Part and by Hiding (of its transfer), and its label of Hiding."""

    parts: I64
    transfers: I64
    hiding: NDArray[np.uint8]


def exposed_of(session: Session) -> Exposed:
    """The exposed time of each communication kernel. Built once per card."""

    def build() -> Exposed:
        every, splits = everything(session), communication(session)
        count = len(every.kind)
        parts, transfers = np.zeros((len(Part), count), np.int64), np.zeros((len(Hiding), count), np.int64)
        label = np.zeros(count, np.uint8)
        for item in session.inputs:
            mine = np.flatnonzero(every.input == item.index)
            if len(mine):
                found = splits[item.index]
                parts[:, mine] = found.parts[:, every.at[mine]]
                transfers[:, mine] = found.transfers[:, every.at[mine]]
                label[mine] = held(session, item).hiding[every.at[mine]]
        return Exposed(parts, transfers, label)

    return session.card_memo("exposed_of_kernels", build)


@dataclass(frozen=True, slots=True)
class Hider:
    """A compute kernel that ran beside communication.

    ``ns`` adds, over its runs, how long each ran beside (runs of several streams at once count each); ``input`` and
    ``row`` are the run that did so longest.
    """

    name: str
    runs: int
    ns: int
    input: int
    row: int


def hidden_by(session: Session, which: Bools) -> list[Hider]:
    """Which compute ran beside some kernels of ``everything``, most first.

    Args:
        session: the job.
        which: bool per kernel of ``everything``.
    """
    every = everything(session)
    sums: dict[str, list[int]] = {}
    for item in session.inputs:
        mine = np.flatnonzero(which & (every.input == item.index))
        if not len(mine):
            continue
        work = gpu_work(item.trace)
        at = np.sort(work.positions(operations(item.trace).row[every.at[mine]]))
        for device in np.unique(work.device[at]).tolist():
            here = at[work.device[at] == device]
            begin, end = union(work.start_ns[here], work.end_ns[here])
            part = work.of_device(device)
            compute = part.start + np.flatnonzero(work.paint[part] == Paint.COMPUTE)
            beside = covered(begin, end, work.end_ns[compute]) - covered(begin, end, work.start_ns[compute])
            compute, beside = compute[beside > 0], beside[beside > 0]
            rows = work.index[compute]
            names, inverse = np.unique(item.trace.slices.name[rows], return_inverse=True)
            for k, code in enumerate(names.tolist()):
                chosen = np.flatnonzero(inverse == k)
                longest = int(chosen[np.argmax(beside[chosen])])
                found = sums.setdefault(item.trace.text(code), [0, 0, -1, -1, 0])
                found[0] += len(chosen)
                found[1] += int(beside[chosen].sum())
                if int(beside[longest]) > found[4]:
                    found[2:] = [item.index, int(rows[longest]), int(beside[longest])]
    out = [Hider(name, *found[:4]) for name, found in sums.items()]
    return sorted(out, key=lambda h: (-h.ns, h.name))
