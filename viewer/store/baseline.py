"""The baseline store: a folder of plain files, one per run, fit for git or a shared disk.

    FOLDER/runs/LOAD/ID.json      one run (:class:`~viewer.base.run_record.RunRecord`)
    FOLDER/accepted/LOAD/ID.json  a level that was accepted
    FOLDER/traces/LOAD/ID.rankpack   kept traces of some runs

No file is ever changed after it was written and there is no index, so writers at the same time, on one machine or on
several, never meet: each file is written under another name and then linked to its own, which fails if it exists.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from viewer.base.errors import InputError, UsageError
from viewer.base.findings import Finding
from viewer.base.run_record import ACCEPT_SCHEMA, RUN_SCHEMA, Accepted, RunRecord
from viewer.store.small_file import read_small

MAX_BYTES: Final = 4 << 20
LEFT_BEHIND_SECONDS: Final = 86_400
MOST_RUNS: Final = 200_000
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_ID: Final = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}\Z")
Kept = TypeVar("Kept", RunRecord, Accepted)


@dataclass(frozen=True, slots=True)
class Stored:
    """The runs of a load by time, what was accepted, and what could not be read."""

    runs: tuple[RunRecord, ...]
    accepted: tuple[Accepted, ...]
    findings: tuple[Finding, ...]


def new_id(now: datetime) -> str:
    """A name for a record that sorts by time and that no other writer chooses."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"


def time_text(now: datetime) -> str:
    """A time as records hold it."""
    return f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def folder_name(load: str) -> str:
    """A load's folder: its name with what no file name may hold replaced; never a path.

    Raises UsageError for a name of which nothing is left.
    """
    name = _UNSAFE.sub("-", load).strip("-.")[:80]
    if not name:
        raise UsageError(f"{load!r} is no name for a load: use letters and digits.")
    if name != load:  # two loads never share a folder
        import hashlib

        name += "-" + hashlib.sha256(load.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return name


class BaselineStore:
    """A folder of runs. Made when first written to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def loads(self) -> list[str]:
        """The names of all loads with runs, sorted. Raises InputError when the folder cannot be read."""
        names = set()
        for folder in self._folders("runs"):
            for path in sorted(folder.iterdir(), reverse=True):
                with contextlib.suppress(InputError):
                    names.add(_read(path, RunRecord, RUN_SCHEMA).load)
                    break
        return sorted(names)

    def read(self, load: str) -> Stored:
        """All runs of a load by time; empty when there are none. A file that cannot be read becomes a finding.

        Raises InputError when the folder itself cannot be read.
        """
        runs, findings = self._all("runs", load, RunRecord, RUN_SCHEMA)
        accepted, more = self._all("accepted", load, Accepted, ACCEPT_SCHEMA)
        return Stored(
            tuple(sorted((r for r in runs if r.load == load), key=lambda r: (r.time, r.id))),
            tuple(sorted(accepted, key=lambda a: a.time)),
            (*findings, *more),
        )

    def add(self, record: RunRecord) -> Path:
        """Write a run; it is there as a whole or not at all. Raises UsageError."""
        return self._write("runs", record.load, record.id, record)

    def accept(self, load: str, accepted: Accepted, name: str) -> Path:
        """Write that a level was accepted. Raises UsageError."""
        return self._write("accepted", load, name, accepted)

    def trace_path(self, load: str, run: str) -> Path:
        """Where the pack of a run is kept; its folder is made. Raises UsageError."""
        folder = self.folder / "traces" / folder_name(load)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from None
        return folder / f"{run}.rankpack"

    def kept_trace(self, record: RunRecord) -> Path | None:
        """The pack of a run, if it is still there. A record names no file outside the store."""
        if not record.trace or not _ID.match(record.id):
            return None
        path = self.folder / "traces" / folder_name(record.load) / f"{record.id}.rankpack"
        return path if path.is_file() else None

    def forget_traces(self, load: str, keep: Iterable[str]) -> int:
        """Delete packs of runs that are not in ``keep``; returns how many. Records stay."""
        kept, gone = set(keep), 0
        folder = self.folder / "traces" / folder_name(load)
        for path in folder.glob("*.rankpack") if folder.is_dir() else ():
            if path.stem not in kept and _ID.match(path.stem):
                with contextlib.suppress(OSError):
                    path.unlink()
                    gone += 1
        return gone

    def _folders(self, part: str) -> list[Path]:
        top = self.folder / part
        if not self.folder.exists():
            return []
        if not self.folder.is_dir():
            raise InputError(str(self.folder), "is no folder", "", "Name the folder of the baseline.")
        try:
            return sorted(p for p in top.iterdir() if p.is_dir()) if top.is_dir() else []
        except OSError as error:
            raise InputError(str(top), f"cannot be read: {error.strerror or error}") from None

    def _all(self, part: str, load: str, kind: type[Kept], schema: str) -> tuple[list[Kept], list[Finding]]:
        self._folders(part)
        folder = self.folder / part / folder_name(load)
        found: list[Kept] = []
        bad: list[str] = []
        try:
            paths = [p for p in folder.iterdir() if p.suffix == ".json" and not p.name.startswith(".")]
        except FileNotFoundError:
            return [], []
        except OSError as error:
            raise InputError(str(folder), f"cannot be read: {error.strerror or error}") from None
        for path in sorted(paths)[-MOST_RUNS:]:
            try:
                found.append(_read(path, kind, schema))
            except InputError as error:
                bad.append(error.sentence())
        if not bad:
            return found, []
        message = f"{len(bad):,} of {len(paths):,} records of {load} cannot be read and are left out: {bad[0]}"
        return found, [Finding("unreadable-record", "warning", len(bad), message, str(folder))]

    def _write(self, part: str, load: str, name: str, record: msgspec.Struct) -> Path:
        folder = self.folder / part / folder_name(load)
        data = msgspec.json.format(msgspec.json.encode(record, order="deterministic"), indent=1) + b"\n"
        target = folder / f"{name}.json"
        temporary = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _place(temporary, target)
        except OSError as error:
            raise _unwritable(target, error) from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        _clear(folder)
        return target


def _clear(folder: Path) -> None:
    """Take away what writers left behind that were killed; those at work are not a day old."""
    with contextlib.suppress(OSError):
        for path in folder.glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFT_BEHIND_SECONDS:
                    path.unlink()


def _place(temporary: Path, target: Path) -> None:
    """Give a complete file its name, unless that is taken. Disks without hard links rename instead."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise
        temporary.replace(target)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written: {error.strerror or error}. Nothing was recorded; make room or name another folder."
    )


def _read(path: Path, kind: type[Kept], schema: str) -> Kept:
    data = read_small(path, MAX_BYTES, "a record of a baseline store")
    try:
        raw = json.loads(data)
        if not isinstance(raw, dict) or raw.get("schema") != schema:
            raise InputError(str(path), f'is no record: it lacks "schema": "{schema}"')
        record = msgspec.convert(raw, kind)
        datetime.fromisoformat(record.time.replace("Z", "+00:00")).timestamp()  # told as a time later
        return record
    except msgspec.ValidationError as error:
        raise InputError(str(path), f"holds a wrong value: {str(error)[:200]}") from None
    except RecursionError:
        raise InputError(str(path), "is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise InputError(str(path), f"is half written or damaged: {str(error)[:120]}") from None
