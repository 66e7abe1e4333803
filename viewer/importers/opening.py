"""Opening a job: files found, imported in a pool of threads or mapped from the cache, made into sessions."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from viewer.base.errors import Cancelled, InputError
from viewer.base.findings import Finding
from viewer.base.work import CancelToken, Progress, ProgressSink, no_progress
from viewer.importers.base import Imported, ImportJob
from viewer.importers.registry import importer_of
from viewer.importers.source import explain_os_error
from viewer.store.args import ArgsText, ArgsWriter
from viewer.store.assemble import Tables, assemble
from viewer.store.cache import Cache, stamp_of
from viewer.store.files import folder_bytes, write_meta, write_tables
from viewer.store.meta import SourceStamp
from viewer.store.rules import RuleTable, shipped_rules
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Came, Trace

log = logging.getLogger(__name__)

MAX_FILES: Final = 20_000
"""Files of a folder that are looked at."""
MAX_WORKERS: Final = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to try. ``named``: the user gave this path itself, so that a failure is an error, not a note."""

    path: Path
    named: bool
    size: int


def discover(paths: Sequence[Path]) -> list[Candidate]:
    """Files behind the given paths, each file once, the smallest first.

    Folders are walked (also through links, but never in circles); of their files only ``*.json``, ``*.json.gz`` and
    ``*.hatchet`` are candidates. A named path is a candidate whatever it is.
    """
    found: dict[str, Candidate] = {}
    for path in paths:
        if os.path.isdir(path):  # unlike Path.is_dir it never raises, however odd the name
            for file in _walk(path):
                key = os.path.realpath(file)
                if key not in found:
                    found[key] = Candidate(file, False, _size(file))
        else:
            key = os.path.realpath(path)
            if key not in found or not found[key].named:
                found[key] = Candidate(path, True, _size(path))
    return sorted(found.values(), key=lambda c: (c.size, str(c.path)))


def _walk(folder: Path) -> list[Path]:
    seen: set[str] = set()
    files: list[Path] = []
    for root, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        files.extend(
            Path(root) / name
            for name in sorted(names)
            if name.lower().endswith((".json", ".json.gz", ".hatchet")) and not name.startswith(".")
        )
        if len(files) > MAX_FILES:
            break
    return files[:MAX_FILES]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@dataclass(slots=True)
class OpenResult:
    """What came of opening a job.

    ``failures`` are named files that do not open, ``skipped`` says which files of folders are no traces, ``jobs``
    groups input indexes that look like separate jobs (one entry when all belong together).
    """

    session: Session
    failures: list[InputError] = field(default_factory=list)
    skipped: list[Finding] = field(default_factory=list)
    jobs: list[list[int]] = field(default_factory=list)
    cancelled: list[Path] = field(default_factory=list)


class JobOpener:
    """Opens the files of one job.

    Args:
        paths: files and folders.
        cache: where tables are kept.
        given_ranks: ranks by path as the user wrote it, by file name or by absolute path.
        align: see build_session.
        rules: class rules, the shipped ones by default.
        workers: threads; by default as many as there are cores, at most MAX_WORKERS.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        cache: Cache,
        given_ranks: dict[str, int] | None = None,
        align: str = "auto",
        rules: RuleTable | None = None,
        workers: int | None = None,
    ) -> None:
        self._paths = [Path(p) for p in paths]
        self._cache = cache
        self._given = given_ranks or {}
        self._align = align
        self._rules = rules or shipped_rules()
        self._workers = workers or min(MAX_WORKERS, os.cpu_count() or 1)
        self._tokens: dict[str, CancelToken] = {}
        self._lock = threading.Lock()
        self._all = CancelToken()

    def cancel_file(self, path: Path | str) -> None:
        """Leave one file out; it need not have begun. Safe from any thread."""
        self._token(str(path)).cancel()

    def _token(self, path: str) -> CancelToken:
        with self._lock:
            return self._tokens.setdefault(path, CancelToken(self._all))

    def open(
        self,
        progress: ProgressSink = no_progress,
        cancel: CancelToken | None = None,
        opened: Callable[[Session], None] | None = None,
    ) -> OpenResult:
        """Open everything; blocks until done.

        Args:
            progress: called from worker threads, per file.
            cancel: stops the whole job.
            opened: called (one call at a time, from a worker thread) with a new session each time a file is mapped.

        Raises:
            Cancelled: the whole job was cancelled.
        """
        self._all = CancelToken(cancel)
        with self._lock:
            for path, token in list(self._tokens.items()):
                fresh = CancelToken(self._all)
                if token.cancelled:
                    fresh.cancel()
                self._tokens[path] = fresh
        candidates = discover(self._paths)
        result = OpenResult(Session(rules=self._rules))
        done: list[Opened] = []
        with ThreadPoolExecutor(self._workers, "import") as pool:
            futures = {pool.submit(self._open_file, c, progress): c for c in candidates}
            try:
                for future in as_completed(futures):
                    candidate = futures[future]
                    try:
                        done.append(Opened(candidate.path, future.result(), self._given_rank(candidate.path)))
                    except Cancelled:
                        self._all.check()
                        result.cancelled.append(candidate.path)
                        continue
                    except InputError as error:
                        if candidate.named:
                            result.failures.append(error)
                        else:
                            result.skipped.append(
                                Finding(
                                    "skipped", "info", 1, f"no trace, left out: {error.problem}", str(candidate.path)
                                )
                            )
                        continue
                    result.session = self._session(done)
                    if opened is not None and len(done) < len(candidates):
                        opened(result.session)
            except BaseException:
                self._all.cancel()
                raise
        self._folders_without_traces(candidates, result)
        result.skipped.sort(key=lambda f: f.where)
        result.failures.sort(key=lambda e: e.path)
        result.jobs = separate_jobs(result.session, self._paths)
        if opened is not None and done:
            opened(result.session)
        return result

    def _session(self, done: list[Opened]) -> Session:
        def place(item: Opened) -> tuple[bool, int, str]:
            rank = item.given_rank if item.given_rank is not None else item.trace.meta.rank
            return rank is None, rank if rank is not None else 0, str(item.path)

        return build_session(sorted(done, key=place), self._rules, self._align)

    def _given_rank(self, path: Path) -> int | None:
        for spelling in (str(path), os.path.realpath(path), path.name):
            if spelling in self._given:
                return self._given[spelling]
        for spelling, rank in self._given.items():
            if os.path.realpath(spelling) == os.path.realpath(path):
                return rank
        return None

    def _folders_without_traces(self, candidates: list[Candidate], result: OpenResult) -> None:
        opened = [str(i.path) for i in result.session.inputs] + [str(p) for p in result.cancelled]
        for folder in self._paths:
            if os.path.isdir(folder) and not any(Path(p).is_relative_to(folder) for p in opened):
                looked = sum(c.path.is_relative_to(folder) for c in candidates)
                problem = f"holds no trace ({looked} JSON files were looked at)" if looked else "holds no JSON file"
                result.failures.append(
                    InputError(str(folder), problem, "", "Give the folder that the profiler wrote its traces to.")
                )

    # One file --------------------------------------------------------------------------------------------------------

    def _open_file(self, candidate: Candidate, progress: ProgressSink) -> Trace:
        token = self._token(str(candidate.path))
        token.check()
        began = time.monotonic()
        try:
            if candidate.path.is_dir():
                raise IsADirectoryError
            if candidate.path.exists() and not candidate.path.is_file():
                raise InputError(str(candidate.path), "is no regular file", "", "Copy its content into a file first.")
            stamp = stamp_of(candidate.path)
            trace = self._from_cache(stamp)
            cached = trace is not None
            damaged = trace is None and self._cache.is_damaged(stamp)
            if trace is None:
                trace = self._import(candidate, stamp, progress, token, damaged)
            trace.came = Came(cached, time.monotonic() - began, folder_bytes(trace.folder))
        except OSError as error:
            raise explain_os_error(candidate.path, error) from None
        except MemoryError:
            raise InputError(
                str(candidate.path), "needs more memory than there is", "", "Close other programs, or open fewer files."
            ) from None
        except (InputError, Cancelled):
            raise
        except Exception as error:
            log.exception("importing %s failed", candidate.path)
            raise InputError(
                str(candidate.path),
                f"could not be imported ({type(error).__name__}: {error})",
                "",
                "This is an error of Rankscope: please report it with the log.",
            ) from None
        meta = trace.meta
        progress(Progress(str(candidate.path), "done", candidate.size, candidate.size, meta.events, 0.0))
        return trace

    def _from_cache(self, stamp: SourceStamp) -> Trace | None:
        folder = self._cache.lookup(stamp)
        if folder is None:
            return None
        try:
            trace = Trace.open(folder)
            if trace.meta.rules_hash != self._rules.hash:
                trace.repaint(self._rules)
        except (OSError, pa.ArrowException, msgspec.MsgspecError, ValueError, IndexError):
            (folder / "meta.json").unlink(missing_ok=True)
            return None
        return trace

    def _import(
        self, candidate: Candidate, stamp: SourceStamp, progress: ProgressSink, token: CancelToken, damaged: bool
    ) -> Trace:
        importer, sure = importer_of(candidate.path)
        if not candidate.named and sure < 2:
            raise InputError(str(candidate.path), "nothing at its beginning looks like a trace")
        writer = ArgsWriter()
        try:
            job = ImportJob(candidate.path, stamp, self._rules, writer.write, progress, token)
            imported = importer.read(job)
        finally:
            writer.close()
        if damaged:
            self._cache.drop(stamp)
            imported.meta.findings.append(
                Finding("cache-rebuilt", "info", 1, "its tables in the cache were damaged and have been rebuilt")
            )
        tables = assemble(imported.raw, self._rules)
        token.check()
        job.tell("write", stamp.size, imported.meta.events)
        imported.meta.import_seconds = time.monotonic() - job.began
        return self._keep(stamp, imported, tables, writer)

    def _keep(self, stamp: SourceStamp, imported: Imported, tables: Tables, writer: ArgsWriter) -> Trace:
        def fill(folder: Path) -> None:
            write_tables(folder, tables)
            if not imported.meta.args_in_source:
                writer.save(folder)
            write_meta(folder, imported.meta)

        try:
            with self._cache.create(stamp) as draft:
                fill(draft.folder)
            return Trace.open(draft.path)
        except (OSError, pa.ArrowException, msgspec.MsgspecError) as error:
            reason = getattr(error, "strerror", None) or str(error)
        imported.meta.findings.append(
            Finding(
                "cache-unwritable",
                "warning",
                1,
                f"the cache folder {self._cache.folder} cannot be written ({reason}): this file is imported anew "
                "each time. Set RANKSCOPE_CACHE_DIR to a folder with room.",
            )
        )
        with contextlib.suppress(OSError, pa.ArrowException):
            temporary = tempfile.TemporaryDirectory(prefix="rankscope-")
            try:
                fill(Path(temporary.name))
                trace = Trace.open(Path(temporary.name))
            except BaseException:
                temporary.cleanup()
                raise
            weakref.finalize(trace, temporary.cleanup)
            return trace
        args = ArgsText.of_source(stamp) if imported.meta.args_in_source else ArgsText.of_writer(writer)
        return Trace.in_memory(imported.meta, tables, args)


def separate_jobs(session: Session, given: Sequence[Path] = ()) -> list[list[int]]:
    """Inputs that look like different jobs, one group when nothing says so.

    Stated world sizes that differ say so; so do ranks that come twice: in several of the ``given`` folders, or at the
    same time in several folders anywhere.
    """
    sizes: dict[int, list[int]] = {}
    unknown: list[int] = []
    for item in session.inputs:
        size = item.trace.meta.world_size
        if size is None:
            unknown.append(item.index)
        else:
            sizes.setdefault(size, []).append(item.index)
    if len(sizes) >= 2:
        return [*sizes.values(), *([unknown] if unknown else [])]
    folders = [p for p in given if os.path.isdir(p)]

    def given_folder(path: Path) -> Path:
        return next((f for f in folders if path.is_relative_to(f)), path.parent)

    for folder_of, at_once in ((given_folder, False), (_parent, True)):
        if _ranks_repeat(session, folder_of, at_once):
            groups: dict[Path, list[int]] = {}
            for item in session.inputs:
                groups.setdefault(folder_of(item.path), []).append(item.index)
            return list(groups.values())
    return [[i.index for i in session.inputs]] if session.inputs else []


def _parent(path: Path) -> Path:
    return path.parent


def _ranks_repeat(session: Session, folder_of: Callable[[Path], Path], at_once: bool) -> bool:
    """Whether a rank comes from more than one folder; ``at_once``: with files that overlap in time."""
    seen: dict[int, Path] = {}
    for item in session.inputs:
        if item.rank is None or (at_once and not item.conflict):
            continue
        folder = folder_of(item.path)
        if seen.setdefault(item.rank, folder) != folder:
            return True
    return False
