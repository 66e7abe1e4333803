"""What to change, in a few words by kind of finding: a finding says what is wrong, the head of the page what to do."""

from __future__ import annotations

from typing import Final

from viewer.analyses.findings.base import JobFinding
from viewer.views.figures import shown

CHANGES: Final = {
    "memory-peak": "lower the memory peak before an allocation fails",
    "unused-reserve": "free the allocator's unused reserve, the device is nearly full",
    "memory-fragmentation": "stop the memory's fragmentation, a request failed for it",
    "out-of-memory": "lower the memory peak, a request failed",
    "memory-leak": "find who keeps more memory from step to step on {place}",
    "memory-spike": "look at the step whose memory peaks far above the others",
    "allocator-churn": "keep memory in the caching allocator, so that no step asks the driver for it",
    "uneven-memory": "even the memory out over the ranks",
    "reserve-growth": "stop the allocator's reserve from growing with every step",
    "late-rank": "bring {place} up to its peers' pace",
    "uneven-ranks": "give ranks of one role the same work",
    "uneven-stages": "move work from {place} of the pipeline to the others",
    "late-stage": "find what holds up the host or the copies of {place}",
    "serialised-communication": "let gradient reductions run beside the backward pass",
    "small-messages": "join small messages into larger ones",
    "bubble-order": "mend the order of the pipeline's passes",
    "bubble-uneven": "even the pipeline's stages out",
    "bubble-late": "bring the slow workers of the pipeline up to the others' pace",
    "bubble-varies": "give every micro-batch the same work",
    "bubble-inside": "close the gaps inside the pipeline's passes",
    "bubble-p2p": "hide or shorten the sends between pipeline stages",
    "bubble-host": "find what the hosts of the pipeline do between passes",
    "late-worker": "bring the slow worker up to the others of its stage",
    "slow-link": "mend the slow link of {place}",
    "wrong-placement": "put each tensor-parallel group inside one host",
    "extra-collectives": "send no more bytes than the parallel plan needs",
    "repeated-sync": "take the barriers out of the step",
    "exposed-communication": "hide transfers behind compute, or transfer less",
    "below-baseline": "bring collectives up to the measured baseline",
    "sync-drain": "take the synchronisation out of the step",
    "data-loading": "load data ahead of the step",
    "launch-bound": "launch fewer and larger kernels (CUDA graphs, fusion)",
    "graph-gaps": "fuse the small kernels inside the graph",
    "host-bound": "make the host's own work lighter, or run it ahead of the GPU",
    "host-jitter": "find what takes the host away from its work now and then",
    "garbage-collection": "keep Python's garbage collection out of the step",
    "recompilation": "stop compilation inside steady steps",
    "step-gap": "shorten what the host does between steps",
    "fp32-matmul": "run matrix products in 16 bits or TF32",
    "recompute": "recompute less where memory has room",
    "contention": "keep communication from slowing kernels down",
    "uneven-runs": "find why single runs of a kernel take far longer than others",
}
"""Kind -> what to do, in the imperative; ``{place}`` is what the finding's id names ("late-rank/rank 5")."""


def change_of(finding: JobFinding) -> str:
    """What to do about a finding in a few words; "" for a kind without (what is only for information)."""
    words = CHANGES.get(finding.kind, "")
    place = finding.id.partition("/")[2]
    if "{place}" in words and not place:
        return ""
    return words.replace("{place}", shown(place, 60))
