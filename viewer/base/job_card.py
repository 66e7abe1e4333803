"""The job card: what no trace says about a job. Plain data; every field is None where nobody said it.

Units: bytes, bytes per second, FLOP per second, counts. ``viewer.store`` reads and writes it as TOML and fills in what
the traces know.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The model. ``parameters`` counts all, ``active_parameters`` those that one token uses (mixture of experts)."""

    name: str | None = None
    parameters: int | None = None
    active_parameters: int | None = None
    trainable_parameters: int | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn_hidden: int | None = None
    vocab: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    causal: bool | None = None


@dataclass(frozen=True, slots=True)
class PlanCard:
    """The parallel plan: sizes of the dimensions. ``vpp`` is the number of model chunks per stage (interleaving).

    ``order`` names the dimensions from the fastest changing rank on, "tp-cp-ep-dp-pp" as Megatron does. ``zero_stage``
    is 0 to 3 (FSDP with resharding is 3).
    """

    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    vpp: int | None = None
    order: str | None = None
    sequence_parallel: bool | None = None
    zero_stage: int | None = None


@dataclass(frozen=True, slots=True)
class RunCard:
    """How it runs.

    ``schedule`` is "gpipe", "1f1b", "interleaved", "zb1p" or "dualpipe"; ``recompute`` "none", "selective" or "full";
    ``dtype`` that of the matrix products ("bf16", "fp16", "fp8", "tf32", "fp32").
    """

    micro_batches: int | None = None
    micro_batch_size: int | None = None
    sequence_length: int | None = None
    schedule: str | None = None
    recompute: str | None = None
    dtype: str | None = None
    param_dtype: str | None = None
    grad_dtype: str | None = None
    optimizer: str | None = None
    master_weights: bool | None = None


@dataclass(frozen=True, slots=True)
class HardwareCard:
    """The machines. ``gpu`` is a name as the driver says it; figures given here go before the table of devices.

    ``hosts`` are the ranks per host, where the person stated them: ("node1", (0, 1, 2, 3)).
    """

    gpu: str | None = None
    peak_flops: int | None = None
    memory_bytes: int | None = None
    memory_bytes_per_second: int | None = None
    gpus_per_host: int | None = None
    hosts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    link_bytes_per_second: int | None = None
    network_bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class BaselineCard:
    """What to hold rates against. ``nccl_tests`` is the path of an output of nccl-tests, as written on the card."""

    nccl_tests: str | None = None


@dataclass(frozen=True, slots=True)
class JobCard:
    """All parts of a card. ``filled`` maps "part.field" of a value that a trace gave to where it came from."""

    model: ModelCard = field(default_factory=ModelCard)
    plan: PlanCard = field(default_factory=PlanCard)
    run: RunCard = field(default_factory=RunCard)
    hardware: HardwareCard = field(default_factory=HardwareCard)
    baseline: BaselineCard = field(default_factory=BaselineCard)
    filled: tuple[tuple[str, str], ...] = ()


EMPTY_CARD = JobCard()
