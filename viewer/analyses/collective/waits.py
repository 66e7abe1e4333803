"""How long each rank waited in each shared operation, and how long the transfer took.

Without any clock: transfer = the shortest duration among the members, wait = a member's duration beyond it, since the
last one to arrive waits for nobody. On the aligned clock: wait = last arrival - own arrival, as a second witness.
Sends and receives have rules of their own: a send is buffered and waits for nobody; a receive waits until its send
begins, which only aligned clocks can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.alignment import align
from viewer.analyses.collective.kinds import NEEDS_ALL
from viewer.analyses.collective.matching import everything, matches
from viewer.base.ids import ABSENT
from viewer.store.session import Session

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Waits:
    """Waiting of the members of ``matches(session)``, in its order. Lengths in ns, instants in session time.

    Per member: ``arrival`` and ``end`` on the session's clock, ``wait`` (without clocks), ``aligned_wait`` (last
    arrival - own arrival, on the session's clock). Per operation: ``transfer`` (shortest duration), ``last`` (position
    of the member that arrived last on the session's clock), ``unsure`` (how far the clocks of its members may be wrong;
    ABSENT where they are not aligned), ``complete`` (all members are opened), ``waits`` (whether its members wait for
    each other at all: a broadcast's need not).

    With members missing, ``wait`` is a lower and ``transfer`` an upper bound.
    """

    arrival: I64
    end: I64
    wait: I64
    aligned_wait: I64
    transfer: I64
    last: I64
    unsure: I64
    complete: Bools
    waits: Bools

    def undecided(self, op: NDArray[np.int64]) -> Bools:
        """Per member (``op`` is its operation): whether the two estimates differ by more than the clocks' doubt."""
        unsure = self.unsure[op]
        out: Bools = (unsure != ABSENT) & (np.abs(self.wait - self.aligned_wait) > 2 * np.where(unsure < 0, 0, unsure))
        return out


def waits(session: Session) -> Waits:
    """The waits of a job on the session's clocks. Built once per session."""
    return session.clocked_memo("waits", lambda: _build(session))


def members(session: Session) -> I64:
    """The operation of each member of ``matches(session)``."""
    found = matches(session)
    return np.repeat(np.arange(len(found)), found.present())


def _build(session: Session) -> Waits:
    from viewer.analyses.collective.operations import operations

    found = matches(session)
    count, begin = len(found.node), found.offset[:-1]
    arrival, end, duration = (np.empty(count, np.int64) for _ in range(3))
    for item in session.inputs:
        mine = np.flatnonzero(found.input == item.index)
        if len(mine):
            table, at = operations(item.trace), found.at[mine]
            arrival[mine] = item.clock.many_to_session(table.start_ns[at])
            end[mine] = item.clock.many_to_session(table.end_ns[at])
            duration[mine] = table.end_ns[at] - table.start_ns[at]  # of the file's own clock: exact
    op = np.repeat(np.arange(len(found)), found.present())
    if not count:
        none = np.empty(0, np.int64)
        return Waits(arrival, end, none, none, none, none, none, np.empty(0, np.bool_), np.empty(0, np.bool_))
    transfer = np.minimum.reduceat(duration, begin)
    last_arrival = np.maximum.reduceat(arrival, begin)
    order = np.lexsort((np.arange(count), -arrival, op))
    unsure_of = doubt(session)
    alone = unsure_of[found.node]
    unsure = np.where(
        np.minimum.reduceat(alone, begin) == ABSENT, ABSENT, np.maximum.reduceat(np.where(alone < 0, 0, alone), begin)
    )
    expected = found.expected()
    return Waits(
        arrival=arrival,
        end=end,
        wait=duration - transfer[op],
        aligned_wait=last_arrival[op] - arrival,
        transfer=transfer,
        last=order[begin],
        unsure=unsure,
        complete=(expected == found.present()) & (expected > 0),
        waits=np.isin(found.kind, [int(k) for k in NEEDS_ALL]),
    )


def doubt(session: Session) -> I64:
    """Per RankGroup how far its clock may be wrong, ns; ABSENT where it is not aligned."""
    out = np.full(len(session.groups) + 1, ABSENT, np.int64)
    if session.clock_method == "collectives":
        for clock in align(session).clocks:
            if clock.connected and clock.uncertainty_ns is not None:
                out[clock.group] = clock.uncertainty_ns
    return out


@dataclass(frozen=True, eq=False)
class SentWaits:
    """Waiting of paired sends and receives, in the order of ``align(session).pairs``; ns on the session's clock.

    ``wait`` is max(0, begin of the send - begin of the receive), ``transfer`` the receive's end - the later begin (not
    below 0), ``unsure`` how far the two clocks may be wrong (ABSENT where they are not aligned: then wait and transfer
    mean nothing and are ABSENT).
    """

    wait: I64
    transfer: I64
    unsure: I64


def sent_waits(session: Session) -> SentWaits:
    """The receives' waits of a job. Built once per session."""
    return session.clocked_memo("sent_waits", lambda: _sent(session))


def _sent(session: Session) -> SentWaits:
    every, pairs = everything(session), align(session).pairs

    def on_session(raw_and_base: I64, which: I64) -> I64:
        out = np.empty(len(which), np.int64)
        for item in session.inputs:
            mine = every.input[which] == item.index
            if mine.any():
                out[mine] = item.clock.many_to_session(raw_and_base[which[mine]] - item.base_ns)
        return out

    begun = on_session(every.start, pairs.send)
    ready, end = on_session(every.start, pairs.receive), on_session(every.end, pairs.receive)
    unsure_of = doubt(session)
    one, other = unsure_of[every.node[pairs.send]], unsure_of[every.node[pairs.receive]]
    known = (one != ABSENT) & (other != ABSENT)
    unsure = np.where(known, np.maximum(one, other), ABSENT)
    wait = np.maximum(begun - ready, 0)
    transfer = np.maximum(end - np.maximum(begun, ready), 0)
    return SentWaits(np.where(known, wait, ABSENT), np.where(known, transfer, ABSENT), unsure)
