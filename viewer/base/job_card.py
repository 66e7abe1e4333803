"""The job card: what no trace says about a job. Plain data; every field is None where nobody said it.

Units: bytes, bytes per second, FLOP per second, counts. ``viewer/base/card_fields.py`` says of each field what it means
and which values it takes; ``viewer/store/card_file.py`` reads and writes it as TOML; ``viewer/analyses/card_fill.py``
fills in what the traces and the table of devices know.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Hosts = tuple[tuple[str, tuple[int, ...]], ...]
CardValue = int | str | bool | Hosts | None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The model. ``parameters`` counts all, ``active_parameters`` those that one token uses (mixture of experts).

    ``trainable_parameters`` are those among ``parameters`` that are trained (None: all). ``head_dim`` where it is not
    hidden / heads.
    """

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
    is 0 to 3 (FSDP with resharding is 3). ``world_size`` is the number of ranks of the whole job, one GPU each.
    """

    world_size: int | None = None
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
    ``dtype`` that of the matrix products ("bf16", "fp16", "fp8", "fp4", "int8", "tf32", "fp32", "fp64").
    ``micro_batches`` are those of one replica in one step. ``sequence_length`` is that of the whole sequence, before
    context parallelism cuts it. ``global_batch_size`` counts sequences and ``tokens_per_step`` tokens of the whole job
    in one step; either goes before the product of the others.
    """

    micro_batches: int | None = None
    micro_batch_size: int | None = None
    global_batch_size: int | None = None
    tokens_per_step: int | None = None
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

    All are of one rank's GPU. ``peak_flops`` is the dense peak for ``run.dtype``. Rates of links (NVLink or Infinity
    Fabric, PCIe, network) are those of one direction. ``hosts`` are the ranks per host, where the person stated them:
    ("node1", (0, 1, 2, 3)).
    """

    gpu: str | None = None
    peak_flops: int | None = None
    memory_bytes: int | None = None
    memory_bytes_per_second: int | None = None
    gpus_per_host: int | None = None
    hosts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    link_bytes_per_second: int | None = None
    pcie_bytes_per_second: int | None = None
    network_bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class BaselineCard:
    """What to hold rates against. ``nccl_tests`` is the path of an output of nccl-tests, as written on the card."""

    nccl_tests: str | None = None


@dataclass(frozen=True, slots=True)
class JobCard:
    """All parts of a card. ``filled`` pairs "part.field" of a value that no person gave with where it came from."""

    model: ModelCard = field(default_factory=ModelCard)
    plan: PlanCard = field(default_factory=PlanCard)
    run: RunCard = field(default_factory=RunCard)
    hardware: HardwareCard = field(default_factory=HardwareCard)
    baseline: BaselineCard = field(default_factory=BaselineCard)
    filled: tuple[tuple[str, str], ...] = ()

    def value(self, path: str) -> CardValue:
        """The value of "part.field"; None where nobody said it. Raises AttributeError for no such field."""
        part, _, name = path.partition(".")
        found: CardValue = getattr(getattr(self, part), name)
        return found

    def source(self, path: str) -> str | None:
        """Where a value came from that no person gave; None for what a person gave, and for no value."""
        return next((source for name, source in self.filled if name == path), None)

    def with_value(self, path: str, value: CardValue, source: str | None = None) -> JobCard:
        """The card with another value of "part.field"; ``source`` marks it as filled in."""
        part, _, name = path.partition(".")
        changed = replace(getattr(self, part), **{name: value})
        filled = tuple(f for f in self.filled if f[0] != path)
        if source is not None:
            filled = (*filled, (path, source))
        more: dict[str, Any] = {part: changed, "filled": filled}
        return replace(self, **more)

    def stated(self) -> JobCard:
        """What a person said, without what was filled in."""
        card = self
        for path, _ in self.filled:
            card = card.with_value(path, EMPTY_CARD.value(path))
        return card


EMPTY_CARD = JobCard()
