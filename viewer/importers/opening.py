"""Opening a job: files found, imported in a pool of threads or mapped from the cache, made into sessions."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from viewer.base.errors import Cancelled, InputError, UnreadableError
from viewer.base.findings import Finding
from viewer.base.memory import give_back
from viewer.base.work import CancelToken, Progress, ProgressSink, no_progress
from viewer.importers.discover import Candidate, discover
from viewer.importers.single import SourceOpener
from viewer.importers.tar_open import open_stream
from viewer.store.cache import Cache
from viewer.store.rules import RuleTable, shipped_rules
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace

MAX_WORKERS: Final = 8
REST_FACTOR: Final = 4
"""A session of the files so far is made when at least this many times the time that such sessions took has passed."""


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker tells: a trace, an error, or (``ended``) that a candidate needs no more work.

    ``path`` is that of a member of the candidate, None when it is the candidate itself.
    """

    candidate: Candidate
    path: Path | None = None
    trace: Trace | None = None
    error: InputError | None = None
    ended: Future[None] | None = None


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
        self._given = given_ranks or {}
        self._align = align
        self._rules = rules or shipped_rules()
        self._cache = cache
        self._sources = SourceOpener(cache, self._rules, self._threads)
        self._workers = workers or min(MAX_WORKERS, os.cpu_count() or 1)
        self._tokens: dict[str, CancelToken] = {}
        self._lock = threading.Lock()
        self._waiting = 0
        """Candidates that are not open yet."""
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
            opened: called (one call at a time, from a worker thread) with a new session each time a file is mapped;
                of many files not for each, so that making sessions takes a small part of the time.

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
        self._waiting = len(candidates)
        outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        begun, spent = time.monotonic(), 0.0
        with ThreadPoolExecutor(self._workers, "import") as pool:
            try:
                for candidate in candidates:
                    self._submit(pool, candidate, progress, outcomes)
                running = len(candidates)
                while running:
                    outcome = outcomes.get()
                    if outcome.ended is not None:
                        running -= 1
                        self._take_end(outcome.candidate, outcome.ended, result)
                    elif outcome.trace is None:
                        self._take_error(outcome, result)
                    else:
                        shown = outcome.path or outcome.candidate.path
                        done.append(Opened(shown, outcome.trace, self._given_rank(shown)))
                        now = time.monotonic()
                        if opened is not None and running > 1 and now - begun >= REST_FACTOR * spent:
                            opened(self._session(done))
                            spent += time.monotonic() - now
            except BaseException:
                self._all.cancel()
                raise
        if done:
            result.session = self._session(done)
        self._folders_without_traces(candidates, result)
        result.skipped.sort(key=lambda f: f.where)
        result.failures.sort(key=lambda e: e.path)
        result.jobs = separate_jobs(result.session, self._paths)
        if done:
            unused = self._unused_ranks(result)
            result.session = replace(result.session, findings=(*result.session.findings, *unused))
        if opened is not None and done:
            opened(result.session)
        return result

    def _submit(
        self, pool: ThreadPoolExecutor, candidate: Candidate, progress: ProgressSink, out: queue.SimpleQueue[Outcome]
    ) -> None:
        future = pool.submit(self._open_candidate, candidate, progress, out.put)
        future.add_done_callback(lambda ended: out.put(Outcome(candidate, ended=ended)))

    def _take_end(self, candidate: Candidate, ended: Future[None], result: OpenResult) -> None:
        try:
            ended.result()
        except Cancelled:
            self._all.check()
            result.cancelled.append(candidate.path)

    @staticmethod
    def _take_error(outcome: Outcome, result: OpenResult) -> None:
        error = outcome.error
        if error is None:
            return
        # A file of a folder that cannot be read may be a rank that is missing: it is no file that is no trace.
        if (outcome.candidate.named and outcome.path is None) or isinstance(error, UnreadableError):
            result.failures.append(error)
        else:
            where = str(outcome.path or outcome.candidate.path)
            result.skipped.append(Finding("skipped", "info", 1, f"no trace, left out: {error.problem}", where))

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

    def _unused_ranks(self, result: OpenResult) -> list[Finding]:
        """A rank that was given for a name that no source has: a misspelt name changes nothing in silence."""
        looked = [i.path for i in result.session.inputs] + result.cancelled
        looked += [Path(e.path) for e in result.failures] + [Path(f.where) for f in result.skipped]
        known = {spelling for path in looked for spelling in (str(path), os.path.realpath(path), path.name)}
        return [
            Finding(
                "unused-rank",
                "warning",
                1,
                f"Rank {rank} was given for {name}, and no file of the job is called so: it changes nothing.",
            )
            for name, rank in self._given.items()
            if name not in known and os.path.realpath(name) not in known
        ]

    def _folders_without_traces(self, candidates: list[Candidate], result: OpenResult) -> None:
        opened = [i.path for i in result.session.inputs] + result.cancelled
        failed = [Path(e.path) for e in result.failures]
        told = set(failed)
        archives = {c.inside for c in candidates if c.inside is not None}
        for folder in [*(p for p in self._paths if os.path.isdir(p) and p not in told), *sorted(archives)]:
            if any(p.is_relative_to(folder) for p in (*opened, *failed)):
                continue
            looked = {f.where: f.message for f in result.skipped if Path(f.where).is_relative_to(folder)}
            if folder in archives:
                first = next(iter(sorted(looked.items())), None)
                problem = "holds no trace that opens"
                if first is not None:
                    problem += f" ({len(looked)} files were looked at; {Path(first[0]).name}: {first[1]})"
            else:
                problem = (
                    f"holds no trace ({len(looked)} JSON files were looked at)" if looked else "holds no JSON file"
                )
            step = "Give the folder that the profiler wrote its traces to."
            result.failures.append(InputError(str(folder), problem, "", step))

    # One candidate ----------------------------------------------------------------------------------------------------

    def _threads(self) -> int:
        """Threads that one file may use: its own, and its share of those that no other file needs."""
        with self._lock:
            return max(1, self._workers // max(1, self._waiting))

    def _open_candidate(self, candidate: Candidate, progress: ProgressSink, tell: Callable[[Outcome], None]) -> None:
        try:
            self._open_one(candidate, progress, tell)
        finally:
            with self._lock:
                self._waiting -= 1
            give_back()

    def _open_one(self, candidate: Candidate, progress: ProgressSink, tell: Callable[[Outcome], None]) -> None:
        token = self._token(str(candidate.path))
        token.check()
        try:
            events = 0
            for path, trace in self._opened(candidate, progress, token):
                if isinstance(trace, InputError):
                    tell(Outcome(candidate, path, error=trace))
                    continue
                events += trace.meta.events
                tell(Outcome(candidate, path, trace))
        except InputError as error:
            tell(Outcome(candidate, error=error))
            if not events:
                return
        progress(Progress(str(candidate.path), "done", candidate.size, candidate.size, events, 0.0))

    def _opened(
        self, candidate: Candidate, progress: ProgressSink, token: CancelToken
    ) -> Iterator[tuple[Path | None, Trace | InputError]]:
        """(path of a member, or None for the candidate itself; what came of it). Raises InputError, Cancelled."""
        if candidate.problem is not None:
            raise candidate.problem
        if candidate.source is not None:
            yield None, self._sources.open(candidate.source, candidate.named, progress, token)
            return
        yield from open_stream(candidate, self._cache, self._sources, progress, token)


def separate_jobs(session: Session, given: Sequence[Path] = ()) -> list[list[int]]:
    """Inputs that look like different jobs, one group when nothing says so.

    Stated world sizes that differ say so; so do ranks that come twice: in several of the ``given`` folders, or at the
    same time in several folders anywhere.
    """
    sizes: dict[int, list[int]] = {}
    unknown: list[int] = []
    for item in session.inputs:
        size = item.trace.meta.world_size
        if size is None:  # a companion as well: it says nothing of the job
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
        if item.rank is None or item.trace.meta.companion or (at_once and not item.conflict):
            continue
        folder = folder_of(item.path)
        if seen.setdefault(item.rank, folder) != folder:
            return True
    return False
