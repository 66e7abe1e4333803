"""A process that compiles kernels for another one: ``python -m viewer.jit.helper``.

It reads names of the table from stdin, one a line, and answers each with "ok NAME" or "failed NAME"; the name "native"
asks for the file of :mod:`viewer.jit.native`. It ends when stdin does, so it never outlives the process that started
it by more than one kernel. The compiler holds the GIL: compiled here, kernels cost a window none of its frames.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import Final, TextIO

from viewer.jit import parts
from viewer.jit.table import NATIVE, compile_entry, load_table

NICE: Final = 5
"""Below the window, which shares the cores."""


def _build_native() -> None:
    from viewer.jit.folder import code_folder
    from viewer.jit.native_build import build

    build(code_folder())


def serve(names: TextIO, answers: TextIO) -> None:
    """Compile what is asked for until there is no more."""
    entries = {entry.name: entry for entry in load_table()}
    for line in names:
        name = line.strip()
        try:
            if name == NATIVE:
                _build_native()
            else:
                compile_entry(entries[name])
        except Exception as error:
            answers.write(f"failed {name} {type(error).__name__}\n")
        else:
            answers.write(f"ok {name}\n")
        answers.flush()


def main() -> int:
    """Serve stdin and stdout."""
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(NICE)
    parts.use(load_table())
    gc.disable()  # the compiler makes millions of objects that live to the end; looking at them is a fifth of its time
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no answer
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin, answers)
    with contextlib.suppress(OSError):
        answers.flush()
    os._exit(0)  # nothing to tidy up, and freeing all that takes a while


if __name__ == "__main__":
    main()
