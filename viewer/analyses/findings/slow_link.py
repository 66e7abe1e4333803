"""Groups and pairs of ranks whose link is slower than that of others which do the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.rank_bandwidth import LEAST_OTHERS, SLOW, SlowLink, link_kernels, slow_links
from viewer.analyses.collective.table import kernel_waits
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.communicating import bound_ns, least_ns, longest
from viewer.analyses.findings.steady import steady_steps
from viewer.analyses.findings.whatif import saved_by_faster
from viewer.base.ids import ABSENT
from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_share, percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

MOST = 16
"""Links that are looked at, the slowest first."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding per link, over all of its kinds and sizes."""
    least, step_ns = least_ns(session), steady_steps(session).step_ns
    if least is None or not step_ns:
        return
    links: dict[str, list[SlowLink]] = {}
    for link in slow_links(session):
        links.setdefault(link.label, []).append(link)
    for label, of_link in list(links.items())[:MOST]:
        cancel.check()
        found = _finding(session, label, of_link, least, step_ns)
        if found is not None:
            yield found


def _finding(session: Session, label: str, links: list[SlowLink], least: int, step_ns: int) -> JobFinding | None:
    every = everything(session)
    _, _, transfer, _ = kernel_waits(session)
    took = np.where(transfer == ABSENT, every.end - every.start, transfer)
    less, which = np.zeros(len(every.kind), np.int64), np.zeros(len(every.kind), np.bool_)
    for link in links:
        mine = link_kernels(session, link)
        which |= mine
        less[mine] = np.maximum(took[mine] - round(link.usual_ns), 0)
    replayed = saved_by_faster(session, less)
    exposed = np.where(which, exposed_of(session).parts.sum(axis=0), 0)
    bound = bound_ns(session, np.minimum(less, exposed))
    saving = bound if replayed is None else replayed
    if saving < least:
        return None
    worst = links[0]
    return JobFinding(
        id=f"slow-link/{label}",
        kind="slow-link",
        title=f"The link of {label} moves {worst.busbw_gbps:,.1f} GB/s, {worst.others} others "
        f"{worst.usual_gbps:,.1f} GB/s: {format_duration(saving, 1)} per step ({format_share(saving, step_ns)})",
        severity="warning",
        saving_ns_per_step=saving,
        saving_how=(
            "The steps replayed with its transfers at the others' rate (median over the steps). "
            if replayed is not None
            else "The exposed part of what its transfers take longer than at the others' rate, per step. "
        )
        + "An upper bound: another link may be the next to be waited for.",
        evidence=(
            *(
                Evidence(
                    f"{link.kind.text} of {format_bytes(link.bytes)}: {link.busbw_gbps:,.1f} GB/s (median of "
                    f"{link.count:,}), others {link.usual_gbps:,.1f} GB/s"
                    + ("" if link.wait_share is None else f"; waiting is {percent(link.wait_share)} of its time")
                )
                for link in links[:3]
            ),
            *longest(session, which, less, "beyond the others' time"),
        ),
        next_step="Check the path between these ranks: nvidia-smi topo -m and nvlink -s -e (AMD: amd-smi topology, "
        "xgmi), PCIe width, counters and errors of their network ports (ibstat, perfquery), NCCL_DEBUG=INFO with "
        "NCCL_DEBUG_SUBSYS=GRAPH,NET; then run nccl-tests on exactly these ranks.",
        how=f"Median bus bandwidth below {percent(SLOW)} of that of at least {LEAST_OTHERS} others of the same kind, "
        "number of members and size, over the transfer alone (without waiting), with less waiting than transfer.",
        share=saving / step_ns,
        overlaps=("exposed",),
    )
