"""Machine code of what a first frame needs, called without the compiler.

The compiler takes as long to load as all else of a start. So what it made of the kernels that paint lanes is kept once
more, as one object file with an index (written by ``viewer/jit/native_build.py``), which LLVM alone can load. The
compiler is loaded after the first frame, and then runs these kernels as well.

A file is used where it was written for this state of the sources, this compiler and processor (``code_folder`` and
``machine``), by this user where nobody else may write, and is what was written. Else, and for arguments of other types
than those of the table, the compiler does it.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from viewer.jit.config import Kernel
from viewer.jit.machine import native_file
from viewer.jit.table import ARRAY, Entry, dispatcher_of, load_table

log = logging.getLogger(__name__)

GROUP: Final = "lanes"
"""The kernels that are kept."""
RETURNS: Final[Mapping[str, Any]] = {"none": ctypes.c_void_p, "int64": ctypes.c_int64}
_SCALARS: Final[Mapping[str, tuple[Any, tuple[type, ...]]]] = {
    "int64": (ctypes.c_int64, (int, np.int64)),
    "float64": (ctypes.c_double, (float, np.float64)),
}
_FINE: Final = frozenset({0, -2})
"""What a compiled function answers when it ran to its end: a value, or None."""
_MOST_BYTES: Final = 16 << 20


class Unfit(ValueError):
    """A file of compiled code that cannot be used."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Where a kernel is in the object file, and the word for what it returns."""

    symbol: str
    returns: str


def write(path: Path, symbols: Mapping[str, Symbol], code: bytes) -> None:
    """Write the index and the object file, whole or not at all. Raises OSError."""
    index = {name: [s.symbol, s.returns] for name, s in symbols.items()}
    head = json.dumps({"sha256": _digest(index, code), "kernels": index}).encode()
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(head + b"\n" + code)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Symbol], bytes]:
    """What :func:`write` wrote. Raises OSError, and Unfit for what this user did not write or what changed since."""
    with path.open("rb") as file:
        for one in (os.fstat(file.fileno()), os.stat(path.parent)):
            if hasattr(os, "geteuid") and (one.st_uid != os.geteuid() or one.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
                raise Unfit("others may write it")
        whole = file.read(_MOST_BYTES + 1)
    head, _, code = whole.partition(b"\n")
    try:
        found = json.loads(head)
        index = {name: Symbol(symbol, returns) for name, (symbol, returns) in found["kernels"].items()}
        good = found["sha256"] == _digest(found["kernels"], code) and len(whole) <= _MOST_BYTES
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unfit("its index cannot be read") from error
    if not good:
        raise Unfit("it is not what was written")
    return index, code


def _digest(index: Mapping[str, Any], code: bytes) -> str:
    told = json.dumps(index, sort_keys=True).encode()
    return hashlib.sha256(told + b"\n" + code).hexdigest()


class Code:
    """One kernel's machine code as a function.

    It is called as the compiler's own code calls it: where to put the result and an error, then each argument, an
    array as owner, parent, number of items, bytes of one, address, shape and strides. The GIL is released meanwhile.

    Args:
        kernel: runs what this cannot.
        address: of the code.
        words: types of the arguments, as in the table.
        returns: one of :data:`RETURNS`.
        owner: whose memory the code is in.

    Raises:
        Unfit: for a word that has no plain type.
    """

    def __init__(self, kernel: Kernel, address: int, words: tuple[str, ...], returns: str, owner: Any = None) -> None:
        self._kernel = kernel
        self._owner = owner
        self._result = RETURNS[returns]
        self._gives = returns != "none"
        flat = [kind for word in words for kind in flat_types(word)]
        self._takes = tuple(_taker(word) for word in words)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *flat)(address)

    def __call__(self, *args: Any) -> Any:
        """Run it; by the compiler's code where the arguments are none of the table's types."""
        flat: list[Any] = []
        if len(args) != len(self._takes) or not all(map(_take, self._takes, args, [flat] * len(args))):
            return self._kernel.dispatcher(*args)
        result, error = self._result(), ctypes.c_void_p()
        status = self._function(ctypes.addressof(result), ctypes.addressof(error), *flat)
        if status not in _FINE:
            raise RuntimeError(f"{self._kernel.__name__} ended with status {status}")
        return result.value if self._gives else None


Taker = Callable[[Any, list[Any]], bool]
"""Appends what an argument is to machine code; False for one of another type."""


def _take(taker: Taker, value: Any, flat: list[Any]) -> bool:
    return taker(value, flat)


def flat_types(word: str) -> tuple[Any, ...]:
    """The C types that one argument becomes. Raises Unfit for a word that has none here."""
    match = ARRAY.fullmatch(word)
    if match is None:
        if word not in _SCALARS:
            raise Unfit(f"no plain type: {word}")
        return (_SCALARS[word][0],)
    if match[3] != "C":
        raise Unfit(f"no plain array: {word}")
    size = ctypes.c_ssize_t
    return (ctypes.c_void_p, ctypes.c_void_p, size, size, ctypes.c_void_p, *[size] * (2 * int(match[2])))


def _taker(word: str) -> Taker:
    match = ARRAY.fullmatch(word)
    if match is None:
        kinds = _SCALARS[word][1]
        whole = word == "int64"

        def scalar(value: Any, flat: list[Any]) -> bool:
            flat.append(value)
            return type(value) in kinds and not (whole and not -(1 << 63) <= value < 1 << 63)

        return scalar
    dtype, dimensions, writes = np.dtype(match[1]), int(match[2]), not match[4]

    def array(value: Any, flat: list[Any]) -> bool:
        if type(value) is not np.ndarray or value.dtype != dtype or value.ndim != dimensions:
            return False
        flags = value.flags
        if not (flags.c_contiguous and flags.aligned) or (writes and not flags.writeable):
            return False
        flat += (None, None, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
        return True

    return array


@dataclass(frozen=True, slots=True)
class Kept:
    """A kernel, its entry in the table, and its kept code."""

    kernel: Kernel
    entry: Entry
    code: Code


def load(path: Path) -> dict[str, Kept]:
    """Load a file; what it holds by name. Raises OSError, Unfit, and RuntimeError where LLVM refuses it."""
    symbols, code = read(path)
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    entries = {e.name: e for e in load_table()}
    found: dict[str, Kept] = {}
    for name, where in symbols.items():
        address = engine.get_function_address(where.symbol)
        if name not in entries or where.returns not in RETURNS or not address:
            raise Unfit(f"it knows no {name}")
        kernel = dispatcher_of(name)
        code_of = Code(kernel, address, entries[name].types, where.returns, engine)
        found[name] = Kept(kernel, entries[name], code_of)
    return found


_lock: Final = threading.Lock()
_adopted: dict[str, Kept] = {}


def adopt(folder: Path) -> bool:
    """Let the kernels run by the kept code, until :func:`settle`; False where there is none that can be used.

    A file that is not what was written is removed, so that it is written again.
    """
    with _lock:
        if _adopted:
            return True
        path = native_file(folder)
        try:
            loaded = load(path)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, RuntimeError) as error:
            log.warning("%s cannot be used: %s", path, error)
            _drop(path)
            return False
        for kept in loaded.values():
            kept.kernel.run_by(kept.code)
        _adopted.update(loaded)
    return True


def settle() -> None:
    """Let the compiler run what :func:`adopt` took over: it takes arguments faster. Loads it; for a worker thread."""
    from viewer.jit.table import compile_entry

    with _lock:
        for kept in _adopted.values():
            compile_entry(kept.entry)
            kept.kernel.run_by(kept.kernel.dispatcher)


def _drop(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", path, error)
