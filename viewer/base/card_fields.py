"""Every field of the job card in one table: its kind, its bounds, and the words that explain it.

Reader, writer and editor take it from here.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from viewer.base.job_card import CardValue, Hosts
from viewer.base.quantities import LARGEST, Unit, parse_quantity, quantity_text

Kind = Literal["count", "bytes", "rate", "flops", "bool", "text", "choice", "order", "hosts"]

LONGEST_TEXT: Final = 500
MOST_HOSTS: Final = 20_000
MOST_RANKS: Final = 1_000_000
DIMENSIONS: Final = ("tp", "cp", "ep", "dp", "pp")
DTYPES: Final = ("bf16", "fp16", "fp8", "fp4", "int8", "tf32", "fp32", "fp64")
_SAME_DTYPE: Final = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    "float4": "fp4",
    "float32": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "double": "fp64",
}
STORED: Final = ("fp32", "bf16", "fp16", "fp8")
SCHEDULES: Final = ("gpipe", "1f1b", "interleaved", "zb1p", "dualpipe")

PARTS: Final = (
    ("model", "Model"),
    ("plan", "Parallel plan"),
    ("run", "Run"),
    ("hardware", "Hardware"),
    ("baseline", "Baseline"),
)
"""The parts of a card, and their titles."""


@dataclass(frozen=True, slots=True)
class CardField:
    """One field.

    Attributes:
        part: of the card.
        name: of the attribute, and of the key in TOML.
        kind: what values it takes.
        label: for the editor.
        help: one sentence.
        low: smallest number, or ...
        high: ... the largest.
        choices: of a "choice".
    """

    part: str
    name: str
    kind: Kind
    label: str
    help: str
    low: int = 1
    high: int = LARGEST
    choices: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of the field, "part.name", as in ``JobCard.filled``."""
        return f"{self.part}.{self.name}"


def _f(path: str, kind: Kind, label: str, help_: str, low: int = 1, high: int = LARGEST, *choices: str) -> CardField:
    part, _, name = path.partition(".")
    return CardField(part, name, kind, label, help_, low, high, choices)


_SMALL: Final = 1_000_000
FIELDS: Final[tuple[CardField, ...]] = (
    _f("model.name", "text", "name", "What the model is called."),
    _f("model.parameters", "count", "parameters", "All parameters of the model, over all ranks."),
    _f("model.active_parameters", "count", "active", "Parameters that one token uses (mixture of experts)."),
    _f("model.trainable_parameters", "count", "trainable", "Parameters that are trained; all where empty.", 0),
    _f("model.layers", "count", "layers", "Transformer layers.", 1, _SMALL),
    _f("model.hidden", "count", "hidden size", "Width of the residual stream.", 1, _SMALL),
    _f("model.heads", "count", "heads", "Attention heads of the queries.", 1, _SMALL),
    _f("model.kv_heads", "count", "KV heads", "Attention heads of keys and values (grouped queries).", 1, _SMALL),
    _f("model.head_dim", "count", "head size", "Width of one head; hidden size / heads where empty.", 1, _SMALL),
    _f("model.ffn_hidden", "count", "FFN size", "Inner width of the feed-forward part (of one expert).", 1, _SMALL),
    _f("model.vocab", "count", "vocabulary", "Tokens of the vocabulary.", 1, 2**40),
    _f("model.experts", "count", "experts", "Experts per layer.", 1, _SMALL),
    _f("model.experts_per_token", "count", "experts per token", "Experts that one token is sent to.", 1, _SMALL),
    _f("model.causal", "bool", "causal attention", "A token attends to earlier ones only: half the work is counted."),
    _f("plan.world_size", "count", "world size", "Ranks of the whole job, one GPU each.", 1, _SMALL),
    _f("plan.tp", "count", "tensor (tp)", "Ranks that share each layer.", 1, _SMALL),
    _f("plan.cp", "count", "context (cp)", "Ranks that share each sequence.", 1, _SMALL),
    _f("plan.dp", "count", "data (dp)", "Replicas, or shards of FSDP, that see different data.", 1, _SMALL),
    _f("plan.pp", "count", "pipeline (pp)", "Stages of the pipeline.", 1, _SMALL),
    _f("plan.ep", "count", "expert (ep)", "Ranks that share the experts of a layer.", 1, _SMALL),
    _f("plan.vpp", "count", "chunks per stage", "Model chunks on each stage (interleaving); 1 for none.", 1, _SMALL),
    _f("plan.order", "order", "rank order", 'Dimensions, the fastest changing rank first, as in "tp-cp-ep-dp-pp".'),
    _f("plan.sequence_parallel", "bool", "sequence parallel", "Norms and dropout are split along the sequence too."),
    _f(
        "plan.zero_stage", "count", "ZeRO stage", "0 none, 1 optimizer, 2 and gradients, 3 and parameters (FSDP).", 0, 3
    ),
    _f("run.micro_batches", "count", "micro-batches", "Micro-batches of one replica in one step.", 1, _SMALL),
    _f("run.micro_batch_size", "count", "micro-batch size", "Sequences of one micro-batch.", 1, _SMALL),
    _f("run.global_batch_size", "count", "global batch", "Sequences of the whole job in one step.", 1, 10**9),
    _f("run.tokens_per_step", "count", "tokens per step", "Tokens of the whole job in one step.", 1, 2**50),
    _f("run.sequence_length", "count", "sequence length", "Tokens of a sequence, before it is split.", 1, 2**40),
    _f("run.schedule", "choice", "schedule", "Of the pipeline.", 1, 1, *SCHEDULES),
    _f("run.recompute", "choice", "recompute", "Activation checkpointing.", 1, 1, "none", "selective", "full"),
    _f("run.dtype", "choice", "dtype", "Of the matrix products: the peak is looked up for it.", 1, 1, *DTYPES),
    _f("run.param_dtype", "choice", "parameters in", "How parameters are kept for the forward pass.", 1, 1, *STORED),
    _f("run.grad_dtype", "choice", "gradients in", "How gradients are kept and reduced.", 1, 1, *STORED),
    _f("run.optimizer", "text", "optimizer", 'As in "adamw"; tells the size of its state.'),
    _f("run.master_weights", "bool", "master weights", "The optimizer keeps its own 32-bit parameters."),
    _f("hardware.gpu", "text", "GPU", 'As the driver says it, for example "NVIDIA H100 80GB HBM3".'),
    _f("hardware.peak_flops", "flops", "peak", "Dense peak of one GPU for the dtype above."),
    _f("hardware.memory_bytes", "bytes", "memory", "Of one GPU."),
    _f("hardware.memory_bytes_per_second", "rate", "memory rate", "Of one GPU."),
    _f("hardware.gpus_per_host", "count", "GPUs per host", "Ranks that share a host.", 1, _SMALL),
    _f("hardware.link_bytes_per_second", "rate", "link", "NVLink or Infinity Fabric of one GPU, one direction."),
    _f("hardware.pcie_bytes_per_second", "rate", "PCIe", "Of one GPU, one direction."),
    _f("hardware.network_bytes_per_second", "rate", "network", "Of one GPU, one direction."),
    _f("hardware.hosts", "hosts", "ranks per host", "Which ranks run on which host, as in node1: 0-3; node2: 4-7."),
    _f(
        "baseline.nccl_tests",
        "text",
        "nccl-tests output",
        "A file or folder with output of nccl-tests on these machines; several are separated by ;",
    ),
)
"""In the order of the editor and of a written file."""

BY_PATH: Final = {f.path: f for f in FIELDS}
_UNITS: Final[dict[str, Unit]] = {"count": "count", "bytes": "bytes", "rate": "rate", "flops": "flops"}


def unit_of(field: CardField) -> Unit | None:
    """The kind of quantity of a field with a number; None for the others."""
    return _UNITS.get(field.kind)


def nearest(name: str, known: list[str]) -> str:
    """A hint at a misspelt name, "" without one near."""
    near = difflib.get_close_matches(name[:100], known, n=1, cutoff=0.5)
    return f' Did you mean "{near[0]}"?' if near else ""


def checked(field: CardField, value: Any) -> CardValue:
    """A value as TOML or JSON holds it, as the card keeps it.

    Raises:
        ValueError: it is none of this field; the message is a part of a sentence.
    """
    unit = unit_of(field)
    if unit is not None:
        return _number(field, value, unit)
    if field.kind == "bool":
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value
    if field.kind == "hosts":
        return _hosts(value)
    if not isinstance(value, str):
        raise ValueError("must be a text in quotes")
    if not value or len(value) > LONGEST_TEXT or not value.isprintable():
        raise ValueError(f"must be a printable text of 1 to {LONGEST_TEXT} characters")
    if field.kind == "choice":
        lower = value.lower()
        lower = _SAME_DTYPE.get(lower, lower)
        if lower not in field.choices:
            raise ValueError(f"must be one of {', '.join(field.choices)}")
        return lower
    return _order(value) if field.kind == "order" else value


def _number(field: CardField, value: Any, unit: Unit) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number" + ("" if unit == "count" else " with a unit"))
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) > LARGEST or value != int(value):
            raise ValueError("must be a whole number")
        value = int(value)
    number = parse_quantity(value, unit) if isinstance(value, str) else value
    if not field.low <= number <= field.high:
        high = "" if field.high == LARGEST else f" to {quantity_text(field.high, unit)}"
        raise ValueError(f"must be {field.low}{high}" if high else f"must be at least {field.low}")
    return number


def _order(value: str) -> str:
    names = value.lower().split("-")
    if len(set(names)) != len(names) or not set(names) <= set(DIMENSIONS):
        raise ValueError(f"must name each of {', '.join(DIMENSIONS)} at most once, as in tp-cp-ep-dp-pp")
    return "-".join(names)


def _hosts(value: Any) -> Hosts:
    if not isinstance(value, dict) or len(value) > MOST_HOSTS:
        raise ValueError("must be a table of hosts and their ranks, as in node1 = [0, 1, 2, 3]")
    seen: set[int] = set()
    out: list[tuple[str, tuple[int, ...]]] = []
    for name, ranks in value.items():
        if not isinstance(name, str) or not name or len(name) > LONGEST_TEXT or not name.isprintable():
            raise ValueError("has a host without a printable name")
        good = isinstance(ranks, list) and all(
            isinstance(r, int) and not isinstance(r, bool) and 0 <= r < MOST_RANKS for r in ranks
        )
        if not good:
            raise ValueError(f'must list the ranks of "{name[:60]}" as whole numbers, as in [0, 1, 2, 3]')
        if len(set(ranks)) != len(ranks) or seen & set(ranks):
            raise ValueError(f'names a rank twice, at "{name[:60]}"')
        seen.update(ranks)
        out.append((name, tuple(sorted(ranks))))
    return tuple(out)
