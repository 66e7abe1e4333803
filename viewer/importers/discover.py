"""Which sources lie behind the paths that a user gave: files, folders, archives, packs, and members of archives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from viewer.base.errors import InputError
from viewer.importers.archive import (
    ARCHIVE_SUFFIXES,
    archive_kind,
    is_trace_name,
    list_archive,
)
from viewer.importers.packed import PackedInput, is_pack, list_pack
from viewer.importers.source import FileSource, Source, explain_os_error
from viewer.importers.special import made_by_system
from viewer.store.cache import enclosing_file

MAX_FILES: Final = 20_000
"""Files of a folder that are looked at."""
MAX_FOLDERS: Final = 20_000
"""Folders below a folder that are looked through: links may lead anywhere."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to try.

    Attributes:
        path: as it is shown; for a member of an archive the archive and the name inside.
        named: the user gave this path itself, so that a failure is an error, not a note.
        size: bytes on disk.
        source: where its bytes come from; None for an archive that has to be read from its beginning, and with a
            ``problem``.
        inside: the archive that holds it.
        problem: why it cannot be opened, known before trying.
        only: of a compressed tar, the members at or below these paths; all when empty.
    """

    path: Path
    named: bool
    size: int
    source: Source | PackedInput | None = None
    inside: Path | None = None
    problem: InputError | None = None
    only: tuple[Path, ...] = ()


def discover(paths: Sequence[Path]) -> list[Candidate]:
    """Sources behind the given paths, each once, the smallest first.

    Folders are walked (also through links, but never in circles); of their files only those named like traces are
    candidates, and their archives only where there is no such file: an archive beside traces mostly holds the same.
    A named path is a candidate whatever it is. Archives are known by their content.
    """
    found: dict[str, Candidate] = {}

    def add(candidate: Candidate) -> None:
        key = os.path.realpath(candidate.path)
        old = found.get(key)
        if old is not None and old.only:
            found[key] = replace(old, only=(*old.only, *candidate.only) if candidate.only else ())
        elif old is None or (candidate.named and not old.named):
            found[key] = candidate

    for path in paths:
        if "\0" in str(path):  # a session file may name anything
            shown = str(path).replace("\0", "\\0")
            told = InputError(shown, "is no name that a file can have", "", "Check the spelling of the path.")
            found[str(path)] = Candidate(path, True, 0, None, None, told)
            continue
        if os.path.isdir(path):  # unlike Path.is_dir it never raises, however odd the name
            files, beyond = _walk(path, is_trace_name)
            for file in files:
                add(Candidate(file, False, _size(file), FileSource(file)))
            if not files:
                archives, beyond = _walk(path, lambda name: name.lower().endswith(ARCHIVE_SUFFIXES))
                for archive in archives:
                    for candidate in _inside(archive, archive):
                        add(candidate)
            if beyond:
                told = InputError(
                    str(path),
                    f"holds {beyond}: what lies beyond them was not looked at",
                    "",
                    "Give the folder that the profiler wrote its traces to.",
                )
                add(Candidate(path, True, 0, None, None, told))
            continue
        holder = None if os.path.lexists(path) else enclosing_file(path)
        for candidate in _inside(holder or path, path):
            add(candidate)
    return sorted(found.values(), key=lambda c: (c.size, str(c.path)))


def _inside(file: Path, wanted: Path) -> Iterator[Candidate]:
    """The file itself, or what it holds at or below the path ``wanted``."""
    kind = archive_kind(file) if os.path.isfile(file) and not made_by_system(file) else None
    if kind is None:
        yield Candidate(wanted, True, _size(file), FileSource(wanted))
        return
    if kind == "tar stream":
        yield Candidate(file, True, _size(file), None, file, None, () if wanted == file else (wanted,))
        return
    try:
        if kind == "zip" and is_pack(file):
            packed = list_pack(file)
            held = [Candidate(p.path, False, p.size, p, file) for p in packed]
        else:
            listing = list_archive(file, kind)
            held = [Candidate(m.path, False, m.size, m, file) for m in listing.members]
            held += [Candidate(Path(e.path), False, 0, None, file, e) for e in listing.refused]
            if listing.damage:
                told = InputError(
                    str(file), f"is an archive that is damaged: {listing.damage}", "", "Copy the archive again."
                )
                yield Candidate(file, True, 0, None, file, told)
    except InputError as error:
        yield Candidate(file, True, 0, None, file, error)
        return
    except OSError as error:
        yield Candidate(file, True, 0, None, file, explain_os_error(file, error))
        return
    chosen = [c for c in held if wanted == file or c.path.is_relative_to(wanted)]
    if not chosen:
        problem = "is an archive that holds no trace" if wanted == file else "is not in the archive"
        told = InputError(str(wanted), problem, "", "Give an archive of what the profiler wrote.")
        yield Candidate(wanted, True, 0, None, file, told)
    for candidate in chosen:
        named = candidate.path == wanted
        yield Candidate(candidate.path, named, candidate.size, candidate.source, candidate.inside, candidate.problem)


def _walk(folder: Path, wanted: Callable[[str], bool]) -> tuple[list[Path], str]:
    """Files by name, and what there is too much of ("" when all was looked at)."""
    seen: set[tuple[int, int]] = set()
    files: list[Path] = []
    for root, folders, names in os.walk(folder, followlinks=True):
        try:
            state = os.stat(root)
        except OSError:  # it is gone
            folders.clear()
            continue
        if (state.st_dev, state.st_ino) in seen or made_by_system(root):
            folders.clear()
            continue
        if len(seen) == MAX_FOLDERS:
            return files, f"more than {MAX_FOLDERS:,} folders"
        seen.add((state.st_dev, state.st_ino))
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        files.extend(Path(root) / name for name in sorted(names) if wanted(name) and not name.startswith("."))
        if len(files) > MAX_FILES:
            return files[:MAX_FILES], f"more than {MAX_FILES:,} files with the name of a trace"
    return files, ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0
