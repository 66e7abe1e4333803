"""Jobs of one rank whose host queues kernels ahead, with faults planted in the host: what each costs is known.

    slow = HostJob(faults=("sync",))
    slow.cost_ns    # how much longer a step is than in the job without faults

A step launches its kernels one by one (5 us each, the device takes 400 us for each), then reads the loss: the queue is
empty for a moment between steps, as in many a healthy job.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.build import Event, annotation, call, copy, kernel, make_trace, op, python
from viewer.store.trace import Trace

US, MS = 1_000, 1_000_000


@dataclass
class HostJob:
    """What to make: ``faults`` by name (see ``_before`` and ``_inside``)."""

    steps: int = 6
    kernels: int = 24
    kernel_ns: int = 400 * US
    launch_ns: int = 5 * US
    faults: tuple[str, ...] = ()
    rank: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def trace(self) -> Trace:
        """The job as a trace."""
        self._make()
        return make_trace(
            *self._events, path=f"rank-{self.rank}.json", rank=self.rank, rank_source="given", facts=self.facts
        )

    def events(self) -> list[Event]:
        """The events of the job."""
        self._make()
        return self._events

    @property
    def step_ns(self) -> int:
        """Mean length of the steps after the first, device time."""
        self._make()
        return (self._ends[-1] - self._ends[0]) // (self.steps - 1)

    @property
    def cost_ns(self) -> int:
        """How much longer a step is than without the faults."""
        return self.step_ns - replace(self, faults=()).step_ns

    def _make(self) -> None:
        self._host = self._device = 0
        self._corr = 0
        self._events: list[Event] = []
        self._ends: list[int] = []
        for step in range(self.steps):
            begin = self._host
            self._before(step)
            for i in range(self.kernels - (4 if "host-bound" in self.faults else 0)):
                if i == self.kernels // 2:
                    self._inside(step)
                self._launch()
            self._synchronise("aten::item", "train.py(20): read_loss")
            self._ends.append(self._device)
            self._events.append(annotation(f"ProfilerStep#{step + 3}", begin, self._host - begin))

    def _before(self, step: int) -> None:
        if "data-loading" in self.faults:
            self._host_slice(annotation("enumerate(DataLoader)#_Iter.__next__", 0, 1_500 * US))
        if "step-gap" in self.faults:
            self._host_slice(python("train.py(30): checkpoint", 0, 2 * MS))
        if "loading-late" in self.faults and step == 4:
            self._host_slice(annotation("enumerate(DataLoader)#_Iter.__next__", 0, 1_500 * US))

    def _inside(self, step: int) -> None:
        faults = self.faults
        if "sync" in faults:
            self._synchronise("aten::item", "train.py(12): check")
            self._host_slice(python("train.py(14): branch", 0, 600 * US))
        if "pageable-copy" in faults:
            self._copy_back()
            self._host_slice(python("train.py(14): branch", 0, 600 * US))
        if "collection" in faults:
            self._stall(python("Python GC", 0, 1_200 * US))
        if "recompilation" in faults or ("warm-up" in faults and step == 0):
            self._stall(python("torch/_dynamo/convert_frame.py(7): _compile", 0, 6 * MS))
        if "allocation" in faults:
            self._drain_by("cudaFree", 300 * US)
            self._host_slice(call("cudaMalloc", 0, 700 * US))
        if "hidden-allocation" in faults:
            for _ in range(3):
                self._host_slice(call("cudaMalloc", 0, 40 * US))
        if "jitter" in faults:
            self._stall(op("aten::as_strided", 0, 4 * MS))
        if "host-bound" in faults:
            self._drain()
            for _ in range(4):
                self._host_slice(python("model.py(9): route", 0, 900 * US))
                self._launch()
        for _ in range(40):
            self._host_slice(op("aten::as_strided", 0, 2 * US))

    def _stall(self, slice_: Event) -> None:
        """A stall that the queue does not hide: it lasts beyond what is queued."""
        ahead = max(0, self._device - self._host)
        self._host_slice(replace(slice_, dur=slice_.dur + ahead))

    def _host_slice(self, event: Event) -> None:
        self._events.append(replace(event, start=self._host))
        self._host += event.dur

    def _launch(self) -> None:
        self._corr += 1
        start = max(self._device, self._host + 8 * US)
        self._events += [
            call("cudaLaunchKernel", self._host, self.launch_ns, corr=self._corr),
            kernel("gemm", start, self.kernel_ns, corr=self._corr),
        ]
        self._host += self.launch_ns + US
        self._device = start + self.kernel_ns

    def _drain(self) -> None:
        """The host is slower for so long that the queue runs empty, with nothing but operators recorded."""
        while self._host < self._device:
            self._host_slice(op("aten::view", 0, 20 * US))

    def _drain_by(self, name: str, least: int) -> None:
        end = max(self._device + 5 * US, self._host + least)
        self._host_slice(call(name, 0, end - self._host))

    def _synchronise(self, operator: str, line: str) -> None:
        end = max(self._device + 3 * US, self._host + 10 * US)
        self._events += [
            python(line, self._host, end - self._host + 4 * US),
            op(operator, self._host + US, end - self._host + US),
            call("cudaStreamSynchronize", self._host + 2 * US, end - self._host - 2 * US),
        ]
        self._host = end + 5 * US

    def _copy_back(self) -> None:
        """A copy to memory that is not pinned: the call returns when it is over."""
        self._corr += 1
        start = max(self._device, self._host + 8 * US)
        self._device = start + 5 * US
        self._events += [
            call("cudaMemcpyAsync", self._host, self._device + 2 * US - self._host, corr=self._corr),
            copy("Memcpy DtoH (Device -> Pageable)", start, 5 * US, corr=self._corr),
        ]
        self._host = self._device + 3 * US


def launch_bound_job(steps: int = 6, kernels: int = 200) -> HostJob:
    """Kernels of 3 us, one launch every 26 us."""
    return HostJob(steps, kernels, kernel_ns=3 * US, launch_ns=25 * US)
