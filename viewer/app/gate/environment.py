"""What a run ran on: the machine, the versions that the traces state, and the commit of the sources."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from viewer.base.run_record import Commit
from viewer.store.session import Session

GIT_SECONDS: Final = 10
MOST_TEXT: Final = 300
FLAGS: Final = ("NCCL_", "RCCL_", "CUDA_", "HIP_", "ROCR_", "TORCH_", "PYTORCH_", "OMP_", "NVTE_", "VLLM_", "SGLANG_")
_SECRET: Final = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|_KEY\b|APIKEY|AUTH", re.IGNORECASE)
_FACTS: Final = {
    "cuda_driver_version": "CUDA driver",
    "cuda_runtime_version": "CUDA runtime",
    "hip_driver_version": "HIP driver",
    "hip_runtime_version": "HIP runtime",
    "cupti_version": "CUPTI",
    "roctracer_version": "ROCtracer",
    "nccl_version": "NCCL",
    "pytorch_version": "PyTorch",
    "torch_version": "PyTorch",
    "PT_PROFILER_JOB_NAME": "job",
}
"""Top-level values of a trace that name a version, and what they are called here."""


def traced_environment(session: Session) -> dict[str, str]:
    """What the traces say of drivers, libraries and devices; values that differ between ranks are joined."""
    found: dict[str, set[str]] = {}
    for item in session.inputs:
        facts: Mapping[str, Any] = item.trace.meta.facts
        for key, name in _FACTS.items():
            if isinstance(facts.get(key), str | int | float):
                found.setdefault(name, set()).add(str(facts[key])[:MOST_TEXT])
        spread = facts.get("distributedInfo")
        if isinstance(spread, dict) and spread.get("nccl_version"):
            found.setdefault("NCCL", set()).add(str(spread["nccl_version"])[:MOST_TEXT])
    return {name: ", ".join(sorted(values)[:8]) for name, values in sorted(found.items())}


def local_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """This machine's system, and the flags that change how a load runs; nothing that names a secret."""
    environ = os.environ if environ is None else environ
    out = {"system": f"{platform.system()} {platform.release()}", "Python": platform.python_version()}
    for key in sorted(environ):
        if key.startswith(FLAGS) and not _SECRET.search(key):
            out[key] = environ[key][:MOST_TEXT]
    return out


def machine_name() -> str:
    """This machine's name."""
    return platform.node() or "unknown"


def gpu_name(session: Session) -> str:
    """The GPUs of a job, as "8 x NVIDIA H100": one per rank that has one; "" when no file names them."""
    names: dict[str, int] = {}
    for group in session.groups:
        if group.gpu:
            names[group.gpu] = names.get(group.gpu, 0) + 1
    return ", ".join(f"{count} x {name}" for name, count in sorted(names.items()))


def commit_of(folder: Path) -> Commit | None:
    """The commit that is checked out in a folder; None where git or a repository is missing."""
    shown = _git(folder, "log", "-1", "--format=%H%x00%s")
    if shown is None or "\0" not in shown:
        return None
    sha, _, subject = shown.partition("\0")
    branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD") or ""
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(sha, "" if branch == "HEAD" else branch[:MOST_TEXT], subject[:MOST_TEXT], bool(changed))


def commits_between(folder: Path, good: str, bad: str, most: int = 50) -> list[tuple[str, str]] | None:
    """(sha, subject) of the commits after ``good`` up to ``bad``, newest first; None where git cannot tell."""
    if not (is_sha(good) and is_sha(bad)):
        return None
    shown = _git(folder, "log", f"--max-count={most}", "--format=%H%x00%s", f"{good}..{bad}", "--")
    if shown is None:
        return None
    lines = [line.partition("\0") for line in shown.splitlines() if "\0" in line]
    return [(sha, subject[:MOST_TEXT]) for sha, _, subject in lines]


def is_sha(text: str) -> bool:
    """Whether a text can name a commit: hex digits only."""
    return re.fullmatch(r"[0-9a-fA-F]{7,64}", text) is not None


def _git(folder: Path, *words: str) -> str | None:
    """What git prints, or None. Never asks for anything and runs no hook or pager of the repository."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={
                **os.environ,
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_PAGER": "cat",
                "GIT_OPTIONAL_LOCKS": "0",
                "LC_ALL": "C",
            },
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
