"""What to try next, by kind of job: a training loop and a serving engine have other knobs. No detector."""

from __future__ import annotations

from typing import Final

from viewer.analyses.workload import workload
from viewer.store.session import Session

SERVING: Final = {
    "sync-drain": "Let the engine schedule ahead of the GPU (vLLM --async-scheduling, SGLang's overlap scheduler); "
    "sample on the GPU, and copy tokens with non_blocking=True to pinned memory. "
    "torch.cuda.set_sync_debug_mode('warn') lists such calls.",
    "launch-bound": "Run this batch size in a CUDA graph (vLLM without --enforce-eager, cudagraph_capture_sizes; "
    "SGLang without --disable-cuda-graph, --cuda-graph-max-bs), or fuse small kernels (torch.compile).",
    "host-bound": "Run this part in CUDA graphs (vLLM without --enforce-eager, SGLang without --disable-cuda-graph), "
    "let the host schedule ahead (vLLM --async-scheduling, SGLang's overlap scheduler), and put more requests into a "
    "batch.",
    "step-gap": "Let the host prepare the next batch while the GPU runs (vLLM --async-scheduling, SGLang's overlap "
    "scheduler); detokenise and answer in another process.",
    "exposed-communication": "Fewer ranks per tensor-parallel group (or data-parallel attention), fused all-reduce and "
    "normalisation (vLLM's fuse_allreduce_rms pass, SGLang --enable-flashinfer-allreduce-fusion), the engine's custom "
    "all-reduce, or two half batches that overlap (vLLM --enable-dbo, SGLang --enable-two-batch-overlap).",
    "memory": "Lower the peak: fewer tokens or requests per batch (vLLM --max-num-batched-tokens, --max-num-seqs; "
    "SGLang --chunked-prefill-size, --max-running-requests), or leave the KV cache less (vLLM "
    "--gpu-memory-utilization, SGLang --mem-fraction-static).",
}
"""Kind of finding -> next step where a serving engine, or a forward pass alone, was recorded."""


def advice(session: Session, kind: str, training: str) -> str:
    """The next step of a finding: what is said for training, unless the job serves and there is something else."""
    return SERVING.get(kind, training) if workload(session) == "inference" else training
