"""Files that the system makes as they are read (``/proc``, ``/sys``): endless, blocking, and never a trace."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Final

_TYPES: Final = frozenset(
    ("proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf", "pstore", "configfs", "devpts")
)
_MOUNTS: Final = Path("/proc/self/mountinfo")


@functools.lru_cache(1)
def _devices() -> frozenset[int]:
    """Numbers of the file systems of these types; none where the system does not say."""
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = set()
    for line in lines:
        mount, _, kind = line.partition(" - ")
        fields = mount.split()
        if len(fields) > 2 and kind.partition(" ")[0] in _TYPES:
            major, _, minor = fields[2].partition(":")
            found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)


def made_by_system(path: Path | str) -> bool:
    """Whether a file or folder lies in such a file system; False for one that cannot be looked at."""
    try:
        return os.stat(path).st_dev in _devices()
    except (OSError, ValueError):
        return False
