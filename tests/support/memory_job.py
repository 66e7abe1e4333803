"""A training job's memory with planted problems: steps of forward, backward and optimizer on a FakeAllocator."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass

from tests.support.memory import MIB, FakeAllocator, OutOfMemory

FORWARD = ("linear:nn/functional.py", "forward:model.py", "_call_impl:nn/modules/module.py", "step:train.py")
BACKWARD = ("_engine_run_backward:autograd/graph.py", "backward:_tensor.py", "step:train.py")
OPTIMIZER = ("_init_group:torch/optim/adamw.py", "step:torch/optim/adamw.py", "step:train.py")
INIT = ("__init__:nn/modules/linear.py", "build:model.py")
LOGGING = ("log_metrics:logging.py", "step:train.py")
COMM = ("all_gather_into_tensor:distributed_c10d.py", "step:train.py")


@dataclass
class Planted:
    """Problems of a job; sizes in bytes."""

    leak: int = 0
    spike: int = 0
    spike_step: int = 11
    churn: bool = False
    scale: float = 1.0
    seed: int = 1
    steps: int = 16
    marked: bool = True


LAYERS = 6
WEIGHT, ACTIVATION = 4 * MIB, 6 * MIB


def training(
    planted: Planted, capacity: int = 1 << 40, allocator: type[FakeAllocator] = FakeAllocator
) -> FakeAllocator:
    """Run the job. Weights, gradients, two optimizer states and activations of LAYERS layers, temporaries, a buffer."""
    rng = random.Random(planted.seed)
    a = allocator(capacity=capacity)
    for _ in range(LAYERS):
        a.alloc(WEIGHT, *INIT)
    states = False
    activation = int(ACTIVATION * planted.scale)
    for step in range(planted.steps):
        if planted.marked:
            a.begin(f"ProfilerStep#{step}")
        saved = []
        for _ in range(LAYERS):
            saved.append(a.alloc(activation + rng.randrange(8) * 512, *FORWARD))
            a.free(a.alloc(MIB, *FORWARD))
        if planted.leak:
            a.alloc(planted.leak, *LOGGING)
        if planted.spike and step == planted.spike_step:
            a.free(a.alloc(planted.spike, *FORWARD))
        gathered = a.alloc(3 * MIB, *COMM)
        gradients = []
        for one in reversed(saved):
            gradients.append(a.alloc(WEIGHT, *BACKWARD))
            a.free(a.alloc(2 * MIB, *BACKWARD))
            a.free(one)
        a.free(gathered)
        if not states:
            for _ in range(2 * LAYERS):
                a.alloc(WEIGHT, *OPTIMIZER)
            states = True
        a.free(a.alloc(WEIGHT, *OPTIMIZER))
        for one in gradients:
            a.free(one)
        if planted.churn:
            a.free(a.alloc(60 * MIB, *FORWARD))
            a.release()
        a.wait(1000)
        if planted.marked:
            a.end(f"ProfilerStep#{step}")
    return a


def longer_and_longer(allocator: type[FakeAllocator] = FakeAllocator, steps: int = 20) -> FakeAllocator:
    """Step k works on 40 + 2 k MiB that it frees: what is cached never fits the next step."""
    a = allocator()
    for _ in range(LAYERS):
        a.alloc(WEIGHT, *INIT)
    for step in range(steps):
        a.begin(f"ProfilerStep#{step}")
        a.free(a.alloc((40 + 2 * step) * MIB, *FORWARD))
        a.free(a.alloc(2 * MIB, *OPTIMIZER))
        a.end(f"ProfilerStep#{step}")
    return a


def fragmented() -> tuple[FakeAllocator, int, int]:
    """A device full of blocks with holes between them: (allocator, the request that fails, bytes in holes)."""
    a = FakeAllocator(capacity=400 * MIB)
    held = [a.alloc(10 * MIB, *FORWARD) for _ in range(40)]
    # Every segment holds 10 MiB: make them of two blocks each, and free one.
    for one in held:
        a.free(one)
    a.release()
    big = [a.alloc(100 * MIB, *FORWARD) for _ in range(4)]
    for one in big:
        a.free(one)
    parts = [a.alloc(20 * MIB, *FORWARD) for _ in range(20)]
    for one in parts[::2]:
        a.free(one)
    wanted = 50 * MIB
    with contextlib.suppress(OutOfMemory):
        a.alloc(wanted, *BACKWARD)
    return a, wanted, 10 * 20 * MIB
