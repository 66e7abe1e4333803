"""The training run of the demo job: what every rank's host does in which order, and which GPU work it launches.

A transformer trained with hybrid sharding (parameters sharded inside a block of ranks, replicated between blocks).
The programme is the same on all ranks and holds no absolute time; viewer.app.demo.job plays it on a clock. Texts hold
tokens (PID, MAIN, AUTOGRAD, DEVICE and per group NAME, RANKS) that are replaced per rank.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

PID, MAIN, AUTOGRAD, DEVICE = "@P@", "@M@", "@A@", "@D@"
GROUPS: Final = ("world", "shard", "replica")
COMPUTE, GATHER, REDUCE, COPY = 7, 20, 24, 16
"""Streams: default, all-gather, reductions, host-to-device copies."""

HIDDEN, TOKENS, BATCH, HEADS, VOCAB = 1024, 8192, 4, 16, 50304
LAYER_WEIGHTS = 12 * HIDDEN * HIDDEN
EMBED_WEIGHTS = VOCAB * HIDDEN
MODULE = "torch/nn/modules/module.py(1784): _call_impl"


class Host(NamedTuple):
    """One host event: offset in its block, text before and after the time stamp."""

    at: int
    head: str
    tail: str


class Work(NamedTuple):
    """GPU work: its nominal duration (for a collective: transfer time), class, stream, and texts around its times."""

    ns: int
    kind: Literal["compute", "comm", "memory"]
    stream: int
    head: str
    tail: str
    name: str
    group: str = ""
    sequence: int = 0


class Launch(NamedTuple):
    """The call that queues ``work``. ``mark``: name of the annotation around it that shows on the GPU too, or ""."""

    at: int
    dur: int
    head: str
    tail: str
    correlation: int
    mark: str
    work: Work


class Fence(NamedTuple):
    """A stream records an event, or waits for it."""

    action: Literal["record", "wait"]
    event: str
    stream: int


@dataclass(slots=True)
class Block:
    """A run of host work with fixed inner times, on one thread."""

    host: list[Host] = field(default_factory=list)
    device: list[Launch | Fence] = field(default_factory=list)
    length: int = 0


class Open(NamedTuple):
    """Begin of a host range whose end depends on the run. ``mark``: it shows on the streams that it used, too."""

    head: str
    tail: str
    name: str
    mark: bool


class Close(NamedTuple):
    """End of the innermost open range."""


class Load(NamedTuple):
    """The host waits for training data."""

    step: int


class Drain(NamedTuple):
    """cudaStreamSynchronize: the host waits until a stream is empty. ``mark``: text of the wait on the GPU's side."""

    stream: int
    head: str
    tail: str
    mark_head: str
    mark_tail: str


Item = Block | Open | Close | Load | Drain


def us(ns: int) -> str:
    """Nanoseconds as a trace writes them: microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def shapes(*dims: list[int], dtype: str = "c10::BFloat16") -> str:
    """What record_shapes adds to an operator's args; an empty list stands for a scalar."""
    strides: list[list[int]] = []
    for shape in dims:
        step, out = 1, []
        for size in reversed(shape):
            out.append(step)
            step *= size
        strides.append(out[::-1])
    types = [dtype if d else "Scalar" for d in dims]
    return (
        f'"Concrete Inputs": {json.dumps(["" if d else "1" for d in dims])}, "Input type": {json.dumps(types)}, '
        f'"Input Strides": {json.dumps(strides)}, "Input Dims": {json.dumps(list(dims))}, '
    )


class Tape:
    """Records the programme. Offsets are ns from the start of the current block."""

    def __init__(self, seed: int) -> None:
        self.items: list[Item] = []
        self._random = random.Random(seed)
        self._block = Block()
        self._at = 0
        self._thread = MAIN
        self._id = 0
        self._correlation = 1000
        self._operator = 0
        self._frames: dict[str, list[int]] = {MAIN: [], AUTOGRAD: []}
        self._sequence = 0
        self._collectives = dict.fromkeys(GROUPS, 0)
        self._allocated = 6 * (16 * LAYER_WEIGHTS + EMBED_WEIGHTS) // 4
        self._address = 0x7F3A_0000_0000

    # Time and structure

    def _spend(self, low: int, high: int) -> int:
        ns = self._random.randrange(low, high)
        self._at += ns
        return ns

    @contextmanager
    def block(self, thread: str = MAIN) -> Iterator[None]:
        """A stretch of host work on ``thread``; operators, frames and launches go inside."""
        self._block, self._at, self._thread = Block(), 0, thread
        yield
        self._block.length = self._at
        self.items.append(self._block)

    def _next_id(self) -> int:
        self._id += 1
        return self._id

    def _head(self, category: str, name: str) -> str:
        return (
            f'  {{\n    "ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {PID}, '
            f'"tid": {self._thread},\n    "ts": '
        )

    @contextmanager
    def _timed(self, head: str, args: str, before: tuple[int, int], after: tuple[int, int]) -> Iterator[None]:
        start = self._at
        self._spend(*before)
        yield
        self._spend(*after)
        tail = f', "dur": {us(self._at - start)},\n    "args": {{\n      {args}\n    }}\n  }},\n'
        self._block.host.append(Host(start, head, tail))

    @contextmanager
    def op(self, name: str, shapes: str = "", sequence: int = 0, category: str = "cpu_op") -> Iterator[None]:
        """An operator (or annotation) that encloses what is recorded inside."""
        outer, me = self._operator, self._next_id()
        self._operator = me
        link = f'"Sequence number": {sequence}, "Fwd thread id": {int(self._thread == AUTOGRAD)}, ' if sequence else ""
        record = f'"Record function id": 0, {link}{shapes}' if category == "cpu_op" else ""
        args = f'"External id": {me},{record}"Ev Idx": {me - 1}'
        with self._timed(self._head(category, name), args, (600, 2600), (300, 1100)):
            yield
        self._operator = outer

    def _frame_args(self) -> str:
        stack, me = self._frames[self._thread], self._next_id()
        args = f'"Python parent id": {stack[-1] if stack else "null"}, "Python id": {me}, "Ev Idx": {me - 1}'
        stack.append(me)
        return args

    @contextmanager
    def frame(self, *names: str) -> Iterator[None]:
        """Python functions, outermost first."""
        if not names:
            yield
            return
        args = self._frame_args()
        with self._timed(self._head("python_function", names[0]), args, (250, 900), (150, 500)), self.frame(*names[1:]):
            yield
        self._frames[self._thread].pop()

    @contextmanager
    def module(self, name: str, where: str) -> Iterator[None]:
        """A forward call of an nn.Module."""
        with self.frame(f"nn.Module: {name}", MODULE, f"{where}: forward"):
            yield

    @contextmanager
    def span(self, name: str, category: str, shapes: str = "") -> Iterator[None]:
        """A range on the main thread across blocks; its end depends on the run."""
        self._thread = MAIN
        if category == "python_function":
            args = self._frame_args()
        else:
            me = self._next_id()
            record = f'"Record function id": 0, {shapes}' if category == "cpu_op" else ""
            args = f'"External id": {me},{record}"Ev Idx": {me - 1}'
        tail = f',\n    "args": {{\n      {args}\n    }}\n  }},\n'
        self.items.append(Open(self._head(category, name), tail, name, category == "user_annotation"))
        yield
        self._thread = MAIN
        if category == "python_function":
            self._frames[MAIN].pop()
        self.items.append(Close())

    # What happens inside a block

    def sequence(self) -> int:
        """A new autograd sequence number; the forward end of its arrow lies here."""
        self._sequence += 1
        self._arrow("s", self._sequence)
        return self._sequence

    def _arrow(self, phase: str, number: int) -> None:
        bind = ', "bp": "e"' if phase == "f" else ""
        head = f'  {{\n    "ph": "{phase}", "id": {number}, "pid": {PID}, "tid": {self._thread}, "ts": '
        self._block.host.append(Host(self._at, head, f',\n    "cat": "fwdbwd", "name": "fwdbwd"{bind}\n  }},\n'))

    @contextmanager
    def backward(self, name: str, sequence: int) -> Iterator[None]:
        """One node of autograd's graph."""
        with self.op(f"autograd::engine::evaluate_function: {name}", "", sequence):
            self._arrow("f", sequence)
            with self.op(name, "", sequence):
                yield

    def memory(self, count: int) -> None:
        """Allocate (> 0) or free (< 0) bytes on the device."""
        self._allocated += count
        self._address += abs(count)
        me = self._next_id()
        head = (
            f'  {{\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": {PID}, '
            f'"tid": {self._thread},\n    "ts": '
        )
        args = (
            f'"Total Reserved": 68182605824, "Total Allocated": {self._allocated}, "Bytes": {count}, '
            f'"Addr": {self._address}, "Device Id": {DEVICE}, "Device Type": 1, "Ev Idx": {me - 1}'
        )
        self._block.host.append(Host(self._at, head, f',\n    "args": {{\n      {args}\n    }}\n  }},\n'))

    def _call_tail(self, cbid: int, correlation: int) -> str:
        return (
            f',\n    "args": {{\n      "External id": {self._operator},'
            f'"cbid": {cbid}, "correlation": {correlation}\n    }}\n  }},\n'
        )

    def call(self, name: str, cbid: int) -> None:
        """A runtime call that queues no work."""
        self._correlation += 1
        head, tail = self._head("cuda_runtime", name), self._call_tail(cbid, self._correlation)
        start, took = self._at, self._spend(500, 1500)
        self._block.host.append(Host(start, head, f', "dur": {us(took)}{tail}'))

    def fence(self, event: str, after: int, before: int) -> None:
        """Stream ``before`` goes on only when what ``after`` holds now is done."""
        self.call("cudaEventRecordWithFlags", 372)
        self._block.device.append(Fence("record", event, after))
        self.call("cudaStreamWaitEvent", 147)
        self._block.device.append(Fence("wait", event, before))

    def _launch(self, call: str, cbid: int, category: str, args: str, work: Work, mark: str = "") -> None:
        self._correlation += 1
        n = self._correlation
        head = (
            f'  {{\n    "ph": "X", "cat": "{category}", "name": {json.dumps(work.name)}, "pid": {DEVICE}, '
            f'"tid": {work.stream},\n    "ts": '
        )
        tail = (
            f',\n    "args": {{\n      "External id": {self._operator},"device": {DEVICE}, "context": 1,'
            f'"stream": {work.stream}, "correlation": {n},{args}\n    }}\n  }},\n'
        )
        call_head, call_tail = self._head("cuda_runtime", call), self._call_tail(cbid, n)
        low = 6000 if mark else 3000
        start, took = self._at, self._spend(low, low + 2600)
        self._block.device.append(
            Launch(start, took, call_head, call_tail, n, mark, work._replace(head=head, tail=tail))
        )

    def kernel(self, name: str, ns: int, grid: int, block: int, registers: int = 32, shared: int = 0) -> None:
        """Launch a compute kernel of ``ns`` on the default stream."""
        occupancy = min(100, 100 * 65536 // (registers * block) * block // 2048)
        args = (
            f'"queued": 0, "registers per thread": {registers}, "shared memory": {shared}, '
            f'"blocks per SM": {grid / 132:.6f}, "warps per SM": {grid * block / 32 / 132:.6f}, '
            f'"grid": [{grid}, 1, 1], "block": [{block}, 1, 1], "est. achieved occupancy %": {occupancy}'
        )
        self._launch("cudaLaunchKernel", 211, "kernel", args, Work(ns, "compute", COMPUTE, "", "", name))

    def copy(self, name: str, ns: int, count: int, stream: int = COMPUTE, call: str = "cudaMemcpyAsync") -> None:
        """Launch a copy, or with ``cudaMemsetAsync`` a fill, of ``count`` bytes."""
        category, cbid = ("gpu_memset", 51) if call == "cudaMemsetAsync" else ("gpu_memcpy", 41)
        args = f'"bytes": {count}, "memory bandwidth (GB/s)": {count / ns}'
        self._launch(call, cbid, category, args, Work(ns, "memory", stream, "", "", name))

    def collective(self, kind: str, group: str, elements: int, parts: int, ns: int, dtype: str = "BFloat16") -> None:
        """Launch a collective: ``elements`` is the larger of its two message sizes, split over ``parts`` ranks."""
        self._collectives[group] += 1
        number = self._collectives[group]
        api, kernel, name = {
            "all_gather": ("_all_gather_base", "AllGather_RING_LL", "_allgather_base"),
            "reduce_scatter": ("_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL", "_reduce_scatter_base"),
            "all_reduce": ("all_reduce", "AllReduce_Sum_bf16_RING_LL", "allreduce"),
        }[kind]
        if dtype == "Float":
            kernel = kernel.replace("bf16", "f32")
        sent = elements // parts if kind == "all_gather" else elements
        got = elements // parts if kind == "reduce_scatter" else elements
        facts = (
            f'"Collective name": "{name}", "In msg nelems": {sent}, "Out msg nelems": {got}, '
            f'"Group size": @{group}_SIZE@, "dtype": "{dtype}", "In split size": "[]", "Out split size": "[]", '
            f'"Process Group Name": "@{group}_NAME@", "Process Group Description": "@{group}_DESC@", '
            f'"Process Group Ranks": "@{group}_RANKS@", "Seq": {number}'
        )
        stream = GATHER if kind == "all_gather" else REDUCE
        work = Work(
            ns, "comm", stream, "", "", f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)", group, number
        )
        args = (
            '"queued": 0, "registers per thread": 96, "shared memory": 82240, "blocks per SM": 0.181818, '
            f'"warps per SM": 3.090909, "grid": [24, 1, 1], "block": [544, 1, 1], '
            f'"est. achieved occupancy %": 0,{facts}'
        )
        mark = f"nccl:{api}"
        outer, inner = self.op(f"c10d::{api}_"), self.op("record_param_comms", facts + ", ")
        with outer, inner, self.op(mark, category="user_annotation"):
            self._launch("cudaLaunchKernelExC", 430, "kernel", args, work, mark)

    def drain(self, stream: int) -> None:
        """cudaStreamSynchronize, between blocks."""
        self._correlation += 1
        n = self._correlation
        mark = (
            f'  {{\n    "ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": {DEVICE}, "tid": {stream},\n'
            '    "ts": '
        )
        mark_tail = (
            f',\n    "args": {{\n      "cuda_sync_kind": "Stream Sync", "stream": {stream}, "correlation": {n}, '
            f'"device": {DEVICE}, "context": 1\n    }}\n  }},\n'
        )
        head = self._head("cuda_runtime", "cudaStreamSynchronize")
        self.items.append(Drain(stream, head, self._call_tail(131, n), mark, mark_tail))
