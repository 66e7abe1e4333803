"""Run by an interpreter that has PyTorch: a small training loop on the CPU under its profiler, with memory.

    python torch_memory.py FOLDER

Writes trace.json, the memory timelines, and truth.json: what PyTorch itself says of them.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import nn
from torch.cuda._memory_viz import _profile_to_snapshot  # type: ignore[import-not-found]
from torch.profiler import ProfilerActivity, profile, schedule  # type: ignore[import-not-found]

STEPS = 9
KEPT = 1 << 20


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")  # numpy is not there, exports of timelines are deprecated
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 64))
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(128, 256), torch.randint(0, 64, (128,))
    log: list[Any] = []

    def keep_for_later() -> None:
        log.append(torch.empty(KEPT // 4))

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=STEPS),
        profile_memory=True,
        with_stack=True,
        record_shapes=True,
    ) as profiler:
        for step in range(STEPS + 1):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            keep_for_later()
            if step < STEPS:
                profiler.step()
    profiler.export_chrome_trace(str(folder / "trace.json"))
    for name in ("timeline.json", "timeline.raw.json.gz", "timeline.html"):
        profiler.export_memory_timeline(str(folder / name), device="cpu")
    with (folder / "profile.pickle").open("wb") as file:
        pickle.dump(_profile_to_snapshot(profiler), file)
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    states = [t for s in optimizer.state.values() for t in s.values() if isinstance(t, torch.Tensor)]
    truth = {
        "version": torch.__version__,
        "self_cpu_memory_usage": sum(e.self_cpu_memory_usage for e in profiler.key_averages()),
        "parameters": parameters,
        "optimizer": sum(t.numel() * t.element_size() for t in states),
        "steps": STEPS,
        "kept": KEPT,
    }
    (folder / "truth.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
