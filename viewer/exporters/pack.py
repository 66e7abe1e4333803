"""Writing a pack: the tables of a job in one file that opens anywhere without its sources. See viewer.store.pack.

The same job gives the same bytes. Where the args of a file lie in its source, they are copied into the pack.
"""

from __future__ import annotations

import os
import stat
import uuid
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import pyarrow as pa
from isal import isal_zlib

from viewer import __version__
from viewer.base.errors import UsageError
from viewer.base.findings import Finding
from viewer.base.work import CancelToken
from viewer.base.zstd import zstd
from viewer.exporters.pack_args import ArgsUnreachableError, source_args
from viewer.store.args import BLOCKS_FILE, INDEX_FILE, ArgsWriter
from viewer.store.files import encode_meta
from viewer.store.meta import SourceStamp, TraceMeta
from viewer.store.pack import MANIFEST, MARK, MARK_NAME, META, SUFFIX, Manifest, PackedFile, member_name
from viewer.store.schema import FORMAT_VERSION, TABLES
from viewer.store.session import Input, Session
from viewer.store.sums import FileSum

LEVEL: Final = 3
_PIECE: Final = 1 << 20
_WHEN: Final = (1980, 1, 1, 0, 0, 0)
_OF_THIS_MACHINE: Final = frozenset({"cache-rebuilt", "cache-unwritable"})
"""Findings that say nothing of the trace."""

Told = Callable[[int, int, str], None]
"""(bytes of tables done, bytes of all tables, name of the input at work)"""


@dataclass(slots=True)
class Packed:
    """What was written. ``without_args`` names inputs whose source is out of reach, so that their args are missing."""

    path: Path
    size: int = 0
    inputs: int = 0
    without_args: list[str] = field(default_factory=list)


def input_names(paths: Sequence[Path], given: Sequence[Path]) -> list[str]:
    """Names of inputs in a pack: base names, or paths relative to the folder (or archive) that was given.

    With several given folders each name begins with its folder's. Nothing above a given folder is told.
    """
    holders = [(Path(os.path.abspath(g)), g) for g in given]
    many = len(holders) > 1
    names = []
    for path in paths:
        full = Path(os.path.abspath(path))
        holder = next((h for h, _ in holders if h != full and full.is_relative_to(h)), None)
        if holder is None:
            names.append(full.name)
        else:
            inside = full.relative_to(holder).as_posix()
            names.append(f"{holder.name}/{inside}" if many else inside)
    return names


def write_pack(
    path: Path,
    session: Session,
    given: Sequence[Path],
    tell: Told = lambda *_: None,
    cancel: CancelToken | None = None,
) -> Packed:
    """Write a job. The file is there when all of it is, and not at all otherwise.

    Args:
        path: where; an existing file is replaced, a link is followed.
        session: the job.
        given: the paths that the user opened, for the names inside.
        tell: progress.
        cancel: stops it.

    Raises:
        UsageError: it cannot be written there, in a sentence.
        Cancelled: on request.
    """
    cancel = cancel or CancelToken()
    target = Path(os.path.realpath(path))
    known = target.exists()
    if known and not target.is_file():  # renaming over a device or a pipe would remove it
        raise UsageError(f"{path} is no regular file, and a pack needs one: name another place.")
    draft = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex[:8]}.part")
    result = Packed(path)
    try:
        with draft.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                _Writer(archive, session, given, tell, cancel, result).run()
            file.flush()
            os.fsync(file.fileno())
        result.size = draft.stat().st_size
        if known:
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{path} cannot be written: {reason}. Name a place with room, with -o.") from None
    finally:
        draft.unlink(missing_ok=True)
    return result


class _Writer:
    def __init__(
        self,
        archive: zipfile.ZipFile,
        session: Session,
        given: Sequence[Path],
        tell: Told,
        cancel: CancelToken,
        result: Packed,
    ) -> None:
        self._archive, self._session, self._tell, self._cancel = archive, session, tell, cancel
        self._result = result
        self._names = input_names([i.path for i in session.inputs], given)
        self._total = sum(t.batch.nbytes for i in session.inputs for t in i.trace.tables.values())
        self._done = 0
        self._name = ""

    def run(self) -> None:
        self._plain(MARK_NAME, MARK)
        files = []
        for item, name in zip(self._session.inputs, self._names, strict=True):
            self._name = name
            self._result.inputs += 1
            files.append(PackedFile(name, item.trace.meta.events, self._input(item)))
        manifest = Manifest(MARK.decode().strip(), FORMAT_VERSION, __version__, files)
        self._plain(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))

    def _input(self, item: Input) -> dict[str, FileSum]:
        number, trace = item.index, item.trace
        sums: dict[str, FileSum] = {}
        meta = packed_meta(item, self._name)
        offsets: dict[str, Any] = {}
        stored = trace.args_text.stored()
        if stored is not None:
            index, blocks = stored[0], [stored[1]]
        else:
            writer = ArgsWriter()
            try:
                offsets = source_args(trace, writer.write, self._cancel)
            except ArgsUnreachableError as error:
                self._result.without_args.append(self._name)
                message = f"{error}: the pack was written without the arguments of its events"
                meta.findings.append(Finding("packed-without-args", "warning", 1, message))
            finally:
                writer.close()
            index, blocks = writer.stored()
        for table in TABLES:
            batch = trace.tables[table.name].batch
            if table.name in offsets:
                place = batch.schema.get_field_index("args_off")
                column = pa.array(offsets[table.name], pa.int64())
                batch = batch.set_column(place, batch.schema.field(place), column)
            sums[f"{table.name}.arrow"] = self._table(member_name(number, f"{table.name}.arrow"), batch)
        sums[INDEX_FILE] = self._file(member_name(number, INDEX_FILE), [index])
        sums[BLOCKS_FILE] = self._file(member_name(number, BLOCKS_FILE), blocks)
        sums[META] = self._file(member_name(number, META), [encode_meta(meta)])
        return sums

    def _table(self, name: str, batch: pa.RecordBatch) -> FileSum:
        with self._member(name, batch.nbytes) as out:
            sink = _Sink(out, self._advance)
            with pa.PythonFile(sink, "w") as file, pa.ipc.new_file(file, batch.schema) as writer:
                writer.write_batch(batch)
            return sink.finish()

    def _advance(self, count: int) -> None:
        self._cancel.check()
        self._done = min(self._total, self._done + count)
        self._tell(self._done, self._total, self._name)

    def _file(self, name: str, parts: Iterable[Any]) -> FileSum:
        size = crc = 0
        held = list(parts)
        with self._member(name, sum(memoryview(p).nbytes for p in held)) as out:
            for part in held:
                view = memoryview(part).cast("B")
                for at in range(0, len(view), _PIECE):
                    self._cancel.check()
                    piece = view[at : at + _PIECE]
                    out.write(piece)
                    size, crc = size + len(piece), isal_zlib.crc32(piece, crc)
        return FileSum(size, crc)

    def _plain(self, name: str, data: bytes) -> None:
        self._file(name, [data])

    def _member(self, name: str, size: int) -> IO[bytes]:
        info = zipfile.ZipInfo(name, _WHEN)
        info.external_attr = 0o644 << 16
        info.create_system = 3
        return self._archive.open(info, "w", force_zip64=size > 1 << 30)


class _Sink:
    """A writable file for pyarrow that compresses what it gets, and sums it up."""

    closed = False

    def __init__(self, out: IO[bytes], advance: Callable[[int], None]) -> None:
        self._out, self._advance = out, advance
        self._packer = zstd.ZstdCompressor(LEVEL)
        self._size = self._crc = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for at in range(0, len(view), _PIECE):
            piece = view[at : at + _PIECE]
            self._crc = isal_zlib.crc32(piece, self._crc)
            self._out.write(self._packer.compress(piece))
            self._advance(len(piece))
        self._size += len(view)
        return len(view)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def finish(self) -> FileSum:
        self._out.write(self._packer.flush())
        return FileSum(self._size, self._crc)


def packed_meta(item: Input, name: str) -> TraceMeta:
    """meta.json of an input: no path of this machine, and the rank that the user gave."""
    meta = item.trace.meta
    copy: TraceMeta = msgspec.structs.replace(meta)
    source = meta.imported
    origin = SourceStamp(name, source.size, 0, source.digest)
    copy.source = copy.origin = origin
    copy.args_in_source = False
    copy.import_seconds = None
    copy.findings = [f for f in meta.findings if f.code not in _OF_THIS_MACHINE]
    if item.rank_source == "given":
        copy.rank, copy.rank_source = item.rank, "given"
    return copy


def pack_name(title: str) -> str:
    """A file name for the pack of a job that is called so."""
    kept = "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "-" for c in title).strip(". ")
    return f"{kept[:80] or 'job'}{SUFFIX}"
