"""Opening one source: mapped from the cache, or imported (a pack: unpacked) into it."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final, overload

import msgspec
import pyarrow as pa

from viewer.base.errors import Cancelled, InputError, UnreadableError
from viewer.base.findings import Finding
from viewer.base.work import CancelToken, ProgressSink
from viewer.importers.base import Importer, ImportJob
from viewer.importers.packed import DAMAGED, STEP, PackedInput, unpack, unpack_in_memory
from viewer.importers.source import Source, explain_os_error
from viewer.importers.special import made_by_system
from viewer.store.args import ArgsText, ArgsWriter
from viewer.store.assemble import assemble
from viewer.store.cache import Cache
from viewer.store.files import folder_bytes, write_meta, write_tables
from viewer.store.meta import SourceStamp
from viewer.store.pack import damage_of
from viewer.store.rules import RuleTable
from viewer.store.trace import Came, Trace

log = logging.getLogger(__name__)

_UNWRITABLE: Final = (OSError, pa.ArrowException, msgspec.MsgspecError)


def importer_of(source: Source) -> tuple[Importer, int]:
    """See the registry: it and all that scans text are loaded for the first source that is not in the cache."""
    from viewer.importers.registry import importer_of as find

    return find(source)


class SourceOpener:
    """Opens sources with one cache and one table of rules. Safe from many threads."""

    def __init__(self, cache: Cache, rules: RuleTable, threads: Callable[[], int] = lambda: 1) -> None:
        """``threads`` says how many of them one source may use at the moment."""
        self._cache, self._rules, self._threads = cache, rules, threads

    def open(self, source: Source | PackedInput, named: bool, progress: ProgressSink, token: CancelToken) -> Trace:
        """The trace of a source.

        Raises:
            InputError: it cannot be opened; of a source that is not ``named``, also one that hardly looks like a trace.
            Cancelled: on request.
        """
        path = source.path
        began = time.monotonic()
        try:
            if isinstance(source, PackedInput):
                return _came(self.from_cache(source.stamp), began) or _came(self._unpack(source, token), began, False)
            if source.direct:
                if path.is_dir():
                    raise IsADirectoryError
                if path.exists() and (not path.is_file() or made_by_system(path)):
                    raise InputError(str(path), "is no regular file", "", "Copy its content into a file first.")
            stamp = source.stamp()
            mapped = _came(self.from_cache(stamp), began)
            if mapped is not None:
                return mapped
            return _came(self._import(source, named, stamp, progress, token), began, False)
        except OSError as error:
            raise explain_os_error(path, error) from None
        except MemoryError:
            step = "Close other programs, or open fewer files."
            raise InputError(str(path), "needs more memory than there is", "", step) from None
        except (InputError, Cancelled):
            raise
        except Exception as error:
            log.exception("importing %s failed", path)
            raise InputError(
                str(path),
                f"could not be imported ({type(error).__name__}: {error})",
                "",
                "This is an error of Rankscope: please report it with the log.",
            ) from None

    def mapped(self, stamp: SourceStamp) -> Trace | None:
        """The same as :meth:`from_cache`, with a note of how it came."""
        return _came(self.from_cache(stamp), time.monotonic())

    def from_cache(self, stamp: SourceStamp) -> Trace | None:
        """The trace that the cache keeps of a source; None without, or when it is damaged."""
        folder = self._cache.lookup(stamp)
        if folder is None:
            return None
        try:
            return self._painted(Trace.open(folder))
        except (OSError, pa.ArrowException, msgspec.MsgspecError, ValueError, IndexError):
            with contextlib.suppress(OSError):
                (folder / "meta.json").unlink(missing_ok=True)
            return None

    def _painted(self, trace: Trace) -> Trace:
        if trace.meta.rules_hash != self._rules.hash:
            trace.repaint(self._rules)
        return trace

    def _import(
        self, source: Source, named: bool, stamp: SourceStamp, progress: ProgressSink, token: CancelToken
    ) -> Trace:
        damaged = self._cache.is_damaged(stamp)
        importer, sure = importer_of(source)
        if not named and sure < 2:
            raise InputError(str(source.path), "nothing at its beginning looks like a trace")
        writer = ArgsWriter()
        try:
            job = ImportJob(source, stamp, self._rules, writer.write, progress, token)
            job.scratch, job.threads = self._cache.folder, self._threads
            imported = importer.read(job)
        finally:
            writer.close()
        in_source = imported.meta.args_in_source
        from viewer.importers.profiler_memory import add_profiler_memory

        path = source.path if in_source else None
        add_profiler_memory(imported, path, lambda: ArgsText.of_writer(writer), job.scratch)
        if damaged:
            self._cache.drop(stamp)
            imported.meta.findings.append(
                Finding("cache-rebuilt", "info", 1, "its tables in the cache were damaged and have been rebuilt")
            )
        tables = assemble(imported.raw, self._rules)
        token.check()
        job.tell("write", stamp.size, imported.meta.events)
        imported.meta.import_seconds = time.monotonic() - job.began

        def fill(folder: Path) -> None:
            write_tables(folder, tables, self._threads())
            if not imported.meta.args_in_source:
                writer.save(folder)
            write_meta(folder, imported.meta)

        def in_memory() -> Trace:
            args = ArgsText.of_source(stamp) if imported.meta.args_in_source else ArgsText.of_writer(writer)
            return Trace.in_memory(imported.meta, tables, args)

        return self._keep(stamp, fill, in_memory, imported.meta.findings.append)

    def _keep(
        self,
        stamp: SourceStamp,
        fill: Callable[[Path], None],
        in_memory: Callable[[], Trace],
        tell: Callable[[Finding], None],
    ) -> Trace:
        """Write a trace folder into the cache and map it; where that fails, a temporary one, at last none."""
        try:
            with self._cache.create(stamp) as draft:
                fill(draft.folder)
            return Trace.open(draft.path)
        except _UNWRITABLE as error:
            unwritable = unwritable_finding(self._cache, error)
        tell(unwritable)
        with contextlib.suppress(*_UNWRITABLE):
            temporary = tempfile.TemporaryDirectory(prefix="rankscope-")
            try:
                fill(Path(temporary.name))
                trace = Trace.open(Path(temporary.name))
            except BaseException:
                temporary.cleanup()
                raise
            weakref.finalize(trace, temporary.cleanup)
            return trace
        return in_memory()

    def _unpack(self, packed: PackedInput, token: CancelToken) -> Trace:
        told: list[Finding] = []

        def fill(folder: Path) -> None:
            try:
                unpack(packed, folder, token)
            except DAMAGED as error:
                if isinstance(error, OSError):
                    raise
                raise _Damaged(damage_of(error)) from None

        try:
            self._cache.drop_damaged(packed.stamp)
            trace = self._keep(packed.stamp, fill, lambda: unpack_in_memory(packed, token), told.append)
        except (_Damaged, *DAMAGED) as error:
            problem = f"is damaged in the pack: {damage_of(error)}"
            raise UnreadableError(str(packed.path), problem, "", STEP) from None
        trace.meta.findings.extend(told)
        return self._painted(trace)


@overload
def _came(trace: Trace, began: float, cached: bool = True) -> Trace: ...
@overload
def _came(trace: None, began: float, cached: bool = True) -> None: ...
def _came(trace: Trace | None, began: float, cached: bool = True) -> Trace | None:
    """Note how a trace got here."""
    if trace is not None:
        trace.came = Came(cached, time.monotonic() - began, folder_bytes(trace.folder))
    return trace


class _Damaged(Exception):
    """A damaged pack is no reason to try another folder."""


def unwritable_finding(cache: Cache, error: Exception) -> Finding:
    """What to tell when tables cannot be kept."""
    reason = getattr(error, "strerror", None)
    if reason is None and isinstance(error, OSError) and error.errno is not None:
        reason = os.strerror(error.errno)
    return Finding(
        "cache-unwritable",
        "warning",
        1,
        f"the cache folder {cache.folder} cannot be written ({reason or error}): this file is imported anew "
        "each time. Set RANKSCOPE_CACHE_DIR to a folder with room.",
    )
