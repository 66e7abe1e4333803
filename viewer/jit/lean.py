"""A small compiler for the loops that the first open of a file needs: one type per name, nothing inferred twice.

A general compiler (numba) spends its time on typing and lowering: half a minute for the scanner alone. The functions
below are plain loops over int64 and uint64, addresses and one-dimensional arrays, so that their syntax tree is walked
once, straight into LLVM's text, and LLVM makes machine code of it in a second. The machine code is kept on disk
(viewer.jit.machine).

What such a function may use: int64 (``int``), uint64 (what load64 gives, constants made with np.uint64), float64 and
truth values, never mixed without a cast; assignments, tuples as results, if, while, for over range, and, or, not;
arrays as arguments, indexed by one number (those of more dimensions too, then row after row); ``len``, ``min``,
``max``; module constants and constant tables; other functions of its kind and the primitives of
viewer.jit.scan_load. A name keeps the type of its first assignment. Indexes are not checked. Divisions of integers
are as in Python, overflow wraps.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

INT, WORD, TRUTH, REAL = "int64", "uint64", "bool", "float64"
_ELEMENTS: Final[dict[str, tuple[np.dtype[Any], bool]]] = {
    "NDArray[np.int64]": (np.dtype(np.int64), True),
    "NDArray[np.int32]": (np.dtype(np.int32), True),
    "NDArray[np.uint32]": (np.dtype(np.uint32), False),
    "NDArray[np.uint8]": (np.dtype(np.uint8), False),
    "NDArray[np.bool_]": (np.dtype(np.bool_), False),
}
"""Annotations of array arguments: element type, and whether elements have a sign."""
_SHORT: Final = {
    "I64": "NDArray[np.int64]",
    "I32": "NDArray[np.int32]",
    "U8": "NDArray[np.uint8]",
    "U32": "NDArray[np.uint32]",
}


class Argument(NamedTuple):
    """An argument: the type of a number, or the elements of an array and whether they have a sign."""

    name: str
    kind: str
    elements: tuple[np.dtype[Any], bool] | None


class Primitive:
    """An operation that is written in LLVM's terms: ``emit(builder, *values)``, all 64 bits wide."""

    def __init__(self, kind: str, emit: Callable[..., Any]) -> None:
        self.kind = kind
        self.emit = emit

    def __call__(self, *_: Any) -> Any:
        """Not from Python."""
        raise TypeError("only compiled code can call this")


class Lean:
    """A compiled function; called from Python it is compiled (or read from disk) at the first call.

    Arrays must have the element type that the annotation states and be contiguous. The GIL is released.
    """

    def __init__(self, function: Callable[..., Any], apart: bool) -> None:
        self.py_func = function
        self.apart = apart
        self.__name__: str = getattr(function, "__name__", "function")
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self._tree: ast.FunctionDef | None = None
        self._run: Callable[..., Any] | None = None

    @property
    def tree(self) -> ast.FunctionDef:
        """Its syntax tree."""
        if self._tree is None:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.py_func))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            self._tree = tree
        return self._tree

    @property
    def arguments(self) -> list[Argument]:
        """What it takes."""
        found = []
        for argument in self.tree.args.args:
            text = ast.unparse(argument.annotation) if argument.annotation else ""
            kind = {"int": INT, "Int": INT, "np.uint64": WORD, "float": REAL, "bool": TRUTH}.get(text, "")
            elements = _ELEMENTS.get(_SHORT.get(text, text))
            if not kind and elements is None:
                raise TypeError(f"{self.__name__}: {argument.arg} needs the type of a number or an array's")
            found.append(Argument(argument.arg, kind, elements))
        return found

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        if self._run is None:
            from viewer.jit.machine import runner

            self._run = runner(self)
        return self._run(*arguments)


def lean(function: F) -> F:
    """Compile ``function`` by the rules above."""
    return cast(F, Lean(function, False))


def lean_apart(function: F) -> F:
    """The same for a function that is never copied into its callers: less to optimise where it is called often."""
    return cast(F, Lean(function, True))
