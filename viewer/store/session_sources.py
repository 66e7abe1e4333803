"""The sources of a session file: which are there, which changed, and where the missing ones may be."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from viewer.base.session_file import SavedSource
from viewer.base.work import CancelToken
from viewer.store.cache import enclosing_file, stamp_of
from viewer.store.session_file import resolved

MAX_LOOKED_AT: Final = 200_000
"""Files of a folder that a search looks at."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a session, in its order.

    Attributes:
        present: (as saved, where it is).
        missing: not there, or no regular file.
        changed: present, but of other content than when the session was saved.
    """

    present: tuple[tuple[SavedSource, Path], ...] = ()
    missing: tuple[tuple[SavedSource, Path], ...] = ()
    changed: tuple[Path, ...] = field(default=())


def look_for(sources: Sequence[SavedSource], session: Path, moved: dict[str, Path] | None = None) -> Sources:
    """Look at every source of a session.

    Args:
        sources: as saved.
        session: the session file, which relative paths count from.
        moved: where sources (by their saved path) are now.
    """
    present, missing, changed = [], [], []
    for source in sources:
        path = (moved or {}).get(source.path) or resolved(source.path, session)
        try:
            regular = stat.S_ISREG(path.stat().st_mode)
        except (OSError, ValueError):
            regular = enclosing_file(path) is not None  # a member of an archive
        if not regular:
            missing.append((source, path))
            continue
        present.append((source, path))
        if not _same(source, path):
            changed.append(path)
    return Sources(tuple(present), tuple(missing), tuple(changed))


def search(folder: Path, missing: Sequence[SavedSource], cancel: CancelToken | None = None) -> dict[str, Path]:
    """Look below a folder for files that have the names of missing sources.

    Of several of one name the one with the saved content wins, then the one whose folders are named alike. One file is
    never taken for two sources.

    Returns:
        Where they are, by the saved path.

    Raises:
        Cancelled: on request.
    """
    wanted: dict[str, list[SavedSource]] = {}
    for source in missing:
        wanted.setdefault(os.path.basename(source.path), []).append(source)
    found: dict[str, list[Path]] = {}
    looked = 0
    for root, folders, names in os.walk(folder):
        if cancel is not None:
            cancel.check()
        folders.sort()
        for name in wanted.keys() & set(names):
            found.setdefault(name, []).append(Path(root) / name)
        looked += len(names)
        if looked > MAX_LOOKED_AT:
            break
    out: dict[str, Path] = {}
    taken: set[Path] = set()
    for name, sources in wanted.items():
        pairs = [
            (_same(source, path), _alike(source.path, path), -i, source, path)
            for source in sources
            for i, path in enumerate(found.get(name, []))
        ]
        for _, _, _, source, path in sorted(pairs, key=lambda p: p[:3], reverse=True):
            if source.path not in out and path not in taken:
                out[source.path] = path
                taken.add(path)
    return out


def _same(source: SavedSource, path: Path) -> bool:
    """Whether a file has the content that was saved, as far as the session says."""
    if source.size is None and source.digest is None:
        return True
    if enclosing_file(path) is not None:
        return True  # a member of an archive: told when it is opened
    try:
        if source.size is not None and path.stat().st_size != source.size:
            return False
        return source.digest is None or stamp_of(path).digest == source.digest
    except OSError:
        return False


def _alike(saved: str, path: Path) -> int:
    """Number of last parts that two paths share."""
    count = 0
    for a, b in zip(reversed(Path(saved).parts), reversed(path.parts), strict=False):
        if a != b:
            break
        count += 1
    return count
