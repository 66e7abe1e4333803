"""Machine code of lean functions: made by LLVM, kept on disk, called with the GIL released."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import struct
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm
import numpy as np

from viewer.jit.folder import compiled_folder

if TYPE_CHECKING:
    from viewer.jit.lean import Lean

_LOCK = threading.RLock()
_KEEP: Final[list[Any]] = []
"""Engines own the code that was handed out; they live as long as the process."""
_BITS, _REAL = struct.Struct("q"), struct.Struct("d")
KEPT_FILES: Final = 4
"""Files of one function that stay: versions side by side, and machines that share a home."""


@cache
def _target() -> Any:
    with contextlib.suppress(RuntimeError):  # newer llvmlite does this by itself and says so
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=2,
        reloc="static" if _is_x86() else "default",
        codemodel="jitdefault",
        jit=True,
    )


def _is_x86() -> bool:
    return bool(llvm.get_process_triple().startswith("x86"))


@cache
def _version() -> bytes:
    """What machine code depends on besides its own source: all loops, the compiler, the processor."""
    sources = sorted(Path(__file__).parent.glob("*.py")) + sorted((Path(__file__).parents[1] / "base").glob("ids.py"))
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    for text in (llvm.llvm_version_info, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()):
        digest.update(str(text).encode())
    return digest.digest()


def _compile(function: Lean) -> bytes:
    """An object file, with one line in front that says what the results are."""
    from viewer.jit.lean_module import emit_module

    text, results, is_tuple = emit_module(function)
    target = _target()
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = llvm.get_process_triple()
    module.data_layout = str(target.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    head = " ".join([str(int(is_tuple)), *results])
    code: bytes = target.emit_object(module)
    return head.encode() + b"\n" + code


def _load(function: Lean) -> bytes:
    name = f"{function.__module__}.{function.__name__}"
    source = Path(function.py_func.__code__.co_filename).read_bytes()
    key = hashlib.sha256(_version() + name.encode() + source).hexdigest()[:24]
    folder = compiled_folder()
    if folder is None:
        return _compile(function)
    path = folder / f"{name}-{key}.o"
    with contextlib.suppress(OSError):
        digest, _, content = path.read_bytes().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() == digest:
            return content
    content = _compile(function)
    with contextlib.suppress(OSError):
        draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        draft.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        draft.replace(path)
        others = sorted(folder.glob(f"{name}-*.o"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[KEPT_FILES:]:
            old.unlink()
    return content


def runner(function: Lean) -> Callable[..., Any]:
    """A Python callable that runs ``function``'s machine code."""
    with _LOCK:
        content = _load(function)
        head, code = content.split(b"\n", 1)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", llvm.create_context()), _target())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _KEEP.append(engine)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("entry"))
    flag, *kinds = head.decode().split()
    arguments = function.arguments
    words = ctypes.c_int64 * sum(2 if a.elements else 1 for a in arguments)
    results = ctypes.c_int64 * max(len(kinds), 1)

    def run(*values: Any) -> Any:
        flat: list[int] = []
        for value, (name, kind, elements) in zip(values, arguments, strict=True):
            if elements is None:
                flat.append(int(value) if kind != "float64" else _BITS.unpack(_REAL.pack(value))[0])
                continue
            if value.dtype != elements[0] or not value.flags.c_contiguous:
                raise TypeError(f"{function.__name__}: {name} must be contiguous {elements[0]}")
            flat += (value.ctypes.data, value.size)
        out = results()
        call(words(*flat), out)
        found = [_PYTHON[kind](number) for kind, number in zip(kinds, out, strict=False)]
        return tuple(found) if flag == "1" else found[0] if found else None

    return run


_PYTHON: Final[dict[str, Callable[[int], Any]]] = {
    "int64": int,
    "bool": bool,
    "float64": lambda number: float(_REAL.unpack(_BITS.pack(number))[0]),
    "uint64": lambda number: np.uint64(number & ((1 << 64) - 1)),
}
