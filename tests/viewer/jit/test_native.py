from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.picture_job import job
from tests.support.themes import theme
from viewer.base.selection import TimeRange
from viewer.jit import native
from viewer.jit.config import Kernel
from viewer.jit.folder import code_folder, prepare
from viewer.jit.machine import machine, native_file, version_of
from viewer.jit.native import Code, Kept, Symbol, Unfit, adopt, load, read, write
from viewer.jit.native_build import build, entries_to_keep, make
from viewer.jit.table import Entry, dispatcher_of
from viewer.views.lanes.painter import LanePainter, build_tree, place
from viewer.views.lanes.warm import warm_up

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def kept_file() -> Path:
    """The file of this state of the sources; made once for it."""
    folder = code_folder()
    assert prepare(folder)
    path = native_file(folder)
    return path if path.exists() else build(folder)


@pytest.fixture
def kept(kept_file: Path) -> Iterator[dict[str, Kept]]:
    found = load(kept_file)
    yield found
    for one in found.values():
        one.kernel.run_by(None)


@pytest.fixture
def folder(kept_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the file, in a process that has adopted none."""
    monkeypatch.setattr(native, "_adopted", {})
    native_file(tmp_path).write_bytes(kept_file.read_bytes())
    return tmp_path


def first_from(found: dict[str, Kept]) -> Code:
    return found["row_search.first_from"].code


def test_every_kernel_that_paints_is_kept(kept: dict[str, Kept]) -> None:
    """One that is not makes a start wait for the compiler."""
    assert sorted(kept) == sorted(e.name for e in entries_to_keep())
    assert {"raster.sample", "compose.compose", "raster.mark", "lod._fill", "stamp.stamp"} <= kept.keys()


def test_kept_code_does_what_the_compiler_runs(kept: dict[str, Kept]) -> None:
    """A job is painted by both, call by call."""
    calls: dict[str, int] = {}

    def both(name: str, one: Kept) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            other = copy.deepcopy(args)
            for now, then in zip(args, other, strict=True):
                if isinstance(now, np.ndarray):
                    then.flags.writeable = now.flags.writeable
            result = one.code(*args)
            assert result == one.kernel.dispatcher(*other), name
            for now, then in zip(args, other, strict=True):
                np.testing.assert_array_equal(now, then, err_msg=name)
            calls[name] = calls.get(name, 0) + 1
            return result

        return run

    for name, one in kept.items():
        one.kernel.run_by(both(name, one))
    warm_up()
    assert sorted(calls) == sorted(kept)
    session = job()
    placement = place(build_tree(session), frozenset())
    painter = LanePainter(session, placement, theme())
    extent = session.extent()
    assert extent is not None
    for window in (extent, TimeRange(extent.start_ns + extent.length_ns // 3, extent.end_ns)):
        painter.frame(window, 500, 0, placement.height, 1.5)
    assert calls["raster.sample"] > 3


def test_kept_code_runs_without_the_compiler(kept_file: Path) -> None:
    code = (
        "import sys\nfrom viewer.jit.folder import code_folder\nfrom viewer.jit.native import adopt\n"
        "from viewer.views.lanes.warm import warm_up\n"
        "print(adopt(code_folder()), end=' ')\nwarm_up()\nprint('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "True False\n", done.stderr


def test_the_compiler_takes_over(folder: Path) -> None:
    kernel: Any = dispatcher_of("row_search.first_from")
    assert adopt(folder)
    assert isinstance(kernel._run, Code)
    assert adopt(folder)
    native.settle()
    assert kernel._run is kernel.dispatcher
    assert kernel.signatures


@pytest.mark.parametrize(
    "args",
    [
        (np.arange(4, dtype=np.int32), 0, 4, 2),
        (np.arange(8)[::2], 0, 4, 2),
        (np.arange(4.0), 0, 4, 2),
        (np.arange(4).reshape(2, 2), 0, 4, 2),
        (np.arange(4), 0, 4, 2.5),
        (np.arange(4), 0, 4, True),
        (np.arange(4), 0, 4, np.int32(2)),
        (np.arange(4), 0, 4, 1 << 63),
        (np.arange(4), 0, 4),
        ([0, 1, 2, 3], 0, 4, 2),
    ],
)
def test_arguments_of_other_types_go_to_the_compiler(args: tuple[Any, ...], kept: dict[str, Kept]) -> None:
    asked: list[tuple[Any, ...]] = []
    kernel = Kernel(lambda *_: None)
    kernel._dispatcher = lambda *given: asked.append(given)
    code = first_from(kept)
    entry = kept["row_search.first_from"].entry
    other = Code(kernel, 1, entry.types, "int64")  # an address that nobody may call
    assert other(*args) is None
    assert [len(given) for given in asked] == [len(args)]
    assert code(np.arange(4), np.int64(0), 4, 2) == 2
    assert code(np.arange(4), 0, 4, (1 << 63) - 1) == 4


def test_a_table_that_is_read_only_is_not_written(kept: dict[str, Kept]) -> None:
    asked: list[int] = []
    kernel = Kernel(lambda *_: None)
    kernel._dispatcher = lambda *given: asked.append(len(given))
    code = Code(kernel, 1, ("int64[1C]", "int64"), "none")
    array = np.arange(4)
    array.flags.writeable = False
    code(array, 1)
    assert asked == [2]


def test_an_error_of_the_code_is_one(kept: dict[str, Kept]) -> None:
    import ctypes

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    def fails(*_: Any) -> int:
        return 1

    address = ctypes.cast(fails, ctypes.c_void_p).value
    assert address is not None
    with pytest.raises(RuntimeError, match="first_from ended with status 1"):
        Code(kept["row_search.first_from"].kernel, address, ("int64",), "none")(5)


def damage(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    head, _, code = data.partition(b"\n")
    return {
        "empty": b"",
        "cut": data[:-1],
        "cut in the index": data[:40],
        "longer": data + b"\0",
        "a byte of code": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "a name": data.replace(b"raster.sample", b"raster.simple", 1),
        "no text": b"\xff\xfe" + data,
        "no index": code,
        "a list": b"[1]\n" + code,
        "no kernels": b'{"sha256": "", "kernels": 5}\n' + code,
        "a kernel without a place": b'{"sha256": "", "kernels": {"raster.sample": 1}}\n' + code,
        "index alone": head,
    }


@pytest.mark.parametrize("what", sorted(damage(b"ab\ncd")))
def test_a_damaged_file_is_not_used_and_goes(what: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = native_file(folder)
    path.write_bytes(damage(path.read_bytes())[what])
    with pytest.raises(Unfit):
        read(path)
    assert not adopt(folder)
    assert not path.exists()
    assert str(path) in caplog.text
    assert not isinstance(dispatcher_of("row_search.first_from")._run, Code)


@pytest.mark.parametrize(
    "symbols",
    [
        {"raster.nothing": Symbol("f", "none")},
        {"raster.sample": Symbol("f", "tuple")},
        {"raster.sample": Symbol("f", "none")},
    ],
)
def test_a_file_that_holds_something_else_is_not_used(symbols: dict[str, Symbol], folder: Path) -> None:
    path = native_file(folder)
    write(path, symbols, read(path)[1])
    assert not adopt(folder)
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights are told otherwise there")
def test_a_file_that_others_may_write_is_not_used(folder: Path) -> None:
    path = native_file(folder)
    path.chmod(0o666)
    with pytest.raises(Unfit, match="others"):
        read(path)
    path.chmod(0o600)
    read(path)
    folder.chmod(0o777)
    with pytest.raises(Unfit, match="others"):
        read(path)


def test_nothing_is_adopted_where_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_adopted", {})
    assert not adopt(tmp_path)
    assert not list(tmp_path.iterdir())


def _allocates(n: int) -> Any:
    return np.zeros(n, np.int64)[n // 2]


def _gives_two(n: int) -> Any:
    return n, n + 1


@pytest.mark.parametrize(("function", "words"), [(_allocates, ("int64",)), (_gives_two, ("int64",))])
def test_a_kernel_whose_code_needs_the_compiler_is_not_kept(
    function: Callable[[int], Any], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that the loader cannot find ends the process."""
    monkeypatch.setattr("viewer.jit.native_build.dispatcher_of", lambda _: Kernel(function))
    with pytest.raises(Unfit):
        make([Entry("raster.made_up", "lanes", words)])


def test_a_file_without_what_is_tried_is_none_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.jit.native_build.load", lambda _: {})
    monkeypatch.setattr("viewer.jit.native_build.make", lambda _: ({}, b""))
    with pytest.raises(Unfit, match="first_from"):
        build(tmp_path)
    assert not list(tmp_path.iterdir())


def test_code_of_another_machine_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    assert f'"{numba.__version__}"' in version_of("numba")
    assert f'"{llvmlite.__version__}"' in version_of("llvmlite") or llvmlite.__version__ in version_of("llvmlite")
    with pytest.raises(ModuleNotFoundError):
        version_of("no_such_package")
    monkeypatch.chdir(tmp_path)
    words = {machine()}
    for change in (
        lambda: monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "another"),
        lambda: monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2"),
        lambda: (tmp_path / ".numba_config.yaml").write_text("opt: 1"),
        lambda: monkeypatch.setattr("viewer.jit.machine.version_of", lambda package: package),
    ):
        change()
        words.add(machine())
    assert len(words) == 5
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert machine() in words
