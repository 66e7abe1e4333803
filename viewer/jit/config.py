"""Kernels: functions that are compiled, or loaded compiled, when they are first called.

Importing this loads no compiler: a window is on the screen before one could be. What compiles is
``viewer/jit/compiler.py``; what a first frame needs may be at hand without it (``viewer/jit/native.py``).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_LOADING: Final = threading.RLock()


class Kernel:
    """One kernel. Its attributes are those of the compiler's dispatcher, which is made when it is first asked for."""

    py_func: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._dispatcher: Any = None
        self._run: Callable[..., Any] = self._run_first

    def __call__(self, *args: Any) -> Any:
        """Run it; compiles where nothing is compiled for these arguments."""
        return self._run(*args)

    @property
    def dispatcher(self) -> Any:
        """The compiler's object. Loads the compiler."""
        if self._dispatcher is None:
            with _LOADING:
                if self._dispatcher is None:
                    from viewer.jit.compiler import dispatcher_of

                    self._dispatcher = dispatcher_of(self.py_func)
        return self._dispatcher

    def run_by(self, code: Callable[..., Any] | None) -> None:
        """Use other code from now on; None for the compiler's."""
        self._run = self._run_first if code is None else code

    def _run_first(self, *args: Any) -> Any:
        self._run = self.dispatcher
        return self._run(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # libraries probe for protocols
        return getattr(self.dispatcher, name)


KERNELS: Final[list[Kernel]] = []
"""All that were made, in order."""


def kernel(function: F) -> F:
    """Compile ``function`` with the project's options: GIL released, C-like errors, cached on disk where possible.

    A kernel that makes no array is compiled without the code that counts references to arrays, and none gets an entry
    for C: together nearly a third of what compiling costs. Arithmetic on whole arrays makes arrays where that is not
    seen, and does not compile: write the loop.
    """
    made = Kernel(function)
    KERNELS.append(made)
    return cast(F, made)
